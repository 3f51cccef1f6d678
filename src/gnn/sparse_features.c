/* SPDX-License-Identifier: Apache-2.0 */
/* Sparse features: their entries by rows, and for each block of rows by features. */
#include "gnn/sparse_features.h"

#include "base/memory.h"
#include "base/value.h"
#include "matrix/matrix.h"

/* An entry of X, with its global row, and the row number from which masks of dropout are drawn. */
typedef struct entry {
  int64_t row, number, col;
  double value;
} entry;

/* ---- the entries of this rank's blocks of rows */

static sley_status list_own(const sley_matrix *x, int64_t first_row, const int64_t *number, entry **out) {
  int64_t at = 0;
  SL_TRY(SL_NEW(*out, x->nnz, "sparse features"));
  for (int64_t i = 0; i < x->rows; i++)
    for (int64_t e = x->rowptr[i]; e < x->rowptr[i + 1]; e++)
      (*out)[at++] = (entry){.row = first_row + i,
                             .number = number ? number[i] : first_row + i,
                             .col = sl_index_at(x->col, x->index, e),
                             .value = sl_value_at(x->val, x->dtype, e)};
  return SLEY_OK;
}

/* Sends entries to the ranks that sum their blocks. Collective, agreed. */
static sley_status exchange(sl_comm *comm, const sl_row_blocks *blocks, entry **entries, int64_t *count) {
  int64_t *counts = NULL;
  void *received = NULL;
  int owner = 0;
  sley_status status = sl_agree(comm, SL_NEW_ZERO(counts, 2 * (int64_t)comm->size, "sparse features"));
  for (int64_t i = 0; i < *count && status == SLEY_OK; i++) {
    while (sl_row_blocks_end(blocks, owner) <= (*entries)[i].row)
      owner++;
    counts[owner]++;
  }
  if (status == SLEY_OK)
    status = sl_exchange_items(comm, sizeof **entries, *entries, counts, &received, counts + comm->size);
  if (status == SLEY_OK) {
    sl_free(*entries);
    *entries = received;
    *count = 0;
    for (int p = 0; p < comm->size; p++)
      *count += counts[comm->size + p];
  }
  sl_free(counts);
  return status;
}

/* ---- matrices */

static sley_status take_arrays(sl_sparse_side *side, int64_t rows, int64_t cols, int64_t entries,
                               sley_dtype dtype) {
  sl_csr_arrays arrays;
  SL_TRY(sl_csr_arrays_alloc(rows, entries, SLEY_I32, dtype, &arrays));
  side->matrix = (sl_spmm_matrix){.rows = rows,
                                  .rowptr = arrays.rowptr,
                                  .col = arrays.col,
                                  .val = arrays.val,
                                  .index = SLEY_I32,
                                  .dtype = dtype};
  side->cols = cols;
  side->entries = entries;
  return SLEY_OK;
}

/* Sets entry number `at` of a side. */
static void put(sl_sparse_side *side, int64_t at, int64_t column, double value) {
  sl_index_set((void *)side->matrix.col, SLEY_I32, at, column);
  sl_value_set((void *)side->matrix.val, side->matrix.dtype, at, value);
}

static sley_status take_x(const entry *e, int64_t count, int64_t first_row, int64_t rows, int64_t features,
                          sley_dtype dtype, sl_sparse_side *out) {
  SL_TRY(take_arrays(out, rows, features, count, dtype));
  int64_t *rowptr = (int64_t *)out->matrix.rowptr, at = 0;
  rowptr[0] = 0;
  for (int64_t i = 0; i < rows; i++) {
    for (; at < count && e[at].row == first_row + i; at++)
      put(out, at, e[at].col, e[at].value);
    rowptr[i + 1] = at;
  }
  return SLEY_OK;
}

/* Makes the transpose: rows of features, whose entries ascend by rows of X, numbered from first_row on. */
static sley_status take_transposed(const entry *e, int64_t count, int64_t first_row, int64_t rows,
                                   int64_t features, sley_dtype dtype, sl_sparse_side *out) {
  SL_TRY(take_arrays(out, features, rows, count, dtype));
  int64_t *rowptr = (int64_t *)out->matrix.rowptr;
  for (int64_t f = 0; f <= features; f++)
    rowptr[f] = 0;
  for (int64_t i = 0; i < count; i++)
    rowptr[e[i].col + 1]++;
  for (int64_t f = 0; f < features; f++)
    rowptr[f + 1] += rowptr[f];
  for (int64_t i = 0; i < count; i++)
    put(out, rowptr[e[i].col]++, e[i].row - first_row, e[i].value);
  for (int64_t f = features; f > 0; f--)
    rowptr[f] = rowptr[f - 1];
  rowptr[0] = 0;
  return SLEY_OK;
}

/* ---- device memory */

static bool in_host(const sl_comm *comm) {
  return comm->device->ops->host_addresses;
}

static int64_t value_bytes(const sl_sparse_side *side) {
  return side->entries * (int64_t)sley_dtype_bytes(side->matrix.dtype);
}

/* Lists the numbers of `rows` rows of X, the first of which is row `begin`; those without entries have 0. */
static sley_status list_numbers(const entry *e, int64_t count, int64_t begin, int64_t rows, int64_t **out) {
  SL_TRY(SL_NEW_ZERO(*out, rows, "sparse features"));
  for (int64_t i = 0; i < count; i++)
    (*out)[e[i].row - begin] = e[i].number;
  return SLEY_OK;
}

/* Stores the number of each entry's row, and its column in X. number: of the side's rows, or if transposed of
 * its columns. */
