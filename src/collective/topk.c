/* SPDX-License-Identifier: Apache-2.0 */
#include "collective/topk.h"

#include <math.h>

#include "base/memory.h"
#include "base/value.h"

enum {
  KEPT_OF_SAMPLE = 64
}; /* values of the sample that are kept: the kept share then has an error of about
      1 / sqrt(64) */

/* The state in device memory. */
typedef struct topk_state {
  double threshold;
  int64_t kept;
} topk_state;

struct sley_topk {
  sl_comm *comm;
  sley_dtype dtype;
  int64_t count, sample, rank; /* sample, rank: as in sl_threshold_args */
  uint64_t seed;
  void *residual;
  bool owns_residual;
  double residual_factor;
  uint64_t *work;
  topk_state *state;
};

/* ---- making */

static int64_t sample_of(const sley_topk_options *o) {
  const double asked = ceil(o->sample * (double)o->count), least = ceil(KEPT_OF_SAMPLE / o->density);
  const double wanted = asked > least ? asked : least;
  return wanted < (double)o->count ? (int64_t)wanted : o->count;
}

static int64_t rank_of(const sley_topk_options *o, int64_t sample) {
  if (o->density == 1 || sample == 0)
    return 0;
  const int64_t rank = (int64_t)(o->density * (double)sample + 0.5);
  return rank < 1 ? 1 : rank < sample ? rank : sample;
}

static sley_status take(const sley_topk *made, int64_t bytes, void **out) {
  return made->comm->device->ops->alloc(made->comm->device, bytes, "a top-k", out);
}

static int64_t residual_bytes(const sley_topk *topk) {
  return topk->count * (int64_t)sley_dtype_bytes(sl_sum_dtype(topk->dtype));
}

/* Multiplies the residual by a factor; 0 writes zeros without reading. The team divides rows of ROW values.
 */
static sley_status scale_residual(const sley_topk *topk, double factor) {
  enum { ROW = 4096 };
  const sley_dtype dtype = sl_sum_dtype(topk->dtype);
  const int64_t rows = topk->count / ROW, rest = topk->count % ROW;
  sl_scale_args whole = {
      .rows = rows, .k = ROW, .beta = factor, .y = topk->residual, .ldy = ROW, .dtype = dtype};
  sl_scale_args last = whole;
  last.rows = 1;
  last.k = last.ldy = rest;
  last.y = (char *)topk->residual + rows * ROW * (int64_t)sley_dtype_bytes(dtype);
  SL_TRY(sl_kernel_run(topk->comm->queue, &(sl_kernel_args){.op = SL_OP_SCALE, .scale = whole}));
  return rest > 0 ? sl_kernel_run(topk->comm->queue, &(sl_kernel_args){.op = SL_OP_SCALE, .scale = last})
                  : SLEY_OK;
}

static sley_status make_residual(sley_topk *made, void *given) {
  made->residual = given;
  if (given || made->count == 0)
    return SLEY_OK;
  SL_TRY(take(made, residual_bytes(made), &made->residual));
  made->owns_residual = true;
  return scale_residual(made, 0);
}

static sl_kernel_args threshold_args(const sley_topk *topk, const void *src) {
  return (sl_kernel_args){.op = SL_OP_THRESHOLD,
                          .threshold = {.dtype = topk->dtype,
                                        .count = topk->count,
                                        .src = src,
                                        .residual = topk->residual,
                                        .sample = topk->sample,
                                        .rank = topk->rank,
                                        .seed = topk->seed,
                                        .work = topk->work,
                                        .threshold = &topk->state->threshold}};
}

static sl_kernel_args sparsify_args(const sley_topk *topk, const void *src, void *dst) {
  return (sl_kernel_args){.op = SL_OP_SPARSIFY,
                          .sparsify = {.dtype = topk->dtype,
                                       .count = topk->count,
                                       .src = src,
                                       .dst = dst,
                                       .residual = topk->residual,
                                       .threshold = &topk->state->threshold,
                                       .kept = &topk->state->kept}};
}

