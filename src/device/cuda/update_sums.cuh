/* SPDX-License-Identifier: Apache-2.0 */
/* The fused update: warps sum tiles of rows of T = alpha A X into shared memory and multiply them by W
 * (update_rows.cuh), so that T is never stored. After the fusion of HC-SpMM.
 *
 * Summing a tile. The entries of its rows follow each other. They are shared in equal runs by the groups of
 * LANES lanes of the warp, whatever the lengths of the rows; a group reads its run as a stream, as in
 * spmm_stream.cuh: a lane holds VEC neighbouring features of STRIPS strips, the lanes load an entry each, one
 * block ahead, and U rows of X are loaded before the first is used. Where a row ends its sum goes to shared
 * memory. A row that goes on in the next group's run is continued there from 0; such parts are stored apart
 * and added in order. More features than LANES x VEC x STRIPS are summed in turns.
 *
 * Rows with very many entries are cut into fragments (row_tiles.h), which a kernel of its own sums before:
 * the warp that finishes last adds them in order (fragments.cuh).
 *
 * Order of summation. What is a part follows from the matrix, k, and how X is aligned; parts and fragments
 * are added in order. Which warp takes which tile varies, and does not matter. */
#ifndef SLEY_DEVICE_CUDA_UPDATE_SUMS_CUH
#define SLEY_DEVICE_CUDA_UPDATE_SUMS_CUH

#include "device/cuda/fragments.cuh"
#include "device/cuda/pieces.cuh"
#include "device/cuda/places.cuh"
#include "device/cuda/update_rows.cuh"

