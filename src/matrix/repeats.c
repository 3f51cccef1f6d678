/* SPDX-License-Identifier: Apache-2.0 */
/* Merging repeated entries in place: blocks of rows in parallel, then the blocks are moved together. */
#include <string.h>

#include "base/interrupt.h"
#include "base/memory.h"
#include "base/value.h"
#include "matrix/matrix.h"

enum { BLOCK = 1024 };

typedef struct merging {
  int64_t rows;
  sley_index index;
  sley_dtype dtype;
  sl_repeats repeats;
  sl_csr_arrays *arrays;
  int64_t *place; /* place[b + 1]: entries of block b after merging, then the end of its place */
} merging;

static sley_status count_left(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  const merging *self = context;
  const sl_csr_arrays *a = self->arrays;
  SL_TRY(sl_interrupted());
  for (int64_t block = begin; block < end; block++) {
    int64_t first = block * BLOCK, last = first + BLOCK < self->rows ? first + BLOCK : self->rows, left = 0;
    for (int64_t i = first; i < last; i++) {
      int64_t before = -1;
      for (int64_t e = a->rowptr[i]; e < a->rowptr[i + 1]; e++) {
        int64_t col = sl_index_at(a->col, self->index, e);
        left += col != before;
        before = col;
      }
    }
    self->place[block + 1] = left;
  }
  return SLEY_OK;
}

/* Merges entries [begin, end), which have equal columns, into entry `to`. */
static void merge_run(const merging *self, int64_t begin, int64_t end, int64_t to) {
  sl_csr_arrays *a = self->arrays;
  sl_index_set(a->col, self->index, to, sl_index_at(a->col, self->index, begin));
  if (!a->val)
    return;
  int64_t last = self->repeats == SL_SUM_REPEATS ? end : begin + 1;
  double sum = sl_value_at(a->val, self->dtype, begin);
  for (int64_t e = begin + 1; e < last; e++)
    sum += sl_value_at(a->val, self->dtype, e);
  sl_value_set(a->val, self->dtype, to, sum);
}

/* Packs each block towards its own start. rowptr[i + 1] becomes the end of row i relative to that start;
 * close_gaps adds the block's position. Only the block's own pointers are written; the first pointer of the
 * next block is read beforehand. */
static sley_status pack_blocks(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  const merging *self = context;
  sl_csr_arrays *a = self->arrays;
  SL_TRY(sl_interrupted());
  for (int64_t block = begin; block < end; block++) {
    int64_t first = block * BLOCK, last = first + BLOCK < self->rows ? first + BLOCK : self->rows;
    int64_t to = a->rowptr[first], e = to;
    for (int64_t i = first; i < last; i++) {
      int64_t row_end = a->rowptr[i + 1];
      while (e < row_end) {
        int64_t col = sl_index_at(a->col, self->index, e), run_end = e + 1;
        while (run_end < row_end && sl_index_at(a->col, self->index, run_end) == col)
          run_end++;
        merge_run(self, e, run_end, to++);
        e = run_end;
      }
      if (i + 1 < last)
        a->rowptr[i + 1] = to;
    }
  }
  return SLEY_OK;
}

/* Entries of a block after merging. */
static int64_t entries_of(const merging *self, int64_t block) {
  return self->place[block + 1] - self->place[block];
}

static int64_t first_row(int64_t block) {
  return block * BLOCK;
}

/* Blocks from `first` on that move at once. */
typedef struct run {
  const merging *self;
  int64_t first;
} run;

static sley_status move_blocks(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  const run *r = context;
  const merging *self = r->self;
  sl_csr_arrays *a = self->arrays;
  const size_t col_bytes = sl_index_bytes(self->index), val_bytes = sley_dtype_bytes(self->dtype);
  for (int64_t block = r->first + begin; block < r->first + end; block++) {
    const int64_t first = first_row(block), last = first + BLOCK < self->rows ? first + BLOCK : self->rows;
    const int64_t from = a->rowptr[first], to = self->place[block];
    const size_t count = (size_t)entries_of(self, block);
    memmove((char *)a->col + (size_t)to * col_bytes, (char *)a->col + (size_t)from * col_bytes,
            count * col_bytes);
    if (a->val)
      memmove((char *)a->val + (size_t)to * val_bytes, (char *)a->val + (size_t)from * val_bytes,
              count * val_bytes);
    for (int64_t i = first; i < last; i++)
      a->rowptr[i] -= from - to;
  }
  return SLEY_OK;
}

/* Moves the packed blocks together; afterwards rowptr is final. Blocks whose new places end before the first
 * of them begins now do not overlap, so they move at once, on all threads; the further the blocks move, the
 * more of them. */
static void close_gaps(const merging *self, int64_t blocks, sl_team *team) {
  enum { LONG = 1 << 18 }; /* other threads would not wake before fewer entries are moved */
  sl_csr_arrays *a = self->arrays;
  for (int64_t first = 0, end; first < blocks; first = end) {
    const int64_t from = a->rowptr[first_row(first)];
    end = first + 1;
    while (end < blocks && self->place[end + 1] <= from)
      end++;
    if (from == self->place[first])
      continue; /* they stay */
    const bool is_long = self->place[end] - self->place[first] > LONG;
    (void)sl_team_for(is_long ? team : NULL, end - first, 1, move_blocks,
                      &(run){self, first}); /* the body cannot fail */
  }
  a->rowptr[self->rows] = self->place[blocks];
}

/* Frees unused memory if there is much of it. */
static sley_status shrink(const merging *self, int64_t had) {
  sl_csr_arrays *a = self->arrays;
  int64_t nnz = a->rowptr[self->rows];
  if (had - nnz <= had / 16)
    return SLEY_OK;
  SL_TRY(sl_shrink(&a->col, nnz, sl_index_bytes(self->index), "columns"));
  return a->val ? sl_shrink(&a->val, nnz, sley_dtype_bytes(self->dtype), "values") : SLEY_OK;
}

sley_status sl_csr_merge_repeats(int64_t rows, sley_index index, sley_dtype dtype, sl_repeats repeats,
                                 sl_team *team, sl_csr_arrays *arrays) {
  merging self = {rows, index, dtype, repeats, arrays, NULL};
  int64_t blocks = rows / BLOCK + (rows % BLOCK != 0), had = arrays->rowptr[rows];
  sley_status status;
  SL_TRY_GOTO(status, SL_NEW(self.place, blocks + 1, "merging repeats"), done);
  self.place[0] = 0;
  SL_TRY_GOTO(status, sl_team_for(team, blocks, 1, count_left, &self), done);
  sl_team_sum_up(team, self.place + 1, blocks);
  if (self.place[blocks] == had)
    goto done;
  SL_TRY_GOTO(status, sl_team_for(team, blocks, 1, pack_blocks, &self), done);
  close_gaps(&self, blocks, team);
  status = shrink(&self, had);
done:
  sl_free(self.place);
  return status;
}
