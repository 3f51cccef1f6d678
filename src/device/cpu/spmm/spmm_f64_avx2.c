/* SPDX-License-Identifier: Apache-2.0 */
/* SpMM in f64 for AVX2 and FMA, alone and with an update. */
#include "device/cpu/vectors/lanes_f64_avx2.h"
#include "device/cpu/vectors/values_same.h"

#include "device/cpu/spmm/update_body.h"

const sl_kernel sl_cpu_spmm_f64_avx2 = SPMM_KERNEL("spmm-f64-avx2");
const sl_kernel sl_cpu_update_f64_avx2 = UPDATE_KERNEL("update-f64-avx2");
