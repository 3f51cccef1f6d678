/* SPDX-License-Identifier: Apache-2.0 */
#include "collective/route.h"

#include "device/device.h"

sley_status sl_route_take(const sl_sparse_base *base, int64_t bytes, void **out) {
  sl_device *device = base->comm->device;
  return device->ops->alloc(device, bytes, "a sparse collective", out);
}

void sl_route_give(const sl_sparse_base *base, void *block) {
  if (block)
    base->comm->device->ops->free(base->comm->device, block);
}

int64_t sl_route_slot(const sl_sparse_base *base) {
  return sl_transfer_slot(base->spec.dense.type, base->longest);
}

/* ---- running */

static sley_status gather(sl_sparse_route *route, const void *own, double density, void *dst,
                          sl_queue *queue) {
  const sl_sparse_base *base = route->base;
  int64_t bytes = sl_route_values(base, base->comm->rank) * base->value_bytes;
  char *own_dst = sl_route_part(base, dst, base->comm->rank);
  SL_TRY(route->ops->gather(route, own, density, dst, queue));
  if (route->ops->copies_own || own_dst == own || bytes == 0)
    return SLEY_OK;
  return queue->ops->copy(queue, SL_COPY_WITHIN, own_dst, own, bytes);
}

sley_status sl_route_run(sl_sparse_route *route, const void *src, void *dst, sl_queue *queue) {
  const sl_sparse_base *base = route->base;
  char *own = sl_route_part(base, dst, base->comm->rank);
  double density = base->density;
  if (!sl_route_reduces(base))
    return gather(route, src, density, dst, queue);
  if (!sl_route_gathers(base) || sl_route_is_whole(base))
    return route->ops->scatter(route, src, dst, &density, queue);
  SL_TRY(route->ops->scatter(route, src, own, &density, queue));
  return gather(route, own, density, dst, queue);
}

sley_status sl_route_check(uint32_t wrong) {
  if (wrong)
    return sl_fail(SLEY_ERR_PEER, "a sparse collective: the bit fields and the values of a peer's compressed "
                                  "array contradict each other");
  return SLEY_OK;
}

sley_status sl_route_finish(sl_sparse_route *route, sl_queue *queue) {
  sl_sparse_base *base = route->base;
  uint32_t wrong = 0;
  base->known = (sl_sparse_counts){base->report.values, base->report.nonzeros};
  SL_TRY(queue->ops->copy(queue, SL_COPY_TO_HOST, &wrong, base->wrong, sizeof wrong));
  SL_TRY(queue->ops->queue_wait(queue));
  return sl_route_check(wrong);
}

sley_status sl_route_settle_nothing(sl_sparse_route *route, bool wait) {
  (void)route, (void)wait;
  return SLEY_OK;
}

/* ---- compressing */

sl_compressed_format sl_route_format(const sl_sparse_base *base, sl_link link, bool gathered, int64_t values,
                                     double density) {
  const sl_sparse_bound *above = &base->spec.above[sl_route_class(link, gathered)];
  if ((above->is_set && density > above->density) || (gathered && base->way->gathers_dense))
    return SL_COMPRESSED_DENSE;
  switch (base->spec.format) {
  case SL_SPARSE_DENSE:
    return SL_COMPRESSED_DENSE;
  case SL_SPARSE_PICI:
    return sl_pici_for(values);
  case SL_SPARSE_COO:
    return sl_compressed_serves(SL_COMPRESSED_COO, values) ? SL_COMPRESSED_COO : sl_pici_for(values);
  default:
    return sl_choose_format(&base->costs, link, base->spec.dense.type, values, density, !above->is_set);
  }
}

static sl_compress_part part_of(const sl_sparse_base *base, sl_compressed_format format, const void *src,
                                int64_t values, void *dst, void *copy) {
  return (sl_compress_part){.src = src,
                            .count = values,
                            .format = format,
                            .dst = dst,
                            .room = sl_transfer_room(base->spec.dense.type, values),
                            .copy = copy};
}

static sley_status compress(const sl_sparse_base *base, int parts, const sl_compress_part *part,
                            sl_queue *queue) {
  sl_kernel_args args = {
      .op = SL_OP_COMPRESS,
      .compress = {.parts = parts, .part = part, .type = base->spec.dense.type, .work = base->work}};
  return parts > 0 ? sl_kernel_run(queue, &args) : SLEY_OK;
}

sley_status sl_route_compress(const sl_sparse_base *base, sl_compressed_format format, const void *src,
                              int64_t values, void *dst, void *copy, sl_queue *queue) {
  const sl_compress_part part = part_of(base, format, src, values, dst, copy);
  return compress(base, 1, &part, queue);
}

sley_status sl_route_compress_reduced(const sl_sparse_base *base, const sl_transfer_item *items, int count,
                                      const void *src, char *area, sl_queue *queue) {
  for (int i = 0; i < count; i++) {
    const sl_transfer_item *item = &items[i];
    sl_link link = sl_link_to(base->comm, item->peer);
    base->to_compress[i] =
        part_of(base, sl_route_format(base, link, false, item->values, base->density),
                sl_route_reduced_part(base, src, item->peer), item->values, area + item->at, NULL);
  }
  return compress(base, count, base->to_compress, queue);
}

void sl_route_list(sl_sparse_base *base, const void *src, int64_t bytes, int64_t values, void *dst) {
  if (values > 0)
    base->part[base->parts++] = (sl_compressed_part){.src = src, .room = bytes, .dst = dst, .count = values};
}

