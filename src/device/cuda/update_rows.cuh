/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of T times W on Tensor cores, Z = T W + beta Z, where warps fetch tiles of up to 16 rows of T: rows
 * that are given (update_tensor.cu), or sums of rows of X (update_sums.cuh).
 *
 * Work of a warp. It takes a tile, fetches its rows of T into shared memory and multiplies them by W, 32
 * columns at a time, whose sums it holds in registers, and stores these rows of Z. W lies in shared memory as
 * well. Where all of it fits there, a block loads it once; its warps then take tile after tile and never wait
 * for each other, so that some fetch while others multiply. A larger W passes through in slices of columns,
 * and the warps of a block go in step.
 *
 * W in shared memory. An operation multiplies 16 x 8 values of T by 8 x 8 of W. Which columns of T and of W
 * are meant by these 8 is free, and so is the order of Z's columns. They are chosen so that a lane loads 4
 * neighbours: of 16 columns l of T lane 4 g + q has those from 4 q on, for two operations; of 32 columns of
 * Z, 8 neighbours from 8 q on, of rows g and g + 8. W is stored in the order in which lanes load it, 4 values
 * of a column each. It is padded by zeros, and T too, to 16 l.
 *
 * Precision. As in spmm_tensor.cuh: values of T and, where they have 32 bits, of W are split into two of 11
 * significant bits. Values of f16 and bf16 are operands as they are. Of a product, at most 2^-20 |t||w| is
 * lost. The products of 16 columns of T are added by the Tensor core, which cuts off, and their sums by
 * ordinary additions. SL_UPDATE_* in update_rows.h say what that comes to.
 *
 * Order of summation. That of 16 columns of T is the hardware's; their sums are added in ascending order, and
 * beta Z last. It is the same each time and for every element.
 *
 * Infinities and NaNs. An element whose sum is not finite is summed again, in the documented order: splitting
 * large values may overflow. */
#ifndef SLEY_DEVICE_CUDA_UPDATE_ROWS_CUH
#define SLEY_DEVICE_CUDA_UPDATE_ROWS_CUH

#include <cfloat>

#include "device/cuda/tf32.cuh"
#include "device/cuda/update_rows.h"
#include "device/cuda/values.cuh"

