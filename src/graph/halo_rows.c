/* SPDX-License-Identifier: Apache-2.0 */
/* Halos for callers: gathering rows of X, and adding rows to the rows of X from which they came. */
#include "graph/halo_rows.h"

#include <string.h>

#include "base/interrupt.h"
#include "base/memory.h"
#include "partition/partition.h"
#include "transport/stopwatch.h"

enum { WIDEST_VALUE = 64 }; /* at least the bytes of any dtype */

static sley_status check_partition(const sl_comm *comm, const int64_t *begin) {
  if (begin[0] != 0)
    return sl_fail(SLEY_ERR_ARG, "sley_halo_create: col_begin begins with %lld instead of 0",
                   (long long)begin[0]);
  for (int r = 0; r < comm->size; r++)
    if (begin[r] > begin[r + 1])
      return sl_fail(SLEY_ERR_ARG, "sley_halo_create: col_begin descends at rank %d", r);
  return SLEY_OK;
}

/* Checks the arguments that this rank can check by itself. */
static sley_status check_arguments(const sl_comm *comm, const int64_t *row, int64_t count,
                                   const int64_t *begin, int64_t k, sley_dtype dtype) {
  int64_t bytes, value = (int64_t)sley_dtype_bytes(dtype);
  if (!begin || count < 0 || (count > 0 && !row))
    return sl_fail(SLEY_ERR_ARG, "sley_halo_create: col_begin or row is NULL, or count is negative");
  SL_TRY(check_partition(comm, begin));
  if (value == 0)
    return sl_fail(SLEY_ERR_ARG, "sley_halo_create: there is no dtype %d", (int)dtype);
  if (k < 0 || k > INT64_MAX / WIDEST_VALUE)
    return sl_fail(
        SLEY_ERR_ARG,
        "sley_halo_create: k is %lld: it must be 0 or more, and small enough that rows fit in memory",
        (long long)k);
  if (__builtin_mul_overflow(k * value, begin[comm->size], &bytes))
    return sl_fail(SLEY_ERR_OVERFLOW, "sley_halo_create: X has more than 2^63 bytes");
  return SLEY_OK;
}

/* Checks that all ranks have passed the same arguments. Collective. */
static sley_status check_same(sl_comm *comm, const int64_t *begin, int64_t k, sley_dtype dtype) {
  static const char *const name[] = {"k", "dtype", "col_begin"};
  const int64_t given[] = {k, dtype, sl_partition_hash(begin, comm->size)};
  return sl_agree_same(comm, "sley_halo_create", name, given, 3);
}

sley_status sl_halo_rows_create(sl_comm *comm, const int64_t *row, int64_t count, const int64_t *col_begin,
                                int64_t k, sley_dtype dtype, sley_halo **out) {
  int64_t *copy = NULL;
  sl_halo *halo = NULL;
  *out = NULL;
  SL_TRY(sl_agree(comm, check_arguments(comm, row, count, col_begin, k, dtype)));
  SL_TRY(check_same(comm, col_begin, k, dtype));
  sley_status status = SL_NEW(copy, count, "the halo");
  if (status == SLEY_OK && count > 0)
    memcpy(copy, row, (size_t)count * sizeof *copy);
  status = sl_agree(comm, status);
  if (status != SLEY_OK) {
    sl_free(copy);
    return status;
  }
  SL_TRY(sl_halo_create(comm, col_begin, copy, count, &halo));
  status = sl_halo_rows_of(halo, k, dtype, out);
  sl_halo_release(halo);
  return status;
}

static sley_status take_memory(sl_halo *halo, int64_t k, sley_dtype dtype, sley_halo **out) {
  SL_TRY(SL_NEW_ZERO(*out, 1, "a halo"));
  (*out)->comm = halo->comm;
  (*out)->halo = sl_halo_hold(halo);
  (*out)->k = k;
  (*out)->dtype = dtype;
  return SL_NEW((*out)->lists, 4 * (int64_t)halo->comm->size, "a halo's lists");
}

sley_status sl_halo_rows_of(sl_halo *halo, int64_t k, sley_dtype dtype, sley_halo **out) {
  static const char *const name[2] = {
      [SL_HALO_GATHER] = "halo gather", [SL_HALO_SCATTER_ADD] = "halo scatter-add"};
  sl_comm *comm = halo->comm;
  sley_halo *made = NULL;
  *out = NULL;
  sley_status status = sl_agree(comm, take_memory(halo, k, dtype, &made));
  for (int way = 0; way < 2 && status == SLEY_OK; way++) {
    sl_exchange_spec spec;
    sl_halo_spec(halo, (sl_halo_way)way, name[way], dtype, k * (int64_t)sley_dtype_bytes(dtype),
                 made->lists + 2 * (int64_t)comm->size * way, &spec);
    status = comm->ops->exchange_create(comm, &spec, &made->exchange[way]);
  }
  if (status != SLEY_OK) {
    sl_halo_rows_destroy(made);
    return status;
  }
  *out = made;
  return SLEY_OK;
}

static sley_status begin(sl_exchange *exchange, const void *src, int64_t src_stride, void *dst,
                         int64_t dst_stride) {
  sl_comm *comm = exchange->comm;
  SL_TRY(sl_interrupted());
  return comm->ops->exchange_begin(exchange, src, src_stride, dst, dst_stride, comm->queue);
}

static sley_status end(sl_exchange *exchange) {
  sl_comm *comm = exchange->comm;
  SL_TRY(comm->ops->exchange_end(exchange, comm->queue));
  return sl_exchange_reclaim(exchange, comm->queue);
}

sley_status sl_halo_rows_begin(sley_halo *halo, sl_halo_way way, const void *src, int64_t src_ld, void *dst,
                               int64_t dst_ld) {
  int64_t value = (int64_t)sley_dtype_bytes(halo->dtype);
  const sl_work before = sl_work_begin(halo->comm, SL_WORK_EXCHANGE);
  sley_status status =
      sl_work_end(halo->comm, before, begin(halo->exchange[way], src, src_ld * value, dst, dst_ld * value));
  return sl_abort_on_error(halo->comm, status);
}

sley_status sl_halo_rows_end(sley_halo *halo, sl_halo_way way) {
  const sl_work before = sl_work_begin(halo->comm, SL_WORK_EXCHANGE);
  sley_status status = sl_work_end(halo->comm, before, end(halo->exchange[way]));
  return sl_abort_on_error(halo->comm, status);
}

sley_status sl_halo_rows_arrive(sley_halo *halo) {
  const sl_piece_words *words; /* NULL: these exchanges have no pieces */
  const sl_work before = sl_work_begin(halo->comm, SL_WORK_EXCHANGE);
  sley_status status = sl_work_end(
      halo->comm, before, sl_exchange_arrive(halo->exchange[SL_HALO_GATHER], halo->comm->queue, &words));
  return sl_abort_on_error(halo->comm, status);
}

sley_status sl_halo_rows_run(sley_halo *halo, sl_halo_way way, const void *src, int64_t src_ld, void *dst,
                             int64_t dst_ld) {
  SL_TRY(sl_halo_rows_begin(halo, way, src, src_ld, dst, dst_ld));
  return sl_halo_rows_end(halo, way);
}

void sl_halo_rows_destroy(sley_halo *halo) {
  if (!halo)
    return;
  for (int way = 1; way >= 0; way--)
    if (halo->exchange[way])
      halo->comm->ops->exchange_destroy(halo->exchange[way]);
  sl_free(halo->lists);
  sl_halo_release(halo->halo);
  sl_free(halo);
}
