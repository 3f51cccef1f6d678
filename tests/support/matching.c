/* SPDX-License-Identifier: Apache-2.0 */
#include "matching.h"

#include <stdlib.h>

typedef struct matching {
  const sley_matrix *matrix;
  const int *block;
  int blocks, p, q; /* the pair of blocks at hand */
  int32_t *row_of;  /* for each column and block of rows: the matched row; -1: none */
  int32_t *visited; /* for each column and block of rows: the last search that met it */
  int32_t search;
} matching;

/* Searches an augmenting path from row i (Kuhn 1955). */
static bool augment(matching *m, int64_t i) {
  const sley_matrix *a = m->matrix;
  for (int64_t e = a->rowptr[i]; e < a->rowptr[i + 1]; e++) {
    int64_t j = sl_index_at(a->col, a->index, e), at = j * m->blocks + m->p;
    if (m->block[j] != m->q || m->visited[at] == m->search)
      continue;
    m->visited[at] = m->search;
    if (m->row_of[at] < 0 || augment(m, m->row_of[at])) {
      m->row_of[at] = (int32_t)i;
      return true;
    }
  }
  return false;
}

int64_t matching_edges(const sley_matrix *matrix, const int *block, int blocks, const int *within) {
  size_t places = (size_t)(matrix->cols * blocks);
  matching m = {.matrix = matrix, .block = block, .blocks = blocks};
  m.row_of = malloc((places + 1) * sizeof *m.row_of);
  m.visited = calloc(places + 1, sizeof *m.visited);
  for (size_t i = 0; i < places; i++)
    m.row_of[i] = -1;
  int64_t edges = 0;
  bool *met = calloc((size_t)blocks, sizeof *met);
  for (int64_t i = 0; i < matrix->rows; i++) {
    m.p = block[i];
    for (int64_t e = matrix->rowptr[i]; e < matrix->rowptr[i + 1]; e++)
      met[block[sl_index_at(matrix->col, matrix->index, e)]] = true;
    for (m.q = 0; m.q < blocks; m.q++) {
      if (met[m.q] && m.q != m.p && (!within || within[m.p] == within[m.q])) {
        m.search++;
        edges += augment(&m, i);
      }
      met[m.q] = false;
    }
  }
  free(met);
  free(m.visited);
  free(m.row_of);
  return edges;
}
