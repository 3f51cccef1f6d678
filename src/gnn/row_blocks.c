/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of rows: which rank sums which block, the rows sent for it, and the sums of all blocks. */
#include "gnn/row_blocks.h"

#include <string.h>

#include "base/memory.h"
#include "graph/row_pitch.h"
#include "transport/stopwatch.h"

enum { PART_BYTES = 64 }; /* parts of the sums begin at multiples of this */

static const sl_comm *comm_of(const sl_row_blocks *b) {
  return b->work->comm;
}

static int64_t value_bytes(const sl_row_blocks *b) {
  return (int64_t)sley_dtype_bytes(b->work->dtype);
}

static int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static int64_t rounded_up(int64_t count, int64_t step) {
  return count / step + (count % step > 0);
}

/* ---- which rank sums which block */

/* Returns the first block that begins in the rows of `rank` or later. If there are no rows at all, the last
 * rank has the only block, which is empty. */
static int64_t first_of(const sl_row_blocks *b, int rank) {
  return rank == comm_of(b)->size ? b->all : rounded_up(b->row_begin[rank], b->rows);
}

static int64_t count_of(const sl_row_blocks *b, int rank) {
  return first_of(b, rank + 1) - first_of(b, rank);
}

static int64_t all_rows(const sl_row_blocks *b) {
  return b->row_begin[comm_of(b)->size];
}

/* Returns the first row of a block; blocks are numbered over all ranks. */
static int64_t begin_of(const sl_row_blocks *b, int64_t block) {
  return block * b->rows;
}
static int64_t end_of(const sl_row_blocks *b, int64_t block) {
  return least(begin_of(b, block) + b->rows, all_rows(b));
}

sley_status sl_row_blocks_open(const sl_dense_work *work, const int64_t *row_begin, bool fixed,
                               sl_row_blocks *out) {
  const int size = work->comm->size, rank = work->comm->rank;
  *out = (sl_row_blocks){.work = work, .fixed = fixed, .count = 1};
  if (!fixed)
    return SLEY_OK;
  SL_TRY(SL_NEW(out->row_begin, (int64_t)size + 1, "blocks of rows"));
  memcpy(out->row_begin, row_begin, ((size_t)size + 1) * sizeof *row_begin);
  const int64_t rows = row_begin[size], each = rounded_up(rows, SL_ROW_BLOCKS_MOST);
  out->rows = rows > 0 ? rounded_up(each, SL_ROW_BLOCK) * SL_ROW_BLOCK : SL_ROW_BLOCK;
  out->all = rows > 0 ? rounded_up(rows, out->rows) : 1;
  out->first = first_of(out, rank);
  out->count = count_of(out, rank);
  out->split = out->count > 0 && end_of(out, out->first + out->count - 1) > row_begin[rank + 1];
  for (int r = 1; r < size; r++)
    out->travels |= row_begin[r] < rows && row_begin[r] % out->rows > 0;
  return SLEY_OK;
}

void sl_row_blocks_range(const sl_row_blocks *b, int64_t number, int64_t *begin, int64_t *end) {
  *begin = begin_of(b, b->first + number);
  *end = end_of(b, b->first + number);
}

int64_t sl_row_blocks_end(const sl_row_blocks *b, int rank) {
  return least(begin_of(b, first_of(b, rank + 1)), all_rows(b));
}

/* ---- rows that are sent */

sley_status sl_row_blocks_expect(sl_row_blocks *b, sl_side side, int64_t cols, sley_dtype dtype) {
  const int64_t value = (int64_t)sley_dtype_bytes(dtype), bytes = cols * value;
  if (!b->travels || bytes == 0)
    return SLEY_OK;
  for (int i = 0; i < b->tails[side]; i++)
    if (b->tail[side][i].bytes == bytes)
      return SLEY_OK;
  if (b->tails[side] == SL_MOST_TAILS)
    return sl_fail(SLEY_ERR_INTERNAL, "a network's sums have more than %d widths", SL_MOST_TAILS);
  b->tail[side][b->tails[side]++].bytes = bytes;
  const int64_t room = b->split ? b->rows * sl_row_pitch(cols, dtype) * value : 0;
  b->room_bytes[side] = room > b->room_bytes[side] ? room : b->room_bytes[side];
  return SLEY_OK;
}

