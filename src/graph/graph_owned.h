/* SPDX-License-Identifier: Apache-2.0 */
/* For graphs whose gradients have the same bits for every number of ranks: the entries of the columns that
 * this rank owns, from all ranks, in the order of their rows. The owner of a column then sums it alone, as a
 * single rank would. */
#ifndef SLEY_GRAPH_GRAPH_OWNED_H
#define SLEY_GRAPH_GRAPH_OWNED_H

#include "device/pattern.h"
#include "matrix/matrix.h"
#include "plan/halo.h"

/* One relation. Values of entries are sent by the owners of their rows, in lists of entries: entry send[...]
 * of the block becomes entry recv[...] of the pattern. */
typedef struct sl_owned {
  int64_t entries;
  sl_pattern pattern; /* its rows are own columns; its columns are own rows, then the rows of row_halo; of_row
                         is NULL */
  void *per_row[2];   /* as in sl_relation, for the pattern's columns */
  int64_t *send, *recv;
  int64_t *send_begin, *recv_begin; /* start of each peer's entries; size + 1 elements */
} sl_owned;

/* Finds the entries of own columns for all relations, and the common halo of the rows to which they belong.
 * out: one per relation. Collective, agreed. Errors: SLEY_ERR_MEMORY, SLEY_ERR_OVERFLOW. */
sley_status sl_owned_make(sl_comm *comm, const sley_matrix *const *blocks, const int64_t *row_begin,
                          const int64_t *col_begin, int relations, sl_owned *out, sl_halo **halo);

/* Frees the memory. Accepts a zeroed struct. */
void sl_owned_free(sl_comm *comm, sl_owned *owned);

#endif
