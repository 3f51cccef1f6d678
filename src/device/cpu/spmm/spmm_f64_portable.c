/* SPDX-License-Identifier: Apache-2.0 */
/* SpMM in f64 for any processor, alone and with an update. */
typedef double sum;
#include "device/cpu/vectors/lanes_portable.h"
#include "device/cpu/vectors/values_same.h"

#include "device/cpu/spmm/update_body.h"

const sl_kernel sl_cpu_spmm_f64_portable = SPMM_KERNEL("spmm-f64-portable");
const sl_kernel sl_cpu_update_f64_portable = UPDATE_KERNEL("update-f64-portable");
