/* SPDX-License-Identifier: Apache-2.0 */
/* Edges to CSR in two passes over their source. In the first pass rowptr[i] is row i's count. Then it is the
 * row's end, and the second pass fills rows from the end, so that rowptr[i] becomes the row's start. Threads
 * change it atomically. Positions depend on timing, but sorted columns do not. */
#include "generate/edges.h"

#include <stdatomic.h>

#include "base/interrupt.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/value.h"

enum { ROWS_AT_ONCE = 4096 };

typedef struct sl_edge_building {
  const sl_edge_source *source;
  /* Processes the edges of a sink: loops are removed, no edge is mirrored yet. */
  void (*take)(struct sl_edge_building *self, const int64_t *row, const int64_t *col, int64_t count);
  sley_index index;
  sley_dtype dtype;
  int64_t first; /* first item */
  sl_csr_arrays arrays;
  sl_coo list;
} building;

/* Adds to a counter; returns the new value. */
static int64_t add(int64_t *counter, int64_t more) {
  return atomic_fetch_add_explicit((_Atomic int64_t *)counter, more, memory_order_relaxed) + more;
}

static void count_edges(building *self, const int64_t *row, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    __builtin_prefetch(&self->arrays.rowptr[row[i]], 1);
  for (int64_t i = 0; i < count; i++)
    add(&self->arrays.rowptr[row[i]], 1);
}

/* Claims all positions before it writes, so that cache misses overlap. */
static void place_edges(building *self, const int64_t *row, const int64_t *col, int64_t count) {
  int64_t place[SL_SINK_EDGES];
  for (int64_t i = 0; i < count; i++)
    __builtin_prefetch(&self->arrays.rowptr[row[i]], 1);
  size_t bytes = sl_index_bytes(self->index);
  for (int64_t i = 0; i < count; i++) {
    place[i] = add(&self->arrays.rowptr[row[i]], -1);
    __builtin_prefetch((char *)self->arrays.col + (size_t)place[i] * bytes, 1);
  }
  for (int64_t i = 0; i < count; i++)
    sl_index_set(self->arrays.col, self->index, place[i], col[i]);
}

static void take_counts(building *self, const int64_t *row, const int64_t *col, int64_t count) {
  count_edges(self, row, count);
  if (self->source->mirror)
    count_edges(self, col, count);
}

static void take_places(building *self, const int64_t *row, const int64_t *col, int64_t count) {
  place_edges(self, row, col, count);
  if (self->source->mirror)
    place_edges(self, col, row, count);
}

static void take_number(building *self, const int64_t *row, const int64_t *col, int64_t count) {
  (void)row;
  (void)col;
  __atomic_fetch_add(&self->list.count, count, __ATOMIC_RELAXED);
}

static void take_list(building *self, const int64_t *row, const int64_t *col, int64_t count) {
  int64_t at = __atomic_fetch_add(&self->list.count, count, __ATOMIC_RELAXED);
  for (int64_t i = 0; i < count; i++) {
    sl_index_set(self->list.row, self->list.index, at + i, row[i]);
    sl_index_set(self->list.col, self->list.index, at + i, col[i]);
  }
}

void sl_edge_sink_flush(sl_edge_sink *sink) {
  building *self = sink->building;
  int64_t count = sink->count;
  if (self->source->drop_loops) {
    int64_t kept = 0;
    for (int64_t i = 0; i < count; i++) {
      sink->row[kept] = sink->row[i];
      sink->col[kept] = sink->col[i];
      kept += sink->row[i] != sink->col[i];
    }
    count = kept;
  }
  sink->count = 0;
  self->take(self, sink->row, sink->col, count);
}

static sley_status draw(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  building *self = context;
  sl_edge_sink sink;
  sink.count = 0;
  sink.building = self;
  self->source->emit(self->source->context, self->first + begin, self->first + end, &sink);
  sl_edge_sink_flush(&sink);
  return sl_interrupted();
}

typedef struct filling {
  const sley_matrix *matrix;
  int64_t first_row;
  uint64_t seed;
} filling;

static sley_status fill_values(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  const filling *self = context;
  const sley_matrix *a = self->matrix;
  for (int64_t i = begin; i < end; i++)
    for (int64_t e = a->rowptr[i]; e < a->rowptr[i + 1]; e++) {
      int64_t row = self->first_row + i, col = sl_index_at(a->col, a->index, e);
      uint64_t low = (uint64_t)(row < col ? row : col), high = (uint64_t)(row < col ? col : row);
      sl_value_set((void *)a->val, a->dtype, e, 1.0 - sl_unit(sl_random(self->seed, low, high)));
    }
  return sl_interrupted();
}

