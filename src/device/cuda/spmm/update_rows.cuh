/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of T times W on Tensor cores, Z = T W + beta Z. Warps obtain tiles of up to 16 rows of T: given rows
 * (update_tensor.cu), or sums of rows of X (update_sums.cuh).
 *
 * Work of a warp. It fetches a tile's rows of T into shared memory, multiplies them by W, 32 columns at a
 * time, whose sums are in registers, and stores these rows of Z. W is in shared memory as well. If all of it
 * fits there, a block loads it once; its warps then process tile after tile and never wait for each other, so
 * that some fetch while others multiply. A larger W passes through in slices of columns, and the warps of a
 * block proceed in step.
 *
 * Operands. An operation multiplies 16 x 8 values by 8 x 8. W, transposed, is the larger operand, and the
 * rows of T are the columns of the smaller one, so that a tile of 8 rows wastes nothing; for 16 rows, two
 * operations share the values of W. The columns of T and W that form a group of 8 may be chosen freely, and
 * so may the order of Z's columns. They are chosen so that lane 4 g + q loads neighbours, of each 8 l columns
 * of T those from 2 q on, and stores neighbours, of each 32 columns of Z the 4 from 4 g on, in rows 2 q and 2
 * q + 1. W is stored in the order in which lanes load it, the 4 values of an operation together. W is padded
 * by zeros, and so is T, to a multiple of 8.
 *
 * Precision. As in tensor.cuh: values of T, and of W if they have 32 bits, are split into two values of
 * 11 significant bits. f16 and bf16 values are used directly. The error of a product is little more than
 * 2^-20 |t||w|: W is truncated instead of rounded, which costs fewer instructions. The Tensor core adds the
 * products, 8 at a time, and truncates. SL_UPDATE_* in update_rows.h state the resulting bounds.
 *
 * Order of summation. Within 8 columns of T the order is the hardware's; groups of 8 follow in ascending
 * order, and beta Z comes last. It is the same each time and for every element.
 *
 * Infinities and NaNs. An element whose sum is not finite is summed again, in the documented order, because
 * splitting large values may overflow. No infinity or NaN of T or W is lost: high of T keeps it, and W is
 * truncated, which may turn a NaN into infinity but not into a finite value. beta Z is added by an ordinary
 * addition. */
#ifndef SLEY_DEVICE_CUDA_SPMM_UPDATE_ROWS_CUH
#define SLEY_DEVICE_CUDA_SPMM_UPDATE_ROWS_CUH

#include <cfloat>

#include "device/cuda/shared_memory.cuh"
#include "device/cuda/spmm/update_rows.h"
#include "device/cuda/tf32.cuh"
#include "device/cuda/values.cuh"

