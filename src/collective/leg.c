/* SPDX-License-Identifier: Apache-2.0 */
/* Exchanges of compressed arrays, over sized exchanges. */
#include "collective/leg.h"

#include "base/memory.h"
#include "device/device.h"

int64_t sl_leg_room(sley_type type, int64_t values) {
  return sl_compressed_bytes(SL_COMPRESSED_DENSE, type, values, 0);
}

int64_t sl_leg_slot(sley_type type, int64_t values) {
  return (sl_leg_room(type, values) + SL_LEG_SLOT - 1) / SL_LEG_SLOT * SL_LEG_SLOT;
}

sley_status sl_leg_begin(sl_leg *leg, int most) {
  SL_TRY(SL_NEW_ZERO(leg->send, most, "a sparse collective"));
  SL_TRY(SL_NEW_ZERO(leg->recv, most, "a sparse collective"));
  SL_TRY(SL_NEW_ZERO(leg->header, most, "a sparse collective"));
  return SL_NEW_ZERO(leg->numbers, 4 * (int64_t)most, "a sparse collective");
}

void sl_leg_send(sl_leg *leg, int peer, int64_t values, int64_t at) {
  if (values > 0)
    leg->send[leg->sends++] = (sl_leg_item){.peer = peer, .values = values, .at = at};
}

void sl_leg_recv(sl_leg *leg, int peer, int64_t values, int64_t at) {
  if (values > 0)
    leg->recv[leg->recvs++] = (sl_leg_item){.peer = peer, .values = values, .at = at};
}

static sley_status list_items(const sl_leg *leg, const sl_leg_item *items, int count, sl_sized_list **out) {
  SL_TRY(SL_NEW(*out, count, "a sparse collective"));
  for (int i = 0; i < count; i++)
    (*out)[i] = (sl_sized_list){.peer = items[i].peer, .capacity = sl_leg_room(leg->type, items[i].values)};
  return SLEY_OK;
}

sley_status sl_leg_make(sl_leg *leg) {
  sl_sized_list *send = NULL, *recv = NULL;
  sley_status status = list_items(leg, leg->send, leg->sends, &send);
  if (status == SLEY_OK)
    status = list_items(leg, leg->recv, leg->recvs, &recv);
  status = sl_agree(leg->comm, status);
  sl_sized_spec spec = {
      .name = leg->name, .sends = leg->sends, .recvs = leg->recvs, .send = send, .recv = recv};
  if (status == SLEY_OK)
    status = leg->comm->ops->sized_create(leg->comm, &spec, &leg->exchange);
  sl_free(recv);
  sl_free(send);
  return status;
}

void sl_leg_destroy(sl_leg *leg) {
  if (leg->exchange)
    leg->comm->ops->sized_destroy(leg->exchange);
  sl_free(leg->numbers);
  sl_free(leg->header);
  sl_free(leg->recv);
  sl_free(leg->send);
}

/* The headers of the items, whose bytes say that there is one, in the host's memory. */
static sley_status read_headers(sl_leg *leg, const sl_leg_item *items, int count, const void *area,
                                sl_queue *queue) {
  for (int i = 0; i < count; i++)
    if (items[i].bytes >= SL_COMPRESSED_HEADER)
      SL_TRY(queue->ops->copy(queue, SL_COPY_TO_HOST, &leg->header[i], (const char *)area + items[i].at,
                              SL_COMPRESSED_HEADER));
  return count > 0 ? queue->ops->queue_wait(queue) : SLEY_OK;
}

sley_status sl_leg_measure(sl_leg *leg, const void *src, sl_queue *queue) {
  for (int i = 0; i < leg->sends; i++)
    leg->send[i].bytes = SL_COMPRESSED_HEADER;
  SL_TRY(read_headers(leg, leg->send, leg->sends, src, queue));
  for (int i = 0; i < leg->sends; i++)
    leg->send[i].bytes += leg->header[i].payload_bytes;
  return SLEY_OK;
}

/* Whether what has come is one compressed array, as it must be, and nothing more. */
static sley_status check_item(const sl_leg *leg, int i) {
  const sl_leg_item *item = &leg->recv[i];
  const char *fault = sl_compressed_fault_of(&leg->header[i], leg->type, item->values, item->bytes);
  if (!fault && leg->header[i].payload_bytes != item->bytes - SL_COMPRESSED_HEADER)
    fault = "it goes on behind its payload";
  if (fault)
    return sl_fail_peer(item->peer, "%s: %lld bytes from rank %d are no compressed array of %lld values: %s",
                        leg->name, (long long)item->bytes, item->peer, (long long)item->values, fault);
  return SLEY_OK;
}

sley_status sl_leg_run(sl_leg *leg, const void *src, void *dst, sl_queue *queue) {
  const sl_transport_ops *ops = leg->comm->ops;
  int most = leg->sends > leg->recvs ? leg->sends : leg->recvs;
  int64_t *send_at = leg->numbers, *send_bytes = send_at + most, *recv_at = send_bytes + most,
          *recv_bytes = recv_at + most;
  if (!leg->exchange)
    return SLEY_OK;
  for (int i = 0; i < leg->sends; i++) {
    send_at[i] = leg->send[i].at;
    send_bytes[i] = leg->send[i].bytes;
  }
  for (int i = 0; i < leg->recvs; i++)
    recv_at[i] = leg->recv[i].at;
  sl_sized_round round = {
      .src = src, .send_at = send_at, .send_bytes = send_bytes, .dst = dst, .recv_at = recv_at};
  SL_TRY(ops->sized_begin(leg->exchange, &round, queue));
  SL_TRY(ops->sized_end(leg->exchange, recv_bytes, queue));
  for (int i = 0; i < leg->recvs; i++)
    leg->recv[i].bytes = recv_bytes[i];
  SL_TRY(read_headers(leg, leg->recv, leg->recvs, dst, queue));
  for (int i = 0; i < leg->recvs; i++)
    SL_TRY(check_item(leg, i));
  return SLEY_OK;
}
