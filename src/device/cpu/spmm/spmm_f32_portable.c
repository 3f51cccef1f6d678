/* SPDX-License-Identifier: Apache-2.0 */
/* SpMM in f32 for any processor, alone and with an update. */
typedef float sum;
#include "device/cpu/vectors/lanes_portable.h"
#include "device/cpu/vectors/values_same.h"

#include "device/cpu/spmm/update_body.h"

const sl_kernel sl_cpu_spmm_f32_portable = SPMM_KERNEL("spmm-f32-portable");
const sl_kernel sl_cpu_update_f32_portable = UPDATE_KERNEL("update-f32-portable");
