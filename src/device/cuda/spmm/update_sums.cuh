/* SPDX-License-Identifier: Apache-2.0 */
/* The fused update: warps sum tiles of rows of T = alpha A X into shared memory and multiply them by W
 * (update_rows.cuh), so that T is never stored. After the fusion of HC-SpMM.
 *
 * Summing a tile. The entries of its rows are contiguous. The groups of LANES lanes of the warp share them in
 * equal runs, whatever the lengths of the rows; a group reads its run as a stream, as in stream.cuh: a
 * lane holds VEC neighbouring features of STRIPS strips, the group loads one entry per lane at a time, one
 * block ahead, and U rows of X are loaded before the first is used. At the end of a row its sum goes to
 * shared memory. If a row continues in the next group's run, that group starts at 0; such parts are stored
 * separately and added in order. If there are more than LANES x VEC x STRIPS features, they are summed in
 * several passes.
 *
 * The limit is, as for the product, the number of loads of rows of X in flight. So a multiprocessor has about
 * as many warps as for the product; tiles have 8 rows if shared memory does not suffice for that with 16. A
 * warp loads its next tile's data ahead: the chunk itself while one tile is summed, the ends of its rows and
 * its first entries while that tile is multiplied.
 *
 * A row with more entries than a tile should have is cut into fragments (row_tiles.h), which come first.
 * Their sums go to device memory. The warp that finishes last adds them in order (fragments.cuh) and treats
 * the row as a tile.
 *
 * Order of summation. The parts follow from the matrix, k, and the alignment of X; parts and fragments are
 * added in order. Which warp takes which tile varies, and does not matter. */
#ifndef SLEY_DEVICE_CUDA_SPMM_UPDATE_SUMS_CUH
#define SLEY_DEVICE_CUDA_SPMM_UPDATE_SUMS_CUH

#include "device/cuda/places.cuh"
#include "device/cuda/rows/pull_pieces.cuh"
#include "device/cuda/spmm/fragments.cuh"
#include "device/cuda/spmm/update_rows.cuh"

