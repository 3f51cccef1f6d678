/* SPDX-License-Identifier: Apache-2.0 */
/* Sparse collectives where every pair of ranks is joined: each array goes straight to the rank that needs it.
 */
#include <string.h>

#include "base/memory.h"
#include "collective/leg.h"
#include "collective/sparse.h"
#include "transport/stopwatch.h"

struct sl_sparse {
  sl_comm *comm;
  sl_sparse_spec spec; /* counts: see begin */
  int64_t value_bytes;
  int64_t *begin; /* size + 1: the values of rank r's part are begin[r] .. begin[r + 1] of all */
  sl_leg scatter, gather;
  char *send, *recv;            /* areas of the device's memory, which both legs use */
  const void **part;            /* size: of a reduce-scatter, where the peers' arrays for rank's part come */
  sl_compressed_part *gathered; /* size: of an all-gather, the peers' arrays */
  int64_t *work;                /* for SL_OP_COMPRESS */
  uint32_t *wrong;              /* bits of sl_compressed_fault: what kernels have found */
  sl_sparse_report report;
};

static bool reduces(const sl_sparse *sparse) {
  return sparse->spec.dense.kind != SLEY_ALLGATHER;
}

static bool gathers(const sl_sparse *sparse) {
  return sparse->spec.dense.kind != SLEY_REDUCE_SCATTER;
}

static int64_t values_of(const sl_sparse *sparse, int rank) {
  return sparse->begin[rank + 1] - sparse->begin[rank];
}

/* ---- making */

static sley_status check_spec(sl_comm *comm, const sl_sparse_spec *spec) {
  static const char *const names[] = {"format"};
  int64_t numbers[] = {spec->format};
  SL_TRY(sl_dense_agree(comm, &spec->dense));
  SL_TRY(sl_agree_same(comm, "a sparse collective", names, numbers, 1));
  if ((unsigned)spec->format >= SL_COMPRESSED_FORMATS)
    return sl_fail(SLEY_ERR_ARG, "a sparse collective of format %d: there is none", (int)spec->format);
  if (spec->dense.kind == SLEY_ALLGATHER)
    return SLEY_OK;
  if (spec->dense.op != SLEY_SUM || spec->dense.type == SLEY_TYPE_I64)
    return sl_fail(SLEY_ERR_UNSUPPORTED,
                   "a sparse collective with operator %d and type %d: it sums values of "
                   "floating point",
                   (int)spec->dense.op, (int)spec->dense.type);
  return SLEY_OK;
}

/* Every rank sends each peer that one's part, and receives its own part from each. *send and *recv: the bytes
 * of the areas. */
static void list_scatter(sl_sparse *sparse, int64_t *send, int64_t *recv) {
  int rank = sparse->comm->rank;
  sley_type type = sparse->spec.dense.type;
  for (int p = 0; p < sparse->comm->size; p++) {
    if (p == rank)
      continue;
    sl_leg_send(&sparse->scatter, p, values_of(sparse, p), *send);
    sl_leg_recv(&sparse->scatter, p, values_of(sparse, rank), *recv);
    *send += sl_leg_slot(type, values_of(sparse, p));
    *recv += sl_leg_slot(type, values_of(sparse, rank));
  }
}

/* Every rank sends its part to each peer. */
static void list_gather(sl_sparse *sparse, int64_t *send, int64_t *recv) {
  int rank = sparse->comm->rank;
  sley_type type = sparse->spec.dense.type;
  for (int p = 0; p < sparse->comm->size; p++) {
    if (p == rank)
      continue;
    sl_leg_send(&sparse->gather, p, values_of(sparse, rank), 0);
    sl_leg_recv(&sparse->gather, p, values_of(sparse, p), *recv);
    *recv += sl_leg_slot(type, values_of(sparse, p));
  }
  *send = sl_leg_slot(type, values_of(sparse, rank));
}

static int64_t larger(int64_t a, int64_t b) {
  return a > b ? a : b;
}

static sley_status take(sl_sparse *sparse, int64_t bytes, void **out) {
  sl_device *device = sparse->comm->device;
  return device->ops->alloc(device, bytes, "a sparse collective", out);
}

