/* SPDX-License-Identifier: Apache-2.0 */
#include "collective/handle.h"

#include "base/memory.h"
#include "collective/sparse.h"

/* A collective. Either dense or sparse is NULL. */
struct sley_collective {
  sl_comm *comm;
  sl_dense *dense;
  sl_sparse *sparse;
  int64_t dense_sent, dense_received; /* bytes that a run of `dense` sends and receives */
  bool has_run;
};

/* ---- making */

/* Checks that compress is the same on all ranks; way is compared where it matters. */
static sley_status agree(sl_comm *comm, sley_compress compress) {
  static const char *const names[] = {"compress"};
  int64_t numbers[] = {compress};
  return sl_agree_same(comm, "sley_collective_create", names, numbers, 1);
}

static sl_sparse_bound bound_of(double above) {
  return (sl_sparse_bound){.is_set = above != -1, .density = above};
}

static sley_status make_sparse(sley_collective *made, const sl_dense_spec *spec,
                               const sley_collective_options *o) {
  static const sl_sparse_choice formats[] = {[SLEY_COMPRESS_NONE] = SL_SPARSE_DENSE,
                                             [SLEY_COMPRESS_AUTO] = SL_SPARSE_AUTO,
                                             [SLEY_COMPRESS_PICI] = SL_SPARSE_PICI,
                                             [SLEY_COMPRESS_COO] = SL_SPARSE_COO};
  sl_sparse_spec sparse = {.dense = *spec,
                           .format = formats[o->compress],
                           .way = o->way,
                           .above = {[SL_INTER] = bound_of(o->dense_above_inter),
                                     [SL_INTRA] = bound_of(o->dense_above_intra),
                                     [SL_GATHERED] = bound_of(o->dense_above_allgather)}};
  return sl_sparse_create(made->comm, &sparse, &made->sparse);
}

static int64_t received(const sl_dense *dense) {
  sl_counters traffic;
  int64_t bytes = 0;
  sl_dense_traffic(dense, &traffic);
  for (int link = 0; link < SL_LINK_COUNT; link++)
    bytes += traffic.bytes[link];
  return bytes;
}

/* Counts the traffic of a dense run. The spec has been checked. */
static sley_status count_dense(sley_collective *made, const sl_dense_spec *spec) {
  int64_t *begin;
  SL_TRY(SL_NEW(begin, (int64_t)made->comm->size + 1, "a collective"));
  sl_dense_lay_out(spec, made->comm->size, begin);
  made->dense_sent = sl_dense_sent(spec, made->comm, begin);
  made->dense_received = received(made->dense);
  sl_free(begin);
  return SLEY_OK;
}

static sley_status make(sley_collective *made, const sl_dense_spec *spec, const sley_collective_options *o) {
  if (o->compress != SLEY_COMPRESS_NONE)
    return make_sparse(made, spec, o);
  SL_TRY(sl_dense_create(made->comm, spec, &made->dense));
  return sl_agree(made->comm, count_dense(made, spec));
}

sley_status sl_collective_create(sl_comm *comm, const sl_dense_spec *spec, const sley_collective_options *o,
                                 sley_collective **out) {
  sley_collective *made = NULL;
  *out = NULL;
  SL_TRY(agree(comm, o->compress));
  sley_status status = sl_agree(comm, SL_NEW_ZERO(made, 1, "a collective"));
  if (status == SLEY_OK) {
    made->comm = comm;
    status = make(made, spec, o);
  }
  if (status != SLEY_OK) {
    sl_error error;
    sl_error_take(status, &error);
    sl_collective_destroy(made);
    return sl_error_restore(&error);
  }
  *out = made;
  return SLEY_OK;
}

void sl_collective_destroy(sley_collective *collective) {
  if (!collective)
    return;
  sl_sparse_destroy(collective->sparse);
  sl_dense_destroy(collective->dense);
  sl_free(collective);
}

/* ---- running */

sley_status sl_collective_run(sley_collective *collective, const void *src, void *dst) {
  sl_queue *queue = collective->comm->queue;
  collective->has_run = true;
  return collective->dense ? sl_dense_run(collective->dense, src, dst, queue)
                           : sl_sparse_run(collective->sparse, src, dst, queue);
}

static sley_status sparse_info(sl_sparse *sparse, sley_collective_info *out) {
  sl_sparse_report report;
  SL_TRY(sl_sparse_report_of(sparse, &report));
  *out = (sley_collective_info){.values = report.values,
                                .nonzeros = report.nonzeros,
                                .result_nonzeros = report.result_nonzeros,
                                .sent = report.sent,
                                .received = report.received,
                                .dense_sent = report.dense_sent,
                                .arrays = report.arrays,
                                .dense = report.formats[SL_COMPRESSED_DENSE],
                                .pici = report.formats[SL_COMPRESSED_PICI32] +
                                        report.formats[SL_COMPRESSED_PICI64],
                                .coo = report.formats[SL_COMPRESSED_COO],
                                .inter = report.made[SL_INTER],
                                .inter_dense = report.made_dense[SL_INTER],
                                .intra = report.made[SL_INTRA],
                                .intra_dense = report.made_dense[SL_INTRA],
                                .allgather = report.made[SL_GATHERED],
                                .allgather_dense = report.made_dense[SL_GATHERED],
                                .path = report.path,
                                .reason = sl_sparse_reason_text(report.reason)};
  return SLEY_OK;
}

sley_status sl_collective_info(const sley_collective *collective, sley_collective_info *out) {
  *out = (sley_collective_info){.path = "", .reason = ""};
  if (collective->has_run && collective->sparse)
    return sparse_info(collective->sparse, out);
  if (collective->has_run)
    *out = (sley_collective_info){.result_nonzeros = -1,
                                  .sent = collective->dense_sent,
                                  .received = collective->dense_received,
                                  .dense_sent = collective->dense_sent,
                                  .path = "dense",
                                  .reason = "compression was not asked for"};
  return SLEY_OK;
}
