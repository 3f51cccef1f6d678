/* SPDX-License-Identifier: Apache-2.0 */
/* Exchanges over NVSHMEM: all peers' blocks of the symmetric heap are in reach, so all rows but the rank's
 * own go the direct way. */
#include "base/memory.h"
#include "transport/nvshmem/nvshmem_comm.h"

/* A row list on the device. */
typedef struct own_rows {
  sl_row_list list;
  int64_t *rows;
} own_rows;

typedef struct nvshmem_exchange {
  sl_exchange base;
  char *name;
  sl_direct *direct;
  own_rows send, recv; /* between the rank and itself; count 0: none */
  int recvs, own_at;   /* lists of recv, and which of them is the rank's own */
  bool add, in_flight;
  sley_dtype dtype;
  sl_grain grain;
  const char *src; /* of this round */
  int64_t src_stride;
  char *dst;
  int64_t dst_stride;
} nvshmem_exchange;

/* ---- making */

static sley_status keep_own(sl_comm *comm, const sl_row_list *lists, int count, own_rows *out, int *at) {
  for (int i = 0; i < count; i++)
    if (lists[i].peer == comm->rank) {
      out->list = lists[i];
      *at = i;
    }
  if (!sl_list_moves(&out->list) || !out->list.rows)
    return SLEY_OK;
  int64_t bytes = out->list.count * (int64_t)sizeof *out->rows;
  void *block = NULL;
  SL_TRY(sl_device_upload(comm->queue, out->list.rows, bytes, "row lists", &block));
  out->list.rows = out->rows = block;
  return SLEY_OK;
}

static void free_exchange(nvshmem_exchange *exchange) {
  if (!exchange)
    return;
  sl_comm *comm = exchange->base.comm;
  comm->device->ops->free(comm->device, exchange->send.rows);
  comm->device->ops->free(comm->device, exchange->recv.rows);
  sl_free(exchange->name);
  sl_free(exchange);
}

static sley_status make(sl_comm *comm, const sl_exchange_spec *spec, nvshmem_exchange **out) {
  nvshmem_exchange *exchange;
  int ignored;
  SL_TRY(SL_NEW_ZERO(exchange, 1, "an exchange"));
  *out = exchange;
  exchange->base.comm = comm;
  exchange->add = spec->add;
  exchange->dtype = spec->dtype;
  exchange->grain = spec->grain;
  exchange->recvs = spec->recvs;
  exchange->own_at = -1;
  exchange->name = sl_strdup(spec->name);
  if (!exchange->name)
    return SLEY_ERR_MEMORY;
  SL_TRY(keep_own(comm, spec->send, spec->sends, &exchange->send, &ignored));
  return keep_own(comm, spec->recv, spec->recvs, &exchange->recv, &exchange->own_at);
}

sley_status sl_nvshmem_exchange_create(sl_comm *base, const sl_exchange_spec *spec, sl_exchange **out) {
  sl_process_comm *comm = (sl_process_comm *)base;
  nvshmem_exchange *exchange = NULL;
  *out = NULL;
  SL_TRY(sl_process_match_lists(comm, spec, SLEY_OK));
  sley_status status = make(base, spec, &exchange);
  status = sl_bootstrap_agree(comm->boot, "buffers of exchange_create", 0, 0, status);
  if (status == SLEY_OK)
    status = sl_direct_create(comm, spec, &exchange->direct);
  if (status != SLEY_OK) {
    free_exchange(exchange);
    return status;
  }
  *out = &exchange->base;
  return SLEY_OK;
}

static sley_status failed(nvshmem_exchange *exchange, sley_status status) {
  exchange->in_flight = false;
  sl_process_abort(exchange->base.comm, status);
  return status;
}

void sl_nvshmem_exchange_destroy(sl_exchange *base) {
  if (!base)
    return;
  nvshmem_exchange *exchange = (nvshmem_exchange *)base;
  sl_process_comm *comm = (sl_process_comm *)base->comm;
  if (exchange->in_flight && !sl_bootstrap_broken(comm->boot))
    (void)failed(exchange,
                 sl_fail(SLEY_ERR_INTERNAL, "exchange %s is destroyed before its end", exchange->name));
  sl_direct_destroy(exchange->direct);
  (void)sl_process_wait_for(comm, base->comm->queue);
  free_exchange(exchange);
}

