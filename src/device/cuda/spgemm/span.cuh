/* SPDX-License-Identifier: Apache-2.0 */
/* Rows whose columns lie close together: WIDTH lanes compute a row, with a sum and a mark in shared memory
 * for each column of its span. The lanes process one row of B at a time, whose columns differ, so that
 * products are added in the order of the entries. */
#ifndef SLEY_DEVICE_CUDA_SPGEMM_SPAN_CUH
#define SLEY_DEVICE_CUDA_SPGEMM_SPAN_CUH

#include "device/cuda/spgemm/spgemm_rows.cuh"

namespace sley {

enum {
  SPAN_THREADS = 256,
  SPAN_STEPS = 4 /* rows of B that are loaded at a time */
};

extern __shared__ uint4 spgemm_shared[];

/* Columns of space per row in a bin with this largest span; padded so that the rows of a warp begin in
 * different banks. */
SL_ANYWHERE int64_t span_room(int64_t widest, int64_t width) {
  return (widest + SPGEMM_WARP - 1) / SPGEMM_WARP * SPGEMM_WARP + width % SPGEMM_WARP;
}

/* Shared memory of a block; sum_bytes = 0: for counting only. */
SL_ANYWHERE int64_t span_bytes(int64_t room, int64_t width, int64_t sum_bytes) {
  return SPAN_THREADS / width * room * (sum_bytes + 1);
}

/* A row's part of the block's shared memory. */
template <class S> struct span_space {
  S *sum;
  unsigned char *mark;
};

template <class S, int WIDTH>
__device__ __forceinline__ span_space<S> span_space_of(int64_t room, int64_t sum_bytes) {
  const int64_t group = threadIdx.x / WIDTH;
  char *at = reinterpret_cast<char *>(spgemm_shared);
  return {reinterpret_cast<S *>(at + group * room * sum_bytes),
          reinterpret_cast<unsigned char *>(at + SPAN_THREADS / WIDTH * room * sum_bytes + group * room)};
}

/* Calls put(column minus the first, product) for each product of the row, in the lane that has it; row -1:
 * none. Called by all lanes of a warp; ends with a barrier of the warp. */
template <class T, int WIDTH, bool VALUES, class RING, class PUT>
__device__ __forceinline__ void take_span_row(const sl_cuda_spgemm &p, const RING &ring, int64_t row,
                                              PUT put) {
  using S = typename value<T>::sum;
  const int lane = lane_of_thread() % WIDTH;
  const int64_t end = row >= 0 ? p.a_rowptr[row + 1] : 0;
  const int32_t base = row >= 0 ? p.first[row] : 0;
  for (int64_t e = row >= 0 ? p.a_rowptr[row] : 0; __any_sync(ALL_LANES, e < end); e += WIDTH) {
    int64_t start = 0;
    int length = 0;
    S a = 0;
    if (e + lane < end) {
      const int64_t k = a_column(p, e + lane);
      start = p.b_rowptr[k];
      length = static_cast<int>(p.b_rowptr[k + 1] - start);
      if (VALUES)
        a = value_at<T>(ring, p.a_val, e + lane);
    }
    const int mine = end - e < WIDTH ? static_cast<int>(end - e) : WIDTH;
    const int most = __reduce_max_sync(ALL_LANES, mine), longest = __reduce_max_sync(ALL_LANES, length);
    for (int i = 0; i < most; i += SPAN_STEPS) { /* no step extends past WIDTH, which is a multiple of
                                                    SPAN_STEPS */
      int64_t from[SPAN_STEPS];
      int count[SPAN_STEPS];
      int32_t col[SPAN_STEPS];
      S by[SPAN_STEPS], val[SPAN_STEPS];
#pragma unroll
      for (int u = 0; u < SPAN_STEPS; u++) {
        from[u] = __shfl_sync(ALL_LANES, start, i + u, WIDTH);
        count[u] = __shfl_sync(ALL_LANES, length, i + u, WIDTH);
        by[u] = VALUES ? __shfl_sync(ALL_LANES, a, i + u, WIDTH) : S(0);
        col[u] = 0;
        val[u] = 0;
        if (lane < count[u]) {
          col[u] = p.b_col[from[u] + lane] - base;
          if (VALUES)
            val[u] = ring.product(by[u], value_at<T>(ring, p.b_val, from[u] + lane));
        }
      }
#pragma unroll
      for (int u = 0; u < SPAN_STEPS; u++) {
        if (lane < count[u])
          put(col[u], val[u]);
        for (int j = lane + WIDTH; longest > WIDTH && j < count[u]; j += WIDTH)
          put(p.b_col[from[u] + j] - base,
              VALUES ? ring.product(by[u], value_at<T>(ring, p.b_val, from[u] + j)) : S(0));
        __syncwarp();
      }
    }
  }
}

/* Clears the marks. Called by all lanes of a warp; ends with a barrier of the warp. */
template <int WIDTH> __device__ __forceinline__ void clear_marks(unsigned char *mark, int64_t room) {
  for (int64_t i = lane_of_thread() % WIDTH; i < room / 4; i += WIDTH)
    reinterpret_cast<unsigned *>(mark)[i] = 0;
  __syncwarp();
}

template <int WIDTH>
__global__ void __launch_bounds__(SPAN_THREADS)
    count_span_rows(const sl_cuda_spgemm p, const uint32_t *list, unsigned rows, int64_t room) {
  const semiring<float, false> ring = {SLEY_PLUS_PAIR};
  const int64_t row = row_of_lanes<SPAN_THREADS, WIDTH>(list, rows);
  const auto space = span_space_of<float, WIDTH>(room, 0);
  clear_marks<WIDTH>(space.mark, room);
  take_span_row<float, WIDTH, false>(p, ring, row, [&](int32_t c, float) { space.mark[c] = 1; });
  int marks = 0;
  for (int64_t i = lane_of_thread() % WIDTH; i < room / 4; i += WIDTH)
    marks += __popc(reinterpret_cast<const unsigned *>(space.mark)[i]);
  marks = sum_until<WIDTH>(marks);
  if (row >= 0 && lane_of_thread() % WIDTH == WIDTH - 1)
    p.c_rowptr[row + 1] = marks;
}

template <class T, int WIDTH, bool TIMES>
__global__ void __launch_bounds__(SPAN_THREADS)
    make_span_rows(const sl_cuda_spgemm p, const uint32_t *list, unsigned rows, int64_t room) {
  using S = typename value<T>::sum;
  const semiring<S, TIMES> ring = {p.semiring};
  const int lane = lane_of_thread() % WIDTH;
  const int64_t row = row_of_lanes<SPAN_THREADS, WIDTH>(list, rows);
  const int span = row >= 0 ? static_cast<int>(p.span[row]) : 0;
  const auto space = span_space_of<S, WIDTH>(room, sizeof(S));
  for (int64_t i = lane; i < span; i += WIDTH)
    space.sum[i] = ring.first();
  clear_marks<WIDTH>(space.mark, room);
  take_span_row<T, WIDTH, true>(p, ring, row, [&](int32_t c, S product) {
    space.sum[c] = ring.add(space.sum[c], product);
    space.mark[c] = 1;
  });
  int64_t at = row >= 0 ? p.c_rowptr[row] : 0;
  for (int c = lane; __any_sync(ALL_LANES, c - lane < span); c += WIDTH) {
    const bool there = c < span && space.mark[c];
    const unsigned theres = of_group<WIDTH>(__ballot_sync(ALL_LANES, there));
    if (there) {
      const int64_t to = at + __popc(theres & ((1u << lane) - 1));
      put_column(p, to, p.first[row] + c);
      put_value<T>(p, to, space.sum[c]);
    }
    at += __popc(theres);
  }
}

} // namespace sley

#endif
