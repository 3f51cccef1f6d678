/* SPDX-License-Identifier: Apache-2.0 */
/* Minimum vertex covers of bipartite graphs. Source: Hopcroft and Karp 1973; Konig's theorem. */
#ifndef SLEY_MATRIX_COVER_H
#define SLEY_MATRIX_COVER_H

#include "base/status.h"

/* Rows 0 .. rows-1 and columns 0 .. cols-1. The neighbours of row i are adjacency[rowptr[i]] ..
 * adjacency[rowptr[i+1] - 1]. */
typedef struct sl_bipartite {
  int32_t rows, cols;
  const int64_t *rowptr;
  const int32_t *adjacency;
} sl_bipartite;

typedef struct sl_cover {
  int64_t size;       /* rows and columns in the cover; as many as a maximum matching has edges */
  uint8_t *row_in;    /* rows flags */
  uint8_t *col_in;    /* cols flags */
  int32_t *row_match; /* matched column of each row, -1: none; it proves that the cover is minimum */
} sl_cover;

/* Finds a minimum set of rows and columns that touches every edge. If there are several such sets, the same
 * one is found each time. Freed by sl_cover_free. Errors: SLEY_ERR_MEMORY. */
sley_status sl_min_vertex_cover(const sl_bipartite *graph, sl_cover *out);
void sl_cover_free(sl_cover *cover);

#endif
