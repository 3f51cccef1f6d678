/* SPDX-License-Identifier: Apache-2.0 */
/* Remote blocks as bipartite graphs of rows of Y and rows of X, and their covers of minimum weight.
 *
 * All blocks together need 4 bytes per edge and 8 per row. They are filled in two passes over the same edges
 * by the same threads: each thread counts (sl_block_count), then, after sl_cover_blocks_place, stores
 * (sl_block_store). The edges of a block are in order of rows, and the rows of a thread come before the rows
 * of the next thread. */
#ifndef SLEY_ALGO_COVER_BLOCKS_H
#define SLEY_ALGO_COVER_BLOCKS_H

#include "base/team.h"
#include "plan/inspect.h"

/* State of a thread in a block: its counts; after sl_cover_blocks_place, the positions of its next edge and
 * row. */
typedef struct sl_block_cursor {
  int64_t edges, rows;
  int64_t last_row;
} sl_block_cursor;

typedef struct sl_cover_blocks {
  int count, threads;
  const int64_t *first_col; /* first column of each block, and the end; numbered over all blocks */
  int64_t *first_row;       /* first row of each block, and the end */
  int64_t *rowptr;          /* row pointers over the rows of all blocks */
  int32_t *col;             /* column of each edge, counted within its block */
  sl_block_cursor *cursor;  /* thread t's cursor of block b is at [t count + b] */
} sl_cover_blocks;

/* Starts the first pass. first_col belongs to the caller. Every column of a block must have an edge. Freed by
 * sl_cover_blocks_free, also on error. Errors: SLEY_ERR_MEMORY. */
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

/* Called between the two passes. Errors: SLEY_ERR_MEMORY, SLEY_ERR_OVERFLOW. */
sley_status sl_cover_blocks_place(sl_cover_blocks *blocks);

/* Stores an edge. col is numbered over all blocks. */
static inline void sl_block_store(const sl_cover_blocks *blocks, sl_block_cursor *cursor, int block,
                                  int64_t row, int64_t col) {
  if (cursor->last_row != row)
    blocks->rowptr[cursor->rows++] = cursor->edges;
  cursor->last_row = row;
  blocks->col[cursor->edges++] = (int32_t)(col - blocks->first_col[block]);
}

/* Covers all blocks. A partial row of Y weighs row_weight rows of X, its bytes divided by the bytes of a row
 * of X. It is therefore repeated as row_weight vertices with the same columns. A minimum cover contains all
 * of these vertices or none, because the cover depends only on the graph, in which they are interchangeable.
 * use[col] becomes 1 for columns in the cover and 0 for the others, in blocks b with decides[b] (NULL: in
 * all). size[b]: weight of the cover of block b. */
sley_status sl_cover_blocks_solve(const sl_cover_blocks *blocks, int64_t row_weight, sl_team *team,
                                  const bool *decides, uint8_t *use, int64_t *size);

/* Sets *least to a lower bound of the weight that sl_cover_blocks_solve computes. It takes a few passes over
 * the edges and stops when the bound reaches `enough`. Source: no cover weighs less than a matching has edges
 * (Konig's theorem). */
sley_status sl_cover_blocks_bound(const sl_cover_blocks *blocks, int64_t row_weight, int64_t enough,
                                  sl_team *team, int64_t *least);

/* Sets *least to a lower bound of the weight of the covers between this rank and every other, as
 * sl_cover_blocks_bound does, but before the blocks are made: it reads a few entries of each row, and stops
 * when the bound reaches `enough`. Errors: SLEY_ERR_MEMORY, SLEY_ERR_INTERRUPTED. */
sley_status sl_cover_quick_bound(const sl_inspection *ins, int64_t enough, int64_t *least);

#endif
