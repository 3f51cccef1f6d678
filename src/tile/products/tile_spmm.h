/* SPDX-License-Identifier: Apache-2.0 */
/* Y = alpha A X + beta Y for matrices in tiles. Without a schedule there is one-sided access only, and ranks
 * wait for each other only at the end and, if products are pushed, for a free buffer. */
#ifndef SLEY_TILE_PRODUCTS_TILE_SPMM_H
#define SLEY_TILE_PRODUCTS_TILE_SPMM_H

#include "tile/products/claims.h"
#include "tile/products/sums.h"
#include "tile/products/task_loop.h"

typedef struct sley_tile_spmm sl_tile_spmm;
struct sley_tile_spmm {
  sl_comm *comm;
  sl_tile_operands operands;
  sl_task_loop loop;
  sl_tile_sums *sums;
  sl_claims *claims;       /* claims of tasks; NULL: no tasks are stolen */
  sley_tile_report report; /* report of the last run; the predicted figures are set from the start */
  double alpha;            /* alpha of the current run */
  int64_t version;         /* version of A when the product was prepared */
  bool failed;             /* a run has failed, and may have left entries in the queue */
};

/* Allocates all memory. The operands must fit together and outlive it. buffers: at least 1. Errors:
 * SLEY_ERR_MEMORY, SLEY_ERR_OVERFLOW. Collective, agreed. */
sley_status sl_tile_spmm_create(const sl_tile_operands *operands, int buffers, sl_tile_spmm **out);

/* Computes one product. An error ends the comm if it has several ranks. Errors: SLEY_ERR_PEER,
 * SLEY_ERR_INTERNAL (an invalid entry of the queue), SLEY_ERR_INTERRUPTED. Collective. */
sley_status sl_tile_spmm_run(sl_tile_spmm *product, double alpha, double beta);

void sl_tile_spmm_destroy(sl_tile_spmm *product); /* Accepts NULL. Collective. */

#endif
