/* SPDX-License-Identifier: Apache-2.0 */
/* SpMM in f16, summed in f32, for AVX2, FMA and F16C. */
#include "device/cpu/halves_avx2.h"
#include "device/cpu/values_f16.h"

#include "device/cpu/spmm_body.h"

const sl_kernel sl_cpu_spmm_f16_avx2 = SPMM_KERNEL("spmm-f16-avx2");
