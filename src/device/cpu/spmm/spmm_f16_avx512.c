/* SPDX-License-Identifier: Apache-2.0 */
/* SpMM in f16, summed in f32, for AVX-512, alone and with an update. */
#include "device/cpu/vectors/halves_avx512.h"
#include "device/cpu/vectors/values_f16.h"

#include "device/cpu/spmm/update_body.h"

const sl_kernel sl_cpu_spmm_f16_avx512 = SPMM_KERNEL("spmm-f16-avx512");
const sl_kernel sl_cpu_update_f16_avx512 = UPDATE_KERNEL("update-f16-avx512");
