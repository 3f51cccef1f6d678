/* SPDX-License-Identifier: Apache-2.0 */
/* The row-wise product as MGG runs it (Wang et al., OSDI 2023, section 5): one kernel in which every warp
 * processes dist pairs of a local and a remote neighbour partition. The remote partition's first row is
 * requested before the local one is summed, which hides its transfer over the link. Rows are read in place,
 * once for every entry. Sums and rows are in registers here, in shared memory in rowwise_shared.cu. MGG
 * adds a row's partitions by atomics; here each partition has a slot of its own, and a second kernel adds the
 * slots in order, so that bits repeat from run to run. */
#include "device/cuda/spmm/rowwise.cuh"

namespace {

using namespace sley;

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

template <class T, int VEC, bool APART>
__global__ void rowwise(const __grid_constant__ sl_rowwise_run run, int dist) {
  using X = value<input<T>>;
  const int lane = threadIdx.x % 32;
  const int64_t warp = static_cast<int64_t>(blockIdx.x) * (blockDim.x / 32) + threadIdx.x / 32;
  const input<T> *val = static_cast<const input<T> *>(run.remote_val);
  const sl_neighbour_share share = sl_neighbour_share_of(run.locals, run.remotes, dist, APART, warp);
  for (int64_t f = lane * VEC; f < run.k; f += 32 * VEC)
    for (int64_t i = share.begin; i < share.end; i++) {
      sl_neighbour_part far = {};
      vector<input<T>, VEC> first = {};
      if (i < share.remotes) {
        far = run.remote[i];
        first = remote_row<T, VEC>(run, far.begin, f);
      }
      if (i < share.locals)
        sum_local<T, VEC>(run, run.local[i], f);
      if (i < share.remotes) {
        sums<T, VEC> sum = {};
        add_row<T, VEC>(sum, X::weight(run.alpha, val[far.begin]), first);
#pragma unroll 4
        for (int64_t e = far.begin + 1; e < far.begin + far.count; e++)
          add_row<T, VEC>(sum, X::weight(run.alpha, val[e]), remote_row<T, VEC>(run, e, f));
        put<T, VEC>(run, far, f, sum);
      }
    }
}

/* One warp completes one row. */
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

/* Returns whether rows can be accessed VEC values at a time. */
template <class T, int VEC> bool fits(const sl_rowwise_run &run, int owners) {
  constexpr int64_t bytes = VEC * sizeof(input<T>), out = VEC * sizeof(output<T>);
  bool aligned = run.k % VEC == 0 && run.ldx % VEC == 0 && run.ldy % VEC == 0 &&
                 reinterpret_cast<uintptr_t>(run.y) % (out < 16 ? out : 16) == 0;
  for (int p = 0; p < owners; p++)
    aligned = aligned && run.base[p] % bytes == 0;
  return aligned;
}

/* Sums partitions in registers; the lanes of a warp cover the width of a row. */
struct sums_in_registers {
  sl_queue *queue;
  const sl_rowwise_run &run;
  const sl_neighbour_shape &shape;

  template <class T, int VEC> sley_status start() const {
    const unsigned blocks = rowwise_blocks(run, shape), threads = 32u * shape.wpb;
    if (blocks == 0)
      return SLEY_OK;
    if (run.choice.apart)
      rowwise<T, VEC, true><<<blocks, threads, 0, sl_cuda_stream(queue)>>>(run, shape.dist);
    else
      rowwise<T, VEC, false><<<blocks, threads, 0, sl_cuda_stream(queue)>>>(run, shape.dist);
    return sl_cuda_launched(queue, "spmm-rowwise");
  }

  template <class T> sley_status launch() const {
    constexpr int WIDE = 16 / sizeof(input<T>), HALF = WIDE / 2, PAIR = sizeof(input<T>) == 2 ? 2 : 1;
    if (run.k >= 32 * WIDE && fits<T, WIDE>(run, SL_NEIGHBOUR_OWNERS))
      return start<T, WIDE>();
    if (run.k >= 32 * HALF && fits<T, HALF>(run, SL_NEIGHBOUR_OWNERS))
      return start<T, HALF>();
    if (PAIR > 1 && run.k >= 32 * PAIR && fits<T, PAIR>(run, SL_NEIGHBOUR_OWNERS))
      return start<T, PAIR>();
    return start<T, 1>();
  }
};

/* Completes rows that have no partition or several partitions. */
struct joined_slots {
  sl_queue *queue;
  const sl_rowwise_run &run;

  template <class T> sley_status launch() const {
    constexpr int WARPS = 8;
    if (run.joins == 0)
      return SLEY_OK;
    join<T><<<static_cast<unsigned>((run.joins + WARPS - 1) / WARPS), 32 * WARPS, 0, sl_cuda_stream(queue)>>>(
        run);
    return sl_cuda_launched(queue, "spmm-rowwise, joining partitions");
  }
};

/* One thread processes one value. */
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
  SL_TRY(run->choice.shared ? sl_rowwise_launch_shared(queue, run, dtype, shape)
                            : by_type(dtype, run->wide_y, sums_in_registers{queue, *run, *shape}));
  return by_type(dtype, run->wide_y, joined_slots{queue, *run});
}