/* ---- running */

sley_status sl_nvshmem_exchange_begin(sl_exchange *base, const void *src, int64_t src_stride, void *dst,
                                      int64_t dst_stride, sl_queue *queue) {
  nvshmem_exchange *exchange = (nvshmem_exchange *)base;
  if (exchange->in_flight)
    return failed(exchange,
                  sl_fail(SLEY_ERR_ARG, "exchange %s is begun again before its end", exchange->name));
  exchange->in_flight = true;
  exchange->src = src;
  exchange->src_stride = src_stride;
  exchange->dst = dst;
  exchange->dst_stride = dst_stride;
  sley_status status = sl_bootstrap_progress(((sl_process_comm *)base->comm)->boot);
  if (status == SLEY_OK)
    status = sl_direct_begin(exchange->direct, src, src_stride, queue);
  return status == SLEY_OK ? SLEY_OK : failed(exchange, status);
}

sley_status sl_nvshmem_exchange_borrow(sl_exchange *base, sl_lent *lent, sl_queue *queue) {
  (void)lent;
  (void)queue;
  nvshmem_exchange *exchange = (nvshmem_exchange *)base;
  return failed(exchange,
                sl_fail(SLEY_ERR_UNSUPPORTED, "exchange %s cannot be borrowed over NVSHMEM", exchange->name));
}

static sley_status take_own(nvshmem_exchange *exchange, sl_queue *queue) {
  const sl_row_list *from = &exchange->send.list, *to = &exchange->recv.list;
  if (!sl_list_moves(to))
    return SLEY_OK;
  sl_process_count((sl_process_comm *)exchange->base.comm, to, exchange->grain);
  return sl_kernel_run(queue, &(sl_kernel_args){.op = SL_OP_ROWS,
                                                .rows = {.count = to->count,
                                                         .bytes = to->bytes,
                                                         .src = exchange->src + from->offset,
                                                         .src_stride = exchange->src_stride,
                                                         .src_rows = from->rows,
                                                         .src_first = from->first,
                                                         .dst = exchange->dst + to->offset,
                                                         .dst_stride = exchange->dst_stride,
                                                         .dst_rows = to->rows,
                                                         .dst_first = to->first,
                                                         .add = exchange->add,
                                                         .dtype = exchange->dtype}});
}

static sley_status end(nvshmem_exchange *exchange, sl_queue *queue) {
  SL_TRY(sl_bootstrap_progress(((sl_process_comm *)exchange->base.comm)->boot));
  SL_TRY(sl_direct_end(exchange->direct, exchange->dst, exchange->dst_stride, queue));
  for (int i = 0; i < exchange->recvs; i++) {
    SL_TRY(sl_direct_add(exchange->direct, i, queue));
    if (i == exchange->own_at)
      SL_TRY(take_own(exchange, queue));
  }
  return SLEY_OK;
}

sley_status sl_nvshmem_exchange_end(sl_exchange *base, sl_queue *queue) {
  nvshmem_exchange *exchange = (nvshmem_exchange *)base;
  if (!exchange->in_flight)
    return failed(exchange, sl_fail(SLEY_ERR_ARG, "exchange %s is ended but was not begun", exchange->name));
  sley_status status = end(exchange, queue);
  if (status != SLEY_OK)
    return failed(exchange, status);
  exchange->in_flight = false;
  return SLEY_OK;
}

/* Only rows from the workgroup come in stages: end has seen to the others. */
sley_status sl_nvshmem_exchange_arrive(sl_exchange *base, int stage, sl_queue *queue) {
  nvshmem_exchange *exchange = (nvshmem_exchange *)base;
  sley_status status =
      exchange->in_flight
          ? sl_fail(SLEY_ERR_ARG, "exchange %s: stage %d is to arrive before the end", exchange->name, stage)
          : sl_direct_arrive(exchange->direct, stage, queue);
  return status == SLEY_OK ? SLEY_OK : failed(exchange, status);
}