namespace sley {

/* Columns of T and of Z that are multiplied together; warps of a block at most; bytes of a slice of W. */
enum { DEEP = 16, ACROSS = 32, TILES = ACROSS / 8, UPDATE_WARPS = 16, SLICE_BYTES = 64 << 10 };

/* How shared memory is used. */
struct update_room {
  int warps, stride /* floats between rows of T */, lines /* rows of a warp's T, with those for parts */;
  int deep;          /* multiples of DEEP in k */
  int slice, groups; /* multiples of ACROSS in a slice of W, and in n */
  bool whole;        /* a slice is all of W */
  bool aligned;      /* 8 neighbours of Z can be stored as words */
  int64_t bytes() const {
    return 4 * ((int64_t)slice * deep * DEEP * ACROSS + (int64_t)warps * lines * stride);
  }
};

inline int stride_of(int deep) { /* so that two rows lie in different banks */
  return deep % 2 == 1 ? deep * DEEP : (deep + 1) * DEEP;
}

/* `lines` rows of T for each warp; most: bytes of shared memory. warps is 0 if there is no room. Few tiles
 * are spread over all multiprocessors. */
inline update_room room_of(const sl_update_dense &d, size_t value_bytes, int lines, int64_t most,
                           int64_t tiles, int64_t processors) {
  enum { LEAST = 4 }; /* warps */
  update_room r = {};
  r.deep = (int)((d.k + DEEP - 1) / DEEP);
  r.groups = (int)((d.n + ACROSS - 1) / ACROSS);
  r.stride = stride_of(r.deep);
  r.lines = lines;
  r.aligned = d.ldz * (int64_t)value_bytes % 16 == 0 && (uintptr_t)d.z % 16 == 0;
  const int64_t group = (int64_t)r.deep * DEEP * ACROSS * 4, warp = (int64_t)lines * r.stride * 4;
  const int64_t beside = (most - r.groups * group) / warp;
  r.whole = beside >= UPDATE_WARPS / 2;
  r.slice = r.whole ? r.groups : (int)(SLICE_BYTES / group > 1 ? SLICE_BYTES / group : 1);
  const int64_t fit = (most - r.slice * group) / warp, share = (tiles + processors - 1) / processors;
  const int64_t warps = fit < UPDATE_WARPS ? fit : UPDATE_WARPS, wanted = share > LEAST ? share : LEAST;
  r.warps = (int)(warps < 0 ? 0 : warps < wanted ? warps : wanted);
  return r;
}

/* Columns of W from group `first` on, a slice of it, as lanes load them. All threads of the block. */
template <typename V>
__device__ __forceinline__ void load_slice(const sl_update_dense &d, const update_room &room, int first,
                                           float4 *to) {
  const int count = room.deep * room.slice * TILES * 32;
  for (int at = (int)threadIdx.x; at < count; at += (int)blockDim.x) {
    const int lane = at % 32, j = at / 32 % TILES, group = at / (32 * TILES) % room.slice,
              step = at / (32 * TILES) / room.slice;
    const int64_t column = (int64_t)(first + group) * ACROSS + lane / 8 * 8 + j * 2 + lane / 4 % 2;
    const int64_t l = step * DEEP + lane % 4 * 4;
    float v[4];
#pragma unroll
    for (int i = 0; i < 4; i++)
      v[i] = l + i < d.k && column < d.n ? value<V>::widen(((const V *)d.w)[(l + i) * d.ldw + column]) : 0;
    to[at] = make_float4(v[0], v[1], v[2], v[3]);
  }
}

/* Of the sums of 16 rows and 32 columns, those of a lane: [j][c] is row g + c / 2 * 8, column 8 q + 2 j +
 * c % 2. */
typedef float z_sums[TILES][4];

template <typename V>
__device__ __forceinline__ void multiply_group(const update_room &room, const float *upper,
                                               const float *lower, const float4 *w, z_sums &sums) {
#pragma unroll 1
  for (int step = 0; step < room.deep; step++) {
    const float4 up = *(const float4 *)(upper + step * DEEP), low = *(const float4 *)(lower + step * DEEP);
    const float t[2][4] = {{up.x, low.x, up.y, low.y}, {up.z, low.z, up.w, low.w}};
    unsigned high_t[2][4], low_t[2][4];
#pragma unroll
    for (int half = 0; half < 2; half++)
#pragma unroll
      for (int i = 0; i < 4; i++) {
        const split_value s = split(t[half][i]);
        high_t[half][i] = s.high;
        low_t[half][i] = to_tf32(__uint_as_float(s.low));
      }
#pragma unroll
    for (int j = 0; j < TILES; j++) {
      const float4 values = w[(step * room.slice * TILES + j) * 32];
      const float v[4] = {values.x, values.y, values.z, values.w};
      float sum[4] = {0, 0, 0, 0};
#pragma unroll
      for (int half = 0; half < 2; half++) {
        if constexpr (sizeof(V) == 2) {
          const unsigned w0 = __float_as_uint(v[2 * half]), w1 = __float_as_uint(v[2 * half + 1]);
          multiply_tf32(sum, low_t[half], w0, w1);
          multiply_tf32(sum, high_t[half], w0, w1);
        } else {
          const split_value w0 = split(v[2 * half]), w1 = split(v[2 * half + 1]);
          multiply_tf32(sum, low_t[half], w0.high, w1.high);
          multiply_tf32(sum, high_t[half], w0.low, w1.low);
          multiply_tf32(sum, high_t[half], w0.high, w1.high);
        }
      }
#pragma unroll
      for (int c = 0; c < 4; c++)
        sums[j][c] += sum[c];
    }
  }
}

/* An element of Z in the documented order. */
template <typename V>
__device__ __noinline__ void update_again(const sl_update_dense &d, const float *t, int64_t column, V *z) {
  const V *w = (const V *)d.w + column;
  float sum = d.beta == 0 ? 0 : (float)(d.beta * (double)value<V>::widen(*z));
  for (int64_t l = 0; l < d.k; l++)
    sum = multiply_add(t[l], value<V>::widen(w[l * d.ldw]), sum);
  *z = value<V>::narrow(sum);
}

/* 8 neighbouring elements of a row of Z. t: its row of T. */
template <typename V>
__device__ __forceinline__ void store_row(const sl_update_dense &d, const update_room &room, const float *t,
                                          int64_t row, int64_t column, const z_sums &sums, int half) {
  V *z = (V *)d.z + row * d.ldz + column;
  const int here = (int)(d.n - column < 8 ? d.n - column : 8);
  float zero = 0; /* or NaN */
#pragma unroll
  for (int i = 0; i < 8; i++)
    zero = fmaf(sums[i / 2][half * 2 + i % 2], 0.0f, zero);
  if (zero == 0 && here == 8 && room.aligned) {
    float out[8];
#pragma unroll
    for (int i = 0; i < 8; i++)
      out[i] = sums[i / 2][half * 2 + i % 2];
    if (d.beta != 0) {
      const vector<V, 8> old = load_plain<V, 8>(z);
#pragma unroll
      for (int i = 0; i < 8; i++)
        out[i] += d.beta == 1 ? widened(old, i) : (float)(d.beta * (double)widened(old, i));
    }
    store_once<V, 8>(z, out);
    return;
  }
#pragma unroll
  for (int i = 0; i < 8; i++) {
    const float sum = sums[i / 2][half * 2 + i % 2];
    if (i >= here)
      continue;
    if (!(fabsf(sum) <= FLT_MAX))
      update_again<V>(d, t, column + i, z + i);
    else if (d.beta == 0)
      z[i] = value<V>::narrow(sum);
    else
      z[i] = value<V>::narrow(sum + (float)(d.beta * (double)value<V>::widen(z[i])));
  }
}

/* A tile's rows of T, one every room.stride floats, times a slice of W that begins with group `first`.
 * row_of(i): the row of Z of the tile's row i. All lanes of a warp. */
template <typename V, class ROW>
__device__ __forceinline__ void multiply_tile(const sl_update_dense &d, const update_room &room,
                                              const float *t, int rows, const float4 *slice, int first,
                                              int lane, ROW row_of) {
  const int g = lane / 4, q = lane % 4;
  const int lower_row = g + 8 < rows ? g + 8 : 0; /* its sums are not stored */
  const float *upper = t + (g < rows ? g : 0) * room.stride, *lower = t + lower_row * room.stride;
  const int groups = room.groups - first < room.slice ? room.groups - first : room.slice;
#pragma unroll 1
  for (int group = 0; group < groups; group++) {
    z_sums sums;
#pragma unroll
    for (int j = 0; j < TILES; j++)
#pragma unroll
      for (int c = 0; c < 4; c++)
        sums[j][c] = 0;
    multiply_group<V>(room, upper + q * 4, lower + q * 4, slice + group * TILES * 32 + lane, sums);
    const int64_t column = (int64_t)(first + group) * ACROSS + q * 8;
    if (column >= d.n)
      continue;
    if (g < rows)
      store_row<V>(d, room, upper, row_of(g), column, sums, 0);
    if (g + 8 < rows)
      store_row<V>(d, room, lower, row_of(g + 8), column, sums, 1);
  }
}

/* All of a kernel. SOURCE gives tiles(), first(block), the tile or row of tiles that a block or a warp takes
 * next, and fetches one: see update_sums.cuh. */
template <typename V, class SOURCE>
__device__ __forceinline__ void update_tiles(SOURCE &source, const sl_update_dense &d,
                                             const update_room &room, float4 *memory) {
  __shared__ int64_t taken;
  const int lane = (int)(threadIdx.x % 32), warp = (int)(threadIdx.x / 32);
  float *t = (float *)(memory + (size_t)room.slice * room.deep * TILES * 32) +
             (size_t)warp * room.lines * room.stride;
  for (int at = lane; at < room.lines * room.stride; at += 32) /* columns from k on stay 0 */
    t[at] = 0;
  if (room.whole) {
    load_slice<V>(d, room, 0, memory);
    __syncthreads();
  }
  for (;;) {
    int64_t tile;
    if (room.whole) {
      tile = source.take(1, lane == 0);
      tile = __shfl_sync(~0u, tile, 0);
      if (tile >= source.tiles())
        break;
    } else {
      __syncthreads();
      if (threadIdx.x == 0)
        taken = source.take(room.warps, true);
      __syncthreads();
      if (taken >= source.tiles())
        break;
      tile = taken + warp;
    }
    const bool some = tile < source.tiles();
    int rows = 0;
    if (some)
      rows = source.fetch(tile, t, room.stride, lane);
    __syncwarp();
    for (int first = 0; first < room.groups; first += room.slice) {
      if (!room.whole) {
        __syncthreads();
        load_slice<V>(d, room, first, memory);
        __syncthreads();
      }
      if (some)
        multiply_tile<V>(d, room, t, rows, memory, first, lane, [&](int i) { return source.row_of(i); });
    }
    __syncwarp();
  }
  source.end();
}

/* Bytes of shared memory that a block of the queue's device can have, a little being the kernel's own. */
inline sley_status shared_bytes(const sl_queue *queue, int64_t *out) {
  enum { OWN = 1024 };
  int most = 0;
  const int ordinal = ((const sl_cuda_device *)queue->device)->ordinal;
  SL_TRY(sl_cuda_check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, ordinal),
                       "shared memory"));
  *out = most - OWN;
  return SLEY_OK;
}

} // namespace sley

#endif