static sley_status make(sley_topk *made, const sley_topk_options *o) {
  const topk_state start = {0};
  const sl_queue *queue = made->comm->queue;
  SL_TRY(take(made, sizeof start, (void **)&made->state));
  SL_TRY(take(made, made->sample * (int64_t)sizeof *made->work, (void **)&made->work));
  const sl_kernel_args threshold = threshold_args(made, NULL), sparsify = sparsify_args(made, NULL, NULL);
  if (!sl_kernel_serves(queue->device, &threshold) || !sl_kernel_serves(queue->device, &sparsify))
    return sl_fail(SLEY_ERR_UNSUPPORTED, "sley_topk_create: the device %s has no kernels for it",
                   queue->device->ops->name);
  SL_TRY(make_residual(made, o->residual));
  return queue->ops->copy(made->comm->queue, SL_COPY_TO_DEVICE, made->state, &start, sizeof start);
}

sley_status sl_topk_create(sl_comm *comm, const sley_topk_options *options, sley_topk **out) {
  sley_topk *made;
  *out = NULL;
  SL_TRY(SL_NEW_ZERO(made, 1, "a top-k"));
  made->comm = comm;
  made->dtype = options->dtype;
  made->count = options->count;
  made->seed = options->seed;
  made->residual_factor = options->residual_factor;
  made->sample = sample_of(options);
  made->rank = rank_of(options, made->sample);
  sley_status status = make(made, options);
  if (status != SLEY_OK) {
    sl_error error;
    sl_error_take(status, &error);
    sl_topk_destroy(made);
    return sl_error_restore(&error);
  }
  *out = made;
  return SLEY_OK;
}

void sl_topk_destroy(sley_topk *topk) {
  if (!topk)
    return;
  sl_device *device = topk->comm->device;
  (void)topk->comm->ops->wait(topk->comm); /* enqueued work may still use the memory that is freed here */
  void *blocks[] = {topk->owns_residual ? topk->residual : NULL, topk->work, topk->state};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
    if (blocks[i])
      device->ops->free(device, blocks[i]);
  sl_free(topk);
}

/* ---- running */

sley_dtype sl_topk_dtype(const sley_topk *topk) {
  return topk->dtype;
}

int64_t sl_topk_count(const sley_topk *topk) {
  return topk->count;
}

sley_status sl_topk_run(sley_topk *topk, const void *src, void *dst) {
  const sl_kernel_args threshold = threshold_args(topk, src), sparsify = sparsify_args(topk, src, dst);
  if (topk->count == 0)
    return SLEY_OK;
  if (topk->residual_factor != 1)
    SL_TRY(scale_residual(topk, topk->residual_factor));
  SL_TRY(sl_kernel_run(topk->comm->queue, &threshold));
  return sl_kernel_run(topk->comm->queue, &sparsify);
}

/* ---- queries */

static sley_status copy(const sley_topk *topk, sl_copy_kind kind, void *dst, const void *src, int64_t bytes) {
  sl_comm *comm = topk->comm;
  SL_TRY(comm->ops->wait(comm));
  if (bytes > 0)
    SL_TRY(comm->queue->ops->copy(comm->queue, kind, dst, src, bytes));
  return comm->ops->wait(comm);
}

sley_status sl_topk_residual_get(const sley_topk *topk, void *host) {
  return copy(topk, SL_COPY_TO_HOST, host, topk->residual, residual_bytes(topk));
}

sley_status sl_topk_residual_set(sley_topk *topk, const void *host) {
  return copy(topk, SL_COPY_TO_DEVICE, topk->residual, host, residual_bytes(topk));
}

sley_status sl_topk_info(const sley_topk *topk, sley_topk_info *out) {
  topk_state state;
  SL_TRY(copy(topk, SL_COPY_TO_HOST, &state, topk->state, sizeof state));
  *out = (sley_topk_info){
      .count = topk->count, .sample = topk->sample, .kept = state.kept, .threshold = state.threshold};
  return SLEY_OK;
}
