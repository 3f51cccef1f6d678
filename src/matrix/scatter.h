/* SPDX-License-Identifier: Apache-2.0 */
/* Counting and placing entries by row, stably and in parallel: the entries are divided into chunks in their
 * order, each chunk counts its entries per row, and the counts become each chunk's next position in every
 * row. */
#ifndef SLEY_MATRIX_SCATTER_H
#define SLEY_MATRIX_SCATTER_H

#include "matrix/matrix.h"

typedef struct sl_scatter {
  int chunks;
  int64_t rows;
  int64_t *next; /* chunks x rows: first counts, then positions */
} sl_scatter;

/* Allocates zeroed counts. Uses as many chunks as the team has threads, but fewer if counts would take more
 * memory than the entries. */
sley_status sl_scatter_begin(int64_t rows, int64_t entries, sl_team *team, sl_scatter *out);

/* Turns counts into positions; rowptr (rows + 1 entries) receives the starts of the rows. */
sley_status sl_scatter_place(sl_scatter *scatter, sl_team *team, int64_t *rowptr);

void sl_scatter_end(sl_scatter *scatter);

#endif
