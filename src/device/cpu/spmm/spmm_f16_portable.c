/* SPDX-License-Identifier: Apache-2.0 */
/* SpMM in f16, summed in f32, for any processor, alone and with an update. */
#include "device/cpu/vectors/halves_portable.h"
#include "device/cpu/vectors/values_f16.h"

#include "device/cpu/spmm/update_body.h"

const sl_kernel sl_cpu_spmm_f16_portable = SPMM_KERNEL("spmm-f16-portable");
const sl_kernel sl_cpu_update_f16_portable = UPDATE_KERNEL("update-f16-portable");
