/* SPDX-License-Identifier: Apache-2.0 */
/* SpMM in f32 for NEON, alone and with an update. */
#include "device/cpu/vectors/lanes_f32_neon.h"
#include "device/cpu/vectors/values_same.h"

#include "device/cpu/spmm/update_body.h"

const sl_kernel sl_cpu_spmm_f32_neon = SPMM_KERNEL("spmm-f32-neon");
const sl_kernel sl_cpu_update_f32_neon = UPDATE_KERNEL("update-f32-neon");
