/* SPDX-License-Identifier: Apache-2.0 */
/* Operands are copied to each rank's device once. Rows of C are computed there, all at once or in chunks that
 * the ranks share. The parts are copied back side by side, once the number of entries in each is known. */
#include "ops/spgemm_device.h"

#include <inttypes.h>

#include "base/interrupt.h"
#include "base/memory.h"
#include "ops/spgemm_split.h"

enum { ARRAYS = 9 };

/* Data of one rank. */
typedef struct share {
  sl_queue *queue;
  sley_csr a, b, mask; /* in device memory */
  void *taken[ARRAYS];
  int arrays;
  int64_t bytes;         /* their bytes */
  int64_t first, count;  /* rows of the chunk that this rank computes */
  sl_spgemm_result made; /* the result of these rows, in device memory */
  int64_t before;        /* entries of C before these rows */
} share;

typedef struct transfer {
  const sl_spgemm_args *given;
  share *share;
  int ranks;
  sl_team *threads; /* one per rank; NULL: there is only one rank */
  sl_team *team;    /* threads for work on the host */
  int64_t *begin;   /* start of each rank's rows in a chunk, and the end */
  int64_t room;     /* capacity in entries of the host's arrays of C */
} transfer;

static sley_status upload(const sl_spgemm_args *given, share *t, const void *host, int64_t count,
                          size_t bytes_each, const void **out) {
  const int64_t bytes = count * (int64_t)bytes_each;
  void *block;
  if (given->limit > 0 && t->bytes + sl_device_bytes(bytes) > given->limit)
    return sl_fail(SLEY_ERR_MEMORY,
                   "sley_spgemm: a mem_limit of %" PRId64
                   " bytes is too low: the operands alone take more than that of the device's memory",
                   given->limit);
  SL_TRY(sl_device_upload(t->queue, host, bytes, "an operand of a sparse product", &block));
  t->taken[t->arrays++] = block;
  t->bytes += sl_device_bytes(bytes);
  *out = block;
  return SLEY_OK;
}

/* Uploads only the entries of the rows; the pointers to columns and values are moved back by the number of
 * entries before them. */
static sley_status upload_csr(const sl_spgemm_args *given, share *t, const sley_csr *from, bool values,
                              sley_csr *to) {
  const int64_t first = from->rowptr[0], count = from->rowptr[from->rows] - first;
  const size_t index = sl_index_bytes(from->index), value = sley_dtype_bytes(from->dtype);
  const void *block;
  *to = *from;
  SL_TRY(upload(given, t, from->rowptr, from->rows + 1, sizeof(int64_t), (const void **)&to->rowptr));
  SL_TRY(upload(given, t, (const char *)from->col + (size_t)first * index, count, index, &block));
  to->col = (const void *)((uintptr_t)block - (uintptr_t)first * index);
  to->val = NULL;
  if (!values)
    return SLEY_OK;
  SL_TRY(upload(given, t, (const char *)from->val + (size_t)first * value, count, value, &block));
  to->val = (const void *)((uintptr_t)block - (uintptr_t)first * value);
  return SLEY_OK;
}

static bool is_same(const sley_csr *x, const sley_csr *y) {
  return x->rowptr == y->rowptr && x->col == y->col && x->val == y->val && x->rows == y->rows;
}

static sley_status upload_operands(void *context, int rank, int ranks) {
  const transfer *all = context;
  const sl_spgemm_args *given = all->given;
  share *t = &all->share[rank];
  const bool values = given->semiring != SLEY_PLUS_PAIR;
  (void)ranks;
  SL_TRY(upload_csr(given, t, &given->a, values, &t->a));
  t->b = t->a;
  if (!is_same(&given->a, &given->b))
    SL_TRY(upload_csr(given, t, &given->b, values, &t->b));
  if (!given->mask)
    return SLEY_OK;
  t->mask = is_same(given->mask, &given->a) ? t->a : t->b;
  if (is_same(given->mask, &given->a) || is_same(given->mask, &given->b))
    return SLEY_OK;
  return upload_csr(given, t, given->mask, false, &t->mask);
}

