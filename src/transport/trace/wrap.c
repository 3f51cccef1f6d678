/* SPDX-License-Identifier: Apache-2.0 */
/* A comm that forwards every call to another comm and records it. */
#include <stdio.h>

#include "base/clock.h"
#include "base/memory.h"
#include "transport/trace/wrap.h"

static const sl_transport_ops traced_ops;

typedef struct traced_exchange {
  sl_exchange base;
  sl_exchange *inner;
  double begun; /* time of begin; 0: the exchange is not in flight */
  char name[SL_TRACE_NAME], begin_name[SL_TRACE_NAME], end_name[SL_TRACE_NAME], map_name[SL_TRACE_NAME];
  char arrive_name[SL_TRACE_NAME], reclaim_name[SL_TRACE_NAME];
  int64_t bytes[SL_LINK_COUNT]; /* bytes received in a round */
} traced_exchange;

typedef struct traced_sized {
  sl_sized base;
  sl_sized *inner;
  int recvs;
  char begin_name[SL_TRACE_NAME], end_name[SL_TRACE_NAME];
} traced_sized;

sley_status sl_trace_wrap(sl_comm *inner, sl_trace *trace, sl_comm **out) {
  *out = NULL;
  sl_traced_comm *comm;
  SL_TRY(SL_NEW(comm, 1, "a traced comm"));
  *comm = (sl_traced_comm){.base = *inner, .inner = inner, .trace = trace};
  comm->base.ops = &traced_ops;
  *out = &comm->base;
  return SLEY_OK;
}

sl_trace *sl_trace_of(sl_comm *comm) {
  return comm && comm->ops == &traced_ops ? sl_traced_trace(comm) : NULL;
}

/* --------------------------------------------------------------------------------------------------
 * exchanges */

static void name_exchange(traced_exchange *exchange, const char *name) {
  snprintf(exchange->name, SL_TRACE_NAME, "%s", name);
  snprintf(exchange->begin_name, SL_TRACE_NAME, "begin %s", name);
  snprintf(exchange->end_name, SL_TRACE_NAME, "end %s", name);
  snprintf(exchange->map_name, SL_TRACE_NAME, "map %s", name);
  snprintf(exchange->arrive_name, SL_TRACE_NAME, "arrive %s", name);
  snprintf(exchange->reclaim_name, SL_TRACE_NAME, "reclaim %s", name);
}

/* The wrapper is made before the inner exchange; if that fails on a rank, the ranks agree on the error
 * first. */
static sley_status exchange_create(sl_comm *comm, const sl_exchange_spec *spec, sl_exchange **out) {
  *out = NULL;
  double begin = sl_now();
  traced_exchange *exchange;
  sley_status status = SL_NEW_ZERO(exchange, 1, "a traced exchange");
  SL_TRY_GOTO(status, sl_agree(sl_traced_inner(comm), status), fail);
  exchange->base.comm = comm;
  SL_TRY_GOTO(status,
              sl_traced_inner(comm)->ops->exchange_create(sl_traced_inner(comm), spec, &exchange->inner),
              fail);
  name_exchange(exchange, spec->name);
  for (int i = 0; i < spec->recvs; i++)
    exchange->bytes[sl_link_to(comm, spec->recv[i].peer)] += spec->recv[i].count * spec->recv[i].bytes;
  *out = &exchange->base;
  return sl_traced_record(comm, "exchange_create", begin, -1, SLEY_OK);
fail:
  sl_free(exchange);
  return sl_traced_record(comm, "exchange_create", begin, -1, status);
}

static int64_t exchange_memory(sl_comm *comm, const sl_exchange_spec *spec) {
  return sl_traced_inner(comm)->ops->exchange_memory(sl_traced_inner(comm), spec);
}

static int64_t list_messages(const sl_comm *comm, const sl_row_list *list, sl_grain grain) {
  return sl_traced_inner(comm)->ops->list_messages(sl_traced_inner(comm), list, grain);
}

static int64_t row_messages(const sl_comm *comm, int peer, int64_t count, int64_t bytes) {
  return sl_traced_inner(comm)->ops->row_messages(sl_traced_inner(comm), peer, count, bytes);
}

static sley_status exchange_begin(sl_exchange *base, const void *src, int64_t src_stride, void *dst,
                                  int64_t dst_stride, sl_queue *queue) {
  traced_exchange *exchange = (traced_exchange *)base;
  double begin = sl_now();
  sley_status status =
      exchange->inner->comm->ops->exchange_begin(exchange->inner, src, src_stride, dst, dst_stride, queue);
  exchange->begun = status == SLEY_OK ? begin : 0;
  return sl_traced_record(base->comm, exchange->begin_name, begin, -1, status);
}

