/* SPDX-License-Identifier: Apache-2.0 */
/* A comm that forwards every call to another and records it. */
#include <stdio.h>

#include "base/clock.h"
#include "base/memory.h"
#include "transport/trace/record.h"

static const sl_transport_ops traced_ops;

typedef struct traced_comm {
  sl_comm base;
  sl_comm *inner;
  sl_trace *trace;
} traced_comm;

typedef struct traced_exchange {
  sl_exchange base;
  sl_exchange *inner;
  double begun; /* 0: not in flight */
  char name[SL_TRACE_NAME], begin_name[SL_TRACE_NAME], end_name[SL_TRACE_NAME], borrow_name[SL_TRACE_NAME];
  char arrive_name[SL_TRACE_NAME], reclaim_name[SL_TRACE_NAME];
  int64_t bytes[SL_LINK_COUNT]; /* received a round */
} traced_exchange;

typedef struct traced_sized {
  sl_sized base;
  sl_sized *inner;
  int recvs;
  char begin_name[SL_TRACE_NAME], end_name[SL_TRACE_NAME];
} traced_sized;

typedef struct traced_symm {
  sl_symm base;
  sl_symm *inner;
} traced_symm;

static sl_comm *inner_of(const sl_comm *comm) {
  return ((const traced_comm *)comm)->inner;
}

static sl_trace *trace_of(const sl_comm *comm) {
  return ((const traced_comm *)comm)->trace;
}

static sley_status record(sl_comm *comm, const char *name, double begin, int64_t bytes, sley_status status) {
  sl_trace_span(trace_of(comm), name, begin, sl_now(), bytes);
  return status;
}

sley_status sl_trace_wrap(sl_comm *inner, sl_trace *trace, sl_comm **out) {
  *out = NULL;
  traced_comm *comm;
  SL_TRY(SL_NEW(comm, 1, "a traced comm"));
  *comm = (traced_comm){.base = *inner, .inner = inner, .trace = trace};
  comm->base.ops = &traced_ops;
  *out = &comm->base;
  return SLEY_OK;
}

sl_trace *sl_trace_of(sl_comm *comm) {
  return comm && comm->ops == &traced_ops ? trace_of(comm) : NULL;
}

/* --------------------------------------------------------------------------------------------------
 * exchanges */

static void name_exchange(traced_exchange *exchange, const char *name) {
  snprintf(exchange->name, SL_TRACE_NAME, "%s", name);
  snprintf(exchange->begin_name, SL_TRACE_NAME, "begin %s", name);
  snprintf(exchange->end_name, SL_TRACE_NAME, "end %s", name);
  snprintf(exchange->borrow_name, SL_TRACE_NAME, "borrow %s", name);
  snprintf(exchange->arrive_name, SL_TRACE_NAME, "arrive %s", name);
  snprintf(exchange->reclaim_name, SL_TRACE_NAME, "reclaim %s", name);
}

/* The wrapper is made before the inner exchange; should it fail, the ranks agree on that first. */
static sley_status exchange_create(sl_comm *comm, const sl_exchange_spec *spec, sl_exchange **out) {
  *out = NULL;
  double begin = sl_now();
  traced_exchange *exchange;
  sley_status status = SL_NEW_ZERO(exchange, 1, "a traced exchange");
  SL_TRY_GOTO(status, sl_agree(inner_of(comm), status), fail);
  exchange->base.comm = comm;
  SL_TRY_GOTO(status, inner_of(comm)->ops->exchange_create(inner_of(comm), spec, &exchange->inner), fail);
  name_exchange(exchange, spec->name);
  for (int i = 0; i < spec->recvs; i++)
    exchange->bytes[sl_link_to(comm, spec->recv[i].peer)] += spec->recv[i].count * spec->recv[i].bytes;
  *out = &exchange->base;
  return record(comm, "exchange_create", begin, -1, SLEY_OK);
fail:
  sl_free(exchange);
  return record(comm, "exchange_create", begin, -1, status);
}

static int64_t exchange_memory(sl_comm *comm, const sl_exchange_spec *spec) {
  return inner_of(comm)->ops->exchange_memory(inner_of(comm), spec);
}

static sley_status exchange_begin(sl_exchange *base, const void *src, int64_t src_stride, void *dst,
                                  int64_t dst_stride, sl_queue *queue) {
  traced_exchange *exchange = (traced_exchange *)base;
  double begin = sl_now();
  sley_status status =
      exchange->inner->comm->ops->exchange_begin(exchange->inner, src, src_stride, dst, dst_stride, queue);
  exchange->begun = status == SLEY_OK ? begin : 0;
  return record(base->comm, exchange->begin_name, begin, -1, status);
}