namespace sley {

template <int LANES_, int VEC_, int STRIPS_, int U_, typename PLACE_> struct sums_shape {
  static constexpr int LANES = LANES_, VEC = VEC_, STRIPS = STRIPS_, U = U_, GROUPS = 32 / LANES,
                       STRIP = LANES * VEC, PANEL = STRIP * STRIPS;
  using PLACE = PLACE_;
};

/* VEC neighbours of a row of sums in shared memory. */
template <int VEC> __device__ __forceinline__ void put(float *to, const float (&sum)[VEC]) {
  if constexpr (VEC % 4 == 0) {
#pragma unroll
    for (int v = 0; v < VEC; v += 4)
      *(float4 *)(to + v) = make_float4(sum[v], sum[v + 1], sum[v + 2], sum[v + 3]);
  } else {
#pragma unroll
    for (int v = 0; v < VEC; v++)
      to[v] = sum[v];
  }
}

/* Features f to f + PANEL of the sums of `rows` rows, at most 32, whose entries begin with entry `begin`.
 * end: of a lane, what its row's entries end with, counted from there. t: rows of sums, one every `stride`
 * floats; after `rows_most` of them those for parts. All lanes of a warp. */
template <typename T, class S>
__device__ __forceinline__ void sum_panel(const sl_update_sums &run, const x_places &places, int64_t begin,
                                          int rows, int end, float *t, float *parts, int stride, int f,
                                          int lane) {
  constexpr int LANES = S::LANES, VEC = S::VEC, STRIPS = S::STRIPS, STRIP = S::STRIP, U = S::U,
                GROUPS = S::GROUPS;
  using place = typename S::PLACE;
  const int mine = GROUPS == 1 ? 0 : lane / LANES, sub = GROUPS == 1 ? lane : lane % LANES;
  const int entries = __shfl_sync(~0u, end, rows - 1);
  const int from = entries * mine / GROUPS, count = entries * (mine + 1) / GROUPS - from;
  const int before = __shfl_up_sync(~0u, end, 1), start = lane == 0 ? 0 : before;
  const unsigned filled = __ballot_sync(~0u, lane < rows && end > start);
  /* The row of the group's first entry, and whether others have begun it. */
  int row = 0;
#pragma unroll
  for (int g = 0; g < GROUPS; g++) {
    const int ended = __popc(__ballot_sync(~0u, lane < rows && end <= entries * g / GROUPS));
    row = g == mine ? ended : row;
  }
  const int began = __shfl_sync(~0u, start, row < 31 ? row : 31);
  const bool is_part = count > 0 && began < from;
  const int feature = f + sub * VEC, left_features = (int)run.dense.k - feature;
  bool on[STRIPS];
#pragma unroll
  for (int s = 0; s < STRIPS; s++)
    on[s] = s * STRIP < left_features;
  const T *x = keep((const T *)places.base + (on[0] ? feature : f));
  const int32_t *col = run.a.col + begin + from;
  const T *val = (const T *)run.a.val + begin + from;
  unsigned left = row < 32 ? filled & ~0u << row : 0;
  float *out = (is_part ? parts + (mine - 1) * stride : t + row * stride) + feature;
  float acc[STRIPS][VEC];
  auto clear = [&] {
#pragma unroll
    for (int s = 0; s < STRIPS; s++)
#pragma unroll
      for (int v = 0; v < VEC; v++)
        acc[s][v] = 0;
  };
  auto store = [&] {
#pragma unroll
    for (int s = 0; s < STRIPS; s++)
      if (on[s])
        put<VEC>(out + s * STRIP, acc[s]);
  };
  /* Rows without entries. */
  for (unsigned empty = ~filled & (unsigned)((1ull << rows) - 1); empty != 0; empty &= empty - 1)
    for (int i = f + lane; i < f + S::PANEL && i < run.dense.k; i += 32)
      t[(__ffs((int)empty) - 1) * stride + i] = 0;
  clear();
  int32_t next_col = 0;
  T next_val = value<T>::narrow(0);
  if (sub < count) {
    next_col = __ldcs(col + sub);
    next_val = load_once(val + sub);
  }
  const int longest = (entries + GROUPS - 1) / GROUPS;
  for (int e = 0; e < longest; e += LANES) {
    const float my_val = value<T>::weight(run.alpha, next_val);
    const place my_place = place_of<place>(places, next_col & INT32_MAX);
    unsigned ends = 0;
#pragma unroll
    for (int g = 0; g < GROUPS; g++) {
      const int at = end - 1 - entries * g / GROUPS - e;
      const unsigned of = __reduce_or_sync(~0u, lane < rows && (unsigned)at < LANES ? 1u << at : 0u);
      ends = g == mine ? of : ends;
    }
    next_col = 0;
    if (e + LANES + sub < count) {
      next_col = __ldcs(col + e + LANES + sub);
      next_val = load_once(val + e + LANES + sub);
    }
    const int here = count - e, steps = longest - e < LANES ? longest - e : LANES;
#pragma unroll 1
    for (int s = 0; s < steps; s += U) {
      vector<T, VEC> in[U][STRIPS];
#pragma unroll
      for (int u = 0; u < U; u++) {
        const T *at = x + (uint64_t)__shfl_sync(~0u, my_place, s + u, LANES) * VEC;
#pragma unroll
        for (int p = 0; p < STRIPS; p++) {
          if (STRIPS > 1)
            in[u][p] = {};
          if (STRIPS == 1 || on[p])
            in[u][p] = load_plain<T, VEC>(at + p * STRIP);
        }
      }
#pragma unroll
      for (int u = 0; u < U; u++) {
        const float weight = __shfl_sync(~0u, my_val, s + u, LANES);
        if (s + u < here) {
#pragma unroll
          for (int p = 0; p < STRIPS; p++)
#pragma unroll
            for (int v = 0; v < VEC; v++)
              acc[p][v] = multiply_add(weight, widened(in[u][p], v), acc[p][v]);
          if (ends >> (s + u) & 1) {
            store();
            clear();
            left &= left - 1;
            out = t + (__ffs((int)left) - 1) * stride + feature;
          }
        }
      }
    }
  }
  /* The row goes on in the next group's run: it is not the one after the last. */
  const int last = __shfl_sync(~0u, end, left ? __ffs((int)left) - 1 : 0);
  const int last_start = __shfl_sync(~0u, start, left ? __ffs((int)left) - 1 : 0);
  if (count > 0 && left && last_start < from + count && last > from + count)
    store();
  if constexpr (GROUPS > 1) {
    __syncwarp();
#pragma unroll
    for (int g = 1; g < GROUPS; g++) {
      const bool add = __shfl_sync(~0u, is_part, g * LANES);
      float *to = t + __shfl_sync(~0u, row, g * LANES) * stride;
      for (int i = f + lane; add && i < f + S::PANEL && i < run.dense.k; i += 32)
        to[i] += parts[(g - 1) * stride + i];
    }
    __syncwarp();
  }
}

/* Tiles whose rows are summed. */
template <typename T, class S> struct summed {
  const sl_update_sums &run;
  const x_places &places;
  sl_row_tile tile;
  __device__ int64_t tiles() const {
    return run.a.tiles;
  }
  __device__ int64_t take(int count, bool takes) {
    return takes ? atomicAdd(run.a.next, (unsigned)count) : 0;
  }
  __device__ int64_t row_of(int i) const {
    return run.a.rowid ? run.a.rowid[tile.row + i] : tile.row + i;
  }
  __device__ __forceinline__ int fetch(int64_t at, float *t, int stride, int lane) {
    const int4 word = __ldg((const int4 *)(run.a.tile + at));
    tile = {word.x, word.y, word.z, word.w};
    if (tile.slot >= 0) {
      const float *sum = (const float *)run.a.partial + (int64_t)tile.slot * run.dense.k;
      for (int i = lane; i < run.dense.k; i += 32)
        t[i] = __ldcg(sum + i);
      return 1;
    }
    if (run.arrivals) {
      if (lane == 0 && tile.piece > 0)
        wait_for_piece(run.arrivals, tile.piece, run.arrivals->round.value);
      __syncwarp();
    }
    const int64_t *rowptr = run.a.rowptr + tile.row, begin = rowptr[0];
    const int end = (int)(rowptr[(lane < tile.rows ? lane : tile.rows - 1) + 1] - begin);
    for (int f = 0; f < run.dense.k; f += S::PANEL)
      sum_panel<T, S>(run, places, begin, tile.rows, end, t, t + run.a.tile_rows * stride, stride, f, lane);
    return tile.rows;
  }
  /* Who ends last makes the counters ready for the next run. */
  __device__ void end() {
    __syncthreads();
    if (threadIdx.x != 0 || atomicAdd(run.a.next + 1, 1u) + 1 != gridDim.x)
      return;
    run.a.next[0] = 0;
    run.a.next[1] = 0;
  }
};

template <typename T, class S>
__global__ void __launch_bounds__(UPDATE_WARPS * 32, 1)
    update_sums(const __grid_constant__ sl_update_sums run, const __grid_constant__ x_places places,
                const __grid_constant__ update_room room) {
  extern __shared__ float4 update_memory[];
  summed<T, S> source = {run, places, {}};
  update_tiles<T>(source, run.dense, room, update_memory);
}

/* Fragments of long rows, a warp each. */
enum { FRAGMENT_WARPS = 4 };
template <typename T, class S>
__global__ void __launch_bounds__(FRAGMENT_WARPS * 32)
    sum_fragments(const __grid_constant__ sl_update_sums run, const __grid_constant__ x_places places,
                  const int stride) {
  extern __shared__ float4 update_memory[];
  const int lane = (int)(threadIdx.x % 32), warp = (int)(threadIdx.x / 32);
  const int64_t at = (int64_t)blockIdx.x * FRAGMENT_WARPS + warp;
  float *t = (float *)update_memory + warp * S::GROUPS * stride;
  if (at >= run.a.fragments)
    return;
  const sl_chunk chunk = chunk_at(run.a.fragment, at);
  if (run.arrivals) {
    if (lane == 0 && chunk.piece > 0)
      wait_for_piece(run.arrivals, chunk.piece, run.arrivals->round.value);
    __syncwarp();
  }
  for (int f = 0; f < run.dense.k; f += S::PANEL)
    sum_panel<T, S>(run, places, chunk.begin, 1, chunk.count, t, t + stride, stride, f, lane);
  __syncwarp();
  const int64_t k = run.dense.k;
  float *partial = (float *)run.a.partial;
  for (int i = lane; i < k; i += 32)
    partial[(int64_t)chunk.slot * k + i] = t[i];
  add_fragments<32>(run.a, {chunk.slot, chunk.long_row}, 0, lane, ~0u,
                    [&](int64_t first, int count, int step, bool) {
                      for (int64_t i = lane; i < k; i += 32) {
                        float sum = 0;
#pragma unroll 8
                        for (int p = 0; p < count; p++)
                          sum += __ldcg(partial + (first + (int64_t)p * step) * k + i);
                        partial[first * k + i] = sum;
                      }
                    });
}

/* Lets a kernel have `bytes` of shared memory. */
template <class KERNEL> sley_status grant(KERNEL kernel, int64_t bytes) {
  return sl_cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes),
                       "shared memory");
}