static void count_received(const traced_exchange *exchange, double now) {
  sl_trace *trace = sl_traced_trace(exchange->base.comm);
  sl_trace_event *event = sl_trace_add(trace, SL_TRACE_FLIGHT, exchange->name);
  if (event) {
    event->begin = exchange->begun;
    event->end = now;
    for (int link = 0; link < SL_LINK_COUNT; link++)
      event->bytes[link] = exchange->bytes[link];
  }
  event = sl_trace_add(trace, SL_TRACE_COUNTER, "");
  if (event) {
    event->begin = event->end = now;
    sl_counters counters;
    exchange->inner->comm->ops->counters(exchange->inner->comm, &counters);
    for (int link = 0; link < SL_LINK_COUNT; link++)
      event->bytes[link] = counters.bytes[link];
  }
}

static sley_status exchange_end(sl_exchange *base, sl_queue *queue) {
  traced_exchange *exchange = (traced_exchange *)base;
  double begin = sl_now();
  sley_status status = exchange->inner->comm->ops->exchange_end(exchange->inner, queue);
  int64_t bytes =
      exchange->bytes[SL_LINK_SELF] + exchange->bytes[SL_LINK_DIRECT] + exchange->bytes[SL_LINK_MESSAGE];
  sl_traced_record(base->comm, exchange->end_name, begin, bytes, status);
  if (exchange->begun > 0 && status == SLEY_OK)
    count_received(exchange, sl_now());
  exchange->begun = 0;
  return status;
}

static sley_status exchange_arrive(sl_exchange *base, sl_queue *queue, const sl_piece_words **words) {
  traced_exchange *exchange = (traced_exchange *)base;
  double begin = sl_now();
  return sl_traced_record(base->comm, exchange->arrive_name, begin, -1,
                          sl_exchange_arrive(exchange->inner, queue, words));
}

static sley_status exchange_reclaim(sl_exchange *base, sl_queue *queue) {
  traced_exchange *exchange = (traced_exchange *)base;
  double begin = sl_now();
  return sl_traced_record(base->comm, exchange->reclaim_name, begin, -1,
                          sl_exchange_reclaim(exchange->inner, queue));
}

static sley_status exchange_map(sl_exchange *base, sl_mapped_rows *mapped, sl_queue *queue) {
  traced_exchange *exchange = (traced_exchange *)base;
  double begin = sl_now();
  sley_status status = exchange->inner->comm->ops->exchange_map(exchange->inner, mapped, queue);
  return sl_traced_record(base->comm, exchange->map_name, begin, -1, status);
}

static void exchange_destroy(sl_exchange *base) {
  if (!base)
    return;
  traced_exchange *exchange = (traced_exchange *)base;
  exchange->inner->comm->ops->exchange_destroy(exchange->inner);
  sl_free(exchange);
}

static sley_status sized_create(sl_comm *comm, const sl_sized_spec *spec, sl_sized **out) {
  *out = NULL;
  double begin = sl_now();
  traced_sized *sized;
  sley_status status = SL_NEW_ZERO(sized, 1, "a traced exchange");
  SL_TRY_GOTO(status, sl_agree(sl_traced_inner(comm), status), fail);
  sized->base.comm = comm;
  SL_TRY_GOTO(status, sl_traced_inner(comm)->ops->sized_create(sl_traced_inner(comm), spec, &sized->inner),
              fail);
  sized->recvs = spec->recvs;
  snprintf(sized->begin_name, SL_TRACE_NAME, "begin %s", spec->name);
  snprintf(sized->end_name, SL_TRACE_NAME, "end %s", spec->name);
  *out = &sized->base;
  return sl_traced_record(comm, "sized_create", begin, -1, SLEY_OK);
fail:
  sl_free(sized);
  return sl_traced_record(comm, "sized_create", begin, -1, status);
}

static sley_status sized_begin(sl_sized *base, const sl_sized_round *round, sl_queue *queue) {
  traced_sized *sized = (traced_sized *)base;
  double begin = sl_now();
  sley_status status = sized->inner->comm->ops->sized_begin(sized->inner, round, queue);
  return sl_traced_record(base->comm, sized->begin_name, begin, -1, status);
}

