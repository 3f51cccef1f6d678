/* SPDX-License-Identifier: Apache-2.0 */
/* The check of `sley bench ops`: compares the values that a pass wrote, in a sample of rows and columns. */
#ifndef SLEY_CLI_BENCH_OPS_CHECK_H
#define SLEY_CLI_BENCH_OPS_CHECK_H

#include "bench/ops.h"

typedef struct cli_op_finding {
  int64_t checked; /* values of this rank that were compared */
  bool wrong;
  char reason[SLEY_ERROR_BYTES]; /* message that names the wrong value */
} cli_op_finding;

/* Sets the arrays that the pass writes to NaN in host memory, so that a value that is not written is
 * detected. */
void cli_op_poison(const cli_op_case *c, cli_pass pass);

/* Compares the pass's results, which are in host memory, with float64 sums of their definitions: in evenly
 * spaced rows and columns of this rank and in its longest row, except rows and columns that would take too
 * long. Also reports a NaN in any value. Not collective. Errors: SLEY_ERR_MEMORY. */
sley_status cli_op_check(const cli_op_case *c, cli_pass pass, cli_op_finding *out);

#endif