static void count_received(const traced_exchange *exchange, double now) {
  sl_trace *trace = trace_of(exchange->base.comm);
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
  record(base->comm, exchange->end_name, begin, bytes, status);
  if (exchange->begun > 0 && status == SLEY_OK)
    count_received(exchange, sl_now());
  exchange->begun = 0;
  return status;
}

static sley_status exchange_arrive(sl_exchange *base, sl_queue *queue, const sl_stage_words **words) {
  traced_exchange *exchange = (traced_exchange *)base;
  double begin = sl_now();
  return record(base->comm, exchange->arrive_name, begin, -1,
                sl_exchange_arrive(exchange->inner, queue, words));
}

static sley_status exchange_reclaim(sl_exchange *base, sl_queue *queue) {
  traced_exchange *exchange = (traced_exchange *)base;
  double begin = sl_now();
  return record(base->comm, exchange->reclaim_name, begin, -1, sl_exchange_reclaim(exchange->inner, queue));
}

static sley_status exchange_borrow(sl_exchange *base, sl_lent *lent, sl_queue *queue) {
  traced_exchange *exchange = (traced_exchange *)base;
  double begin = sl_now();
  sley_status status = exchange->inner->comm->ops->exchange_borrow(exchange->inner, lent, queue);
  return record(base->comm, exchange->borrow_name, begin, -1, status);
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
  SL_TRY_GOTO(status, sl_agree(inner_of(comm), status), fail);
  sized->base.comm = comm;
  SL_TRY_GOTO(status, inner_of(comm)->ops->sized_create(inner_of(comm), spec, &sized->inner), fail);
  sized->recvs = spec->recvs;
  snprintf(sized->begin_name, SL_TRACE_NAME, "begin %s", spec->name);
  snprintf(sized->end_name, SL_TRACE_NAME, "end %s", spec->name);
  *out = &sized->base;
  return record(comm, "sized_create", begin, -1, SLEY_OK);
fail:
  sl_free(sized);
  return record(comm, "sized_create", begin, -1, status);
}

static sley_status sized_begin(sl_sized *base, const sl_sized_round *round, sl_queue *queue) {
  traced_sized *sized = (traced_sized *)base;
  double begin = sl_now();
  sley_status status = sized->inner->comm->ops->sized_begin(sized->inner, round, queue);
  return record(base->comm, sized->begin_name, begin, -1, status);
}

static sley_status sized_end(sl_sized *base, int64_t *recv_bytes, sl_queue *queue) {
  traced_sized *sized = (traced_sized *)base;
  double begin = sl_now();
  sley_status status = sized->inner->comm->ops->sized_end(sized->inner, recv_bytes, queue);
  int64_t bytes = 0;
  for (int i = 0; i < sized->recvs && status == SLEY_OK; i++)
    bytes += recv_bytes[i];
  return record(base->comm, sized->end_name, begin, bytes, status);
}

static void sized_destroy(sl_sized *base) {
  if (!base)
    return;
  traced_sized *sized = (traced_sized *)base;
  sized->inner->comm->ops->sized_destroy(sized->inner);
  sl_free(sized);
}

/* ------------------------------------------------------------------------------------------- symmetric
 * memory */

static sley_status symm_alloc(sl_comm *comm, int64_t bytes, sl_symm **out) {
  *out = NULL;
  double begin = sl_now();
  traced_symm *symm;
  sley_status status = SL_NEW_ZERO(symm, 1, "traced symmetric memory");
  SL_TRY_GOTO(status, sl_agree(inner_of(comm), status), fail);
  symm->base.comm = comm;
  SL_TRY_GOTO(status, inner_of(comm)->ops->symm_alloc(inner_of(comm), bytes, &symm->inner), fail);
  *out = &symm->base;
  return record(comm, "symm_alloc", begin, bytes, SLEY_OK);
fail:
  sl_free(symm);
  return record(comm, "symm_alloc", begin, bytes, status);
}

static sl_symm *inner_symm(sl_symm *symm) {
  return ((traced_symm *)symm)->inner;
}

static void symm_free(sl_symm *symm) {
  if (!symm)
    return;
  inner_symm(symm)->comm->ops->symm_free(inner_symm(symm));
  sl_free(symm);
}

static void *peer_ptr(sl_symm *symm, int rank) {
  return inner_symm(symm)->comm->ops->peer_ptr(inner_symm(symm), rank);
}

