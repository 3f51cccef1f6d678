/* SPDX-License-Identifier: Apache-2.0 */
/* SpMM in bf16, summed in f32, for NEON, alone and with an update. */
#include "device/cpu/vectors/halves_neon.h"
#include "device/cpu/vectors/values_bf16.h"

#include "device/cpu/spmm/update_body.h"

const sl_kernel sl_cpu_spmm_bf16_neon = SPMM_KERNEL("spmm-bf16-neon");
const sl_kernel sl_cpu_update_bf16_neon = UPDATE_KERNEL("update-bf16-neon");
