/* SPDX-License-Identifier: Apache-2.0 */
/* The check of `sley bench ops`: the values that a pass has written, in rows that stand for all. */
#ifndef SLEY_CLI_BENCH_OPS_CHECK_H
#define SLEY_CLI_BENCH_OPS_CHECK_H

#include "bench/ops.h"

typedef struct cli_op_finding {
  int64_t checked; /* values of this rank that were compared */
  bool wrong;
  char reason[SLEY_ERROR_BYTES]; /* which value */
} cli_op_finding;

/* Sets what the pass writes to NaN in the host's memory, so that a value that is left out shows. */
void cli_op_poison(const cli_op_case *c, cli_pass pass);

/* Compares results of the pass, which are in the host's memory, with float64 sums of their definitions: of
 * this rank's rows and columns evenly spaced ones and the longest row, but none that takes too long. No value
 * may be NaN. Not collective. Errors: SLEY_ERR_MEMORY. */
sley_status cli_op_check(const cli_op_case *c, cli_pass pass, cli_op_finding *out);

#endif
