/* SPDX-License-Identifier: Apache-2.0 */
/* The row-wise product as MGG runs it (Wang et al., OSDI 2023, section 5): one kernel in which every warp
 * takes dist pairs of a local and a remote neighbour partition. The remote partition's first row is asked for
 * before the local one is summed, so that its way over the link is hidden. Rows are read in place, once for
 * every entry. Where MGG adds a row's partitions up by atomics, each goes to a slot of its own here, and a
 * second kernel adds the slots in order: the same bits from run to run. */
#include "device/cuda/spmm_rowwise.h"

namespace {

template <class T, int VEC> struct alignas(sizeof(T) * VEC) pack { T at[VEC]; };

template <class T, int VEC>
__device__ __forceinline__ pack<T, VEC> row_of(uintptr_t base, int32_t col, int64_t ldx, int64_t f) {
  return *reinterpret_cast<const pack<T, VEC> *>(reinterpret_cast<const T *>(base) + col * ldx + f);
}

template <class T> __device__ __forceinline__ T weight_of(double alpha, T value) {
  return alpha == 1 ? value : static_cast<T>(alpha * static_cast<double>(value));
}

template <class T, int VEC>
__device__ __forceinline__ void add_row(pack<T, VEC> &sum, T weight, const pack<T, VEC> &row) {
#pragma unroll
  for (int v = 0; v < VEC; v++)
    sum.at[v] += weight * row.at[v];
}

/* The sums of a partition to Y, which nobody else writes, or to their slot. */
template <class T, int VEC>
__device__ __forceinline__ void put(const sl_rowwise_run &run, const sl_neighbour_part &part, int64_t f,
                                    pack<T, VEC> sum) {
  if (part.slot >= 0) {
    *reinterpret_cast<pack<T, VEC> *>(static_cast<T *>(run.partial) + part.slot * run.k + f) = sum;
    return;
  }
  auto *y = reinterpret_cast<pack<T, VEC> *>(static_cast<T *>(run.y) + part.row * run.ldy + f);
  if (run.beta != 0) {
    const pack<T, VEC> old = *y;
#pragma unroll
    for (int v = 0; v < VEC; v++)
      sum.at[v] += static_cast<T>(run.beta * static_cast<double>(old.at[v]));
  }
  *y = sum;
}

template <class T, int VEC>
__device__ __forceinline__ void sum_local(const sl_rowwise_run &run, const sl_neighbour_part &part,
                                          int64_t f) {
  const int32_t *col = run.local_col + part.begin;
  const T *val = static_cast<const T *>(run.local_val) + part.begin;
  pack<T, VEC> sum = {};
#pragma unroll 4
  for (int e = 0; e < part.count; e++)
    add_row(sum, weight_of(run.alpha, val[e]), row_of<T, VEC>(run.base[run.own], col[e], run.ldx, f));
  put(run, part, f, sum);
}

template <class T, int VEC>
__device__ __forceinline__ pack<T, VEC> remote_row(const sl_rowwise_run &run, int64_t e, int64_t f) {
  return row_of<T, VEC>(run.base[run.remote_owner[e]], run.remote_col[e], run.ldx, f);
}

template <class T, int VEC> __global__ void rowwise(const __grid_constant__ sl_rowwise_run run, int dist) {
  const int lane = threadIdx.x % 32;
  const int64_t warp = static_cast<int64_t>(blockIdx.x) * (blockDim.x / 32) + threadIdx.x / 32;
  const T *val = static_cast<const T *>(run.remote_val);
  for (int64_t f = lane * VEC; f < run.k; f += 32 * VEC)
    for (int64_t i = warp * dist; i < (warp + 1) * dist; i++) {
      sl_neighbour_part far = {};
      pack<T, VEC> first = {};
      if (i < run.remotes) {
        far = run.remote[i];
        first = remote_row<T, VEC>(run, far.begin, f);
      }
      if (i < run.locals)
        sum_local<T, VEC>(run, run.local[i], f);
      if (i < run.remotes) {
        pack<T, VEC> sum = {};
        add_row(sum, weight_of(run.alpha, val[far.begin]), first);
#pragma unroll 4
        for (int64_t e = far.begin + 1; e < far.begin + far.count; e++)
          add_row(sum, weight_of(run.alpha, val[e]), remote_row<T, VEC>(run, e, f));
        put(run, far, f, sum);
      }
    }
}

/* A warp a row. */
template <class T> __global__ void join(const __grid_constant__ sl_rowwise_run run) {
  const int64_t at = (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / 32;
  if (at >= run.joins)
    return;
  const sl_neighbour_row row = run.joined[at];
  const T *partial = static_cast<const T *>(run.partial);
  for (int64_t f = threadIdx.x % 32; f < run.k; f += 32) {
    T *y = static_cast<T *>(run.y) + row.row * run.ldy + f;
    T sum = run.beta == 0 ? T(0) : static_cast<T>(run.beta * static_cast<double>(*y));
    for (int64_t s = row.first_slot; s < row.first_slot + row.slots; s++)
      sum += partial[s * run.k + f];
    *y = sum;
  }
}

/* Whether rows can be read and written VEC values at a time. */
template <class T, int VEC> bool fits(const sl_rowwise_run &run, int owners) {
  constexpr int64_t bytes = VEC * sizeof(T);
  bool aligned = run.k % VEC == 0 && run.ldx % VEC == 0 && run.ldy % VEC == 0 &&
                 reinterpret_cast<uintptr_t>(run.y) % bytes == 0;
  for (int p = 0; p < owners; p++)
    aligned = aligned && run.base[p] % bytes == 0;
  return aligned;
}

template <class T>
void launch(const sl_rowwise_run &run, const sl_neighbour_shape &shape, cudaStream_t stream,
            int64_t *launches) {
  constexpr int WIDE = 16 / sizeof(T), HALF = WIDE / 2, JOIN_WARPS = 8;
  const int64_t most = run.locals > run.remotes ? run.locals : run.remotes;
  const int64_t warps = (most + shape.dist - 1) / shape.dist;
  const unsigned blocks = static_cast<unsigned>((warps + shape.wpb - 1) / shape.wpb),
                 threads = 32u * shape.wpb;
  if (blocks > 0) {
    /* As wide as the width fills a warp with. */
    if (run.k >= 32 * WIDE && fits<T, WIDE>(run, SL_NEIGHBOUR_OWNERS))
      rowwise<T, WIDE><<<blocks, threads, 0, stream>>>(run, shape.dist);
    else if (run.k >= 32 * HALF && fits<T, HALF>(run, SL_NEIGHBOUR_OWNERS))
      rowwise<T, HALF><<<blocks, threads, 0, stream>>>(run, shape.dist);
    else
      rowwise<T, 1><<<blocks, threads, 0, stream>>>(run, shape.dist);
    ++*launches;
  }
  if (run.joins > 0) {
    join<T><<<static_cast<unsigned>((run.joins + JOIN_WARPS - 1) / JOIN_WARPS), 32 * JOIN_WARPS, 0, stream>>>(
        run);
    ++*launches;
  }
}

} // namespace

cudaError_t sl_rowwise_launch(const sl_rowwise_run *run, sley_dtype dtype, const sl_neighbour_shape *shape,
                              cudaStream_t stream, int64_t *launches) {
  if (dtype == SLEY_F64)
    launch<double>(*run, *shape, stream, launches);
  else
    launch<float>(*run, *shape, stream, launches);
  return cudaGetLastError();
}
