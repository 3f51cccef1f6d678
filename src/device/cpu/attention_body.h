/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of SL_OP_ATTENTION and its gradients, the same for every type and instruction set. Who includes
 * it has included what block_math.h says. It gets ATTENTION_KERNEL, ATTENTION_ROWS_KERNEL and
 * ATTENTION_COLUMNS_KERNEL, the descriptors. */
#ifndef SLEY_DEVICE_CPU_ATTENTION_BODY_H
#define SLEY_DEVICE_CPU_ATTENTION_BODY_H

#include "device/cpu/block_math.h"
#include "device/cpu/graph_kernels.h"

static sley_status attention_run(sl_queue *queue, const sl_kernel_args *args) {
  (void)queue;
  (void)args;
  return sl_fail(SLEY_ERR_INTERNAL, "not written yet");
}
#define attention_rows_run    attention_run
#define attention_columns_run attention_run

static bool attention_ok(const sl_kernel_args *args) {
  return args->attention.dtype == (sley_dtype)DTYPE && sl_cpu_has((sl_cpu_isa)ISA);
}

static bool attention_grad_ok(const sl_kernel_args *args) {
  return args->attention_grad.of.dtype == (sley_dtype)DTYPE && sl_cpu_has((sl_cpu_isa)ISA);
}

#define ATTENTION_KERNEL(kernel_name)                                                                        \
  {                                                                                                          \
    .name = kernel_name, .op = SL_OP_ATTENTION, .ok = attention_ok, .cost = graph_cost,                      \
    SL_KERNEL_KEEPS_NOTHING, .run = attention_run                                                            \
  }
#define ATTENTION_ROWS_KERNEL(kernel_name)                                                                   \
  {                                                                                                          \
    .name = kernel_name, .op = SL_OP_ATTENTION_ROWS, .ok = attention_grad_ok, .cost = graph_cost,            \
    SL_KERNEL_KEEPS_NOTHING, .run = attention_rows_run                                                       \
  }
#define ATTENTION_COLUMNS_KERNEL(kernel_name)                                                                \
  {                                                                                                          \
    .name = kernel_name, .op = SL_OP_ATTENTION_COLUMNS, .ok = attention_grad_ok, .cost = graph_cost,         \
    SL_KERNEL_KEEPS_NOTHING, .run = attention_columns_run                                                    \
  }

#endif
