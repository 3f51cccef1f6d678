/* SPDX-License-Identifier: Apache-2.0 */
/* The row-wise product with shared memory, laid out as in MGG (Wang et al., OSDI 2023, section 5.2). Each
 * warp has the row numbers of a partition, a row of sums, and a remote row of X, which is loaded
 * asynchronously by one thread, by the warp, or by the whole block for each warp in turn. The first remote
 * row of a partition is loaded while the local partition is summed. Sums have the same bits as sums in
 * registers. */
#include "device/cuda/shared_memory.cuh"
#include "device/cuda/spmm/rowwise.cuh"

#include <cuda_pipeline.h>

namespace {

using namespace sley;

constexpr int NAMES = SL_NEIGHBOUR_PS_MOST; /* one per lane */

/* How rows are moved: in words of 16, 8 or 4 bytes, or 2, which is not asynchronous. */
struct moves {
  int64_t bytes; /* bytes of a row */
  int word;
};

template <int WORD>
__device__ __forceinline__ void move_words(char *to, const char *from, int64_t bytes, int thread,
                                           int threads) {
#pragma unroll 1
  for (int64_t at = static_cast<int64_t>(thread) * WORD; at < bytes;
       at += static_cast<int64_t>(threads) * WORD)
    __pipeline_memcpy_async(to + at, from + at, WORD);
}

/* Starts to load a row; thread `thread` of `threads` loads its words. */
__device__ __forceinline__ void move_row(const moves &m, char *to, const char *from, int thread,
                                         int threads) {
  if (m.word == 16)
    move_words<16>(to, from, m.bytes, thread, threads);
  else if (m.word == 8)
    move_words<8>(to, from, m.bytes, thread, threads);
  else if (m.word == 4)
    move_words<4>(to, from, m.bytes, thread, threads);
  else
#pragma unroll 1
    for (int64_t i = thread; i < m.bytes / 2; i += threads)
      reinterpret_cast<uint16_t *>(to)[i] = reinterpret_cast<const uint16_t *>(from)[i];
}

/* A warp's part of the block's shared memory. */
template <class T> struct place {
  const char **source; /* for each warp of the block: the row that is loaded for it, or NULL */
  int32_t *name;
  accumulator<T> *sum;
  char *rows, *row; /* rows of all warps; row of this warp */
  int lane, warp, warps;
};

template <class T> __device__ __forceinline__ place<T> place_of(const sl_rowwise_layout &layout, int64_t k) {
  extern __shared__ __align__(16) char memory[];
  place<T> at;
  at.lane = threadIdx.x % 32;
  at.warp = threadIdx.x / 32;
  at.warps = blockDim.x / 32;
  at.source = reinterpret_cast<const char **>(memory);
  at.name = reinterpret_cast<int32_t *>(memory + layout.first_name) + at.warp * layout.names;
  at.sum = reinterpret_cast<accumulator<T> *>(memory + layout.sums) + at.warp * k;
  at.rows = memory + layout.rows;
  at.row = at.rows + at.warp * layout.row_pitch;
  return at;
}

/* Loads up to NAMES row numbers of a partition, from entry `first` on, by a warp. If there is space for
 * fewer, no partition has more. */
template <class T>
__device__ __forceinline__ void take_names(const place<T> &at, const int32_t *col, int first, int count) {
  __syncwarp();
  if (first + at.lane < count)
    at.name[at.lane] = col[first + at.lane];
  __syncwarp();
}

template <class T> __device__ __forceinline__ void clear(const place<T> &at, int64_t k) {
  for (int64_t f = at.lane; f < k; f += 32)
    at.sum[f] = 0;
}

/* Adds a weighted row; each lane has its own columns. */
template <class T>
__device__ __forceinline__ void add(const place<T> &at, int64_t k, accumulator<T> weight,
                                    const input<T> *row) {
#pragma unroll 2
  for (int64_t f = at.lane; f < k; f += 32)
    at.sum[f] = multiply_add(weight, value<input<T>>::widen(row[f]), at.sum[f]);
}

template <class T>
__device__ __forceinline__ void store(const place<T> &at, const sl_rowwise_run &run,
                                      const sl_neighbour_part &part) {
  for (int64_t f = at.lane; f < run.k; f += 32)
    put<T, 1>(run, part, f, sums<T, 1>{{at.sum[f]}});
}

template <class T>
__device__ __forceinline__ void sum_local(const place<T> &at, const sl_rowwise_run &run,
                                          const sl_neighbour_part &part) {
  const input<T> *val = static_cast<const input<T> *>(run.local_val) + part.begin;
  clear<T>(at, run.k);
  for (int e = 0; e < part.count; e++) {
    if (e % NAMES == 0)
      take_names<T>(at, run.local_col + part.begin, e, part.count);
    add<T>(at, run.k, value<input<T>>::weight(run.alpha, val[e]),
           address_of<T>(run, run.own, at.name[e % NAMES]));
  }
  store<T>(at, run, part);
}

/* Address of the row of entry e of a remote partition. The local partition's row numbers are replaced after
 * the first entry. */
template <class T>
__device__ __forceinline__ const char *remote_address(const place<T> &at, const sl_rowwise_run &run,
                                                      const sl_neighbour_part &part, int e) {
  if (e == 1 || (e > 0 && e % NAMES == 0))
    take_names<T>(at, run.remote_col + part.begin, e - e % NAMES, part.count);
  const int32_t col = e == 0 ? run.remote_col[part.begin] : at.name[e % NAMES];
  return reinterpret_cast<const char *>(address_of<T>(run, run.remote_owner[part.begin + e], col));
}

/* Starts to load the warp's next row; NULL: none. With BLOCK, all warps of the block call this after a
 * barrier. */
template <class T, bool BLOCK>
__device__ __forceinline__ void begin_get(const place<T> &at, const sl_rowwise_layout &layout, const moves &m,
                                          sl_rowwise_get get, const char *from) {
  if (BLOCK) {
    if (at.lane == 0)
      at.source[at.warp] = from;
    __syncthreads();
#pragma unroll 1
    for (int w = 0; w < at.warps; w++)
      if (at.source[w])
        move_row(m, at.rows + w * layout.row_pitch, at.source[w], threadIdx.x, blockDim.x);
  } else {
    __syncwarp(); /* the previous row has been read */
    if (get == SL_GET_BY_WARP)
      move_row(m, at.row, from, at.lane, 32);
    else if (at.lane == 0)
      move_row(m, at.row, from, 0, 1);
  }
  __pipeline_commit();
}

template <bool BLOCK> __device__ __forceinline__ void end_get() {
  __pipeline_wait_prior(0);
  if (BLOCK)
    __syncthreads();
  else
    __syncwarp();
}

/* Returns whether this warp, or with BLOCK any warp of the block, has more entries; with BLOCK the call is
 * also a barrier. */
template <bool BLOCK> __device__ __forceinline__ bool any(bool mine) {
  return BLOCK ? __syncthreads_or(mine) != 0 : mine;
}

template <class T, bool BLOCK>
__global__ void __launch_bounds__(32 * SL_NEIGHBOUR_WPB_MOST, 2)
    rowwise_shared(const __grid_constant__ sl_rowwise_run run,
                   const __grid_constant__ sl_rowwise_layout layout, moves m, int dist) {
  const place<T> at = place_of<T>(layout, run.k);
  const sl_neighbour_share share = sl_neighbour_share_of(
      run.locals, run.remotes, dist, run.choice.apart, static_cast<int64_t>(blockIdx.x) * at.warps + at.warp);
  const input<T> *val = static_cast<const input<T> *>(run.remote_val);
  for (int64_t i = share.begin; i < share.end; i++) { /* executed equally often in all warps */
    const bool near = i < share.locals, far = i < share.remotes;
    const sl_neighbour_part part = far ? run.remote[i] : sl_neighbour_part{};
    int e = 0;
    bool more = any<BLOCK>(far);
    if (more)
      begin_get<T, BLOCK>(at, layout, m, run.choice.get, far ? remote_address<T>(at, run, part, 0) : nullptr);
    if (near)
      sum_local<T>(at, run, run.local[i]);
    clear<T>(at, run.k);
    while (more) {
      end_get<BLOCK>();
      if (e < part.count)
        add<T>(at, run.k, value<input<T>>::weight(run.alpha, val[part.begin + e]),
               reinterpret_cast<const input<T> *>(at.row));
      e++;
      more = any<BLOCK>(e < part.count);
      if (more)
        begin_get<T, BLOCK>(at, layout, m, run.choice.get,
                            e < part.count ? remote_address<T>(at, run, part, e) : nullptr);
    }
    if (far)
      store<T>(at, run, part);
  }
}

/* The widest words in which all rows can be moved. */
int word_of(const sl_rowwise_run &run, int64_t value_bytes) {
  uintptr_t all = static_cast<uintptr_t>((run.k | run.ldx) * value_bytes) | 16;
  for (int p = 0; p < SL_NEIGHBOUR_OWNERS; p++)
    all |= run.base[p];
  return static_cast<int>(all & -all);
}

struct sums_in_shared_memory {
  sl_queue *queue;
  const sl_rowwise_run &run;
  const sl_neighbour_shape &shape;

