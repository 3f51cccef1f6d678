/* SPDX-License-Identifier: Apache-2.0 */
/* The loss of a network: the mean negative log-likelihood over all ranks' rows that have a label, and its
 * gradient with respect to the logits. */
#ifndef SLEY_GNN_LOSS_H
#define SLEY_GNN_LOSS_H

#include "gnn/row_blocks.h"

typedef struct sl_loss {
  const sl_dense_work *work;
  sl_row_blocks *blocks;
  int64_t rows; /* rows of this rank */
  /* values: number of elements of `sums`. First the loss of this rank's rows and the number of rows counted;
   * then, if sums must have the same bits for every number of ranks, the loss of each block of all ranks. */
  int64_t values;
  double *sums, *all; /* sums of this rank, and of all ranks; in device memory */
  double *row;        /* loss of each row; NULL if sums are not divided into such blocks */
  sl_dense *add;
} sl_loss;

/* Opens the loss. work and blocks must outlive it. Must precede sl_row_blocks_prepare. Collective, agreed. */
sley_status sl_loss_open(const sl_dense_work *work, sl_row_blocks *blocks, int64_t rows, sl_loss *out);

/* Sets *mean to the mean loss of the rows of all ranks whose label is not -1, and *counted to their number.
 * label: in device memory. Collective; waits. */
sley_status sl_loss_mean(const sl_loss *loss, sl_rows logits, const int32_t *label, double *mean,
                         int64_t *counted);

/* Sets `to` to the gradient of the mean loss of `counted` rows. Not collective. */
sley_status sl_loss_gradient(const sl_loss *loss, sl_rows logits, const int32_t *label, int64_t counted,
                             sl_rows to);

/* Frees the memory. Accepts a zeroed struct. */
void sl_loss_close(sl_loss *loss);

#endif
