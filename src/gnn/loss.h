/* SPDX-License-Identifier: Apache-2.0 */
/* The loss of a network: the mean negative log-likelihood of all ranks' rows that have a label, and its
 * gradient with respect to the logits. */
#ifndef SLEY_GNN_LOSS_H
#define SLEY_GNN_LOSS_H

#include "gnn/row_blocks.h"

typedef struct sl_loss {
  const sl_dense_work *work;
  sl_row_blocks *blocks;
  int64_t rows;   /* this rank's */
  int64_t values; /* of `sums`: the loss of this rank's rows and how many are counted; then, of blocks whose
                   * sums have the same bits for every number of ranks, the loss of each block of all ranks */
  double *sums, *all; /* of this rank, and of all ranks: in the device's memory */
  double *row;        /* of each row; NULL: without such blocks */
  sl_dense *add;
} sl_loss;

/* work and blocks outlive it; comes before sl_row_blocks_prepare. Collective, agreed. */
sley_status sl_loss_open(const sl_dense_work *work, sl_row_blocks *blocks, int64_t rows, sl_loss *out);

/* *mean of *counted rows, which are those whose label is not -1, over all ranks. label: in the device's
 * memory. Collective; waits. */
sley_status sl_loss_mean(const sl_loss *loss, sl_rows logits, const int32_t *label, double *mean,
                         int64_t *counted);

/* to = the gradient of the mean of so many rows. Not collective. */
sley_status sl_loss_gradient(const sl_loss *loss, sl_rows logits, const int32_t *label, int64_t counted,
                             sl_rows to);

/* Accepts one that is zeroed. Collective. */
void sl_loss_close(sl_loss *loss);

#endif
