/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU as a device: its table of operations, its kernels and which instruction sets they may use. */
#ifndef SLEY_DEVICE_CPU_CPU_H
#define SLEY_DEVICE_CPU_CPU_H

#include "device/device.h"
#include "device/op/op_common.h"

extern const sl_device_ops sl_cpu_ops;

/* NULL-terminated; the table of sl_cpu_ops. */
extern const sl_kernel *const sl_cpu_kernels[];

/* Instruction sets, each including those before it on its architecture. */
typedef enum sl_cpu_isa { SL_CPU_PORTABLE, SL_CPU_AVX2, SL_CPU_AVX512, SL_CPU_NEON } sl_cpu_isa;

/* Whether this machine has it, and the environment variable SLEY_CPU (portable, avx2, avx512, neon: the
 * highest allowed) permits it. */
bool sl_cpu_has(sl_cpu_isa isa);

/* The highest that sl_cpu_has, as a word. */
const char *sl_cpu_isa_name(void);

/* Kernels that others here run. */
extern const sl_kernel sl_cpu_rows, sl_cpu_pull;

/* Estimated seconds of any operation but SpMM. */
double sl_cpu_rows_cost(const sl_kernel_args *args);

/* signals.c; tell: the piece's rows are there. */
sley_status sl_cpu_pull_signalled(sl_queue *queue, const sl_pull_args *args);
void sl_cpu_tell_piece(sl_piece_word *word);

#endif