namespace sley {

template <int LANES_, int VEC_, int STRIPS_, int U_, typename PLACE_, int WARPS_> struct sums_shape {
  static constexpr int LANES = LANES_, VEC = VEC_, STRIPS = STRIPS_, U = U_, GROUPS = 32 / LANES,
                       STRIP = LANES * VEC, PANEL = STRIP * STRIPS, WARPS = WARPS_;
  using PLACE = PLACE_;
};

/* Stores VEC neighbours of a row of sums in shared memory. */
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

/* A chunk; each of the first 8 lanes of a warp holds one of its words. */
struct held_chunk {
  int word;
  __device__ __forceinline__ int get(size_t bytes) const {
    return __shfl_sync(~0u, word, (int)(bytes / 4));
  }
  __device__ __forceinline__ int64_t begin() const {
    return (int64_t)(uint32_t)get(0) | (int64_t)get(4) << 32;
  }
  __device__ __forceinline__ int count() const {
    return get(offsetof(sl_chunk, count));
  }
  __device__ __forceinline__ int row() const {
    return get(offsetof(sl_chunk, row));
  }
  __device__ __forceinline__ int rows() const {
    return get(offsetof(sl_chunk, rows));
  }
  __device__ __forceinline__ int slot() const {
    return get(offsetof(sl_chunk, slot));
  }
  __device__ __forceinline__ int long_row() const {
    return get(offsetof(sl_chunk, long_row));
  }
  __device__ __forceinline__ int piece() const {
    return get(offsetof(sl_chunk, piece));
  }
};

/* Loads chunk number `at`; after the last chunk it has no rows and no entries. */
__device__ __forceinline__ held_chunk hold(const sl_update_sums &run, int at, int lane) {
  static_assert(sizeof(sl_chunk) == 32 && offsetof(sl_chunk, begin) == 0, "words of 4 bytes");
  if (at < run.a.chunks && lane < 8)
    return {__ldg((const int *)(run.a.chunk + at) + lane)};
  return {0};
}

/* A lane's first loads: the end of its row's entries, relative to the chunk's first, and its first entry. */
template <typename T> struct first_loads {
  int end;
  int32_t col;
  T val;
};

template <typename T, class S>
__device__ __forceinline__ void load_entry(const sl_update_sums &run, int64_t begin, int count, int lane,
                                           first_loads<T> *to) {
  const int mine = S::GROUPS == 1 ? 0 : lane / S::LANES, sub = S::GROUPS == 1 ? lane : lane % S::LANES;
  const int at = count * mine / S::GROUPS + sub;
  to->col = 0;
  to->val = value<T>::narrow(0);
  if (at < count * (mine + 1) / S::GROUPS) {
    to->col = __ldcs(run.a.col + begin + at);
    to->val = load_once((const T *)run.a.val + begin + at);
  }
}

template <typename T, class S>
__device__ __forceinline__ first_loads<T> load_first(const sl_update_sums &run, const held_chunk &chunk,
                                                     int lane) {
  const int64_t begin = chunk.begin();
  const int count = chunk.count(), row = chunk.row(), rows = chunk.rows();
  const bool whole = chunk.slot() < 0;
  first_loads<T> first;
  load_entry<T, S>(run, begin, count, lane, &first);
  first.end = count;
  if (whole && lane < rows)
    first.end = (int)(__ldg(run.a.rowptr + row + lane + 1) - begin);
  return first;
}

/* Sums features [f, f + PANEL) of a tile of `rows` rows, at most 16, with `entries` entries from `begin` on.
 * first.end: in lane i, the end of row i's entries; ends: the same in shared memory. t: rows of sums, one
 * every `stride` floats; parts: rows for parts. Called by all lanes of a warp. */
template <typename T, class S>
__device__ __forceinline__ void sum_panel(const sl_update_sums &run, const x_places &places, int64_t begin,
                                          int entries, int rows, const first_loads<T> &first, const int *ends,
                                          float *t, float *parts, int stride, int f, int lane) {
  constexpr int LANES = S::LANES, VEC = S::VEC, STRIPS = S::STRIPS, STRIP = S::STRIP, U = S::U,
                GROUPS = S::GROUPS;
  using place = typename S::PLACE;
  const int mine = GROUPS == 1 ? 0 : lane / LANES, sub = GROUPS == 1 ? lane : lane % LANES;
  const int from = entries * mine / GROUPS, count = entries * (mine + 1) / GROUPS - from;
  const int before = __shfl_up_sync(~0u, first.end, 1), start = lane == 0 ? 0 : before;
  const unsigned filled = __ballot_sync(~0u, lane < rows && first.end > start);
  /* The row of the group's first entry, and whether an earlier group has begun this row. */
  int row = 0;
#pragma unroll
  for (int g = 0; g < GROUPS; g++) {
    const int ended = __popc(__ballot_sync(~0u, lane < rows && first.end <= entries * g / GROUPS));
    row = g == mine ? ended : row;
  }
  const int began = __shfl_sync(~0u, start, row);
  const bool is_part = GROUPS > 1 && count > 0 && began < from;
  const int feature = f + sub * VEC, left_features = (int)run.dense.k - feature;
  bool on[STRIPS];
#pragma unroll
  for (int s = 0; s < STRIPS; s++)
    on[s] = s * STRIP < left_features;
  const T *x = keep((const T *)places.base + (on[0] ? feature : f));
  const int32_t *col = run.a.col + begin + from;
  const T *val = (const T *)run.a.val + begin + from;
  unsigned left = filled & ~0u << row;
  float *out = (is_part ? parts + (mine - 1) * stride : t + row * stride) + feature;
  int last = ends[row & 15] - 1 - from; /* last entry of the row, relative to the group's run */
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
  /* Zeroes rows without entries. */
  for (unsigned empty = ~filled & ((1u << rows) - 1); empty != 0; empty &= empty - 1)
    for (int i = f + lane; i < f + S::PANEL && i < run.dense.k; i += 32)
      t[(__ffs((int)empty) - 1) * stride + i] = 0;
  clear();
  int32_t next_col = first.col;
  T next_val = first.val;
  const int longest = (entries + GROUPS - 1) / GROUPS;
  for (int e = 0; e < longest; e += LANES) {
    const float my_val = value<T>::weight(run.alpha, next_val);
    const place my_place = place_of<place>(places, next_col & INT32_MAX);
    next_col = 0;
    if (e + LANES + sub < count) {
      next_col = __ldcs(col + e + LANES + sub);
      next_val = load_once(val + e + LANES + sub);
    }
    const int steps = longest - e < LANES ? longest - e : LANES;
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
        if (e + s + u < count) {
#pragma unroll
          for (int p = 0; p < STRIPS; p++)
#pragma unroll
            for (int v = 0; v < VEC; v++)
              acc[p][v] = multiply_add(weight, widened(in[u][p], v), acc[p][v]);
          if (e + s + u == last) {
            store();
            clear();
            left &= left - 1;
            const int next = left ? __ffs((int)left) - 1 : 0;
            out = t + next * stride + feature;
            last = ends[next] - 1 - from;
          }
        }
      }
    }
  }
  /* If the open row continues in the next group's run (and not beyond the last run), store its part. */
  if constexpr (GROUPS > 1) {
    const int open = left ? __ffs((int)left) - 1 : 0, open_start = __shfl_sync(~0u, start, open);
    if (count > 0 && left && open_start < from + count && last >= count)
      store();
    __syncwarp();
#pragma unroll
    for (int g = 1; g < GROUPS; g++) {
      const bool add = __shfl_sync(~0u, is_part, g * LANES);
      float *to = t + __shfl_sync(~0u, row, g * LANES) * stride;
      for (int i = f + lane; add && i < f + S::PANEL && i < run.dense.k; i += 32)
        to[i] += parts[(g - 1) * stride + i];
    }
  }
  __syncwarp();
}

