/* SPDX-License-Identifier: Apache-2.0 */
/* SpMM in f32 for NEON. */
#include "device/cpu/lanes_f32_neon.h"
#include "device/cpu/values_same.h"

#include "device/cpu/spmm_body.h"

const sl_kernel sl_cpu_spmm_f32_neon = SPMM_KERNEL("spmm-f32-neon");