sley_status sl_edge_values(const sl_edge_source *source, int64_t first_row, sl_team *team,
                           sley_matrix *matrix) {
  filling job = {matrix, first_row, sl_mix(source->seed ^ UINT64_C(0x76616c756573))};
  return sl_team_for(team, matrix->rows, ROWS_AT_ONCE, fill_values, &job);
}

sley_status sl_edge_list(const sl_edge_source *source, int64_t first, int64_t count, sley_dtype dtype,
                         sl_team *team, sl_coo *out) {
  int64_t larger = source->rows > source->cols ? source->rows : source->cols;
  building self = {
      .source = source,
      .first = first,
      .take = take_number,
      .list = {.rows = source->rows, .cols = source->cols, .dtype = dtype, .index = sl_index_for(larger)}};
  sl_coo *list = &self.list;
  *out = (sl_coo){0};
  sley_status status;
  size_t bytes = sl_index_bytes(list->index);
  /* Allocates about the expected size as a test, because sizes beyond the memory must fail before time is
   * spent on them. */
  double share = source->items > 0 ? (double)count / (double)source->items : 0;
  void *trial = sl_alloc((int64_t)(share * (double)source->edges), 2 * bytes, "edges");
  if (!trial)
    return SLEY_ERR_MEMORY;
  sl_free(trial);
  SL_TRY(sl_team_for(team, count, source->grain, draw, &self));
  list->row = sl_alloc(list->count, bytes, "rows of edges");
  list->col = list->row ? sl_alloc(list->count, bytes, "columns of edges") : NULL;
  status = list->col ? SLEY_OK : SLEY_ERR_MEMORY;
  if (status == SLEY_OK) {
    self.take = take_list;
    list->count = 0;
    status = sl_team_for(team, count, source->grain, draw, &self);
  }
  if (status == SLEY_OK)
    *out = *list;
  else
    sl_coo_free(list);
  return status;
}

sley_status sl_csr_of_edges(const sl_edge_source *source, sley_dtype dtype, sl_team *team,
                            sley_matrix **out) {
  *out = NULL;
  building self = {
      .source = source, .take = take_counts, .index = sl_index_for(source->cols), .dtype = dtype};
  sl_csr_arrays *arrays = &self.arrays;
  int64_t most, rows = source->rows;
  if (rows == INT64_MAX || __builtin_mul_overflow(source->edges, source->mirror ? 2 : 1, &most))
    return sl_fail(SLEY_ERR_OVERFLOW, "a matrix of %lld rows and %lld edges is too large", (long long)rows,
                   (long long)source->edges);
  sley_status status = SLEY_ERR_MEMORY;
  /* Columns are allocated first: sizes beyond the memory must fail before the first pass spends time on
   * them. */
  arrays->col = sl_alloc(most, sl_index_bytes(self.index), "columns");
  if (!arrays->col)
    goto failed;
  SL_TRY_GOTO(status, SL_NEW_ZERO(arrays->rowptr, rows + 1, "row pointers"), failed);
  sl_team_begin_work(team, "counting edges", 1);
  SL_TRY_GOTO(status, sl_team_for(team, source->items, source->grain, draw, &self), failed);
  sl_team_sum_up(team, arrays->rowptr, rows + 1);
  self.take = take_places;
  sl_team_begin_work(team, "placing edges", 1);
  SL_TRY_GOTO(status, sl_team_for(team, source->items, source->grain, draw, &self), failed);
  sl_team_begin_work(team, "sorting rows", 4);
  SL_TRY_GOTO(status, sl_csr_sort_rows(rows, arrays->rowptr, self.index, arrays->col, dtype, NULL, team),
              failed);
  SL_TRY_GOTO(status, sl_csr_merge_repeats(rows, self.index, dtype, SL_DROP_REPEATS, team, arrays), failed);
  status = SLEY_ERR_MEMORY;
  arrays->val = sl_alloc(arrays->rowptr[rows], sley_dtype_bytes(dtype), "values");
  if (!arrays->val)
    goto failed;
  SL_TRY(sl_matrix_adopt(rows, source->cols, self.index, dtype, self.arrays, -1, out));
  status = sl_edge_values(source, 0, team, *out);
  if (status == SLEY_OK)
    return status;
  sl_matrix_destroy(*out);
  *out = NULL;
  return status;
failed:
  sl_csr_arrays_free(arrays);
  return status;
}