/* After both legs are listed. */
static sley_status list_parts(sl_sparse *sparse) {
  SL_TRY(SL_NEW_ZERO(sparse->part, sparse->comm->size, "a sparse collective"));
  SL_TRY(SL_NEW_ZERO(sparse->gathered, sparse->comm->size, "a sparse collective"));
  for (int i = 0; i < sparse->scatter.recvs; i++)
    sparse->part[sparse->scatter.recv[i].peer] = sparse->recv + sparse->scatter.recv[i].at;
  return SLEY_OK;
}

static sley_status take_memory(sl_sparse *sparse) {
  sl_comm *comm = sparse->comm;
  int64_t send[2] = {0, 0}, recv[2] = {0, 0}, longest = 0;
  static const uint32_t none = 0;
  for (int r = 0; r < comm->size; r++)
    longest = larger(longest, values_of(sparse, r));
  if (longest > INT64_MAX / 16 / comm->size / sparse->value_bytes)
    return sl_fail(SLEY_ERR_OVERFLOW, "a sparse collective: the areas for %d ranks' values do not fit",
                   comm->size);
  SL_TRY(sl_leg_begin(&sparse->scatter, comm->size));
  SL_TRY(sl_leg_begin(&sparse->gather, comm->size));
  if (reduces(sparse))
    list_scatter(sparse, &send[0], &recv[0]);
  if (gathers(sparse))
    list_gather(sparse, &send[1], &recv[1]);
  SL_TRY(take(sparse, larger(send[0], send[1]), (void **)&sparse->send));
  SL_TRY(take(sparse, larger(recv[0], recv[1]), (void **)&sparse->recv));
  SL_TRY(take(sparse, sl_compress_work(longest), (void **)&sparse->work));
  SL_TRY(take(sparse, (int64_t)sizeof none, (void **)&sparse->wrong));
  SL_TRY(list_parts(sparse));
  return comm->queue->ops->copy(comm->queue, SL_COPY_TO_DEVICE, sparse->wrong, &none, sizeof none);
}

/* Before any memory is taken. */
static sley_status check_device(const sl_comm *comm, const sl_sparse_spec *spec) {
  sl_kernel_args compress = {.op = SL_OP_COMPRESS,
                             .compress = {.type = spec->dense.type,
                                          .format = spec->format,
                                          .room = sl_leg_room(spec->dense.type, 0)}};
  if (!sl_kernel_serves(comm->device, &compress))
    return sl_fail(SLEY_ERR_UNSUPPORTED,
                   "device %s has no kernels that compress arrays: use a dense collective",
                   comm->device->ops->name);
  return SLEY_OK;
}

static sley_status start(sl_comm *comm, const sl_sparse_spec *spec, sl_sparse **out) {
  sl_sparse *sparse;
  SL_TRY(check_device(comm, spec));
  SL_TRY(SL_NEW_ZERO(sparse, 1, "a sparse collective"));
  *out = sparse;
  sparse->comm = comm;
  sparse->spec = *spec;
  sparse->spec.dense.counts = NULL;
  sparse->value_bytes = (int64_t)sley_type_bytes(spec->dense.type);
  sparse->scatter = (sl_leg){.name = "sparse reduce-scatter", .comm = comm, .type = spec->dense.type};
  sparse->gather = (sl_leg){.name = "sparse all-gather", .comm = comm, .type = spec->dense.type};
  SL_TRY(SL_NEW(sparse->begin, (int64_t)comm->size + 1, "a sparse collective"));
  sl_dense_lay_out(&spec->dense, comm->size, sparse->begin);
  return take_memory(sparse);
}

/* One rank has nobody to exchange with, and of no values nothing moves: then there are no exchanges. */
static sley_status finish(sl_sparse *sparse) {
  if (sparse->comm->size == 1 || sparse->begin[sparse->comm->size] == 0)
    return SLEY_OK;
  if (reduces(sparse))
    SL_TRY(sl_leg_make(&sparse->scatter));
  return gathers(sparse) ? sl_leg_make(&sparse->gather) : SLEY_OK;
}

