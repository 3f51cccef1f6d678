/* SPDX-License-Identifier: Apache-2.0 */
/* SpMM in bf16, summed in f32, for any processor, alone and with an update. */
#include "device/cpu/vectors/halves_portable.h"
#include "device/cpu/vectors/values_bf16.h"

#include "device/cpu/spmm/update_body.h"

const sl_kernel sl_cpu_spmm_bf16_portable = SPMM_KERNEL("spmm-bf16-portable");
const sl_kernel sl_cpu_update_bf16_portable = UPDATE_KERNEL("update-bf16-portable");
