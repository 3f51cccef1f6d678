/* SPDX-License-Identifier: Apache-2.0 */
/* Exchanges of compressed arrays, over sized exchanges. */
#include "collective/transfer.h"

#include "base/memory.h"
#include "device/device.h"

int64_t sl_transfer_room(sley_type type, int64_t values) {
  return sl_compressed_bytes(SL_COMPRESSED_DENSE, type, values, 0);
}

int64_t sl_transfer_slot(sley_type type, int64_t values) {
  return (sl_transfer_room(type, values) + SL_TRANSFER_SLOT - 1) / SL_TRANSFER_SLOT * SL_TRANSFER_SLOT;
}

sley_status sl_transfer_begin(sl_transfer *transfer, int most) {
  SL_TRY(SL_NEW_ZERO(transfer->send, most, "a sparse collective"));
  SL_TRY(SL_NEW_ZERO(transfer->recv, most, "a sparse collective"));
  SL_TRY(SL_NEW_ZERO(transfer->header, most, "a sparse collective"));
  return SL_NEW_ZERO(transfer->numbers, 4 * (int64_t)most, "a sparse collective");
}

void sl_transfer_list(sl_transfer_item *items, int *count, int peer, int64_t values, int64_t at) {
  if (values > 0)
    items[(*count)++] = (sl_transfer_item){.peer = peer, .values = values, .at = at};
}

void sl_transfer_send(sl_transfer *transfer, int peer, int64_t values, int64_t at) {
  sl_transfer_list(transfer->send, &transfer->sends, peer, values, at);
}

void sl_transfer_recv(sl_transfer *transfer, int peer, int64_t values, int64_t at) {
  sl_transfer_list(transfer->recv, &transfer->recvs, peer, values, at);
}

static sley_status list_items(const sl_transfer *transfer, const sl_transfer_item *items, int count,
                              sl_sized_list **out) {
  SL_TRY(SL_NEW(*out, count, "a sparse collective"));
  for (int i = 0; i < count; i++)
    (*out)[i] =
        (sl_sized_list){.peer = items[i].peer, .capacity = sl_transfer_room(transfer->type, items[i].values)};
  return SLEY_OK;
}

sley_status sl_transfer_make(sl_transfer *transfer) {
  sl_sized_list *send = NULL, *recv = NULL;
  sley_status status = list_items(transfer, transfer->send, transfer->sends, &send);
  if (status == SLEY_OK)
    status = list_items(transfer, transfer->recv, transfer->recvs, &recv);
  status = sl_agree(transfer->comm, status);
  sl_sized_spec spec = {
      .name = transfer->name, .sends = transfer->sends, .recvs = transfer->recvs, .send = send, .recv = recv};
  if (status == SLEY_OK)
    status = transfer->comm->ops->sized_create(transfer->comm, &spec, &transfer->exchange);
  sl_free(recv);
  sl_free(send);
  return status;
}

void sl_transfer_destroy(sl_transfer *transfer) {
  if (transfer->exchange)
    transfer->comm->ops->sized_destroy(transfer->exchange);
  sl_free(transfer->numbers);
  sl_free(transfer->header);
  sl_free(transfer->recv);
  sl_free(transfer->send);
}

/* Copies to host memory the headers of all items whose bytes include a header. */
static sley_status read_headers(sl_transfer *transfer, const sl_transfer_item *items, int count,
                                const void *area, sl_queue *queue) {
  for (int i = 0; i < count; i++)
    if (items[i].bytes >= SL_COMPRESSED_HEADER)
      SL_TRY(queue->ops->copy(queue, SL_COPY_TO_HOST, &transfer->header[i], (const char *)area + items[i].at,
                              SL_COMPRESSED_HEADER));
  return count > 0 ? queue->ops->queue_wait(queue) : SLEY_OK;
}

sley_status sl_transfer_measure(sl_transfer *transfer, const void *src, sl_queue *queue) {
  for (int i = 0; i < transfer->sends; i++)
    transfer->send[i].bytes = transfer->send[i].values > 0 ? SL_COMPRESSED_HEADER : 0;
  SL_TRY(read_headers(transfer, transfer->send, transfer->sends, src, queue));
  for (int i = 0; i < transfer->sends; i++)
    if (transfer->send[i].values > 0)
      transfer->send[i].bytes += transfer->header[i].payload_bytes;
  return SLEY_OK;
}

/* Checks that the received bytes are exactly one compressed array, or empty for 0 values. */
static sley_status check_item(const sl_transfer *transfer, int i) {
  const sl_transfer_item *item = &transfer->recv[i];
  if (item->values == 0 && item->bytes == 0)
    return SLEY_OK;
  const char *fault = sl_compressed_fault_of(&transfer->header[i], transfer->type, item->values, item->bytes);
  if (!fault && transfer->header[i].payload_bytes != item->bytes - SL_COMPRESSED_HEADER)
    fault = "it is longer than its payload";
  if (fault)
    return sl_fail_peer(item->peer,
                        "%s: %lld bytes from rank %d are not a compressed array of %lld values: %s",
                        transfer->name, (long long)item->bytes, item->peer, (long long)item->values, fault);
  return SLEY_OK;
}

sley_status sl_transfer_run(sl_transfer *transfer, const void *src, void *dst, sl_queue *queue) {
  const sl_transport_ops *ops = transfer->comm->ops;
  int most = transfer->sends > transfer->recvs ? transfer->sends : transfer->recvs;
  int64_t *send_at = transfer->numbers, *send_bytes = send_at + most, *recv_at = send_bytes + most,
          *recv_bytes = recv_at + most;
  if (!transfer->exchange)
    return SLEY_OK;
  for (int i = 0; i < transfer->sends; i++) {
    send_at[i] = transfer->send[i].at;
    send_bytes[i] = transfer->send[i].bytes;
  }
  for (int i = 0; i < transfer->recvs; i++)
    recv_at[i] = transfer->recv[i].at;
  sl_sized_round round = {
      .src = src, .send_at = send_at, .send_bytes = send_bytes, .dst = dst, .recv_at = recv_at};
  SL_TRY(ops->sized_begin(transfer->exchange, &round, queue));
  SL_TRY(ops->sized_end(transfer->exchange, recv_bytes, queue));
  for (int i = 0; i < transfer->recvs; i++)
    transfer->recv[i].bytes = recv_bytes[i];
  SL_TRY(read_headers(transfer, transfer->recv, transfer->recvs, dst, queue));
  for (int i = 0; i < transfer->recvs; i++)
    SL_TRY(check_item(transfer, i));
  return SLEY_OK;
}
