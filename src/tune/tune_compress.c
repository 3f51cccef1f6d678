/* SPDX-License-Identifier: Apache-2.0 */
/* Times of the passes of compressed collectives over an array. Two densities separate the time for the array
 * from the time for the values kept. */
#include <math.h>

#include "base/memory.h"
#include "device/op/op_compress.h"
#include "tune/tune_inside.h"

/* BY_CORE, BY_GPU: bytes of the array, f32, for cores and for GPUs. FEW_PARTS, MANY_PARTS: numbers of arrays
 * in the sums. SPARSE, FILLED: values kept, per thousand. */
enum { BY_CORE = 4 << 20, BY_GPU = 64 << 20, FEW_PARTS = 2, MANY_PARTS = 4, SPARSE = 10, FILLED = 500 };

/* A rank's arrays on its device. */
typedef struct arrays {
  sl_comm *comm;
  int64_t count, room; /* number of values; most bytes of a compressed array */
  char *src, *dst, *packed, *others;
  int64_t *work, *nonzeros;
  uint32_t *wrong;
  sl_kernel_args args; /* operation to run */
} arrays;

static sley_status run_kernel(void *context) {
  arrays *a = context;
  return sl_kernel_run(a->comm->queue, &a->args);
}

static sley_status run_copy(void *context) {
  arrays *a = context;
  sl_queue *queue = a->comm->queue;
  return queue->ops->copy(queue, SL_COPY_WITHIN, a->dst, a->src, a->count * (int64_t)sizeof(float));
}

/* ---- arrays */

static sley_status take(arrays *a) {
  int64_t bytes = a->count * (int64_t)sizeof(float);
  struct {
    void *at;
    int64_t bytes;
  } blocks[] = {{&a->src, bytes},
                {&a->dst, bytes},
                {&a->packed, a->room},
                {&a->others, (MANY_PARTS - 1) * bytes},
                {&a->work, sl_compress_work(a->count)},
                {&a->nonzeros, (int64_t)sizeof *a->nonzeros},
                {&a->wrong, (int64_t)sizeof *a->wrong}};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
    SL_TRY(sl_tune_alloc(a->comm, blocks[i].bytes, "arrays to compress", blocks[i].at));
  return SLEY_OK;
}

static void give(const arrays *a) {
  void *const blocks[] = {a->src, a->dst, a->packed, a->others, a->work, a->nonzeros, a->wrong};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
    a->comm->device->ops->free(a->comm->device, blocks[i]);
}

/* Fills src so that `kept` values in a thousand are not zero. */
static sley_status fill(const arrays *a, int kept) {
  float *host;
  SL_TRY(SL_NEW(host, a->count, "an array to compress"));
  for (int64_t i = 0; i < a->count; i++) {
    uint64_t bits = ((uint64_t)i + 1) * UINT64_C(0x9e3779b97f4a7c15);
    bits ^= bits >> 29;
    bits *= UINT64_C(0xbf58476d1ce4e5b9);
    host[i] = (int)((bits >> 33) % 1000) < kept ? 1.5f : 0.0f;
  }
  sl_queue *queue = a->comm->queue;
  sley_status status =
      queue->ops->copy(queue, SL_COPY_TO_DEVICE, a->src, host, a->count * (int64_t)sizeof *host);
  if (status == SLEY_OK)
    status = queue->ops->queue_wait(queue);
  sl_free(host);
  return status;
}

/* ---- passes */

static sley_status time_kernel(arrays *a, sl_tuning *tune, const sl_kernel_args *args, double *seconds) {
  a->args = *args;
  return sl_tune_measure(a->comm, tune, &(sl_timed){.run = run_kernel, .context = a}, seconds);
}

static sley_status time_compress(arrays *a, sl_tuning *tune, sl_compressed_format format, double *seconds) {
  sl_compress_part part = {
      .src = a->src, .count = a->count, .format = format, .dst = a->packed, .room = a->room};
  sl_kernel_args args = {.op = SL_OP_COMPRESS,
                         .compress = {.parts = 1, .part = &part, .type = SLEY_TYPE_F32, .work = a->work}};
  return time_kernel(a, tune, &args, seconds);
}

static sley_status time_decompress(arrays *a, sl_tuning *tune, double *seconds) {
  sl_compressed_part part = {.src = a->packed, .room = a->room, .dst = a->dst, .count = a->count};
  sl_kernel_args args = {.op = SL_OP_DECOMPRESS,
                         .decompress = {.parts = 1, .part = &part, .type = SLEY_TYPE_F32, .wrong = a->wrong}};
  return time_kernel(a, tune, &args, seconds);
}