template <typename T, class S>
sley_status launch_sums(sl_queue *queue, const sl_update_sums &run, const x_places &places) {
  int64_t most;
  SL_TRY(shared_bytes(queue, &most));
  const int64_t processors = sl_cuda_processors(queue);
  const update_room room =
      room_of(run.dense, sizeof(T), run.a.tile_rows + S::GROUPS - 1, most, run.a.tiles, processors);
  if (room.warps < 1)
    return sl_fail(SLEY_ERR_UNSUPPORTED, "%lld columns are too many for the fused update of this GPU",
                   (long long)run.dense.k);
  if (run.a.fragments > 0) {
    const int64_t blocks = (run.a.fragments + FRAGMENT_WARPS - 1) / FRAGMENT_WARPS,
                  bytes = (int64_t)FRAGMENT_WARPS * S::GROUPS * room.stride * 4;
    SL_TRY(grant(sum_fragments<T, S>, bytes));
    sum_fragments<T, S><<<(unsigned)blocks, FRAGMENT_WARPS * 32, (size_t)bytes, sl_cuda_stream(queue)>>>(
        run, places, room.stride);
    SL_TRY(sl_cuda_launched(queue, "update-fused"));
  }
  const int64_t all = (run.a.tiles + room.warps - 1) / room.warps;
  SL_TRY(grant(update_sums<T, S>, room.bytes()));
  update_sums<T, S><<<(unsigned)(all < processors ? all : processors), (unsigned)room.warps * 32,
                      (size_t)room.bytes(), sl_cuda_stream(queue)>>>(run, places, room);
  return sl_cuda_launched(queue, "update-fused");
}