sley_status sl_sparse_create(sl_comm *comm, const sl_sparse_spec *spec, sl_sparse **out) {
  sl_sparse *sparse = NULL;
  *out = NULL;
  SL_TRY(check_spec(comm, spec));
  sley_status status = sl_agree(comm, start(comm, spec, &sparse));
  if (status == SLEY_OK)
    status = finish(sparse);
  if (status != SLEY_OK) {
    sl_error error;
    sl_error_take(status, &error);
    sl_sparse_destroy(sparse);
    return sl_error_restore(&error);
  }
  *out = sparse;
  return SLEY_OK;
}

static void give(const sl_sparse *sparse, void *block) {
  if (block)
    sparse->comm->device->ops->free(sparse->comm->device, block);
}

void sl_sparse_destroy(sl_sparse *sparse) {
  if (!sparse)
    return;
  (void)sparse->comm->ops->wait(sparse->comm); /* work may still use what is freed here */
  sl_leg_destroy(&sparse->gather);
  sl_leg_destroy(&sparse->scatter);
  give(sparse, sparse->wrong);
  give(sparse, sparse->work);
  give(sparse, sparse->recv);
  give(sparse, sparse->send);
  sl_free(sparse->gathered);
  sl_free(sparse->part);
  sl_free(sparse->begin);
  sl_free(sparse);
}

void sl_sparse_report_of(const sl_sparse *sparse, sl_sparse_report *out) {
  *out = sparse->report;
}

/* ---- running */

static char *part_of(const sl_sparse *sparse, const void *array, int rank) {
  return (char *)array + sparse->begin[rank] * sparse->value_bytes;
}

static sley_status compress(const sl_sparse *sparse, const void *src, const sl_leg_item *item,
                            sl_queue *queue) {
  sl_kernel_args args = {.op = SL_OP_COMPRESS,
                         .compress = {.src = src,
                                      .count = item->values,
                                      .type = sparse->spec.dense.type,
                                      .format = sparse->spec.format,
                                      .dst = sparse->send + item->at,
                                      .room = sl_leg_room(sparse->spec.dense.type, item->values),
                                      .work = sparse->work}};
  return sl_kernel_run(queue, &args);
}

/* Of a leg that is measured, in which the first `arrays` items are arrays of their own. */
static void report_sent(sl_sparse *sparse, const sl_leg *leg, int arrays) {
  sl_sparse_report *report = &sparse->report;
  for (int i = 0; i < leg->sends; i++)
    report->sent += leg->send[i].bytes;
  for (int i = 0; i < arrays; i++) {
    report->values += leg->header[i].count;
    report->nonzeros += leg->header[i].nonzeros;
    report->dense += leg->header[i].format == SL_COMPRESSED_DENSE;
  }
  report->arrays += arrays;
}

static sley_status move(sl_sparse *sparse, sl_leg *leg, int arrays, sl_queue *queue) {
  SL_TRY(sl_leg_measure(leg, sparse->send, queue));
  report_sent(sparse, leg, arrays);
  SL_TRY(sl_leg_run(leg, sparse->send, sparse->recv, queue));
  for (int i = 0; i < leg->recvs; i++)
    sparse->report.received += leg->recv[i].bytes;
  return SLEY_OK;
}

/* dst, this rank's part, becomes the sum of the ranks' arrays there. */
static sley_status run_scatter(sl_sparse *sparse, const void *src, void *dst, sl_queue *queue) {
  sl_leg *leg = &sparse->scatter;
  int rank = sparse->comm->rank;
  int64_t values = values_of(sparse, rank);
  sley_type type = sparse->spec.dense.type;
  for (int i = 0; i < leg->sends; i++)
    SL_TRY(compress(sparse, part_of(sparse, src, leg->send[i].peer), &leg->send[i], queue));
  SL_TRY(move(sparse, leg, leg->sends, queue));
  sl_kernel_args args = {.op = SL_OP_SPARSE_SUM,
                         .sparse_sum = {.count = values,
                                        .parts = sparse->comm->size,
                                        .src = sparse->part,
                                        .room = sl_leg_room(type, values),
                                        .own = rank,
                                        .own_src = part_of(sparse, src, rank),
                                        .dst = dst,
                                        .type = type,
                                        .wrong = sparse->wrong}};
  return values > 0 ? sl_kernel_run(queue, &args) : SLEY_OK;
}

