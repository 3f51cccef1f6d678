/* SPDX-License-Identifier: Apache-2.0 */
/* Operands go to the device once; rows of C are made there, all at once or in chunks, and copied back. */
#include "ops/spgemm_device.h"

#include <inttypes.h>

#include "base/interrupt.h"
#include "base/memory.h"

enum { ARRAYS = 9 };

typedef struct transfer {
  sl_queue *queue;
  const sl_spgemm_args *given;
  sley_csr a, b, mask; /* in the device's memory */
  void *taken[ARRAYS];
  int arrays;
  int64_t bytes; /* of them */
  int64_t room;  /* entries that the host's arrays of C have room for */
} transfer;

static sley_status upload(transfer *t, const void *host, int64_t count, size_t bytes_each, const void **out) {
  const int64_t bytes = count * (int64_t)bytes_each;
  void *block;
  if (t->given->limit > 0 && t->bytes + sl_device_bytes(bytes) > t->given->limit)
    return sl_fail(SLEY_ERR_MEMORY,
                   "sley_spgemm: a mem_limit of %" PRId64
                   " bytes is too low: the operands alone take more than that of the device's memory",
                   t->given->limit);
  SL_TRY(sl_device_upload(t->queue, host, bytes, "an operand of a sparse product", &block));
  t->taken[t->arrays++] = block;
  t->bytes += sl_device_bytes(bytes);
  *out = block;
  return SLEY_OK;
}

/* Only the entries of the rows are copied: pointers into columns and values go back by as many. */
static sley_status upload_csr(transfer *t, const sley_csr *from, bool values, sley_csr *to) {
  const int64_t first = from->rowptr[0], count = from->rowptr[from->rows] - first;
  const size_t index = sl_index_bytes(from->index), value = sley_dtype_bytes(from->dtype);
  const void *block;
  *to = *from;
  SL_TRY(upload(t, from->rowptr, from->rows + 1, sizeof(int64_t), (const void **)&to->rowptr));
  SL_TRY(upload(t, (const char *)from->col + (size_t)first * index, count, index, &block));
  to->col = (const void *)((uintptr_t)block - (uintptr_t)first * index);
  to->val = NULL;
  if (!values)
    return SLEY_OK;
  SL_TRY(upload(t, (const char *)from->val + (size_t)first * value, count, value, &block));
  to->val = (const void *)((uintptr_t)block - (uintptr_t)first * value);
  return SLEY_OK;
}

static bool is_same(const sley_csr *x, const sley_csr *y) {
  return x->rowptr == y->rowptr && x->col == y->col && x->val == y->val && x->rows == y->rows;
}

static sley_status upload_operands(transfer *t) {
  const sl_spgemm_args *given = t->given;
  const bool values = given->semiring != SLEY_PLUS_PAIR;
  SL_TRY(upload_csr(t, &given->a, values, &t->a));
  t->b = t->a;
  if (!is_same(&given->a, &given->b))
    SL_TRY(upload_csr(t, &given->b, values, &t->b));
  if (!given->mask)
    return SLEY_OK;
  t->mask = is_same(given->mask, &given->a) ? t->a : t->b;
  if (is_same(given->mask, &given->a) || is_same(given->mask, &given->b))
    return SLEY_OK;
  return upload_csr(t, given->mask, false, &t->mask);
}

/* Rows [first, first + count) of C, on the device. */
static sley_status make_chunk(const transfer *t, int64_t first, int64_t count, sl_spgemm_result *made) {
  sl_kernel_args args = {.op = SL_OP_SPGEMM, .spgemm = *t->given};
  sley_csr mask = t->mask;
  args.spgemm.a = t->a;
  args.spgemm.b = t->b;
  args.spgemm.a.rows = mask.rows = count;
  args.spgemm.a.rowptr += first;
  mask.rowptr += first;
  if (t->given->mask)
    args.spgemm.mask = &mask;
  args.spgemm.limit = t->given->limit > 0 ? t->given->limit - t->bytes : 0;
  if (t->given->limit > 0 && args.spgemm.limit == 0)
    return sl_fail(SLEY_ERR_MEMORY, "sley_spgemm: a mem_limit of %" PRId64 " bytes leaves no room to work",
                   t->given->limit);
  args.spgemm.memory = NULL;
  args.spgemm.out = made;
  return sl_kernel_run(t->queue, &args);
}

