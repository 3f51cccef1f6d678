/* SPDX-License-Identifier: Apache-2.0 */
/* SpMM in f64 for NEON, alone and with an update. */
#include "device/cpu/vectors/lanes_f64_neon.h"
#include "device/cpu/vectors/values_same.h"

#include "device/cpu/spmm/update_body.h"

const sl_kernel sl_cpu_spmm_f64_neon = SPMM_KERNEL("spmm-f64-neon");
const sl_kernel sl_cpu_update_f64_neon = UPDATE_KERNEL("update-f64-neon");