  template <class T, bool BLOCK> sley_status start() const {
    const unsigned blocks = rowwise_blocks(run, shape), threads = 32u * shape.wpb;
    const sl_rowwise_layout layout =
        sl_rowwise_layout_of(&shape, run.k, sizeof(input<T>), sizeof(accumulator<T>));
    const moves m = {run.k * static_cast<int64_t>(sizeof(input<T>)), word_of(run, sizeof(input<T>))};
    if (blocks == 0)
      return SLEY_OK;
    SL_TRY((grant<rowwise_shared<T, BLOCK>>(layout.bytes)));
    rowwise_shared<T, BLOCK>
        <<<blocks, threads, layout.bytes, sl_cuda_stream(queue)>>>(run, layout, m, shape.dist);
    return sl_cuda_launched(queue, "spmm-rowwise, in shared memory");
  }

  template <class T> sley_status launch() const {
    return run.choice.get == SL_GET_BY_BLOCK ? start<T, true>() : start<T, false>();
  }
};

} // namespace

sley_status sl_rowwise_launch_shared(sl_queue *queue, const sl_rowwise_run *run, sley_dtype dtype,
                                     const sl_neighbour_shape *shape) {
  return by_type(dtype, run->wide_y, sums_in_shared_memory{queue, *run, *shape});
}
