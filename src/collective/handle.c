/* SPDX-License-Identifier: Apache-2.0 */
#include "collective/handle.h"

#include "base/memory.h"
#include "collective/sparse.h"

/* One of dense and sparse is NULL. */
struct sley_collective {
  sl_comm *comm;
  sl_dense *dense;
  sl_sparse *sparse;
  sley_compress compress;
  int64_t dense_sent, dense_received; /* of a run without compression */
  bool has_run;
};

/* ---- making */

static sley_status agree(sl_comm *comm, sley_compress compress, sley_collective_way way) {
  static const char *const names[] = {"compress", "way"};
  int64_t numbers[] = {compress, compress == SLEY_COMPRESS_NONE ? SLEY_WAY_AUTO : way};
  return sl_agree_same(comm, "sley_collective_create", names, numbers, 2);
}

/* pici64 alone counts more values than 32 bits do. */
static sl_compressed_format format_of(sley_compress compress, const sl_dense_spec *spec, int size) {
  int64_t longest = spec->count;
  for (int r = 0; spec->counts && r < size; r++)
    longest = spec->counts[r] > longest ? spec->counts[r] : longest;
  if (compress == SLEY_COMPRESS_COO)
    return SL_COMPRESSED_COO;
  return longest <= UINT32_MAX ? SL_COMPRESSED_PICI32 : SL_COMPRESSED_PICI64;
}

static sley_status make_sparse(sley_collective *made, const sl_dense_spec *spec, sley_collective_way way) {
  sl_sparse_spec sparse = {.dense = *spec, .format = format_of(made->compress, spec, made->comm->size)};
  if (way > SLEY_WAY_DIRECT)
    return sl_fail(SLEY_ERR_UNSUPPORTED,
                   "sley_collective_create: this build has no such way: use SLEY_WAY_AUTO");
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

/* The bytes of a run without compression. The spec has been checked. */
static sley_status count_dense(sley_collective *made, const sl_dense_spec *spec) {
  int64_t *begin;
  SL_TRY(SL_NEW(begin, (int64_t)made->comm->size + 1, "a collective"));
  sl_dense_lay_out(spec, made->comm->size, begin);
  made->dense_sent = sl_dense_sent(spec, made->comm->rank, made->comm->size, begin);
  sl_free(begin);
  if (made->dense)
    made->dense_received = received(made->dense);
  return SLEY_OK;
}

static sley_status make(sley_collective *made, const sl_dense_spec *spec, sley_collective_way way) {
  SL_TRY(made->compress == SLEY_COMPRESS_NONE ? sl_dense_create(made->comm, spec, &made->dense)
                                              : make_sparse(made, spec, way));
  return sl_agree(made->comm, count_dense(made, spec));
}

sley_status sl_collective_create(sl_comm *comm, const sl_dense_spec *spec, sley_compress compress,
                                 sley_collective_way way, sley_collective **out) {
  sley_collective *made = NULL;
  *out = NULL;
  SL_TRY(agree(comm, compress, way));
  sley_status status = sl_agree(comm, SL_NEW_ZERO(made, 1, "a collective"));
  if (status == SLEY_OK) {
    made->comm = comm;
    made->compress = compress;
    status = make(made, spec, way);
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

static void sparse_info(const sley_collective *collective, sley_collective_info *out) {
  sl_sparse_report report;
  sl_sparse_report_of(collective->sparse, &report);
  const int64_t shorter = report.arrays - report.dense;
  const bool coo = collective->compress == SLEY_COMPRESS_COO;
  *out = (sley_collective_info){.values = report.values,
                                .nonzeros = report.nonzeros,
                                .result_nonzeros = -1,
                                .sent = report.sent,
                                .received = report.received,
                                .dense_sent = collective->dense_sent,
                                .arrays = report.arrays,
                                .dense = report.dense,
                                .pici = coo ? 0 : shorter,
                                .coo = coo ? shorter : 0,
                                .path = "direct",
                                .reason =
                                    collective->compress == SLEY_COMPRESS_AUTO ? "the default" : "asked for"};
}

void sl_collective_info(const sley_collective *collective, sley_collective_info *out) {
  *out = (sley_collective_info){.path = "", .reason = ""};
  if (collective->has_run && collective->sparse)
    sparse_info(collective, out);
  else if (collective->has_run)
    *out = (sley_collective_info){.result_nonzeros = -1,
                                  .sent = collective->dense_sent,
                                  .received = collective->dense_received,
                                  .dense_sent = collective->dense_sent,
                                  .path = "dense",
                                  .reason = "compression was not asked for"};
}