static void add_list(sl_row_list *lists, int *count, int peer, int64_t first, int64_t rows, int64_t bytes) {
  if (rows > 0)
    lists[(*count)++] = (sl_row_list){.peer = peer, .count = rows, .first = first, .bytes = bytes};
}

/* Lists the rows to send: the rank's first rows go to the rank that sums their block; the rows of a split
 * block go to the rank itself. */
static int list_sends(const sl_row_blocks *b, int64_t bytes, sl_row_list *lists) {
  const int rank = comm_of(b)->rank;
  const int64_t begin = b->row_begin[rank], end = b->row_begin[rank + 1];
  int count = 0, owner = rank;
  while (owner > 0 && first_of(b, owner) * b->rows > begin)
    owner--;
  if (owner < rank)
    add_list(lists, &count, owner, 0, least(end, begin_of(b, b->first)) - begin, bytes);
  if (b->split) {
    const int64_t first = begin_of(b, b->first + b->count - 1);
    add_list(lists, &count, rank, first - begin, end - first, bytes);
  }
  return count;
}

static int list_receives(const sl_row_blocks *b, int64_t bytes, sl_row_list *lists) {
  const int64_t block = b->first + b->count - 1;
  int count = 0;
  for (int p = comm_of(b)->rank; b->split && p < comm_of(b)->size; p++) {
    const int64_t from = p == comm_of(b)->rank ? begin_of(b, block) : b->row_begin[p];
    add_list(lists, &count, p, from - begin_of(b, block), least(b->row_begin[p + 1], end_of(b, block)) - from,
             bytes);
  }
  return count;
}

static sley_status open_tail(const sl_row_blocks *b, sl_tail *t) {
  sl_comm *comm = b->work->comm;
  sl_exchange_spec spec = {.name = "rows of blocks", .dtype = b->work->dtype};
  SL_TRY(sl_agree(comm, SL_NEW(t->lists, 2 * (int64_t)comm->size, "blocks of rows")));
  spec.send = t->lists;
  spec.sends = list_sends(b, t->bytes, t->lists);
  spec.recv = t->lists + spec.sends;
  spec.recvs = list_receives(b, t->bytes, t->lists + spec.sends);
  return comm->ops->exchange_create(comm, &spec, &t->exchange);
}

static const sl_tail *tail_of(const sl_row_blocks *b, sl_side side, int64_t bytes) {
  for (int i = 0; i < b->tails[side]; i++)
    if (b->tail[side][i].bytes == bytes)
      return &b->tail[side][i];
  return NULL;
}

/* Leading dimension of an operand's rows in `room`. */
static int64_t room_ld(const sl_row_blocks *b, sl_side side) {
  return sl_row_pitch(b->operand[side].cols, b->dtype);
}

static sley_status begin_side(const sl_row_blocks *b, sl_side side, const sl_tail *t) {
  sl_comm *comm = b->work->comm;
  const int64_t value = (int64_t)sley_dtype_bytes(b->dtype);
  return comm->ops->exchange_begin(t->exchange, b->operand[side].data, b->operand[side].ld * value,
                                   b->room[side], room_ld(b, side) * value, comm->queue);
}

static sley_status end_exchange(sl_exchange *exchange) {
  sl_comm *comm = exchange->comm;
  SL_TRY(comm->ops->exchange_end(exchange, comm->queue));
  return sl_exchange_reclaim(exchange, comm->queue);
}

/* Moves the rows of both sides at the same time. */
static sley_status move_tails(const sl_row_blocks *b, const sl_tail *const *tail) {
  for (int side = 0; side < SL_SIDES; side++)
    if (tail[side])
      SL_TRY(begin_side(b, (sl_side)side, tail[side]));
  for (int side = 0; side < SL_SIDES; side++)
    if (tail[side])
      SL_TRY(end_exchange(tail[side]->exchange));
  return SLEY_OK;
}

