/* SPDX-License-Identifier: Apache-2.0 */
/* A reduce-scatter in one transfer: every rank sends each peer that peer's part, and adds the received arrays
 * and its own values in the order of the ranks. */
#ifndef SLEY_COLLECTIVE_SCATTER_H
#define SLEY_COLLECTIVE_SCATTER_H

#include "collective/route.h"

/* Lists the arrays of the transfer, after sl_transfer_begin. Adds the bytes of the areas to *send and *recv.
 */
void sl_scatter_list(const sl_sparse_base *base, sl_transfer *scatter, int64_t *send, int64_t *recv);

/* Reduces the ranks' arrays src to dst, this rank's part; *density becomes its expected density. send and
 * recv: areas in device memory. Collective. */
sley_status sl_scatter_run(sl_sparse_base *base, sl_transfer *scatter, char *send, char *recv,
                           const void *src, void *dst, double *density, sl_queue *queue);

#endif