/* Stores the sums of a fragment, which are in t. If this is the row's last warp, it adds all of them into t
 * and returns true. */
static __device__ __noinline__ bool add_fragment(const sl_update_sums &run, fragment_place where, float *t,
                                                 int lane) {
  const int64_t k = run.dense.k;
  float *partial = (float *)run.a.partial;
  bool all = false;
  for (int i = lane; i < k; i += 32)
    partial[where.slot * k + i] = t[i];
  add_fragments<32>(run.a, where, 0, lane, ~0u, [&](int64_t first, int count, int step, bool whole) {
    for (int i = lane; i < k; i += 32) {
      float sum = 0;
#pragma unroll 8
      for (int p = 0; p < count; p++)
        sum += __ldcg(partial + (first + (int64_t)p * step) * k + i);
      if (whole)
        t[i] = sum;
      else
        partial[first * k + i] = sum;
    }
    all = whole;
  });
  return all;
}

/* Sums a chunk; returns the number of complete rows in t. */
template <typename T, class S>
__device__ __forceinline__ int sum_chunk(const sl_update_sums &run, const x_places &places,
                                         const held_chunk &chunk, first_loads<T> &first, float *t, int *ends,
                                         int stride, int lane) {
  const int64_t begin = chunk.begin();
  const int count = chunk.count(), rows = chunk.rows();
  if (run.arrivals) {
    const int piece = chunk.piece();
    if (lane == 0 && piece > 0)
      wait_for_piece(run.arrivals, piece, run.arrivals->round.value);
  }
  if (lane < SL_UPDATE_TILE)
    ends[lane] = first.end;
  __syncwarp();
  for (int f = 0; f < run.dense.k; f += S::PANEL) {
    if (f > 0)
      load_entry<T, S>(run, begin, count, lane, &first);
    sum_panel<T, S>(run, places, begin, count, rows, first, ends, t, t + run.a.tile_rows * stride, stride, f,
                    lane);
  }
  const int slot = chunk.slot(), long_row = chunk.long_row();
  return slot < 0 || add_fragment(run, {slot, long_row}, t, lane) ? rows : 0;
}

/* The last block to end resets the counters for the next run. */
__device__ __forceinline__ void end_run(const sl_update_sums &run) {
  __syncthreads();
  if (threadIdx.x != 0 || atomicAdd(run.a.next + 1, 1u) + 1 != gridDim.x)
    return;
  run.a.next[0] = 0;
  run.a.next[1] = 0;
}