sley_status sl_route_decompress(sl_sparse_base *base, sl_queue *queue) {
  sl_kernel_args args = {
      .op = SL_OP_DECOMPRESS,
      .decompress = {
          .parts = base->parts, .part = base->part, .type = base->spec.dense.type, .wrong = base->wrong}};
  base->parts = 0;
  return args.decompress.parts > 0 ? sl_kernel_run(queue, &args) : SLEY_OK;
}

/* ---- reducing */

static bool sums_compressed(const sl_sparse_base *base, int parts) {
  sl_kernel_args args = {
      .op = SL_OP_SPARSE_SUM,
      .sparse_sum = {.count = base->longest, .parts = parts, .own = -1, .type = base->spec.dense.type}};
  return base->spec.dense.op == SLEY_SUM && base->spec.dense.type != SLEY_TYPE_I64 &&
         sl_kernel_serves(base->comm->device, &args);
}

sley_status sl_route_take_expanded(sl_sparse_base *base, int arrays, int64_t values) {
  int64_t slot = sl_transfer_slot(base->spec.dense.type, values);
  return sums_compressed(base, arrays + 1) ? SLEY_OK
                                           : sl_route_take(base, arrays * slot, (void **)&base->expanded);
}

void sl_route_lay(sl_sparse_base *base, int parts, int own, const char *src, int64_t stride) {
  for (int p = 0; p < parts; p++)
    base->src[p] = p == own ? NULL : src + (p - (p > own)) * stride;
}

static sley_status sum(const sl_sparse_base *base, const sl_route_fold_args *a, sl_queue *queue) {
  sl_kernel_args args = {.op = SL_OP_SPARSE_SUM,
                         .sparse_sum = {.count = a->values,
                                        .parts = a->parts,
                                        .src = base->src,
                                        .room = sl_transfer_room(base->spec.dense.type, a->values),
                                        .own = a->own,
                                        .own_src = a->own_src,
                                        .dst = a->dst,
                                        .type = base->spec.dense.type,
                                        .wrong = base->wrong}};
  return sl_kernel_run(queue, &args);
}

static sley_status expand_and_reduce(sl_sparse_base *base, const sl_route_fold_args *a, sl_queue *queue) {
  int64_t slot = sl_transfer_slot(base->spec.dense.type, a->values),
          room = sl_transfer_room(base->spec.dense.type, a->values);
  for (int p = 0; p < a->parts; p++)
    if (p != a->own)
      sl_route_list(base, base->src[p], room, a->values, base->expanded + (p - (p > a->own)) * slot);
  SL_TRY(sl_route_decompress(base, queue));
  sl_kernel_args args = {.op = SL_OP_REDUCE,
                         .reduce = {.count = a->values,
                                    .parts = a->parts,
                                    .src = base->expanded,
                                    .stride = slot,
                                    .own = a->own,
                                    .own_src = a->own_src,
                                    .dst = a->dst,
                                    .op = base->spec.dense.op,
                                    .type = base->spec.dense.type}};
  return sl_kernel_run(queue, &args);
}

sley_status sl_route_fold(sl_sparse_base *base, const sl_route_fold_args *a, sl_queue *queue) {
  if (a->values == 0)
    return SLEY_OK;
  return sums_compressed(base, a->parts) ? sum(base, a, queue) : expand_and_reduce(base, a, queue);
}

/* ---- moving */

void sl_route_report_made(const sl_comm *comm, sl_sparse_report *report, const sl_transfer_item *items,
                          int count, const sl_compressed_header *header, unsigned what) {
  bool is_src = what & SL_ARRAYS_OF_SRC;
  int64_t last = -1;
  for (int i = 0; i < count; i++) {
    if (items[i].bytes == 0 || items[i].at <= last)
      continue;
    last = items[i].at;
    sl_message_class class = sl_route_class(sl_link_to(comm, items[i].peer), what & SL_ARRAYS_GATHERED);
    report->made[class]++;
    report->made_dense[class] += header[i].format == SL_COMPRESSED_DENSE;
    report->arrays++;
    report->formats[header[i].format]++;
    report->values += is_src ? header[i].count : 0;
    report->nonzeros += is_src ? header[i].nonzeros : 0;
  }
}

sley_status sl_route_measure(sl_sparse_base *base, sl_transfer *transfer, const void *src, unsigned what,
                             sl_queue *queue) {
  SL_TRY(sl_transfer_measure(transfer, src, queue));
  sl_route_report_made(base->comm, &base->report, transfer->send, transfer->sends, transfer->header, what);
  return SLEY_OK;
}

sley_status sl_route_move(sl_sparse_base *base, sl_transfer *transfer, const void *src, void *dst,
                          sl_queue *queue) {
  for (int i = 0; i < transfer->sends; i++)
    base->report.sent += transfer->send[i].bytes;
  SL_TRY(sl_transfer_run(transfer, src, dst, queue));
  for (int i = 0; i < transfer->recvs; i++)
    base->report.received += transfer->recv[i].bytes;
  return SLEY_OK;
}

double sl_route_density(const sl_transfer *transfer, double own) {
  double density = own;
  for (int i = 0; i < transfer->recvs; i++)
    if (transfer->recv[i].values > 0)
      density =
          sl_density_of_sum(density, (double)transfer->header[i].nonzeros / (double)transfer->recv[i].values);
  return density;
}

void sl_route_count_result(sl_sparse_base *base, const sl_transfer *transfer) {
  for (int i = 0; i < transfer->recvs; i++)
    if (transfer->recv[i].values > 0)
      base->report.result_nonzeros += transfer->header[i].nonzeros;
}
