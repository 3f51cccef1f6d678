/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel of SL_OP_SDDMM, the same for every type and instruction set. Who includes it has included what
 * block_math.h says. It gets SDDMM_KERNEL, the descriptor. */
#ifndef SLEY_DEVICE_CPU_SDDMM_BODY_H
#define SLEY_DEVICE_CPU_SDDMM_BODY_H

#include "device/cpu/block_math.h"
#include "device/cpu/graph_kernels.h"

static sley_status sddmm_run(sl_queue *queue, const sl_kernel_args *args) {
  (void)queue;
  (void)args;
  return sl_fail(SLEY_ERR_INTERNAL, "not written yet");
}

static bool sddmm_ok(const sl_kernel_args *args) {
  return args->sddmm.dtype == (sley_dtype)DTYPE && sl_cpu_has((sl_cpu_isa)ISA);
}

#define SDDMM_KERNEL(kernel_name)                                                                            \
  {                                                                                                          \
    .name = kernel_name, .op = SL_OP_SDDMM, .ok = sddmm_ok, .cost = graph_cost, SL_KERNEL_KEEPS_NOTHING,     \
    .run = sddmm_run                                                                                         \
  }

#endif