/* Each warp starts with two chunks, and takes remaining chunks in turn, two ahead. */
template <typename T, class S>
__global__ void __launch_bounds__(S::WARPS * 32, 1)
    update_sums(const __grid_constant__ sl_update_sums run, const __grid_constant__ x_places places,
                const __grid_constant__ update_room room) {
  extern __shared__ float4 update_memory[];
  const int lane = (int)(threadIdx.x % 32), all = (int)gridDim.x * room.warps, chunks = (int)run.a.chunks;
  int now = (int)(threadIdx.x / 32 * gridDim.x + blockIdx.x), next = now + all;
  held_chunk chunk = hold(run, now, lane);
  first_loads<T> first = load_first<T, S>(run, chunk, lane);
  float *t = begin_update<T>(run.dense, room, update_memory);
  int *ends = (int *)(t + room.lines * room.stride);
  for (;;) {
    const bool some = chunk.rows() > 0;
    if (room.whole ? !some : !__syncthreads_or(some))
      break;
    const held_chunk ahead = hold(run, next, lane);
    int then = chunks;
    if (lane == 0 && next < chunks)
      then = 2 * all + (int)atomicAdd(run.a.next, 1u);
    const int rows = some ? sum_chunk<T, S>(run, places, chunk, first, t, ends, room.stride, lane) : 0;
    const int row = chunk.row();
    __syncwarp();
    chunk = ahead;
    first = load_first<T, S>(run, chunk, lane);
    multiply_all<T>(run.dense, room, t, rows, {run.a.rowid, row}, update_memory, lane);
    __syncwarp();
    next = __shfl_sync(~0u, then, 0);
  }
  end_run(run);
}

template <typename T, class S>
sley_status launch_sums(sl_queue *queue, const sl_update_sums &run, const x_places &places) {
  int64_t most;
  SL_TRY(shared_bytes(queue, &most));
  const int64_t processors = sl_cuda_processors(queue);
  const update_room room = room_of(run.dense, sizeof(T), run.a.tile_rows + S::GROUPS - 1, SL_UPDATE_TILE,
                                   S::WARPS, most, run.a.chunks, processors);
  if (room.warps < 1)
    return sl_fail(SLEY_ERR_UNSUPPORTED, "%lld columns are too many for the fused update of this GPU",
                   (long long)run.dense.k);
  const int64_t all = (run.a.chunks + room.warps - 1) / room.warps;
  SL_TRY((grant<update_sums<T, S>>(room.bytes())));
  update_sums<T, S><<<(unsigned)(all < processors ? all : processors), (unsigned)room.warps * 32,
                      (size_t)room.bytes(), sl_cuda_stream(queue)>>>(run, places, room);
  return sl_cuda_launched(queue, "update-fused");
}

/* Warps per multiprocessor. MANY: f32 with 16-byte loads. SOME: otherwise. FEW: with 64-bit places, for an X
 * of more than 2^32 loads. */
enum { MANY = 28, SOME = 24, FEW = 16 };

template <typename T, int LANES, int VEC, int STRIPS, int U>
sley_status launch_lanes(sl_queue *queue, const sl_update_sums &run, const x_places &places) {
  constexpr int WARPS = sizeof(T) == 4 && VEC == 4 ? MANY : SOME;
  return launch_sums<T, sums_shape<LANES, VEC, STRIPS, U, uint32_t, WARPS>>(queue, run, places);
}

template <typename T, int VEC> sley_status launch_wide(sl_queue *queue, const sl_update_sums &run) {
  const int64_t k = run.dense.k;
  x_places places;
  if (!find_places<T, VEC>(run, &places)) {
    find_places<T, 1>(run, &places);
    return launch_sums<T, sums_shape<32, 1, 2, 4, uint64_t, FEW>>(queue, run, places);
  }
  if constexpr (VEC * sizeof(T) == 16) {
    if (k <= 8 * VEC)
      return launch_lanes<T, 8, VEC, 1, 8>(queue, run, places);
    if (k <= 16 * VEC)
      return launch_lanes<T, 16, VEC, 1, 8>(queue, run, places);
    return launch_lanes<T, 32, VEC, 1, 8>(queue, run, places);
  } else {
    if (k <= 16 * VEC)
      return launch_lanes<T, 16, VEC, 1, 8>(queue, run, places);
    if (k <= 32 * VEC)
      return launch_lanes<T, 32, VEC, 1, 8>(queue, run, places);
    if (k <= 64 * VEC)
      return launch_lanes<T, 32, VEC, 2, 8>(queue, run, places);
    return launch_lanes<T, 32, VEC, 4, 4>(queue, run, places);
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
