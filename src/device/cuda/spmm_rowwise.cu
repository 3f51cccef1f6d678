/* SPDX-License-Identifier: Apache-2.0 */
/* The row-wise product as MGG runs it (Wang et al., OSDI 2023, section 5): one kernel in which every warp
 * takes dist pairs of a local and a remote neighbour partition. The remote partition's first row is asked for
 * before the local one is summed, so that its way over the link is hidden. Rows are read in place, once for
 * every entry. Where MGG adds a row's partitions up by atomics, each goes to a slot of its own here, and a
 * second kernel adds the slots in order: the same bits from run to run. */
#include "device/cuda/spmm_rowwise.h"

#include "device/cuda/values.cuh"

namespace {

using namespace sley;

template <class T, int VEC> struct sums { accumulator<T> at[VEC]; };

template <class T, int VEC>
__device__ __forceinline__ vector<input<T>, VEC> row_of(const sl_rowwise_run &run, int owner, int32_t col,
                                                        int64_t f) {
  return load_plain<input<T>, VEC>(reinterpret_cast<const input<T> *>(run.base[owner]) + col * run.ldx + f);
}

template <class T, int VEC>
__device__ __forceinline__ void add_row(sums<T, VEC> &sum, accumulator<T> weight,
                                        const vector<input<T>, VEC> &row) {
#pragma unroll
  for (int v = 0; v < VEC; v++)
    sum.at[v] = multiply_add(weight, widened(row, v), sum.at[v]);
}

/* The sums of a partition to Y, which nobody else writes, or to their slot. */
template <class T, int VEC>
__device__ __forceinline__ void put(const sl_rowwise_run &run, const sl_neighbour_part &part, int64_t f,
                                    sums<T, VEC> sum) {
  using out_t = output<T>;
  if (part.slot >= 0) {
    store_plain<accumulator<T>, VEC>(static_cast<accumulator<T> *>(run.partial) + part.slot * run.k + f,
                                     sum.at);
    return;
  }
  out_t *y = static_cast<out_t *>(run.y) + part.row * run.ldy + f;
  if (run.beta != 0) {
    const vector<out_t, VEC> old = load_plain<out_t, VEC>(y);
#pragma unroll
    for (int v = 0; v < VEC; v++)
      sum.at[v] +=
          static_cast<accumulator<T>>(run.beta * static_cast<double>(value<out_t>::widen(old.item[v])));
  }
  store_plain<out_t, VEC>(y, sum.at);
}

template <class T, int VEC>
__device__ __forceinline__ void sum_local(const sl_rowwise_run &run, const sl_neighbour_part &part,
                                          int64_t f) {
  const int32_t *col = run.local_col + part.begin;
  const input<T> *val = static_cast<const input<T> *>(run.local_val) + part.begin;
  sums<T, VEC> sum = {};
#pragma unroll 4
  for (int e = 0; e < part.count; e++)
    add_row<T, VEC>(sum, value<input<T>>::weight(run.alpha, val[e]), row_of<T, VEC>(run, run.own, col[e], f));
  put<T, VEC>(run, part, f, sum);
}

template <class T, int VEC>
__device__ __forceinline__ vector<input<T>, VEC> remote_row(const sl_rowwise_run &run, int64_t e, int64_t f) {
  return row_of<T, VEC>(run, run.remote_owner[e], run.remote_col[e], f);
}

template <class T, int VEC> __global__ void rowwise(const __grid_constant__ sl_rowwise_run run, int dist) {
  using X = value<input<T>>;
  const int lane = threadIdx.x % 32;
  const int64_t warp = static_cast<int64_t>(blockIdx.x) * (blockDim.x / 32) + threadIdx.x / 32;
  const input<T> *val = static_cast<const input<T> *>(run.remote_val);
  for (int64_t f = lane * VEC; f < run.k; f += 32 * VEC)
    for (int64_t i = warp * dist; i < (warp + 1) * dist; i++) {
      sl_neighbour_part far = {};
      vector<input<T>, VEC> first = {};
      if (i < run.remotes) {
        far = run.remote[i];
        first = remote_row<T, VEC>(run, far.begin, f);
      }
      if (i < run.locals)
        sum_local<T, VEC>(run, run.local[i], f);
      if (i < run.remotes) {
        sums<T, VEC> sum = {};
        add_row<T, VEC>(sum, X::weight(run.alpha, val[far.begin]), first);
#pragma unroll 4
        for (int64_t e = far.begin + 1; e < far.begin + far.count; e++)
          add_row<T, VEC>(sum, X::weight(run.alpha, val[e]), remote_row<T, VEC>(run, e, f));
        put<T, VEC>(run, far, f, sum);
      }
    }
}

/* A warp a row. */
template <class T> __global__ void join(const __grid_constant__ sl_rowwise_run run) {
  using Y = value<output<T>>;
  using sum_t = accumulator<T>;
  const int64_t at = (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / 32;
  if (at >= run.joins)
    return;
  const sl_neighbour_row row = run.joined[at];
  const sum_t *partial = static_cast<const sum_t *>(run.partial);
  for (int64_t f = threadIdx.x % 32; f < run.k; f += 32) {
    output<T> *y = static_cast<output<T> *>(run.y) + row.row * run.ldy + f;
    sum_t sum = run.beta == 0 ? sum_t(0) : static_cast<sum_t>(run.beta * static_cast<double>(Y::widen(*y)));
    for (int64_t s = row.first_slot; s < row.first_slot + row.slots; s++)
      sum += partial[s * run.k + f];
    *y = Y::narrow(sum);
  }
}

/* Whether rows can be read and written VEC values at a time. */
template <class T, int VEC> bool fits(const sl_rowwise_run &run, int owners) {
  constexpr int64_t bytes = VEC * sizeof(input<T>), out = VEC * sizeof(output<T>);
  bool aligned = run.k % VEC == 0 && run.ldx % VEC == 0 && run.ldy % VEC == 0 &&
                 reinterpret_cast<uintptr_t>(run.y) % (out < 16 ? out : 16) == 0;
  for (int p = 0; p < owners; p++)
    aligned = aligned && run.base[p] % bytes == 0;
  return aligned;
}

template <class T>
sley_status launch(sl_queue *queue, const sl_rowwise_run &run, const sl_neighbour_shape &shape) {
  constexpr int WIDE = 16 / sizeof(input<T>), HALF = WIDE / 2, PAIR = sizeof(input<T>) == 2 ? 2 : 1,
                JOIN_WARPS = 8;
  const int64_t most = run.locals > run.remotes ? run.locals : run.remotes;
  const int64_t warps = (most + shape.dist - 1) / shape.dist;
  const unsigned blocks = static_cast<unsigned>((warps + shape.wpb - 1) / shape.wpb),
                 threads = 32u * shape.wpb;
  const cudaStream_t stream = sl_cuda_stream(queue);
  if (blocks > 0) {
    /* As wide as the width fills a warp with. */
    if (run.k >= 32 * WIDE && fits<T, WIDE>(run, SL_NEIGHBOUR_OWNERS))
      rowwise<T, WIDE><<<blocks, threads, 0, stream>>>(run, shape.dist);
    else if (run.k >= 32 * HALF && fits<T, HALF>(run, SL_NEIGHBOUR_OWNERS))
      rowwise<T, HALF><<<blocks, threads, 0, stream>>>(run, shape.dist);
    else if (PAIR > 1 && run.k >= 32 * PAIR && fits<T, PAIR>(run, SL_NEIGHBOUR_OWNERS))
      rowwise<T, PAIR><<<blocks, threads, 0, stream>>>(run, shape.dist);
    else
      rowwise<T, 1><<<blocks, threads, 0, stream>>>(run, shape.dist);
    SL_TRY(sl_cuda_launched(queue, "spmm-rowwise"));
  }
  if (run.joins > 0) {
    join<T><<<static_cast<unsigned>((run.joins + JOIN_WARPS - 1) / JOIN_WARPS), 32 * JOIN_WARPS, 0, stream>>>(
        run);
    SL_TRY(sl_cuda_launched(queue, "spmm-rowwise, joining partitions"));
  }
  return SLEY_OK;
}

/* A thread per value. */
template <class V>
__global__ void split_values(const sl_neighbour_word *word, const V *val, int64_t first, int64_t count,
                             V *local, V *remote) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= count)
    return;
  const int64_t e = first + i;
  const sl_neighbour_word w = word[e / SL_NEIGHBOUR_WORD];
  const uint32_t bit = 1u << e % SL_NEIGHBOUR_WORD;
  const int64_t remotes = w.remotes + __popc(w.remote & (bit - 1));
  *(w.remote & bit ? remote + remotes : local + (e - remotes)) = val[i];
}