/* Computes the rank's rows of the chunk on its device. */
static sley_status make_part(void *context, int rank, int ranks) {
  const transfer *all = context;
  const sl_spgemm_args *given = all->given;
  share *t = &all->share[rank];
  sl_kernel_args args = {.op = SL_OP_SPGEMM, .spgemm = *given};
  sley_csr mask = t->mask;
  (void)ranks;
  args.spgemm.a = t->a;
  args.spgemm.b = t->b;
  args.spgemm.a.rows = mask.rows = t->count;
  args.spgemm.a.rowptr += t->first;
  mask.rowptr += t->first;
  if (given->mask)
    args.spgemm.mask = &mask;
  args.spgemm.limit = given->limit > 0 ? given->limit - t->bytes : 0;
  if (given->limit > 0 && args.spgemm.limit == 0)
    return sl_fail(SLEY_ERR_MEMORY, "sley_spgemm: a mem_limit of %" PRId64 " bytes leaves no room to work",
                   given->limit);
  args.spgemm.memory = NULL;
  args.spgemm.out = &t->made;
  return sl_kernel_run(t->queue, &args);
}

static void drop_part(share *t) {
  const sl_device_ops *ops = t->queue->ops;
  ops->free(t->queue->device, t->made.rowptr);
  ops->free(t->queue->device, t->made.col);
  ops->free(t->queue->device, t->made.val);
  t->made = (sl_spgemm_result){0};
}

static sley_status grow(void **block, int64_t count, size_t bytes_each, const char *what) {
  void *more = sl_realloc(*block, count, bytes_each, what);
  if (!more)
    return SLEY_ERR_MEMORY;
  *block = more;
  return SLEY_OK;
}

/* Enlarges the host's arrays by `more` entries; if rows follow, also by an estimate for these, from the rows
 * done. */
static sley_status make_room(transfer *t, sl_spgemm_result *out, int64_t more, int64_t done, int64_t rows) {
  const int64_t wanted = out->nnz + more;
  if (wanted <= t->room && out->col)
    return SLEY_OK;
  const double all = (double)wanted * (double)rows / (double)done;
  t->room = done == rows || all > 4e18 ? wanted : (int64_t)all;
  SL_TRY(grow(&out->col, t->room, sl_index_bytes(out->index), "columns of a product"));
  return grow(&out->val, t->room, sley_dtype_bytes(t->given->a.dtype), "values of a product");
}

/* Copies the rank's part of a chunk to its place in the host's arrays. */
static sley_status copy_part(void *context, int rank, int ranks) {
  const transfer *all = context;
  const share *t = &all->share[rank];
  const sl_spgemm_result *out = all->given->out, *made = &t->made;
  const sl_device_ops *ops = t->queue->ops;
  const size_t index = sl_index_bytes(made->index), value = sley_dtype_bytes(all->given->a.dtype);
  (void)ranks;
  SL_TRY(ops->copy(t->queue, SL_COPY_TO_HOST, out->rowptr + t->first + 1, made->rowptr + 1,
                   t->count * (int64_t)sizeof(int64_t)));
  SL_TRY(ops->copy(t->queue, SL_COPY_TO_HOST, (char *)out->col + (size_t)t->before * index, made->col,
                   made->nnz * (int64_t)index));
  SL_TRY(ops->copy(t->queue, SL_COPY_TO_HOST, (char *)out->val + (size_t)t->before * value, made->val,
                   made->nnz * (int64_t)value));
  SL_TRY(ops->queue_wait(t->queue));
  for (int64_t i = t->first + 1; t->before > 0 && i <= t->first + t->count; i++)
    out->rowptr[i] += t->before;
  return SLEY_OK;
}

