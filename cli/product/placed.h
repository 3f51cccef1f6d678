/* SPDX-License-Identifier: Apache-2.0 */
/* A rank's rows of the operands in the memory of its device, or the operands themselves on the CPU. */
#ifndef SLEY_CLI_PRODUCT_PLACED_H
#define SLEY_CLI_PRODUCT_PLACED_H

#include "product/operands.h"

/* This rank's rows of X and Y, and W. On the CPU these are the operands themselves, on other devices copies.
 */
typedef struct cli_placed {
  const void *x, *w;
  void *y, *host_y;
  int64_t y_first, y_count, y_bytes;
  bool copied;
  /* The next fields are for products in blocks of columns; blocks is 1 if all columns fit. */
  int64_t blocks, width, x_count;
  const void *host_x;
  void *packed; /* contiguous rows of one block, in host memory */
} cli_placed;

/* Copies the rank's operands to its device for a plan. The caller calls cli_unplace, also after an error. */
sley_status cli_place(sley_comm *comm, const cli_job *job, const cli_operands *operands, bool transpose,
                      const sley_plan_info *info, cli_placed *out);
void cli_unplace(sley_comm *comm, cli_placed *placed);

/* Sets Y to its values before the run. */
sley_status cli_placed_reset(sley_comm *comm, const cli_operands *operands, const cli_placed *placed);

#endif
