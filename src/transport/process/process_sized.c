/* SPDX-License-Identifier: Apache-2.0 */
/* Sized exchanges of ranks that are processes: every pair's bytes travel as one message per round, directly
 * between the callers' buffers, by the carrier that the transport names for them. Each is an ordinary
 * exchange whose channels are set anew by each begin. */
#include <string.h>

#include "base/memory.h"
#include "transport/process/process_exchange.h"
#include "transport/sized.h"

typedef struct process_sized {
  sl_sized base;
  sl_process_exchange *exchange;
  const char *own_src; /* bytes of this round from the rank to itself */
  int64_t own_bytes;
} process_sized;

static sl_process_comm *comm_of(const process_sized *sized) {
  return (sl_process_comm *)sized->base.comm;
}

/* ---- making */

static sley_status open_channels(sl_comm *comm, const sl_row_list *lists, int count,
                                 sl_process_channel **out) {
  SL_TRY(SL_NEW_ZERO(*out, count, "a sized exchange"));
  for (int i = 0; i < count; i++) {
    (*out)[i].list = lists[i];
    (*out)[i].travels = lists[i].peer != comm->rank && lists[i].count > 0;
  }
  return SLEY_OK;
}

static sley_status make(sl_process_comm *comm, const sl_exchange_spec *rows, process_sized **out) {
  const sl_carrier *carrier = comm->backend->sized;
  process_sized *sized;
  SL_TRY(SL_NEW_ZERO(sized, 1, "a sized exchange"));
  *out = sized;
  sized->base.comm = &comm->base;
  sl_process_exchange *exchange = sl_alloc_zero(1, carrier->exchange_bytes, "a sized exchange");
  if (!exchange)
    return SLEY_ERR_MEMORY;
  sized->exchange = exchange;
  exchange->base.comm = &comm->base;
  exchange->carrier = carrier;
  exchange->sized = true;
  exchange->dtype = rows->dtype;
  exchange->name = sl_strdup(rows->name);
  if (!exchange->name)
    return SLEY_ERR_MEMORY;
  SL_TRY(open_channels(&comm->base, rows->send, rows->sends, &exchange->send));
  exchange->sends = rows->sends;
  SL_TRY(open_channels(&comm->base, rows->recv, rows->recvs, &exchange->recv));
  exchange->recvs = rows->recvs;
  return carrier->open(exchange);
}

void sl_process_sized_destroy(sl_sized *base) {
  process_sized *sized = (process_sized *)base;
  if (sized && sized->exchange)
    sl_process_exchange_destroy(&sized->exchange->base);
  sl_free(sized);
}

sley_status sl_process_sized_create(sl_comm *base, const sl_sized_spec *spec, sl_sized **out) {
  sl_process_comm *comm = (sl_process_comm *)base;
  process_sized *sized = NULL;
  sl_row_list *lists;
  sl_exchange_spec rows = {.name = "sized"};
  *out = NULL;
  uint64_t id = comm->next_id++;
  sley_status status = sl_sized_as_rows(spec, base, &rows, &lists);
  status = sl_process_over(base, sl_process_match_lists(comm, &rows, status));
  if (status == SLEY_OK)
    status = sl_process_over(
        base, sl_mesh_agree(comm->mesh, "buffers of sized_create", 0, 0, make(comm, &rows, &sized)));
  sl_free(lists);
  if (status != SLEY_OK) {
    if (sized)
      sl_process_sized_destroy(&sized->base);
    return status;
  }
  sized->exchange->id = id;
  *out = &sized->base;
  return SLEY_OK;
}

/* ---- running */

static sley_status failed(process_sized *sized, sley_status status) {
  sized->exchange->in_flight = false;
  sl_process_abort(sized->base.comm, status);
  return status;
}

static sley_status begin(process_sized *sized, const sl_sized_round *round, sl_queue *queue) {
  sl_process_exchange *exchange = sized->exchange;
  if (exchange->in_flight)
    return sl_fail(SLEY_ERR_ARG, "sized exchange %s is begun again before its end", exchange->name);
  SL_TRY(sl_mesh_progress(comm_of(sized)->mesh));
  for (int i = 0; i < exchange->sends; i++) {
    sl_process_channel *c = &exchange->send[i];
    SL_TRY(sl_sized_check_lengths(exchange->name, &c->list, 1, &round->send_bytes[i]));
    c->bytes = round->send_bytes[i];
    c->at = round->src ? (char *)(uintptr_t)round->src + round->send_at[i] : NULL;
    if (c->list.peer == sized->base.comm->rank) {
      sized->own_src = c->at;
      sized->own_bytes = c->bytes;
    }
  }
  for (int i = 0; i < exchange->recvs; i++) {
    exchange->recv[i].at = round->dst ? (char *)round->dst + round->recv_at[i] : NULL;
    exchange->recv[i].bytes = 0;
  }
  exchange->in_flight = true;
  exchange->round++;
  return exchange->carrier->begin(exchange, queue);
}

sley_status sl_process_sized_begin(sl_sized *base, const sl_sized_round *round, sl_queue *queue) {
  process_sized *sized = (process_sized *)base;
  sley_status status = begin(sized, round, queue);
  return status == SLEY_OK ? SLEY_OK : failed(sized, status);
}

static sley_status receive(process_sized *sized, sl_process_channel *c, sl_queue *queue) {
  if (c->travels)
    return sized->exchange->carrier->receive(sized->exchange, c, queue);
  if (c->list.peer != sized->base.comm->rank || sized->own_bytes == 0)
    return SLEY_OK;
  c->bytes = sized->own_bytes;
  SL_TRY(queue->ops->copy(queue, SL_COPY_WITHIN, c->at, sized->own_src, c->bytes));
  sl_process_counters_add(sized->base.comm, SL_LINK_SELF, c->bytes, 1);
  return SLEY_OK;
}

static sley_status end(process_sized *sized, int64_t *recv_bytes, sl_queue *queue) {
  sl_process_exchange *exchange = sized->exchange;
  if (!exchange->in_flight)
    return sl_fail(SLEY_ERR_ARG, "sized exchange %s is ended but was not begun", exchange->name);
  SL_TRY(sl_mesh_progress(comm_of(sized)->mesh));
  for (int i = 0; i < exchange->recvs; i++) {
    sl_process_channel *c = &exchange->recv[i];
    SL_TRY(receive(sized, c, queue));
    recv_bytes[i] = c->bytes;
  }
  SL_TRY(exchange->carrier->end(exchange, queue));
  return exchange->carrier->reclaim(exchange);
}

sley_status sl_process_sized_end(sl_sized *base, int64_t *recv_bytes, sl_queue *queue) {
  process_sized *sized = (process_sized *)base;
  sley_status status = end(sized, recv_bytes, queue);
  if (status != SLEY_OK)
    return failed(sized, status);
  sized->exchange->in_flight = false;
  return SLEY_OK;
}
