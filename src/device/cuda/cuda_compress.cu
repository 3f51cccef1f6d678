/* SPDX-License-Identifier: Apache-2.0 */
/* The operations NONZEROS and COMPRESS: which kernels they take. */
#include "device/cuda/compress.cuh"
#include "device/cuda/compressed_tile.cuh"

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

double nonzeros_cost(const sl_kernel_args *args) {
  return 5e-6 + static_cast<double>(args->nonzeros.count) * sley_type_bytes(args->nonzeros.type) / 2e12;
}

/* The format asked for, unless it cannot fit, however few values are kept. */
sl_compressed_format format_of(const sl_compress_args *a) {
  if (!sl_compressed_serves(a->format, a->count) ||
      sl_compressed_bytes(a->format, a->type, a->count, 0) > a->room)
    return SL_COMPRESSED_DENSE;
  return a->format;
}

sley_status compress_run(sl_queue *queue, const sl_kernel_args *args) {
  const sl_compress_args *a = &args->compress;
  compression job = {static_cast<const char *>(a->src),
                     static_cast<char *>(a->dst),
                     a->count,
                     sl_compressed_tiles(a->count),
                     a->room,
                     static_cast<int64_t>(sley_type_bytes(a->type)),
                     a->type,
                     format_of(a),
                     static_cast<unsigned long long *>(a->work),
                     static_cast<char *>(a->copy)};
  const bool tiled = job.format == SL_COMPRESSED_PICI32 || job.format == SL_COMPRESSED_PICI64;
  SL_TRY(sl_cuda_use(queue->device));
  if (a->copy && a->count > 0 && !tiled)
    SL_TRY(sl_cuda_check(cudaMemcpyAsync(a->copy, a->src, static_cast<size_t>(a->count * job.value_bytes),
                                         cudaMemcpyDeviceToDevice, sl_cuda_stream(queue)),
                         "copying values"));
  if (tiled) {
    SL_TRY(clear(queue, a->work, sl_compress_work(a->count)));
    SL_TRY(launch_pici(queue, job));
  }
  if (job.format == SL_COMPRESSED_COO)
    SL_TRY(launch_coo(queue, job));
  if (job.format != SL_COMPRESSED_DENSE &&
      sl_compressed_bytes(job.format, a->type, a->count, a->count) <= a->room)
    return SLEY_OK; /* it fits whatever the values are */
  return launch_dense(queue, job);
}

bool compress_ok(const sl_kernel_args *args) {
  return sl_compresses(&args->compress) && has_tiles(args->compress.type);
}

double compress_cost(const sl_kernel_args *args) {
  return 1e-5 + static_cast<double>(args->compress.count) * sley_type_bytes(args->compress.type) / 2e12;
}

} // namespace

extern "C" {
extern const sl_kernel sl_cuda_nonzeros, sl_cuda_compress;
const sl_kernel sl_cuda_nonzeros = {.name = "nonzeros",
                                    .op = SL_OP_NONZEROS,
                                    .ok = nonzeros_ok,
                                    .cost = nonzeros_cost,
                                    SL_KERNEL_KEEPS_NOTHING,
                                    .run = nonzeros_run};
const sl_kernel sl_cuda_compress = {.name = "compress",
                                    .op = SL_OP_COMPRESS,
                                    .ok = compress_ok,
                                    .cost = compress_cost,
                                    SL_KERNEL_KEEPS_NOTHING,
                                    .run = compress_run};
}