sley_status sl_row_blocks_bring(sl_row_blocks *b, const sl_rows *left, const sl_rows *right,
                                sley_dtype dtype) {
  const sl_rows *const given[SL_SIDES] = {[SL_LEFT] = left, [SL_RIGHT] = right};
  const sl_tail *tail[SL_SIDES] = {NULL, NULL};
  sl_comm *comm = b->work->comm;
  b->dtype = dtype;
  for (int side = 0; side < SL_SIDES; side++)
    b->operand[side] = given[side] ? *given[side] : (sl_rows){0};
  if (!b->travels)
    return SLEY_OK;
  for (int side = 0; side < SL_SIDES; side++) {
    const int64_t bytes =
        b->operand[side].sparse ? 0 : b->operand[side].cols * (int64_t)sley_dtype_bytes(dtype);
    tail[side] = tail_of(b, (sl_side)side, bytes);
    if (bytes > 0 && !tail[side])
      return sl_abort_on_error(
          comm, sl_fail(SLEY_ERR_INTERNAL, "blocks of rows of %lld bytes: not expected", (long long)bytes));
  }
  const sl_work before = sl_work_begin(comm, SL_WORK_EXCHANGE);
  return sl_abort_on_error(comm, sl_work_end(comm, before, move_tails(b, tail)));
}

sl_rows sl_row_blocks_of(const sl_row_blocks *b, sl_side side, int64_t number) {
  sl_rows rows = b->operand[side];
  rows.block = number;
  if (!b->fixed || rows.sparse)
    return rows;
  const int64_t block = b->first + number, begin = begin_of(b, block);
  rows.rows = end_of(b, block) - begin;
  if (b->split && number == b->count - 1) {
    rows.data = b->room[side];
    rows.ld = room_ld(b, side);
  } else {
    rows.data = (char *)rows.data +
                (begin - b->row_begin[comm_of(b)->rank]) * rows.ld * (int64_t)sley_dtype_bytes(b->dtype);
  }
  return rows;
}

/* ---- sums of all blocks */

/* Number of values that a rank adds. */
static int64_t part_of(const sl_row_blocks *b, int rank) {
  const int64_t left = b->values - least(b->values, rank * b->part);
  return least(left, b->part);
}

/* Creates the exchange: each rank sends to each other rank that rank's part of the sums of its blocks. */
static sley_status open_exchange(sl_row_blocks *b) {
  sl_comm *comm = b->work->comm;
  const int64_t value = value_bytes(b), own = part_of(b, comm->rank);
  sl_exchange_spec spec = {.name = "sums of blocks", .dtype = b->work->dtype};
  sl_row_list *send = b->lists, *recv = b->lists + comm->size;
  for (int p = 0; p < comm->size; p++) {
    if (b->count > 0 && part_of(b, p) > 0)
      send[spec.sends++] = (sl_row_list){
          .peer = p, .count = b->count, .offset = p * b->part * value, .bytes = part_of(b, p) * value};
    if (count_of(b, p) > 0 && own > 0)
      recv[spec.recvs++] =
          (sl_row_list){.peer = p, .count = count_of(b, p), .first = first_of(b, p), .bytes = own * value};
  }
  spec.send = send;
  spec.recv = recv;
  return comm->ops->exchange_create(comm, &spec, &b->exchange);
}

static sley_status open_gather(sl_row_blocks *b) {
  sl_comm *comm = b->work->comm;
  int64_t *counts;
  sley_status status = sl_agree(comm, SL_NEW(counts, comm->size, "blocks of rows"));
  if (status == SLEY_OK) {
    for (int r = 0; r < comm->size; r++)
      counts[r] = part_of(b, r);
    status = sl_dense_create(
        comm,
        &(sl_dense_spec){
            .kind = SLEY_ALLGATHER, .op = SLEY_SUM, .type = (sley_type)b->work->dtype, .counts = counts},
        &b->gather);
  }
  sl_free(counts);
  return status;
}

static sley_status take(const sl_row_blocks *b, int64_t count, int64_t each, void **out) {
  sl_device *device = b->work->comm->device;
  int64_t bytes;
  if (__builtin_mul_overflow(count, each, &bytes))
    return sl_fail(SLEY_ERR_OVERFLOW, "sums of blocks of rows have more than 2^63 bytes");
  return device->ops->alloc(device, bytes, "sums of blocks of rows", out);
}