/* All that has come, to where it belongs in dst. */
static sley_status decompress(const sl_sparse *sparse, const sl_leg *leg, void *dst, sl_queue *queue) {
  for (int i = 0; i < leg->recvs; i++) {
    const sl_leg_item *item = &leg->recv[i];
    sparse->gathered[i] = (sl_compressed_part){.src = sparse->recv + item->at,
                                               .room = item->bytes,
                                               .dst = part_of(sparse, dst, item->peer),
                                               .count = item->values};
  }
  sl_kernel_args args = {.op = SL_OP_DECOMPRESS,
                         .decompress = {.parts = leg->recvs,
                                        .part = sparse->gathered,
                                        .type = sparse->spec.dense.type,
                                        .wrong = sparse->wrong}};
  return sl_kernel_run(queue, &args);
}

/* The peers' parts come to where they belong in dst; own is this rank's. */
static sley_status run_gather(sl_sparse *sparse, const void *own, void *dst, sl_queue *queue) {
  sl_leg *leg = &sparse->gather;
  int rank = sparse->comm->rank;
  int64_t bytes = values_of(sparse, rank) * sparse->value_bytes;
  char *own_dst = part_of(sparse, dst, rank);
  if (leg->sends > 0)
    SL_TRY(compress(sparse, own, &leg->send[0], queue));
  SL_TRY(move(sparse, leg, leg->sends > 0, queue));
  if (own_dst != own && bytes > 0)
    SL_TRY(queue->ops->copy(queue, SL_COPY_WITHIN, own_dst, own, bytes));
  return decompress(sparse, leg, dst, queue);
}

/* Whether kernels have found a payload that is wrong. */
static sley_status check_payloads(const sl_sparse *sparse, sl_queue *queue) {
  uint32_t wrong = 0;
  SL_TRY(queue->ops->copy(queue, SL_COPY_TO_HOST, &wrong, sparse->wrong, sizeof wrong));
  SL_TRY(queue->ops->queue_wait(queue));
  if (wrong)
    return sl_fail(SLEY_ERR_PEER, "a sparse collective: a compressed array of a peer contradicts itself");
  return SLEY_OK;
}

static sley_status check_array(const sl_sparse *sparse, const void *array, int64_t values, const char *what) {
  if (values > 0 && (!array || (uintptr_t)array % (uintptr_t)sparse->value_bytes != 0))
    return sl_fail(SLEY_ERR_ARG, "a sparse collective: %s is %p: an array aligned to %lld bytes is needed",
                   what, array, (long long)sparse->value_bytes);
  return SLEY_OK;
}

static sley_status run(sl_sparse *sparse, const void *src, void *dst, sl_queue *queue) {
  int rank = sparse->comm->rank;
  int64_t all = sparse->begin[sparse->comm->size], part = values_of(sparse, rank);
  sley_collective_kind kind = sparse->spec.dense.kind;
  SL_TRY(check_array(sparse, src, kind == SLEY_ALLGATHER ? part : all, "src"));
  SL_TRY(check_array(sparse, dst, kind == SLEY_REDUCE_SCATTER ? part : all, "dst"));
  memset(&sparse->report, 0, sizeof sparse->report);
  if (all == 0)
    return SLEY_OK;
  if (kind == SLEY_REDUCE_SCATTER)
    SL_TRY(run_scatter(sparse, src, dst, queue));
  if (kind == SLEY_ALLREDUCE)
    SL_TRY(run_scatter(sparse, src, part_of(sparse, dst, rank), queue));
  if (kind == SLEY_ALLREDUCE)
    SL_TRY(run_gather(sparse, part_of(sparse, dst, rank), dst, queue));
  if (kind == SLEY_ALLGATHER)
    SL_TRY(run_gather(sparse, src, dst, queue));
  return check_payloads(sparse, queue);
}

sley_status sl_sparse_run(sl_sparse *sparse, const void *src, void *dst, sl_queue *queue) {
  const sl_work before = sl_work_begin(sparse->comm, SL_WORK_EXCHANGE);
  sley_status status = sl_work_end(sparse->comm, before, run(sparse, src, dst, queue));
  if (status != SLEY_OK)
    sparse->comm->ops->abort(sparse->comm, status); /* no peer may wait for this rank */
  return status;
}
