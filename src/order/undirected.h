/* SPDX-License-Identifier: Apache-2.0 */
/* A square matrix's pattern as an undirected graph. */
#ifndef SLEY_ORDER_UNDIRECTED_H
#define SLEY_ORDER_UNDIRECTED_H

#include "matrix/matrix.h"

/* The graph: vertex v is adjacent to neighbour[begin[v] .. begin[v + 1]); loops are kept, and so are repeats
 * if the pattern was already symmetric. begin[0] need not be 0. */
typedef struct sl_undirected {
  int32_t count;
  const int64_t *begin;
  const int32_t *neighbour;
  int64_t *own_begin; /* memory of the arrays above, if they do not belong to the matrix */
  int32_t *own_neighbour;
} sl_undirected;

/* Errors: SLEY_ERR_UNSUPPORTED (more than 2^31 - 1 rows). */
sley_status sl_order_numbers_fit(const sley_matrix *matrix);

/* Makes the graph of A if its pattern is symmetric, else of A + A^T. Symmetry is tested by a 64-bit sum of
 * hashes, in one pass over A; a wrong result (one in 2^64) only costs quality. Borrows A's arrays if
 * possible: matrix must outlive it. Freed by sl_undirected_free. Errors: SLEY_ERR_UNSUPPORTED (more than 2^31
 * - 1 rows), SLEY_ERR_MEMORY. */
sley_status sl_undirected_create(const sley_matrix *matrix, sl_team *team, sl_undirected *out);
void sl_undirected_free(sl_undirected *graph);

/* Fills order with the vertices by ascending degree; vertices of equal degree are in the order of their
   numbers. Errors: SLEY_ERR_MEMORY. */
sley_status sl_undirected_by_degree(const sl_undirected *graph, int32_t *order);

#endif