static sley_status get(sl_symm *symm, int rank, int64_t offset, void *dst, int64_t bytes) {
  double begin = sl_now();
  sley_status status = inner_symm(symm)->comm->ops->get(inner_symm(symm), rank, offset, dst, bytes);
  return record(symm->comm, "get", begin, bytes, status);
}

static sley_status get_rows(sl_symm *symm, int lists, const sl_row_list *list, void *dst) {
  double begin = sl_now();
  int64_t bytes = 0;
  for (int i = 0; i < lists; i++)
    bytes += list[i].count * list[i].bytes;
  sley_status status = sl_get_rows(inner_symm(symm), lists, list, dst);
  return record(symm->comm, "get rows", begin, bytes, status);
}

static sley_status put(sl_symm *symm, int rank, int64_t offset, const void *src, int64_t bytes) {
  double begin = sl_now();
  sley_status status = inner_symm(symm)->comm->ops->put(inner_symm(symm), rank, offset, src, bytes);
  return record(symm->comm, "put", begin, bytes, status);
}

static sley_status fetch_add(sl_symm *symm, int rank, int64_t offset, int64_t delta, int64_t *old) {
  double begin = sl_now();
  sley_status status = inner_symm(symm)->comm->ops->fetch_add(inner_symm(symm), rank, offset, delta, old);
  return record(symm->comm, "fetch_add", begin, -1, status);
}

static sley_status flush(sl_symm *symm) {
  double begin = sl_now();
  return record(symm->comm, "flush", begin, -1, inner_symm(symm)->comm->ops->flush(inner_symm(symm)));
}

/* ------------------------------------------------------------------------------------------------
 * collectives */

static sley_status barrier(sl_comm *comm) {
  double begin = sl_now();
  return record(comm, "barrier", begin, -1, inner_of(comm)->ops->barrier(inner_of(comm)));
}

static sley_status allgather(sl_comm *comm, const void *src, int64_t bytes, void *dst) {
  double begin = sl_now();
  return record(comm, "allgather", begin, bytes,
                inner_of(comm)->ops->allgather(inner_of(comm), src, bytes, dst));
}

static sley_status alltoallv(sl_comm *comm, const void *send, const int64_t *send_at,
                             const int64_t *send_bytes, void *recv, const int64_t *recv_at,
                             const int64_t *recv_bytes) {
  double begin = sl_now();
  sley_status status =
      inner_of(comm)->ops->alltoallv(inner_of(comm), send, send_at, send_bytes, recv, recv_at, recv_bytes);
  return record(comm, "alltoallv", begin, -1, status);
}

static sley_status allreduce(sl_comm *comm, sl_reduce op, int64_t *values, int count) {
  double begin = sl_now();
  sley_status status = inner_of(comm)->ops->allreduce(inner_of(comm), op, values, count);
  return record(comm, "allreduce", begin, count * (int64_t)sizeof *values, status);
}

static void abort_rank(sl_comm *comm, sley_status status) {
  double begin = sl_now();
  inner_of(comm)->ops->abort(inner_of(comm), status);
  record(comm, "abort", begin, -1, status);
}

static sley_status wait_for_queue(sl_comm *comm) {
  double begin = sl_now();
  return record(comm, "wait", begin, -1, inner_of(comm)->ops->wait(inner_of(comm)));
}

static void counters(const sl_comm *comm, sl_counters *out) {
  inner_of(comm)->ops->counters(inner_of(comm), out);
}

static void counters_add(sl_comm *comm, sl_link link, int64_t bytes, int64_t messages) {
  inner_of(comm)->ops->counters_add(inner_of(comm), link, bytes, messages);
}

static void counters_reset(sl_comm *comm) {
  inner_of(comm)->ops->counters_reset(inner_of(comm));
}

static void close_wrapper(sl_comm *comm) {
  sl_free(comm);
}

static const sl_transport_ops traced_ops = {
    .exchange_create = exchange_create,
    .exchange_memory = exchange_memory,
    .exchange_begin = exchange_begin,
    .exchange_end = exchange_end,
    .exchange_arrive = exchange_arrive,
    .exchange_reclaim = exchange_reclaim,
    .exchange_borrow = exchange_borrow,
    .exchange_destroy = exchange_destroy,
    .sized_create = sized_create,
    .sized_begin = sized_begin,
    .sized_end = sized_end,
    .sized_destroy = sized_destroy,
    .symm_alloc = symm_alloc,
    .symm_free = symm_free,
    .peer_ptr = peer_ptr,
    .get = get,
    .get_rows = get_rows,
    .put = put,
    .fetch_add = fetch_add,
    .flush = flush,
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
