/* SPDX-License-Identifier: Apache-2.0 */
/* SpMM in bf16, summed in f32, for AVX-512, alone and with an update. */
#include "device/cpu/vectors/halves_avx512.h"
#include "device/cpu/vectors/values_bf16.h"

#include "device/cpu/spmm/update_body.h"

const sl_kernel sl_cpu_spmm_bf16_avx512 = SPMM_KERNEL("spmm-bf16-avx512");
const sl_kernel sl_cpu_update_bf16_avx512 = UPDATE_KERNEL("update-bf16-avx512");
