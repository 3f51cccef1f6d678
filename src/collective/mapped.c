/* SPDX-License-Identifier: Apache-2.0 */
#include "collective/mapped.h"

#include "base/memory.h"

bool sl_mapped_serves(const sl_comm *comm) {
  return comm->zero_copy && comm->workgroup == comm->size;
}

sley_status sl_mapped_begin(sl_mapped *mapped, int most) {
  SL_TRY(SL_NEW_ZERO(mapped->send, most, "a sparse collective"));
  SL_TRY(SL_NEW_ZERO(mapped->recv, most, "a sparse collective"));
  SL_TRY(SL_NEW_ZERO(mapped->lists, 2 * (int64_t)most, "a sparse collective"));
  return SL_NEW_ZERO(mapped->rows, most, "a sparse collective");
}

/* Makes the lists: an array is one row, at its position in the sender's area. */
static void fill_lists(sl_row_list *lists, const sl_transfer_item *items, int count) {
  for (int i = 0; i < count; i++)
    lists[i] = (sl_row_list){
        .peer = items[i].peer, .count = 1, .offset = items[i].at, .bytes = SL_COMPRESSED_HEADER};
}

sley_status sl_mapped_make(sl_mapped *mapped) {
  sl_row_list *recv = mapped->lists + mapped->sends;
  fill_lists(mapped->lists, mapped->send, mapped->sends);
  fill_lists(recv, mapped->recv, mapped->recvs);
  const sl_exchange_spec spec = {.name = mapped->name,
                                 .sends = mapped->sends,
                                 .recvs = mapped->recvs,
                                 .send = mapped->lists,
                                 .recv = recv,
                                 .dtype = SLEY_F32};
  return mapped->comm->ops->exchange_create(mapped->comm, &spec, &mapped->exchange);
}

void sl_mapped_destroy(sl_mapped *mapped) {
  if (mapped->exchange)
    mapped->comm->ops->exchange_destroy(mapped->exchange);
  sl_free(mapped->rows);
  sl_free(mapped->lists);
  sl_free(mapped->recv);
  sl_free(mapped->send);
}

sley_status sl_mapped_open(sl_mapped *mapped, const void *area, sl_queue *queue) {
  const sl_transport_ops *ops = mapped->comm->ops;
  SL_TRY(ops->exchange_begin(mapped->exchange, area, 0, NULL, 0, queue));
  return ops->exchange_map(mapped->exchange, mapped->rows, queue);
}

sley_status sl_mapped_end(sl_mapped *mapped, sl_queue *queue) {
  return mapped->comm->ops->exchange_end(mapped->exchange, queue);
}

const void *sl_mapped_src(const sl_mapped *mapped, int i) {
  return (const char *)mapped->rows[i].src + mapped->recv[i].at;
}

sley_status sl_mapped_reclaim(sl_mapped *mapped, sl_queue *queue) {
  return sl_exchange_reclaim(mapped->exchange, queue);
}

sley_status sl_mapped_measure(sl_mapped *mapped, const sl_compressed_header *header) {
  for (int i = 0; i < mapped->sends; i++)
    mapped->send[i].bytes = SL_COMPRESSED_HEADER + header[i].payload_bytes;
  header += mapped->sends;
  for (int i = 0; i < mapped->recvs; i++) {
    sl_transfer_item *item = &mapped->recv[i];
    const char *fault = sl_compressed_fault_of(&header[i], mapped->type, item->values,
                                               sl_transfer_room(mapped->type, item->values));
    if (fault)
      return sl_fail_peer(item->peer, "%s: the data of rank %d are not a compressed array of %lld values: %s",
                          mapped->name, item->peer, (long long)item->values, fault);
    item->bytes = SL_COMPRESSED_HEADER + header[i].payload_bytes;
  }
  return SLEY_OK;
}