/* Loads of VEC values. 64-bit places are for X of more than 2^32 such. */
template <typename T, int VEC> sley_status launch_wide(sl_queue *queue, const sl_update_sums &run) {
  const int64_t k = run.dense.k;
  x_places places;
  if (!find_places<T, VEC>(run, &places)) {
    find_places<T, 1>(run, &places);
    return launch_sums<T, sums_shape<32, 1, 2, 4, uint64_t>>(queue, run, places);
  }
  if constexpr (VEC * sizeof(T) == 16) {
    if (k <= 8 * VEC)
      return launch_sums<T, sums_shape<8, VEC, 1, 8, uint32_t>>(queue, run, places);
    if (k <= 16 * VEC)
      return launch_sums<T, sums_shape<16, VEC, 1, 8, uint32_t>>(queue, run, places);
    return launch_sums<T, sums_shape<32, VEC, 1, 8, uint32_t>>(queue, run, places);
  } else {
    if (k <= 16 * VEC)
      return launch_sums<T, sums_shape<16, VEC, 1, 8, uint32_t>>(queue, run, places);
    if (k <= 32 * VEC)
      return launch_sums<T, sums_shape<32, VEC, 1, 8, uint32_t>>(queue, run, places);
    if (k <= 64 * VEC)
      return launch_sums<T, sums_shape<32, VEC, 2, 8, uint32_t>>(queue, run, places);
    return launch_sums<T, sums_shape<32, VEC, 4, 4, uint32_t>>(queue, run, places);
  }
}

template <typename T, int VEC> bool rows_of_x_fit(const sl_update_sums &run) {
  constexpr int64_t BYTES = VEC * sizeof(T);
  return run.dense.k % VEC == 0 && run.ldx % VEC == 0 && run.ldfar % VEC == 0 &&
         ((uintptr_t)run.x | (uintptr_t)run.far) % BYTES == 0;
}

template <typename T> sley_status launch_update_sums(sl_queue *queue, const sl_update_sums &run) {
  constexpr int WIDEST = 16 / sizeof(T);
  SL_TRY(sl_cuda_use(queue->device));
  if (rows_of_x_fit<T, WIDEST>(run))
    return launch_wide<T, WIDEST>(queue, run);
  if (rows_of_x_fit<T, WIDEST / 2>(run))
    return launch_wide<T, WIDEST / 2>(queue, run);
  if constexpr (WIDEST > 4)
    if (rows_of_x_fit<T, WIDEST / 4>(run))
      return launch_wide<T, WIDEST / 4>(queue, run);
  return launch_wide<T, 1>(queue, run);
}

} // namespace sley

#endif
