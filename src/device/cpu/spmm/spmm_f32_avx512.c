/* SPDX-License-Identifier: Apache-2.0 */
/* SpMM in f32 for AVX-512, alone and with an update. */
#include "device/cpu/vectors/lanes_f32_avx512.h"
#include "device/cpu/vectors/values_same.h"

#include "device/cpu/spmm/update_body.h"

const sl_kernel sl_cpu_spmm_f32_avx512 = SPMM_KERNEL("spmm-f32-avx512");
const sl_kernel sl_cpu_update_f32_avx512 = UPDATE_KERNEL("update-f32-avx512");