template <class V>
void launch_split(const sl_neighbour_word *word, const void *val, int64_t first, int64_t count, void *local,
                  void *remote, cudaStream_t stream) {
  constexpr int THREADS = 256;
  split_values<V><<<static_cast<unsigned>((count + THREADS - 1) / THREADS), THREADS, 0, stream>>>(
      word, static_cast<const V *>(val), first, count, static_cast<V *>(local), static_cast<V *>(remote));
}

} // namespace

sley_status sl_rowwise_split_values(sl_queue *queue, const sl_neighbour_word *word, const void *val,
                                    int64_t first, int64_t count, int64_t value_bytes, void *local,
                                    void *remote) {
  const cudaStream_t stream = sl_cuda_stream(queue);
  SL_TRY(sl_cuda_use(queue->device));
  if (value_bytes == 2)
    launch_split<uint16_t>(word, val, first, count, local, remote, stream);
  else if (value_bytes == 4)
    launch_split<uint32_t>(word, val, first, count, local, remote, stream);
  else
    launch_split<uint64_t>(word, val, first, count, local, remote, stream);
  return sl_cuda_launched(queue, "spmm-rowwise, new values");
}

sley_status sl_rowwise_launch(sl_queue *queue, const sl_rowwise_run *run, sley_dtype dtype,
                              const sl_neighbour_shape *shape) {
  SL_TRY(sl_cuda_use(queue->device));
  if (dtype == SLEY_F64)
    return launch<double>(queue, *run, *shape);
  if (dtype == SLEY_F32)
    return launch<float>(queue, *run, *shape);
  if (dtype == SLEY_F16)
    return run->wide_y ? launch<wide<f16>>(queue, *run, *shape) : launch<f16>(queue, *run, *shape);
  return run->wide_y ? launch<wide<bf16>>(queue, *run, *shape) : launch<bf16>(queue, *run, *shape);
}
