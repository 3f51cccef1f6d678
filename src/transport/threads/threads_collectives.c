/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives of ranks that are threads. In each collective the ranks meet twice. In the first meeting they
 * publish their buffers; then each rank reads its part directly from the others' memory; after the second
 * meeting all have finished reading. */
#include <string.h>

#include "base/memory.h"
#include "transport/threads/threads.h"
#include "transport/threads/world.h"

sley_status sl_threads_barrier(sl_comm *base) {
  sl_threads_comm *comm = (sl_threads_comm *)base;
  return sl_world_meet(comm, &(sl_post){.call = "barrier", .status = sl_threads_flush_puts(comm)});
}

sley_status sl_threads_allgather(sl_comm *base, const void *src, int64_t bytes, void *dst) {
  sl_threads_comm *comm = (sl_threads_comm *)base;
  sl_post post = {.call = "allgather", .number = {bytes}, .data = {src}};
  if (bytes < 0 || (bytes > 0 && (!src || !dst)))
    post.status = sl_fail(SLEY_ERR_ARG,
                          "allgather: %lld bytes from %p to %p: the number must not be negative, and neither "
                          "address may be NULL",
                          (long long)bytes, src, dst);
  SL_TRY(sl_world_meet(comm, &post));
  for (int r = 0; r < base->size && bytes > 0; r++) {
    if (!sl_world_enter(comm, r))
      break; /* the meeting below reports the error */
    memmove((char *)dst + r * bytes, sl_world_post(comm, r)->data[0], (size_t)bytes);
    sl_world_leave(comm, r);
  }
  return sl_world_meet(comm, &(sl_post){.call = "end of allgather"});
}

enum { SEND, SEND_AT, SEND_BYTES, RECV_BYTES }; /* positions in the post of an alltoallv */

/* Checks that this rank and rank r agree on the sizes between them, in both directions. */
static sley_status match_pair(const sl_threads_comm *comm, const sl_post *mine, int r) {
  int rank = comm->base.rank;
  const sl_post *theirs = sl_world_post(comm, r);
  for (int way = 0; way < 2; way++) {
    const sl_post *from = way ? mine : theirs, *to = way ? theirs : mine;
    int sender = way ? rank : r, receiver = way ? r : rank;
    int64_t sent = ((const int64_t *)from->data[SEND_BYTES])[receiver];
    int64_t taken = ((const int64_t *)to->data[RECV_BYTES])[sender];
    if (sent != taken || sent < 0)
      return sl_fail(SLEY_ERR_ARG, "alltoallv: rank %d sends %lld bytes to rank %d, which receives %lld",
                     sender, (long long)sent, receiver, (long long)taken);
  }
  return SLEY_OK;
}

sley_status sl_threads_alltoallv(sl_comm *base, const void *send, const int64_t *send_at,
                                 const int64_t *send_bytes, void *recv, const int64_t *recv_at,
                                 const int64_t *recv_bytes) {
  sl_threads_comm *comm = (sl_threads_comm *)base;
  sl_post post = {.call = "alltoallv", .data = {send, send_at, send_bytes, recv_bytes}};
  if (!send_at || !send_bytes || !recv_at || !recv_bytes)
    post.status = sl_fail(SLEY_ERR_ARG, "alltoallv: an array of offsets or sizes is NULL");
  SL_TRY(sl_world_meet(comm, &post));
  sley_status status = SLEY_OK;
  for (int i = 0; i < base->size && status == SLEY_OK; i++) {
    int r = (base->rank + i) % base->size;
    if (!sl_world_enter(comm, r))
      break;
    status = match_pair(comm, &post, r);
    const sl_post *theirs = sl_world_post(comm, r);
    if (status == SLEY_OK && recv_bytes[r] > 0)
      sl_team_copy(base->team, (char *)recv + recv_at[r],
                   (const char *)theirs->data[SEND] + ((const int64_t *)theirs->data[SEND_AT])[base->rank],
                   recv_bytes[r]);
    sl_world_leave(comm, r);
  }
  return sl_world_meet(comm, &(sl_post){.call = "end of alltoallv", .status = status});
}

static sley_status no_sum(const sl_comm *comm) {
  return sl_fail(SLEY_ERR_OVERFLOW, "allreduce: a sum over %d ranks does not fit 64 bits", comm->size);
}

/* Reduces few values in one meeting: the last rank to arrive reduces the values of all ranks. */
static sley_status reduce_small(sl_threads_comm *comm, sl_post *post, int64_t *values, int count) {
  post->reduces = true;
  SL_TRY(sl_world_meet(comm, post));
  const sl_verdict *verdict = sl_world_verdict(comm);
  if (verdict->overflow)
    return no_sum(&comm->base);
  if (count > 0)
    memcpy(values, verdict->sum, (size_t)count * sizeof *values);
  return SLEY_OK;
}

sley_status sl_threads_allreduce(sl_comm *base, sl_reduce op, int64_t *values, int count) {
  sl_threads_comm *comm = (sl_threads_comm *)base;
  int64_t *sum = NULL;
  sl_post post = {.call = "allreduce", .number = {op, count}, .data = {values}};
  if (count < 0 || (count > 0 && !values) || op > SL_MAX)
    post.status = sl_fail(SLEY_ERR_ARG,
                          "allreduce: operator %d on %d values at %p: the operator does not exist, the "
                          "number is negative, or the address is NULL",
                          (int)op, count, (void *)values);
  else if (count > SL_SMALL_COUNT)
    post.status = SL_NEW(sum, count, "an allreduce");
  else
    return reduce_small(comm, &post, values, count);
  sley_status status = sl_world_meet(comm, &post);
  if (status != SLEY_OK)
    goto done;
  for (int r = 0; r < base->size && count > 0; r++) {
    if (!sl_world_enter(comm, r))
      break;
    const int64_t *theirs = sl_world_post(comm, r)->data[0];
    if (r == 0)
      memcpy(sum, theirs, (size_t)count * sizeof *sum);
    else if (!sl_world_reduce_into(op, sum, theirs, count))
      status = no_sum(base);
    sl_world_leave(comm, r);
  }
  status = sl_world_meet(comm, &(sl_post){.call = "end of allreduce", .status = status});
  if (status == SLEY_OK && count > 0)
    memcpy(values, sum, (size_t)count * sizeof *sum);
done:
  sl_free(sum);
  return status;
}
