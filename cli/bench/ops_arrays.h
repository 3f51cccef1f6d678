/* SPDX-License-Identifier: Apache-2.0 */
/* The arrays of an operation that `sley bench ops` measures, on one rank. */
#ifndef SLEY_CLI_BENCH_OPS_ARRAYS_H
#define SLEY_CLI_BENCH_OPS_ARRAYS_H

#include "bench/ops.h"

/* Whether the device's memory is the host's. */
bool cli_op_on_host(const cli_op_case *c);

/* Makes the arrays of a case whose operation is created; those that no pass writes have random values. Ended
 * by cli_op_case_close, also after an error. Errors: SLEY_ERR_MEMORY. */
sley_status cli_op_case_open(cli_op_case *c);

/* Frees the arrays and the operation, which may be missing. Collective. */
void cli_op_case_close(cli_op_case *c);

/* Copies what the pass writes to the host's memory (back), or from there. */
sley_status cli_op_copy_written(const cli_op_case *c, cli_pass pass, bool back);

#endif
