/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives that are built from a transport's own collectives: agreement on a status, and exchange of
   varying numbers of items. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "transport/transport.h"

enum { ERROR_WORDS = sizeof(sl_error) / sizeof(int64_t) };

/* Sends the error of rank `from` to all: the other ranks contribute the lowest number, so the maximum is the
 * error of `from`. */
static sley_status share_error(sl_comm *comm, int from, const sl_error *own, sl_error *out) {
  int64_t words[ERROR_WORDS];
  for (int i = 0; i < ERROR_WORDS; i++)
    words[i] = INT64_MIN;
  if (comm->rank == from)
    memcpy(words, own, sizeof words);
  SL_TRY(comm->ops->allreduce(comm, SL_MAX, words, ERROR_WORDS));
  memcpy(out, words, sizeof words);
  sl_error_check(out, comm->size);
  return SLEY_OK;
}

sley_status sl_agree(sl_comm *comm, sley_status mine) {
  sl_error own, theirs;
  sl_error_take(mine, &own);
  int64_t first = mine == SLEY_OK ? INT64_MAX : comm->rank;
  sley_status status = comm->ops->allreduce(comm, SL_MIN, &first, 1);
  if (status == SLEY_OK && first == INT64_MAX)
    return SLEY_OK;
  if (status == SLEY_OK)
    status = share_error(comm, (int)first, &own, &theirs);
  if (mine != SLEY_OK) /* the collectives may have failed too, and replaced the message */
    return sl_error_restore(&own);
  if (status != SLEY_OK)
    return status;
  return sl_error_of_peer((int)first, &theirs);
}

sley_status sl_agree_alike(sl_comm *comm, sley_status mine) {
  sl_error own, theirs;
  sl_error_take(mine, &own);
  int64_t first = mine == SLEY_OK ? INT64_MAX : comm->rank;
  SL_TRY(comm->ops->allreduce(comm, SL_MIN, &first, 1));
  if (first == INT64_MAX)
    return SLEY_OK;
  SL_TRY(share_error(comm, (int)first, &own, &theirs));
  return sl_error_restore(&theirs);
}

enum { AT_ONCE = 16 };

/* Compares at most AT_ONCE numbers. */
static sley_status agree_some(sl_comm *comm, const char *call, const char *const *names,
                              const int64_t *numbers, int count) {
  int64_t least[2 * AT_ONCE];
  for (int i = 0; i < count; i++) {
    least[i] = numbers[i];
    least[count + i] = ~numbers[i]; /* the minimum of the complements is the complement of the maximum */
  }
  SL_TRY(comm->ops->allreduce(comm, SL_MIN, least, 2 * count));
  for (int i = 0; i < count; i++)
    if (least[i] != ~least[count + i])
      return sl_agree(comm, sl_fail(SLEY_ERR_ARG, "%s%sthe ranks were given different values of: %s",
                                    call ? call : "", call ? ": " : "", names[i]));
  return SLEY_OK;
}

sley_status sl_agree_same(sl_comm *comm, const char *call, const char *const *names, const int64_t *numbers,
                          int count) {
  for (int i = 0; i < count; i += AT_ONCE)
    SL_TRY(agree_some(comm, call, names + i, numbers + i, count - i < AT_ONCE ? count - i : AT_ONCE));
  return SLEY_OK;
}

/* Computes, for each p, bytes[p] = count[p] * item_bytes and at[p] = the sum of the bytes before. */
static sley_status lay_out(const char *what, int size, const int64_t *count, int64_t item_bytes, int64_t *at,
                           int64_t *bytes, int64_t *total) {
  *total = 0;
  for (int p = 0; p < size; p++) {
    at[p] = *total;
    if (count[p] < 0 || __builtin_mul_overflow(count[p], item_bytes, &bytes[p]) ||
        __builtin_add_overflow(*total, bytes[p], total))
      return sl_fail(SLEY_ERR_OVERFLOW,
                     "exchange of items: %lld items of %lld bytes %s rank %d: the number must not be "
                     "negative, and the bytes of all ranks must fit 64 bits",
                     (long long)count[p], (long long)item_bytes, what, p);
  }
  return SLEY_OK;
}

/* Names of the tables in one array. The tables of the counts are not needed once the counts are exchanged:
 * the tables of received items replace them. */
enum { RECV_AT, RECV_BYTES, SEND_AT, SEND_BYTES, TABLES, COUNT_AT = RECV_AT, COUNT_BYTES = RECV_BYTES };

/* Sets *out to whether any rank has something to send. Collective. */
static sley_status any_sends(sl_comm *comm, const int64_t *count, bool *out) {
  int64_t sends = 0;
  for (int p = 0; p < comm->size; p++)
    sends |= count[p] != 0;
  SL_TRY(comm->ops->allreduce(comm, SL_MAX, &sends, 1));
  *out = sends != 0;
  return SLEY_OK;
}

static sley_status receive_nothing(sl_comm *comm, void **recv, int64_t *recv_count) {
  memset(recv_count, 0, (size_t)comm->size * sizeof *recv_count);
  *recv = sl_alloc(0, 1, "received items");
  sley_status status = sl_agree(comm, *recv ? SLEY_OK : SLEY_ERR_MEMORY);
  if (status != SLEY_OK) {
    sl_free(*recv);
    *recv = NULL;
  }
  return status;
}

sley_status sl_exchange_items(sl_comm *comm, int64_t item_bytes, const void *send, const int64_t *send_count,
                              void **recv, int64_t *recv_count) {
  int size = comm->size;
  bool any;
  *recv = NULL;
  SL_TRY(any_sends(comm, send_count, &any));
  if (!any && item_bytes > 0)
    return receive_nothing(comm, recv, recv_count);
  int64_t *tables = sl_alloc(size, TABLES * sizeof *tables, "an exchange of items");
  sley_status status = tables ? SLEY_OK : SLEY_ERR_MEMORY;
  int64_t total;
  if (status == SLEY_OK && item_bytes <= 0)
    status = sl_fail(SLEY_ERR_ARG, "exchange of items of %lld bytes", (long long)item_bytes);
  if (status == SLEY_OK)
    status = lay_out("to", size, send_count, item_bytes, tables + SEND_AT * size, tables + SEND_BYTES * size,
                     &total);
  SL_TRY_GOTO(status, sl_agree(comm, status), done);
  for (int p = 0; p < size; p++) {
    tables[COUNT_AT * size + p] = p * (int64_t)sizeof(int64_t);
    tables[COUNT_BYTES * size + p] = sizeof(int64_t);
  }
  const int64_t *count_at = tables + COUNT_AT * size, *count_bytes = tables + COUNT_BYTES * size;
  SL_TRY_GOTO(
      status,
      comm->ops->alltoallv(comm, send_count, count_at, count_bytes, recv_count, count_at, count_bytes), done);
  status = lay_out("from", size, recv_count, item_bytes, tables + RECV_AT * size, tables + RECV_BYTES * size,
                   &total);
  if (status == SLEY_OK && !(*recv = sl_alloc(total, 1, "received items")))
    status = SLEY_ERR_MEMORY;
  SL_TRY_GOTO(status, sl_agree(comm, status), done);
  status = comm->ops->alltoallv(comm, send, tables + SEND_AT * size, tables + SEND_BYTES * size, *recv,
                                tables + RECV_AT * size, tables + RECV_BYTES * size);
done:
  if (status != SLEY_OK) {
    sl_free(*recv);
    *recv = NULL;
  }
  sl_free(tables);
  return status;
}