static sley_status take_places(sl_comm *comm, sl_sparse_side *side, const int64_t *number, bool transposed) {
  const sl_spmm_matrix *m = &side->matrix;
  int64_t *row = NULL, *column = NULL;
  sley_status status;
  SL_TRY_GOTO(status, SL_NEW(row, side->entries, "sparse features"), failed);
  SL_TRY_GOTO(status, SL_NEW(column, side->entries, "sparse features"), failed);
  for (int64_t i = 0; i < m->rows; i++)
    for (int64_t e = m->rowptr[i]; e < m->rowptr[i + 1]; e++) {
      const int64_t c = sl_index_at(m->col, m->index, e);
      row[e] = number[transposed ? c : i];
      column[e] = transposed ? i : c;
    }
  status = sl_dense_upload(comm, row, side->entries * (int64_t)sizeof *row, (void **)&side->row);
  if (status == SLEY_OK)
    return sl_dense_upload(comm, column, side->entries * (int64_t)sizeof *column, (void **)&side->column);
  sl_free(column);
  return status;
failed:
  sl_free(row);
  return status;
}

/* Copies a side to the device. e: its entries; begin, rows: the rows of X that it has. */
static sley_status place(const sl_sparse_input *s, sl_sparse_side *side, const entry *e, int64_t count,
                         int64_t begin, int64_t rows, bool transposed) {
  sl_device *device = s->comm->device;
  int64_t *number;
  if (in_host(s->comm))
    side->values = (void *)side->matrix.val;
  if (!s->drops)
    return SLEY_OK;
  if (!in_host(s->comm)) {
    sl_queue *queue = s->comm->queue;
    SL_TRY(sl_device_upload(queue, side->matrix.val, value_bytes(side), "sparse features", &side->values));
    SL_TRY(queue->ops->queue_wait(queue));
  }
  SL_TRY(device->ops->alloc(device, value_bytes(side), "sparse features", &side->dropped));
  SL_TRY(list_numbers(e, count, begin, rows, &number));
  const sley_status status = take_places(s->comm, side, number, transposed);
  sl_free(number);
  return status;
}

static void free_side(const sl_sparse_input *s, sl_sparse_side *side) {
  sl_device *device = s->comm->device;
  void *const all[] = {side->column, side->row, side->dropped, in_host(s->comm) ? NULL : side->values};
  for (int i = 0; i < side->widths; i++)
    if (side->width[i].prepared)
      side->width[i].kernel->release(device, side->width[i].prepared);
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (all[i])
      device->ops->free(device, all[i]);
  sl_csr_arrays_free(
      &(sl_csr_arrays){(int64_t *)side->matrix.rowptr, (void *)side->matrix.col,
                       in_host(s->comm) && side->values ? side->values : (void *)side->matrix.val});
}

/* ---- all */

static sley_status take_blocks(sl_sparse_input *s, const entry *e, int64_t count, const sl_row_blocks *blocks,
                               int64_t first_row) {
  int64_t at = 0;
  SL_TRY(SL_NEW_ZERO(s->back, blocks->count, "sparse features"));
  for (; s->blocks < blocks->count; s->blocks++) {
    sl_sparse_side *side = &s->back[s->blocks];
    int64_t begin = first_row, end = first_row + s->rows, first = at;
    if (blocks->fixed)
      sl_row_blocks_range(blocks, s->blocks, &begin, &end);
    while (at < count && e[at].row < end)
      at++;
    SL_TRY(take_transposed(e + first, at - first, begin, end - begin, s->features, s->work->dtype, side));
    const sley_status status = place(s, side, e + first, at - first, begin, end - begin, true);
    if (status != SLEY_OK) {
      s->blocks++; /* counted now, so that it is freed too */
      return status;
    }
  }
  return SLEY_OK;
}

static sley_status start(const sl_dense_work *work, const sley_matrix *x, int64_t first_row,
                         const int64_t *number, bool drops, sl_sparse_input **out, entry **entries) {
  SL_TRY(SL_NEW_ZERO(*out, 1, "sparse features"));
  sl_sparse_input *s = *out;
  s->comm = work->comm;
  s->work = work;
  s->rows = x->rows;
  s->features = x->cols;
  s->drops = drops;
  SL_TRY(list_own(x, first_row, number, entries));
  SL_TRY(take_x(*entries, x->nnz, first_row, x->rows, x->cols, work->dtype, &s->x));
  return place(s, &s->x, *entries, x->nnz, first_row, x->rows, false);
}

sley_status sl_sparse_input_open(const sl_dense_work *work, const sley_matrix *x, int64_t first_row,
                                 const int64_t *number, const sl_row_blocks *blocks, bool drops,
                                 sl_sparse_input **out) {
  entry *entries = NULL;
  int64_t count = x->nnz;
  *out = NULL;
  sley_status status = sl_agree(work->comm, start(work, x, first_row, number, drops, out, &entries));
  if (status == SLEY_OK && blocks->travels)
    status = exchange(work->comm, blocks, &entries, &count);
  if (status == SLEY_OK)
    status = sl_agree(work->comm, take_blocks(*out, entries, count, blocks, first_row));
  sl_free(entries);
  if (status != SLEY_OK) {
    sl_sparse_input_close(*out);
    *out = NULL;
  }
  return status;
}

void sl_sparse_input_close(sl_sparse_input *s) {
  if (!s)
    return;
  for (int64_t n = 0; n < s->blocks; n++)
    free_side(s, &s->back[n]);
  sl_free(s->back);
  free_side(s, &s->x);
  sl_free(s);
}
