/* SPDX-License-Identifier: Apache-2.0 */
/* What the CPU's kernels of graph networks share: how rows of a pattern are divided among a team. Included
 * after block_math.h. */
#ifndef SLEY_DEVICE_CPU_GRAPH_KERNELS_H
#define SLEY_DEVICE_CPU_GRAPH_KERNELS_H

#include "device/cpu/cpu.h"

/* Kernels of one operation differ in their instruction sets alone. */
static inline double graph_cost(const sl_kernel_args *args) {
  (void)args;
  return 1.0 / LANES;
}

#endif