static sley_status take_memory(sl_row_blocks *b) {
  const int size = comm_of(b)->size;
  const int64_t value = value_bytes(b);
  for (int side = 0; side < SL_SIDES; side++)
    SL_TRY(take(b, 1, b->room_bytes[side], &b->room[side]));
  SL_TRY(take(b, b->count, b->values * value, &b->sums));
  SL_TRY(sl_dense_fill(b->work, NULL,
                       (sl_rows){.data = b->sums, .rows = b->count, .cols = b->values, .ld = b->values}));
  if (size == 1)
    return SLEY_OK;
  SL_TRY(take(b, b->all, b->part * value, &b->received));
  SL_TRY(take(b, b->part, value, &b->added));
  return SL_NEW(b->lists, 2 * (int64_t)size, "blocks of rows");
}

sley_status sl_row_blocks_prepare(sl_row_blocks *b, int64_t values) {
  sl_comm *comm = b->work->comm;
  const int64_t step = PART_BYTES / value_bytes(b);
  if (!b->fixed)
    return SLEY_OK;
  b->values = values;
  b->part = rounded_up(rounded_up(values, step), comm->size) * step;
  SL_TRY(sl_agree(comm, take_memory(b)));
  for (int side = 0; side < SL_SIDES; side++)
    for (int i = 0; i < b->tails[side]; i++)
      SL_TRY(open_tail(b, &b->tail[side][i]));
  if (comm->size == 1)
    return SLEY_OK;
  SL_TRY(open_exchange(b));
  return open_gather(b);
}

void *sl_row_blocks_sums(const sl_row_blocks *b, int64_t number) {
  return (char *)b->sums + number * b->values * value_bytes(b);
}

/* Sets `to` to the sum over all blocks of `count` values at src; blocks are `pitch` values apart. */
static sley_status add_blocks(const sl_row_blocks *b, const void *src, int64_t pitch, int64_t count,
                              void *to) {
  const sl_kernel_args args = {.op = SL_OP_REDUCE,
                               .reduce = {.count = count,
                                          .parts = (int)b->all,
                                          .src = src,
                                          .stride = pitch * value_bytes(b),
                                          .own = -1,
                                          .dst = to,
                                          .op = SLEY_SUM,
                                          .type = (sley_type)b->work->dtype}};
  return count > 0 ? sl_kernel_run(b->work->comm->queue, &args) : SLEY_OK;
}

static sley_status exchange_sums(const sl_row_blocks *b) {
  sl_comm *comm = b->work->comm;
  const int64_t value = value_bytes(b);
  SL_TRY(comm->ops->exchange_begin(b->exchange, b->sums, b->values * value, b->received, b->part * value,
                                   comm->queue));
  return end_exchange(b->exchange);
}

sley_status sl_row_blocks_add(const sl_row_blocks *b, void *out) {
  sl_comm *comm = b->work->comm;
  if (comm->size == 1)
    return add_blocks(b, b->sums, b->values, b->values, out);
  const sl_work before = sl_work_begin(comm, SL_WORK_EXCHANGE);
  sley_status status = sl_work_end(comm, before, exchange_sums(b));
  if (status == SLEY_OK)
    status = add_blocks(b, b->received, b->part, part_of(b, comm->rank), b->added);
  SL_TRY(sl_abort_on_error(comm, status));
  return sl_dense_run(b->gather, b->added, out, comm->queue);
}

int64_t sl_row_blocks_bytes(const sl_row_blocks *b) {
  const int64_t value = b->fixed ? value_bytes(b) : 0,
                several = b->fixed && comm_of(b)->size > 1 ? b->part * (b->all + 1) : 0;
  return b->room_bytes[SL_LEFT] + b->room_bytes[SL_RIGHT] + (b->count * b->values + several) * value;
}

static void close_tail(sl_tail *t) {
  if (t->exchange)
    t->exchange->comm->ops->exchange_destroy(t->exchange);
  sl_free(t->lists);
}

void sl_row_blocks_close(sl_row_blocks *b) {
  sl_dense_destroy(b->gather);
  if (b->exchange)
    b->exchange->comm->ops->exchange_destroy(b->exchange);
  for (int side = SL_SIDES - 1; side >= 0; side--)
    for (int i = b->tails[side] - 1; i >= 0; i--)
      close_tail(&b->tail[side][i]);
  void *const memory[] = {b->added, b->received, b->sums, b->room[SL_RIGHT], b->room[SL_LEFT]};
  for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
    if (memory[i])
      b->work->comm->device->ops->free(b->work->comm->device, memory[i]);
  sl_free(b->lists);
  sl_free(b->row_begin);
  *b = (sl_row_blocks){0};
}
