/* SPDX-License-Identifier: Apache-2.0 */
#include "algo/cover_blocks.h"

#include <string.h>

#include "matrix/cover.h"
#include "base/memory.h"

static void forget_rows(sl_cover_blocks *b) {
  for (int64_t i = 0; i < (int64_t)b->threads * b->count; i++)
    b->cursor[i].last_row = -1;
}

sley_status sl_cover_blocks_begin(int count, int threads, const int64_t *first_col, sl_cover_blocks *out) {
  *out = (sl_cover_blocks){.count = count, .threads = threads, .first_col = first_col};
  SL_TRY(SL_NEW_ZERO(out->cursor, (int64_t)threads * count, "remote blocks"));
  SL_TRY(SL_NEW(out->first_row, count + 1, "remote blocks"));
  forget_rows(out);
  return SLEY_OK;
}

void sl_cover_blocks_free(sl_cover_blocks *blocks) {
  sl_free(blocks->col);
  sl_free(blocks->rowptr);
  sl_free(blocks->first_row);
  sl_free(blocks->cursor);
  *blocks = (sl_cover_blocks){0};
}

sley_status sl_cover_blocks_place(sl_cover_blocks *b) {
  int64_t edges = 0, rows = 0;
  for (int block = 0; block < b->count; block++) {
    b->first_row[block] = rows;
    for (int t = 0; t < b->threads; t++) {
      sl_block_cursor *cursor = &sl_block_cursors(b, t)[block], counted = *cursor;
      *cursor = (sl_block_cursor){.edges = edges, .rows = rows};
      edges += counted.edges;
      rows += counted.rows;
    }
    if (b->first_col[block + 1] - b->first_col[block] > INT32_MAX)
      return sl_fail(SLEY_ERR_OVERFLOW, "a remote block has more than 2^31 columns: use more ranks");
  }
  b->first_row[b->count] = rows;
  forget_rows(b);
  SL_TRY(SL_NEW(b->col, edges, "remote blocks"));
  SL_TRY(SL_NEW(b->rowptr, rows + 1, "remote blocks"));
  b->rowptr[rows] = edges;
  return SLEY_OK;
}

typedef struct solving {
  const sl_cover_blocks *blocks;
  int64_t row_weight;
  const bool *decides;
  uint8_t *use;
  int64_t *size; /* weight of each block's cover */
} solving;

/* Repeats each row of the graph `weight` times. The caller frees the arrays, also on error. */
static sley_status repeat_rows(const sl_bipartite *graph, int64_t weight, int64_t **rowptr, int32_t **col,
                               sl_bipartite *out) {
  const int64_t *from = graph->rowptr;
  int64_t edges = from[graph->rows] - from[0], rows = 0, at = 0;
  SL_TRY(SL_NEW(*rowptr, weight * graph->rows + 1, "a remote block"));
  SL_TRY(SL_NEW(*col, weight * edges, "a remote block"));
  for (int64_t i = 0; i < graph->rows; i++)
    for (int64_t w = 0; w < weight; w++) {
      int64_t count = from[i + 1] - from[i];
      (*rowptr)[rows++] = at;
      memcpy(*col + at, graph->adjacency + from[i], (size_t)count * sizeof **col);
      at += count;
    }
  (*rowptr)[rows] = at;
  *out = (sl_bipartite){(int32_t)rows, graph->cols, *rowptr, *col};
  return SLEY_OK;
}

static sley_status solve_one(solving *s, int block) {
  const sl_cover_blocks *b = s->blocks;
  int64_t first = b->first_row[block], rows = b->first_row[block + 1] - first,
          cols = b->first_col[block + 1] - b->first_col[block];
  s->size[block] = 0;
  if (rows == 0) /* with many ranks most blocks are empty */
    return SLEY_OK;
  if (rows > INT32_MAX / s->row_weight)
    return sl_fail(SLEY_ERR_OVERFLOW, "a remote block has more than 2^31 rows: use more ranks");
  int64_t *rowptr = NULL;
  int32_t *col = NULL;
  sl_cover cover = {0};
  sl_bipartite graph = {(int32_t)rows, (int32_t)cols, b->rowptr + first, b->col};
  sley_status status = SLEY_OK;
  if (s->row_weight > 1)
    status = repeat_rows(&graph, s->row_weight, &rowptr, &col, &graph);
  if (status == SLEY_OK)
    status = sl_min_vertex_cover(&graph, &cover);
  if (status == SLEY_OK) {
    s->size[block] = cover.size;
    if (!s->decides || s->decides[block])
      memcpy(s->use + b->first_col[block], cover.col_in, (size_t)cols);
  }
  sl_cover_free(&cover);
  sl_free(col);
  sl_free(rowptr);
  return status;
}

static sley_status solve_some(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  for (int64_t i = begin; i < end; i++)
    SL_TRY(solve_one(context, (int)i));
  return SLEY_OK;
}

sley_status sl_cover_blocks_solve(const sl_cover_blocks *blocks, int64_t row_weight, sl_team *team,
                                  const bool *decides, uint8_t *use, int64_t *size) {
  solving s = {.blocks = blocks, .row_weight = row_weight, .decides = decides, .use = use, .size = size};
  return sl_team_for(team, blocks->count, 1, solve_some, &s);
}
