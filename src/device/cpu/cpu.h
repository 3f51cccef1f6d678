/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU as a device: its table of operations, its kernels and which instruction sets they may use. */
#ifndef SLEY_DEVICE_CPU_CPU_H
#define SLEY_DEVICE_CPU_CPU_H

#include "device/device.h"
#include "device/op/op_common.h"

extern const sl_device_ops sl_cpu_ops;

/* The CPU's kernels, NULL-terminated. */
extern const sl_kernel *const sl_cpu_kernels[];

/* Instruction sets. Each includes the sets before it on its architecture. */
typedef enum sl_cpu_isa { SL_CPU_PORTABLE, SL_CPU_AVX2, SL_CPU_AVX512, SL_CPU_NEON, SL_CPU_ISAS } sl_cpu_isa;

/* Whether the build has made kernels for each instruction set: always portable kernels, other sets by
 * SLEY_CPU_SETS (cmake/InstructionSets.cmake). */
extern const bool sl_cpu_built[SL_CPU_ISAS];

/* Returns whether this machine has the instruction set, the library has kernels for it, and SLEY_CPU permits
 * it. SLEY_CPU is an environment variable: portable, avx2, avx512 or neon, the highest set allowed. */
bool sl_cpu_has(sl_cpu_isa isa);

/* Name of the highest instruction set for which sl_cpu_has returns true. */
const char *sl_cpu_isa_name(void);

/* Kernels that other kernels of this folder call. */
extern const sl_kernel sl_cpu_rows, sl_cpu_pull;

/* In signals.c. sl_cpu_tell_piece marks the rows of a piece as arrived. */
sley_status sl_cpu_pull_signalled(sl_queue *queue, const sl_pull_args *args);
void sl_cpu_tell_piece(sl_piece_word *word);

#endif