/* Copies the parts of a chunk, which ends before row `done`, to the host. */
static sley_status take_chunk(transfer *t, int64_t done) {
  sl_spgemm_result *out = t->given->out;
  int64_t entries = 0;
  for (int rank = 0; rank < t->ranks; rank++) {
    share *part = &t->share[rank];
    part->before = out->nnz + entries;
    entries += part->made.nnz;
    out->products += part->made.products;
    out->index = part->made.index;
    if (out->passes < part->made.passes)
      out->passes = part->made.passes;
    if (out->peak < part->bytes + part->made.peak)
      out->peak = part->bytes + part->made.peak;
  }
  SL_TRY(make_room(t, out, entries, done, t->given->a.rows));
  SL_TRY(sl_team_run(t->threads, copy_part, t));
  out->nnz += entries;
  return SLEY_OK;
}

/* Computes rows [first, first + count) of C, and copies them to the host. */
static sley_status make_chunk(transfer *t, int64_t first, int64_t count) {
  SL_TRY(sl_spgemm_split(&t->given->a, &t->given->b, first, first + count, t->ranks, t->team, t->begin));
  for (int rank = 0; rank < t->ranks; rank++) {
    t->share[rank].first = t->begin[rank];
    t->share[rank].count = t->begin[rank + 1] - t->begin[rank];
  }
  sley_status status = sl_team_run(t->threads, make_part, t);
  if (status == SLEY_OK)
    status = take_chunk(t, first + count);
  for (int rank = 0; rank < t->ranks; rank++)
    drop_part(&t->share[rank]);
  return status;
}

/* Computes all rows at once; if memory does not suffice, half as many, then a quarter, and so on. */
static sley_status make_rows(transfer *t) {
  const int64_t rows = t->given->a.rows;
  int64_t first = 0, count = rows;
  do {
    SL_TRY(sl_interrupted());
    if (count > rows - first)
      count = rows - first;
    const int64_t had = t->given->out->nnz;
    const sley_status status = make_chunk(t, first, count);
    if (status == SLEY_ERR_MEMORY && count > 1 && t->given->out->nnz == had) {
      count = (count + 1) / 2;
      continue;
    }
    SL_TRY(status);
    first += count;
  } while (first < rows);
  return SLEY_OK;
}

static sley_status open_shares(transfer *t, sl_queue *const *queues) {
  SL_TRY(SL_NEW(t->share, t->ranks, "the ranks of a sparse product"));
  SL_TRY(SL_NEW(t->begin, t->ranks + 1, "rows of ranks"));
  for (int rank = 0; rank < t->ranks; rank++)
    t->share[rank] = (share){.queue = queues[rank]};
  return t->ranks > 1 ? sl_team_create(t->ranks, &t->threads) : SLEY_OK;
}

static void close_shares(transfer *t) {
  for (int rank = 0; t->share && rank < t->ranks; rank++)
    for (int i = 0; i < t->share[rank].arrays; i++)
      t->share[rank].queue->ops->free(t->share[rank].queue->device, t->share[rank].taken[i]);
  sl_team_destroy(t->threads);
  sl_free(t->begin);
  sl_free(t->share);
}

sley_status sl_spgemm_on_devices(sl_queue *const *queues, int ranks, sl_team *team,
                                 const sl_spgemm_args *args) {
  transfer t = {.given = args, .ranks = ranks, .team = team};
  sl_spgemm_result *out = args->out;
  *out = (sl_spgemm_result){0};
  sley_status status = open_shares(&t, queues);
  if (status == SLEY_OK)
    status = SL_NEW(out->rowptr, args->a.rows + 1, "row pointers");
  if (status == SLEY_OK) {
    out->rowptr[0] = 0;
    status = sl_team_run(t.threads, upload_operands, &t);
  }
  if (status == SLEY_OK)
    status = make_rows(&t);
  close_shares(&t);
  if (status != SLEY_OK) {
    sl_free(out->rowptr);
    sl_free(out->col);
    sl_free(out->val);
    *out = (sl_spgemm_result){0};
  }
  return status;
}