/* Times the sum of one dense array and compressed ones, which are all the same array. */
static sley_status time_sum(arrays *a, sl_tuning *tune, int parts, double *seconds) {
  const void *src[MANY_PARTS] = {a->packed, a->packed, a->packed, a->packed};
  sl_kernel_args args = {.op = SL_OP_SPARSE_SUM,
                         .sparse_sum = {.count = a->count,
                                        .parts = parts,
                                        .src = src,
                                        .room = a->room,
                                        .own = 0,
                                        .own_src = a->src,
                                        .dst = a->dst,
                                        .type = SLEY_TYPE_F32,
                                        .wrong = a->wrong}};
  return time_kernel(a, tune, &args, seconds);
}

static sley_status time_reduce(arrays *a, sl_tuning *tune, double *seconds) {
  sl_kernel_args args = {.op = SL_OP_REDUCE,
                         .reduce = {.count = a->count,
                                    .parts = MANY_PARTS,
                                    .src = a->others,
                                    .stride = a->count * (int64_t)sizeof(float),
                                    .own = 0,
                                    .own_src = a->src,
                                    .dst = a->dst,
                                    .op = SLEY_SUM,
                                    .type = SLEY_TYPE_F32}};
  return time_kernel(a, tune, &args, seconds);
}

/* Measures the seconds of all passes at one density. */
static sley_status time_all(arrays *a, sl_tuning *tune, int kept, double seconds[SL_PASSES]) {
  double few, many;
  SL_TRY(sl_agree(a->comm, fill(a, kept)));
  SL_TRY(time_compress(a, tune, SL_COMPRESSED_COO, &seconds[SL_PASS_COO]));
  SL_TRY(time_compress(a, tune, SL_COMPRESSED_PICI32, &seconds[SL_PASS_PICI])); /* input of the other
                                                                                 * passes */
  SL_TRY(time_decompress(a, tune, &seconds[SL_PASS_DECOMPRESS]));
  SL_TRY(time_sum(a, tune, FEW_PARTS, &few));
  SL_TRY(time_sum(a, tune, MANY_PARTS, &many));
  seconds[SL_PASS_SUM] = fmax(many - few, 0.1 * few) / (MANY_PARTS - FEW_PARTS);
  seconds[SL_PASS_SUM_OWN] = fmax(few - seconds[SL_PASS_SUM], 0.1 * few);
  return SLEY_OK;
}

/* The cost of a pass, from its times at the two densities. */
static sl_pass_cost cost_of(double bytes, double sparse, double filled) {
  const double values = bytes / (double)sizeof(float), less = values * SPARSE / 1e3,
               more = values * FILLED / 1e3;
  double kept = fmax(filled - sparse, 0) / (more - less), rest = fmax(sparse - less * kept, 0.1 * sparse);
  return (sl_pass_cost){.bandwidth = bytes / rest, .kept = kept};
}

static sley_status tune_passes(arrays *a, sl_tuning *tune) {
  const double bytes = (double)(a->count * (int64_t)sizeof(float));
  double sparse[SL_PASSES] = {0}, filled[SL_PASSES] = {0}, count, reduce, copy;
  sl_kernel_args nonzeros = {
      .op = SL_OP_NONZEROS,
      .nonzeros = {.src = a->src, .count = a->count, .type = SLEY_TYPE_F32, .nonzeros = a->nonzeros}};
  SL_TRY(time_all(a, tune, SPARSE, sparse));
  SL_TRY(time_all(a, tune, FILLED, filled));
  SL_TRY(time_kernel(a, tune, &nonzeros, &count));
  SL_TRY(time_reduce(a, tune, &reduce));
  SL_TRY(sl_tune_measure(a->comm, tune, &(sl_timed){.run = run_copy, .context = a}, &copy));
  if (a->comm->rank > 0)
    return SLEY_OK;
  sl_pass_cost *pass = tune->machine.pass;
  for (int i = SL_PASS_PICI; i <= SL_PASS_SUM_OWN; i++)
    pass[i] = cost_of(bytes, sparse[i], filled[i]);
  pass[SL_PASS_NONZEROS].bandwidth = bytes / count;
  pass[SL_PASS_REDUCE].bandwidth = MANY_PARTS * bytes / reduce;
  pass[SL_PASS_COPY].bandwidth = bytes / copy;
  return SLEY_OK;
}

sley_status sl_tune_compress(sl_comm *comm, sl_tuning *tune) {
  arrays a = {.comm = comm};
  double bytes = fmin(sl_tune_enqueues(comm) ? BY_GPU : BY_CORE, tune->most_bytes);
  a.count = (int64_t)bytes / (int64_t)sizeof(float);
  a.room = sl_compressed_bytes(SL_COMPRESSED_DENSE, SLEY_TYPE_F32, a.count, a.count);
  sl_kernel_args args = {.op = SL_OP_COMPRESS, .compress = {.type = SLEY_TYPE_F32}};
  int64_t serves = sl_kernel_serves(comm->device, &args);
  SL_TRY(comm->ops->allreduce(comm, SL_MIN, &serves, 1));
  if (!serves)
    return SLEY_OK;
  sley_status status = sl_agree(comm, take(&a));
  if (status == SLEY_OK)
    status = tune_passes(&a, tune);
  give(&a);
  return status;
}