static sley_status sized_end(sl_sized *base, int64_t *recv_bytes, sl_queue *queue) {
  traced_sized *sized = (traced_sized *)base;
  double begin = sl_now();
  sley_status status = sized->inner->comm->ops->sized_end(sized->inner, recv_bytes, queue);
  int64_t bytes = 0;
  for (int i = 0; i < sized->recvs && status == SLEY_OK; i++)
    bytes += recv_bytes[i];
  return sl_traced_record(base->comm, sized->end_name, begin, bytes, status);
}

static void sized_destroy(sl_sized *base) {
  if (!base)
    return;
  traced_sized *sized = (traced_sized *)base;
  sized->inner->comm->ops->sized_destroy(sized->inner);
  sl_free(sized);
}

/* ------------------------------------------------------------------------------------------------
 * collectives */

static sley_status dense_native(sl_comm *comm, const sl_dense_spec *spec, sl_dense_native **out) {
  return sl_traced_inner(comm)->ops->dense_native(sl_traced_inner(comm), spec, out);
}

static sley_status barrier(sl_comm *comm) {
  double begin = sl_now();
  return sl_traced_record(comm, "barrier", begin, -1,
                          sl_traced_inner(comm)->ops->barrier(sl_traced_inner(comm)));
}

static sley_status allgather(sl_comm *comm, const void *src, int64_t bytes, void *dst) {
  double begin = sl_now();
  return sl_traced_record(comm, "allgather", begin, bytes,
                          sl_traced_inner(comm)->ops->allgather(sl_traced_inner(comm), src, bytes, dst));
}

static sley_status alltoallv(sl_comm *comm, const void *send, const int64_t *send_at,
                             const int64_t *send_bytes, void *recv, const int64_t *recv_at,
                             const int64_t *recv_bytes) {
  double begin = sl_now();
  sley_status status = sl_traced_inner(comm)->ops->alltoallv(sl_traced_inner(comm), send, send_at, send_bytes,
                                                             recv, recv_at, recv_bytes);
  return sl_traced_record(comm, "alltoallv", begin, -1, status);
}

static sley_status allreduce(sl_comm *comm, sl_reduce op, int64_t *values, int count) {
  double begin = sl_now();
  sley_status status = sl_traced_inner(comm)->ops->allreduce(sl_traced_inner(comm), op, values, count);
  return sl_traced_record(comm, "allreduce", begin, count * (int64_t)sizeof *values, status);
}

static void abort_rank(sl_comm *comm, sley_status status) {
  double begin = sl_now();
  sl_traced_inner(comm)->ops->abort(sl_traced_inner(comm), status);
  sl_traced_record(comm, "abort", begin, -1, status);
}

static sley_status wait_for_queue(sl_comm *comm) {
  double begin = sl_now();
  return sl_traced_record(comm, "wait", begin, -1, sl_traced_inner(comm)->ops->wait(sl_traced_inner(comm)));
}

static void counters(const sl_comm *comm, sl_counters *out) {
  sl_traced_inner(comm)->ops->counters(sl_traced_inner(comm), out);
}

static void counters_add(sl_comm *comm, sl_link link, int64_t bytes, int64_t messages) {
  sl_traced_inner(comm)->ops->counters_add(sl_traced_inner(comm), link, bytes, messages);
}

static void counters_reset(sl_comm *comm) {
  sl_traced_inner(comm)->ops->counters_reset(sl_traced_inner(comm));
}

static void close_wrapper(sl_comm *comm) {
  sl_free(comm);
}

static const sl_transport_ops traced_ops = {
    .exchange_create = exchange_create,
    .exchange_memory = exchange_memory,
    .list_messages = list_messages,
    .row_messages = row_messages,
    .exchange_begin = exchange_begin,
    .exchange_end = exchange_end,
    .exchange_arrive = exchange_arrive,
    .exchange_reclaim = exchange_reclaim,
    .exchange_map = exchange_map,
    .exchange_destroy = exchange_destroy,
    .sized_create = sized_create,
    .sized_begin = sized_begin,
    .sized_end = sized_end,
    .sized_destroy = sized_destroy,
    .dense_native = dense_native,
    .symm = &sl_traced_symm_ops,
    .barrier = barrier,
    .allgather = allgather,
    .alltoallv = alltoallv,
    .allreduce = allreduce,
    .abort = abort_rank,
    .wait = wait_for_queue,
    .counters = counters,
    .counters_reset = counters_reset,
    .counters_add = counters_add,
    .close = close_wrapper,
};
