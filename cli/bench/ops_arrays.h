/* SPDX-License-Identifier: Apache-2.0 */
/* The arrays of an operation that `sley bench ops` measures, on one rank. */
#ifndef SLEY_CLI_BENCH_OPS_ARRAYS_H
#define SLEY_CLI_BENCH_OPS_ARRAYS_H

#include "bench/ops.h"

/* Returns true if the ranks run on the CPU, so that host and device memory are the same. */
bool cli_op_on_host(const cli_op_case *c);

/* Creates the arrays of a case whose operation has been created. Arrays that no pass writes get random
 * values. The caller calls cli_op_case_close, also after an error. Errors: SLEY_ERR_MEMORY. */
sley_status cli_op_case_open(cli_op_case *c);

/* Frees the arrays and the operation, also if the operation was not created. Collective. */
void cli_op_case_close(cli_op_case *c);

/* Copies the arrays that the pass writes from device to host (back) or from host to device. */
sley_status cli_op_copy_written(const cli_op_case *c, cli_pass pass, bool back);

#endif