static sley_status grow(void **block, int64_t count, size_t bytes_each, const char *what) {
  void *more = sl_realloc(*block, count, bytes_each, what);
  if (!more)
    return SLEY_ERR_MEMORY;
  *block = more;
  return SLEY_OK;
}

/* Room for as many entries more; where rows follow, for those too, as far as these tell. */
static sley_status make_room(transfer *t, sl_spgemm_result *out, int64_t more, int64_t done, int64_t rows) {
  const int64_t wanted = out->nnz + more;
  if (wanted <= t->room && out->col)
    return SLEY_OK;
  const double all = (double)wanted * (double)rows / (double)done;
  t->room = done == rows || all > 4e18 ? wanted : (int64_t)all;
  SL_TRY(grow(&out->col, t->room, sl_index_bytes(out->index), "columns of a product"));
  return grow(&out->val, t->room, sley_dtype_bytes(t->given->a.dtype), "values of a product");
}

/* A made chunk's arrays to the host. */
static sley_status take_chunk(transfer *t, int64_t first, int64_t count, const sl_spgemm_result *made,
                              sl_spgemm_result *out) {
  const sl_device_ops *ops = t->queue->ops;
  const size_t index = sl_index_bytes(made->index), value = sley_dtype_bytes(t->given->a.dtype);
  out->index = made->index;
  SL_TRY(make_room(t, out, made->nnz, first + count, t->given->a.rows));
  SL_TRY(ops->copy(t->queue, SL_COPY_TO_HOST, out->rowptr + first, made->rowptr,
                   (count + 1) * (int64_t)sizeof(int64_t)));
  SL_TRY(ops->copy(t->queue, SL_COPY_TO_HOST, (char *)out->col + (size_t)out->nnz * index, made->col,
                   made->nnz * (int64_t)index));
  SL_TRY(ops->copy(t->queue, SL_COPY_TO_HOST, (char *)out->val + (size_t)out->nnz * value, made->val,
                   made->nnz * (int64_t)value));
  SL_TRY(ops->queue_wait(t->queue));
  for (int64_t i = first; out->nnz > 0 && i <= first + count; i++)
    out->rowptr[i] += out->nnz;
  out->nnz += made->nnz;
  out->products += made->products;
  out->passes = made->passes;
  if (t->bytes + made->peak > out->peak)
    out->peak = t->bytes + made->peak;
  return SLEY_OK;
}

/* All rows at once; where memory does not do, half as many, and so on. */
static sley_status make_rows(transfer *t, sl_spgemm_result *out) {
  const sl_device_ops *ops = t->queue->ops;
  const int64_t rows = t->given->a.rows;
  int64_t first = 0, count = rows;
  do {
    sl_spgemm_result made = {0};
    SL_TRY(sl_interrupted());
    if (count > rows - first)
      count = rows - first;
    sley_status status = make_chunk(t, first, count, &made);
    if (status == SLEY_ERR_MEMORY && count > 1) {
      count = (count + 1) / 2;
      continue;
    }
    SL_TRY(status);
    status = take_chunk(t, first, count, &made, out);
    ops->free(t->queue->device, made.rowptr);
    ops->free(t->queue->device, made.col);
    ops->free(t->queue->device, made.val);
    SL_TRY(status);
    first += count;
  } while (first < rows);
  return SLEY_OK;
}

sley_status sl_spgemm_on_device(sl_queue *queue, const sl_spgemm_args *args) {
  transfer t = {.queue = queue, .given = args};
  sl_spgemm_result *out = args->out;
  *out = (sl_spgemm_result){0};
  sley_status status = SL_NEW(out->rowptr, args->a.rows + 1, "row pointers");
  if (status == SLEY_OK)
    status = upload_operands(&t);
  if (status == SLEY_OK)
    status = make_rows(&t, out);
  for (int i = 0; i < t.arrays; i++)
    queue->ops->free(queue->device, t.taken[i]);
  if (status != SLEY_OK) {
    sl_free(out->rowptr);
    sl_free(out->col);
    sl_free(out->val);
    *out = (sl_spgemm_result){0};
  }
  return status;
}
