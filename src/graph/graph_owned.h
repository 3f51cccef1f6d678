/* SPDX-License-Identifier: Apache-2.0 */
/* For graphs whose gradients have the same bits for every number of ranks: the entries of the columns that
 * this rank owns, from all ranks, in the order of their rows. A column is then summed by its owner alone, as
 * one rank would. */
#ifndef SLEY_GRAPH_GRAPH_OWNED_H
#define SLEY_GRAPH_GRAPH_OWNED_H

#include "device/pattern.h"
#include "matrix/matrix.h"
#include "plan/halo.h"

/* Of one relation. Values of entries travel from the owners of their rows, in lists of entries: entry
 * send[...] of the block becomes entry recv[...] of the pattern. */
typedef struct sl_owned {
  int64_t entries;
  sl_pattern pattern; /* rows: own columns; columns: own rows, then those of the halo of rows; of_row NULL */
  void *per_row[2];   /* as sl_relation's, of the pattern's columns */
  int64_t *send, *recv;
  int64_t *send_begin, *recv_begin; /* of each peer: size + 1 */
} sl_owned;

/* The entries of own columns of all relations, and the halo of the rows that they are of, which all share.
 * out: relations. Collective, agreed. Errors: SLEY_ERR_MEMORY, SLEY_ERR_OVERFLOW. */
sley_status sl_owned_make(sl_comm *comm, const sley_matrix *const *blocks, const int64_t *row_begin,
                          const int64_t *col_begin, int relations, sl_owned *out, sl_halo **halo);

/* Accepts one that is zeroed. */
void sl_owned_free(sl_comm *comm, sl_owned *owned);

#endif
