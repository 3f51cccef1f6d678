/* SPDX-License-Identifier: Apache-2.0 */
/* Remote blocks as bipartite graphs, rows of Y against rows of X, and their covers of least weight.
 *
 * All blocks together keep 4 bytes an edge and 8 a row. They are filled in two passes over the same edges by
 * the same threads: each counts (sl_block_count), then, after sl_cover_blocks_place, stores (sl_block_store).
 * The edges of a block come by row: a thread's rows before those of the next thread. */
#ifndef SLEY_ALGO_COVER_BLOCKS_H
#define SLEY_ALGO_COVER_BLOCKS_H

#include "base/team.h"

/* Of a thread and block: what it has counted, then where its next edge and row go. */
typedef struct sl_block_cursor {
  int64_t edges, rows;
  int64_t last_row;
} sl_block_cursor;

typedef struct sl_cover_blocks {
  int count, threads;
  const int64_t *first_col; /* count + 1 of the columns, which are numbered through all blocks */
  int64_t *first_row;       /* count + 1 */
  int64_t *rowptr;          /* of the rows of all blocks; and one more */
  int32_t *col;             /* of each edge, within its block */
  sl_block_cursor *cursor;  /* thread t's of block b: [t count + b] */
} sl_cover_blocks;

/* first_col stays the caller's, and every column of a block must have an edge. Ended by sl_cover_blocks_free,
 * also on error. Errors: SLEY_ERR_MEMORY. */
sley_status sl_cover_blocks_begin(int count, int threads, const int64_t *first_col, sl_cover_blocks *out);
void sl_cover_blocks_free(sl_cover_blocks *blocks);

static inline sl_block_cursor *sl_block_cursors(const sl_cover_blocks *blocks, int thread) {
  return blocks->cursor + (int64_t)thread * blocks->count;
}

static inline void sl_block_count(sl_block_cursor *cursor, int64_t row) {
  cursor->edges++;
  cursor->rows += cursor->last_row != row;
  cursor->last_row = row;
}

/* Between the passes. Errors: SLEY_ERR_MEMORY, SLEY_ERR_OVERFLOW. */
sley_status sl_cover_blocks_place(sl_cover_blocks *blocks);

/* col: through all blocks. */
static inline void sl_block_store(const sl_cover_blocks *blocks, sl_block_cursor *cursor, int block,
                                  int64_t row, int64_t col) {
  if (cursor->last_row != row)
    blocks->rowptr[cursor->rows++] = cursor->edges;
  cursor->last_row = row;
  blocks->col[cursor->edges++] = (int32_t)(col - blocks->first_col[block]);
}

/* Covers all blocks. A partial row of Y weighs as many rows of X as it has times their bytes (row_weight): it
 * is so many vertices with the same columns. A cover of fewest vertices has all of them or none, since it
 * depends on the graph alone, in which they can change places. use[col] becomes 1 for the columns in the
 * cover and 0 for the others, in blocks b with decides[b] (NULL: all). *size: the weight of all covers. */
sley_status sl_cover_blocks_solve(const sl_cover_blocks *blocks, int64_t row_weight, sl_team *team,
                                  const bool *decides, uint8_t *use, int64_t *size);

/* A lower bound of what sl_cover_blocks_solve would give, in a few passes over the edges, which end where it
 * is `enough`. Source: no cover weighs less than a matching has edges (Konig's theorem). */
sley_status sl_cover_blocks_bound(const sl_cover_blocks *blocks, int64_t row_weight, int64_t enough,
                                  sl_team *team, int64_t *least);

#endif