namespace sley {

/* DEEP, ACROSS: columns of T, and of Z, that are multiplied together. SET: rows of T of an operation.
 * SLICE_BYTES: bytes of a slice of W. */
enum { DEEP = 8, ACROSS = 32, HALVES = ACROSS / 16, SET = 8, SLICE_BYTES = 64 << 10 };

/* Layout of shared memory: a slice of W, then for each warp its rows of T and its numbers. */
struct update_room {
  int warps, stride /* floats between rows of T */, lines /* rows of a warp's T, including those for parts */;
  int own;           /* number of integers that each warp stores */
  int deep;          /* number of groups of DEEP columns in k */
  int slice, groups; /* number of groups of ACROSS columns in a slice of W, and in n */
  bool whole;        /* a slice is all of W */
  bool aligned;      /* 4 neighbours of Z can be stored as one word */
  __host__ __device__ int warp_words() const {
    return lines * stride + own;
  }
  __host__ __device__ int slice_words() const {
    return slice * deep * DEEP * ACROSS;
  }
  int64_t bytes() const {
    return 4 * ((int64_t)slice_words() + (int64_t)warps * warp_words());
  }
};

inline int stride_of(int deep) { /* padded so that 4 rows use different banks */
  return deep % 2 == 1 ? deep * DEEP : (deep + 1) * DEEP;
}

/* Layout with `lines` rows of T and `own` numbers for each of at most `warps` warps; most: bytes of shared
 * memory. The result has warps = 0 if it does not fit. If there are few tiles, they are spread over all
 * multiprocessors. */
inline update_room room_of(const sl_update_dense &d, size_t value_bytes, int lines, int own, int warps,
                           int64_t most, int64_t tiles, int64_t processors) {
  enum { LEAST = 4, BESIDE = 8 }; /* numbers of warps */
  update_room r = {};
  r.deep = (int)((d.k + DEEP - 1) / DEEP);
  r.groups = (int)((d.n + ACROSS - 1) / ACROSS);
  r.stride = stride_of(r.deep);
  r.lines = lines;
  r.own = own;
  r.aligned = d.ldz % 4 == 0 && (uintptr_t)d.z % (4 * value_bytes) == 0;
  const int64_t group = (int64_t)r.deep * DEEP * ACROSS * 4, warp = (int64_t)r.warp_words() * 4;
  const int64_t beside = (most - r.groups * group) / warp;
  r.whole = beside >= BESIDE;
  r.slice = r.whole ? r.groups : (int)(SLICE_BYTES / group > 1 ? SLICE_BYTES / group : 1);
  const int64_t fit = (most - r.slice * group) / warp, share = (tiles + processors - 1) / processors;
  const int64_t able = fit < warps ? fit : warps, wanted = share > LEAST ? share : LEAST;
  r.warps = (int)(able < 0 ? 0 : able < wanted ? able : wanted);
  return r;
}

/* Loads a slice of W, its columns from group `first` on, in the order in which lanes load it. Called by all
 * threads of the block. */
template <typename V>
__device__ __forceinline__ void load_slice(const sl_update_dense &d, const update_room &room, int first,
                                           float4 *to) {
  const int count = room.deep * room.slice * HALVES * 32;
  for (int at = (int)threadIdx.x; at < count; at += (int)blockDim.x) {
    const int lane = at % 32, m = at / 32 % HALVES, group = at / (32 * HALVES) % room.slice,
              step = at / (32 * HALVES) / room.slice;
    const int64_t column = (int64_t)(first + group) * ACROSS + lane / 4 * 4 + m * 2;
    const int64_t l = step * DEEP + lane % 4 * 2;
    float v[4]; /* [2 i + h]: row l + i, column + h */
#pragma unroll
    for (int i = 0; i < 4; i++)
      v[i] = l + i / 2 < d.k && column + i % 2 < d.n
                 ? value<V>::widen(((const V *)d.w)[(l + i / 2) * d.ldw + column + i % 2])
                 : 0;
    to[at] = make_float4(v[0], v[1], v[2], v[3]);
  }
}

/* Like split, but high is not rounded either: two instructions instead of three, and one bit less. */
static __device__ __forceinline__ split_value split_cut(float v) {
  const unsigned high = __float_as_uint(v);
  return {high, __float_as_uint(v - __uint_as_float(high & 0xffffe000))};
}

/* A lane's sums for SETS times 8 rows and 32 columns: [s][m][2 h + i] is row 8 s + 2 q + i, column 4 g + 2 m
 * + h. */
template <int SETS> using z_sums = float[SETS][HALVES][4];

/* Multiplies by W. t[s] points into row 8 s + g of T; of every 8 columns there, the lane reads columns 2 q
 * and 2 q + 1. */
template <typename V, int SETS>
__device__ __forceinline__ void multiply_group(const update_room &room, const float *const (&t)[SETS],
                                               const float4 *w, z_sums<SETS> &sums) {
#pragma unroll 1
  for (int step = 0; step < room.deep; step++) {
    split_value both_t[SETS][2];
#pragma unroll
    for (int s = 0; s < SETS; s++) {
      const float2 values = *(const float2 *)(t[s] + step * DEEP);
      both_t[s][0] = split(values.x, to_tf32_or_nan(values.x));
      both_t[s][1] = split(values.y, to_tf32_or_nan(values.y));
#pragma unroll
      for (int i = 0; i < 2; i++)
        both_t[s][i].low = to_tf32(__uint_as_float(both_t[s][i].low));
    }
#pragma unroll
    for (int m = 0; m < HALVES; m++) {
      const float4 values = w[(step * room.slice * HALVES + m) * 32];
      const float v[4] = {values.x, values.y, values.z, values.w};
      unsigned high_w[4], low_w[4];
#pragma unroll
      for (int i = 0; i < 4; i++) {
        const split_value both = split_cut(v[i]);
        high_w[i] = both.high;
        low_w[i] = both.low;
      }
#pragma unroll
      for (int s = 0; s < SETS; s++)
        multiply_tf32(sums[s][m], high_w, both_t[s][0].low, both_t[s][1].low);
      if constexpr (sizeof(V) == 4)
#pragma unroll
        for (int s = 0; s < SETS; s++)
          multiply_tf32(sums[s][m], low_w, both_t[s][0].high, both_t[s][1].high);
#pragma unroll
      for (int s = 0; s < SETS; s++)
        multiply_tf32(sums[s][m], high_w, both_t[s][0].high, both_t[s][1].high);
    }
  }
}

/* The rows of Z of a tile. */
struct z_rows {
  const int64_t *rowid; /* row numbers; NULL: consecutive rows */
  int first;
  __device__ __forceinline__ int64_t operator[](int i) const {
    return rowid ? rowid[first + i] : first + i;
  }
};

/* Computes elements of Z again, in the documented order: the elements of a lane's 4 columns whose bit in
 * `which` is set; bit 8 s + 4 i + c is row 8 s + 2 q + i. */
template <typename V>
__device__ __noinline__ void update_again(const sl_update_dense &d, const float *t, int stride, z_rows to,
                                          int q, int column, unsigned which) {
  for (; which != 0; which &= which - 1) {
    const int bit = __ffs((int)which) - 1, row = bit / 8 * SET + 2 * q + bit / 4 % 2, at = column + bit % 4;
    const V *w = (const V *)d.w + at;
    V *z = (V *)d.z + to[row] * d.ldz + at;
    float sum = d.beta == 0 ? 0 : (float)(d.beta * (double)value<V>::widen(*z));
    for (int64_t l = 0; l < d.k; l++)
      sum = multiply_add(t[row * stride + l], value<V>::widen(w[l * d.ldw]), sum);
    *z = value<V>::narrow(sum);
  }
}

/* Stores 4 neighbouring elements of a row of Z, of which the first `here` exist. Returns the bits of elements
 * that are not finite and were not stored. */
template <typename V>
__device__ __forceinline__ unsigned store_row(double beta, bool aligned, V *z, int here, float (&sum)[4]) {
  float zero = 0; /* or NaN */
#pragma unroll
  for (int i = 0; i < 4; i++)
    zero = fmaf(sum[i], 0.0f, zero);
  if (zero == 0 && here >= 4 && aligned) {
    if (beta != 0) {
      const vector<V, 4> old = load_plain<V, 4>(z);
#pragma unroll
      for (int i = 0; i < 4; i++)
        sum[i] += beta == 1 ? widened(old, i) : (float)(beta * (double)widened(old, i));
    }
    store_once<V, 4>(z, sum);
    return 0;
  }
  unsigned infinite = 0;
#pragma unroll
  for (int i = 0; i < 4; i++)
    if (i < here) {
      if (!(fabsf(sum[i]) <= FLT_MAX))
        infinite |= 1u << i;
      else
        z[i] = value<V>::narrow(beta == 0 ? sum[i] : sum[i] + (float)(beta * (double)value<V>::widen(z[i])));
    }
  return infinite;
}

/* Multiplies a tile's rows of T, at most SETS times 8, one every room.stride floats, by the slice of W that
 * begins with group `first`. Called by all lanes of a warp. */
template <typename V, int SETS>
__device__ __forceinline__ void multiply_tile(const sl_update_dense &d, const update_room &room,
                                              const float *t, int rows, const z_rows &to, const float4 *slice,
                                              int first, int lane) {
  const int g = lane / 4, q = lane % 4;
  const float *from[SETS];
#pragma unroll
  for (int s = 0; s < SETS; s++) /* rows that the tile does not have; their sums are not stored */
    from[s] = t + (s * SET + g < rows ? s * SET + g : 0) * room.stride + q * 2;
  const int groups = room.groups - first < room.slice ? room.groups - first : room.slice;
#pragma unroll 1
  for (int group = 0; group < groups; group++) {
    z_sums<SETS> sums = {};
    multiply_group<V, SETS>(room, from, slice + group * HALVES * 32 + lane, sums);
    const int column = (first + group) * ACROSS + g * 4;
    if (column >= d.n)
      continue;
    unsigned infinite = 0;
#pragma unroll
    for (int s = 0; s < SETS; s++)
#pragma unroll
      for (int i = 0; i < 2; i++) {
        const int row = s * SET + 2 * q + i;
        float sum[4] = {sums[s][0][i], sums[s][0][2 + i], sums[s][1][i], sums[s][1][2 + i]};
        if (row < rows)
          infinite |= store_row<V>(d.beta, room.aligned, (V *)d.z + to[row] * d.ldz + column,
                                   (int)(d.n - column), sum)
                      << (8 * s + 4 * i);
      }
    if (infinite)
      update_again<V>(d, t, room.stride, to, q, column, infinite);
  }
}

/* Multiplies a tile of rows of T by all of W. If the block holds only a slice of W, all its threads must call
 * this, with rows = 0 in a warp without a tile. */
template <typename V>
__device__ __forceinline__ void multiply_all(const sl_update_dense &d, const update_room &room,
                                             const float *t, int rows, const z_rows &to, float4 *slice,
                                             int lane) {
  for (int first = 0; first < room.groups; first += room.slice) {
    if (!room.whole) {
      __syncthreads();
      load_slice<V>(d, room, first, slice);
      __syncthreads();
    }
    if (rows > SET)
      multiply_tile<V, 2>(d, room, t, rows, to, slice, first, lane);
    else if (rows > 0)
      multiply_tile<V, 1>(d, room, t, rows, to, slice, first, lane);
  }
}

/* Clears the warp's rows of T, so that columns from k on stay 0, and loads W if all of it fits. Called by all
 * threads of the block. */
template <typename V>
__device__ __forceinline__ float *begin_update(const sl_update_dense &d, const update_room &room,
                                               float4 *memory) {
  const int lane = (int)(threadIdx.x % 32), warp = (int)(threadIdx.x / 32);
  float *t = (float *)memory + room.slice_words() + warp * room.warp_words();
  for (int at = lane; at < room.lines * room.stride; at += 32)
    t[at] = 0;
  if (room.whole) {
    load_slice<V>(d, room, 0, memory);
    __syncthreads();
  }
  __syncwarp();
  return t;
}

/* Bytes of shared memory that a block on the queue's device can have, minus a small amount for the kernel
   itself. */
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
