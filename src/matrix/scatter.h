/* SPDX-License-Identifier: Apache-2.0 */
/* Counting and placing entries by row, stably and in parallel: the entries are cut into chunks in their
 * order, each chunk counts its entries per row, and the counts become each chunk's next place in every row.
 */
#ifndef SLEY_MATRIX_SCATTER_H
#define SLEY_MATRIX_SCATTER_H

#include "matrix/matrix.h"

typedef struct sl_scatter {
  int chunks;
  int64_t rows;
  int64_t *next; /* chunks x rows: first counts, then places */
} sl_scatter;

/* Zero counts. Uses as many chunks as the team has threads, but fewer when counts would outweigh the entries.
 */
sley_status sl_scatter_begin(int64_t rows, int64_t entries, sl_team *team, sl_scatter *out);

/* Turns counts into places; rowptr (rows + 1) receives the rows' starts. */
sley_status sl_scatter_place(sl_scatter *scatter, sl_team *team, int64_t *rowptr);

void sl_scatter_end(sl_scatter *scatter);

#endif
