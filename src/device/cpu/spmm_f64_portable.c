/* SPDX-License-Identifier: Apache-2.0 */
/* SpMM in f64 for any processor. */
typedef double sum;
#include "device/cpu/lanes_portable.h"
#include "device/cpu/values_same.h"

#include "device/cpu/spmm_body.h"

const sl_kernel sl_cpu_spmm_f64_portable = SPMM_KERNEL("spmm-f64-portable");
