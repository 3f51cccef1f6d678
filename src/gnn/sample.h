/* SPDX-License-Identifier: Apache-2.0 */
/* Neighbour sampling: the rows that a batch of rows reaches by entries that are drawn, as a small square
 * matrix, which a network takes as any other.
 *
 * The rows of a batch are the first frontier. In hop h, of each row of the frontier fan_out[h] of its entries
 * are drawn, each set of so many with the same chance, or all where it has no more; the rows that are reached
 * for the first time are the next frontier. So each row's entries are drawn at most once, and rows of the
 * last frontier have none. Source: Hamilton, Ying and Leskovec, NIPS 2017, algorithm 2; that rows which were
 * reached before are not drawn again is PyTorch Geometric's NeighborLoader.
 *
 * What is drawn follows from the seed, the epoch, the batch and the row alone, not from the calls before. */
#ifndef SLEY_GNN_SAMPLE_H
#define SLEY_GNN_SAMPLE_H

#include "sley_gnn.h"

#include "matrix/matrix.h"

/* a: square; it outlives the sampler. options: checked, but for the rows. Errors: SLEY_ERR_ARG (a row that a
 * does not have, or one that is there twice), SLEY_ERR_MEMORY. */
sley_status sl_sampler_create(const sley_matrix *a, const sley_gnn_sampler_options *options,
                              sley_gnn_sampler **out);

/* How many batches an epoch has. */
int64_t sl_sampler_batches(const sley_gnn_sampler *sampler);

/* epoch: 0 or more; batch: from 0 on, one of those there are. *out is valid until the next call. Errors:
 * SLEY_ERR_MEMORY. */
sley_status sl_sampler_draw(sley_gnn_sampler *sampler, int64_t epoch, int64_t batch, sley_gnn_drawn *out);

/* Accepts NULL. */
void sl_sampler_destroy(sley_gnn_sampler *sampler);

#endif
