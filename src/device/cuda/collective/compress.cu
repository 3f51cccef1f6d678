/* SPDX-License-Identifier: Apache-2.0 */
/* Selects the kernels for the operations NONZEROS and COMPRESS. */
#include "device/cuda/collective/compress.cuh"
#include "device/cuda/collective/compressed_tile.cuh"

namespace {

using namespace sley;

sley_status clear(sl_queue *queue, void *words, int64_t bytes) {
  return sl_cuda_check(cudaMemsetAsync(words, 0, static_cast<size_t>(bytes), sl_cuda_stream(queue)),
                       "clearing counts");
}

sley_status nonzeros_run(sl_queue *queue, const sl_kernel_args *args) {
  const sl_nonzeros_args *a = &args->nonzeros;
  SL_TRY(sl_cuda_use(queue->device));
  SL_TRY(clear(queue, a->nonzeros, sizeof *a->nonzeros));
  if (a->count == 0)
    return SLEY_OK;
  return launch_count(queue, a);
}

bool nonzeros_ok(const sl_kernel_args *args) {
  return sl_compressible(args->nonzeros.type, args->nonzeros.count) && has_tiles(args->nonzeros.type);
}

/* Returns the requested format, or dense if that format cannot fit, however few values are kept. */
sl_compressed_format format_of(const sl_compress_part &a, sley_type type) {
  if (!sl_compressed_serves(a.format, a.count) || sl_compressed_bytes(a.format, type, a.count, 0) > a.room)
    return SL_COMPRESSED_DENSE;
  return a.format;
}

bool is_pici(const compression &job) {
  return job.format == SL_COMPRESSED_PICI32 || job.format == SL_COMPRESSED_PICI64;
}

bool may_be_dense(const compression &job) {
  return sl_compressed_bytes(job.format, job.type, job.count, job.count) > job.room;
}

void add(compressions *jobs, const compression &job) {
  jobs->array[jobs->arrays++] = job;
}

/* Launches the kernels for one array: everything for dense and COO, except the values of a COO array that
 * turns out dense. */
sley_status compress_alone(sl_queue *queue, const compression &job) {
  if (job.copy && job.count > 0)
    SL_TRY(sl_cuda_check(cudaMemcpyAsync(job.copy, job.src, static_cast<size_t>(job.count * job.value_bytes),
                                         cudaMemcpyDeviceToDevice, sl_cuda_stream(queue)),
                         "copying values"));
  return job.format == SL_COMPRESSED_COO ? launch_coo(queue, job) : launch_dense(queue, job);
}

/* Compresses as many parts as one launch takes, with the words of state from `state` on. */
sley_status compress_parts(sl_queue *queue, int parts, const sl_compress_part *part, sley_type type,
                           unsigned long long *state) {
  compressions pici, rest;
  int64_t bytes = 0;
  for (int p = 0; p < parts; p++) {
    const sl_compress_part &a = part[p];
    const compression job = {static_cast<const char *>(a.src),
                             static_cast<char *>(a.dst),
                             a.count,
                             sl_compressed_tiles(a.count),
                             a.room,
                             static_cast<int64_t>(sley_type_bytes(type)),
                             type,
                             format_of(a, type),
                             state + bytes / static_cast<int64_t>(sizeof *state),
                             static_cast<char *>(a.copy)};
    bytes += sl_compress_work(a.count);
    if (is_pici(job))
      add(&pici, job);
    else
      SL_TRY(compress_alone(queue, job));
    if (job.format != SL_COMPRESSED_DENSE && may_be_dense(job))
      add(&rest, job);
  }
  if (pici.arrays > 0) {
    SL_TRY(clear(queue, state, bytes)); /* the kernels of an earlier COO array no longer use these words */
    SL_TRY(launch_pici(queue, pici));
  }
  return rest.arrays > 0 ? launch_rest(queue, rest) : SLEY_OK;
}

sley_status compress_run(sl_queue *queue, const sl_kernel_args *args) {
  const sl_compress_args *a = &args->compress;
  char *state = static_cast<char *>(a->work);
  SL_TRY(sl_cuda_use(queue->device));
  for (int first = 0; first < a->parts; first += MOST_ARRAYS) {
    const int parts = a->parts - first < MOST_ARRAYS ? a->parts - first : MOST_ARRAYS;
    SL_TRY(compress_parts(queue, parts, a->part + first, a->type,
                          reinterpret_cast<unsigned long long *>(state)));
    for (int p = first; p < first + parts; p++)
      state += sl_compress_work(a->part[p].count);
  }
  return SLEY_OK;
}

bool compress_ok(const sl_kernel_args *args) {
  return sl_compresses(&args->compress) && has_tiles(args->compress.type);
}

} // namespace

extern "C" {
extern const sl_kernel sl_cuda_nonzeros, sl_cuda_compress;
const sl_kernel sl_cuda_nonzeros = {.name = "nonzeros",
                                    .op = SL_OP_NONZEROS,
                                    .ok = nonzeros_ok,
                                    .cost = sl_cost_of_bytes,
                                    SL_KERNEL_KEEPS_NOTHING,
                                    .run = nonzeros_run};
const sl_kernel sl_cuda_compress = {.name = "compress",
                                    .op = SL_OP_COMPRESS,
                                    .ok = compress_ok,
                                    .cost = sl_cost_of_bytes,
                                    SL_KERNEL_KEEPS_NOTHING,
                                    .run = compress_run};
}
