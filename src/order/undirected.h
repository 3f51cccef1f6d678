/* SPDX-License-Identifier: Apache-2.0 */
/* A square matrix's pattern as an undirected graph. */
#ifndef SLEY_ORDER_UNDIRECTED_H
#define SLEY_ORDER_UNDIRECTED_H

#include "matrix/matrix.h"

/* Vertex v is joined to neighbour[begin[v] .. begin[v + 1]); loops stay, and so do the repeats of a pattern
 * that was symmetric already. begin[0] need not be 0. */
typedef struct sl_undirected {
  int32_t count;
  const int64_t *begin;
  const int32_t *neighbour;
  int64_t *own_begin; /* the arrays above, if they are not the matrix's */
  int32_t *own_neighbour;
} sl_undirected;

/* The graph of A if its pattern is symmetric, of A + A^T if not. Symmetry is told by a 64-bit sum of hashes,
 * one pass over A; a wrong answer (one in 2^64) costs quality, nothing else. Borrows A's arrays where it can:
 * matrix must outlive it. Freed by sl_undirected_free. Errors: SLEY_ERR_UNSUPPORTED (more than 2^31 - 1
 * rows), SLEY_ERR_MEMORY. */
sley_status sl_undirected_create(const sley_matrix *matrix, sl_team *team, sl_undirected *out);
void sl_undirected_free(sl_undirected *graph);

/* order: the vertices by ascending degree, equal ones by number. Errors: SLEY_ERR_MEMORY. */
sley_status sl_undirected_by_degree(const sl_undirected *graph, int32_t *order);

#endif
