/* SPDX-License-Identifier: Apache-2.0 */
/* Neighbour sampling: the rows that a batch of rows reaches by randomly drawn entries, as a small square
 * matrix that a network accepts like any other.
 *
 * The rows of a batch are the first frontier. In hop h, fan_out[h] of the entries of each frontier row are
 * drawn, each set of that size with equal probability, or all entries if there are no more. Rows that are
 * reached for the first time form the next frontier. So each row's entries are drawn at most once, and rows
 * of the last frontier have none. Source: Hamilton, Ying and Leskovec, NIPS 2017, algorithm 2; rows reached
 * before are not drawn again, as in PyTorch Geometric's NeighborLoader.
 *
 * The result depends on the seed, the epoch, the batch and the row alone, not on earlier calls. */
#ifndef SLEY_GNN_SAMPLE_H
#define SLEY_GNN_SAMPLE_H

#include "sley_gnn.h"

#include "matrix/matrix.h"

/* Makes a sampler. a: square; must outlive the sampler. options: checked, except for the rows. Errors:
 * SLEY_ERR_ARG (a row that a does not have, or a repeated row), SLEY_ERR_MEMORY. */
sley_status sl_sampler_create(const sley_matrix *a, const sley_gnn_sampler_options *options,
                              sley_gnn_sampler **out);

/* Number of batches in an epoch. */
int64_t sl_sampler_batches(const sley_gnn_sampler *sampler);

/* Draws a batch. epoch: 0 or more; batch: from 0 to the number of batches - 1. *out is valid until the next
 * call. Errors: SLEY_ERR_MEMORY. */
sley_status sl_sampler_draw(sley_gnn_sampler *sampler, int64_t epoch, int64_t batch, sley_gnn_drawn *out);

/* Accepts NULL. */
void sl_sampler_destroy(sley_gnn_sampler *sampler);

#endif
