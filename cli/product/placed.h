/* SPDX-License-Identifier: Apache-2.0 */
/* A rank's share of the operands, where its device has them. */
#ifndef SLEY_CLI_PRODUCT_PLACED_H
#define SLEY_CLI_PRODUCT_PLACED_H

#include "product/operands.h"

/* This rank's rows of X and Y, and W: on the CPU the operands themselves, else their copies on the device. */
typedef struct cli_placed {
  const void *x, *w;
  void *y, *host_y;
  int64_t y_first, y_count, y_bytes;
  bool copied;
  /* One block of columns at a time; else 1 block. */
  int64_t blocks, width, x_count;
  const void *host_x;
  void *packed; /* a block's rows, without gaps, in the host's memory */
} cli_placed;

/* Places the rank's rows for a plan; ended by cli_unplace, also on error. */
sley_status cli_place(sley_comm *comm, const cli_job *job, const cli_operands *operands, bool transpose,
                      const sley_plan_info *info, cli_placed *out);
void cli_unplace(sley_comm *comm, cli_placed *placed);

/* Y as it is before a run. */
sley_status cli_placed_reset(sley_comm *comm, const cli_operands *operands, const cli_placed *placed);

#endif
