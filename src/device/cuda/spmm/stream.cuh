/* SPDX-License-Identifier: Apache-2.0 */
/* SpMM as streams of entries: Sley's own product on NVIDIA GPUs, for every part that is known when the plan
 * is made.
 *
 * The limit. Each entry of A needs one row of X: k values at a practically random address. At the widths of
 * graph networks (k = 16 to 256) the product is limited by the rate of these loads, from the L2 cache or from
 * memory, and that rate is reached only if every multiprocessor has many loads in flight at all times. A
 * kernel that assigns each row of A to a warp does not reach it: most rows of a graph are short, so each warp
 * starts a few loads, waits for them, stores a row and starts again. (Narrow products of very long rows are
 * limited by instructions instead.)
 *
 * Work of a group. The host cuts the rows into chunks with about equally many entries (chunks.h). A group of
 * LANES x WAYS threads, 4 to 32, processes one chunk and reads its entries as one stream, across the ends of
 * rows. A warp has as many groups as fit in it; the lanes of an incomplete group are spare.
 *   - Each lane holds VEC neighbouring features of the row that is being summed, in STRIPS strips of
 *     LANES x VEC features: a panel. If k is larger, another group reads the chunk for the next panel.
 *   - The group loads one entry per lane at a time, one block ahead of their use. By shuffles every lane
 *     receives them one after the other.
 *   - With WAYS above 1, WAYS lanes share a feature, and each processes every WAYS-th entry. That fills a
 *     warp if few lanes hold a row of X and rows of A are long. At a row's end their sums are added.
 *   - Each step loads the rows of X of U entries before it uses the first of them, whichever rows of A the
 *     entries belong to. So short rows cost no more than long ones, and U loads per lane are in flight.
 *   - The sign bit of a column marks the last entry of its row (stream_mark.cu). After it the sums
 *     are stored, and the next row begins. The number of that row, and for beta != 0 its old values of Y,
 *     were loaded one row ahead.
 * RUNS adds a second, shorter loop for blocks of entries in which no row ends; it pays if rows are long.
 *
 * Addresses. The lane that loads an entry computes the address of its row of X as a PLACE: the distance from
 * the beginning of X or of the far memory, whichever is lower, in units of the bytes that one lane loads. An
 * X in two memories therefore costs one comparison per entry and lane, not one per load. A PLACE has 32 bits
 * if that is enough for both memories, else 64.
 *
 * Order of summation. A whole row is summed in stored order, each feature by one lane, with the roundings
 * that op_spmm.h defines. With WAYS above 1 (never if in_order is set) the entries of a lane form a fragment,
 * counted from the chunk's first entry; fragments are added as a tree of fixed shape. A row that the host has
 * cut into fragments (chunks.h; never if in_order is set) is summed fragment by fragment into the slots of
 * `partial`. Each group that has written a fragment increments the row's counter in `finished` by an atomic
 * operation. The group that finds the counter complete adds beta Y and the fragments, first to last, stores
 * the row and sets the counter back to 0. Which group that is varies; the order of the additions does not, so
 * the bits repeat.
 *
 * Arrival. If the rows of the far memory arrive while the kernel runs, a group first waits for the piece of
 * its chunk (rows/pull_pieces.cuh).
 *
 * stream_launch.cuh chooses the shape (LANES, WAYS, VEC, STRIPS, U, blocks per multiprocessor). */
#ifndef SLEY_DEVICE_CUDA_SPMM_STREAM_CUH
#define SLEY_DEVICE_CUDA_SPMM_STREAM_CUH

#include "device/cuda/spmm/spmm_chunks.cuh"
#include "device/cuda/spmm/stream.h"

namespace sley {

enum { STREAM_BLOCK = 64 };

/* How a group processes its stream. At least MIN_BLOCKS blocks per multiprocessor keep enough loads in
 * flight: the compiler may use only as many registers as this number allows, except with old values or more
 * than 4 sums per lane. */
template <int LANES_, int WAYS_, int VEC_, int STRIPS_, int U_, int MIN_BLOCKS_, bool RUNS_, typename PLACE_,
          bool WHOLE_ = true>
struct shape {
  static constexpr int LANES = LANES_, WAYS = WAYS_, GROUP = LANES * WAYS, VEC = VEC_, STRIPS = STRIPS_,
                       U = U_, MIN_BLOCKS = MIN_BLOCKS_;
  static constexpr int STRIP = LANES * VEC, PANEL = STRIP * STRIPS; /* features */
  static constexpr bool RUNS = RUNS_;
  static constexpr bool WHOLE = WHOLE_; /* every lane has VEC features, which it stores to Y at once */
  using PLACE = PLACE_;
  static constexpr int blocks(bool old_values) {
    return MIN_BLOCKS - (old_values ? MIN_BLOCKS / 4 : 0) - (VEC > 4 ? 2 : 0);
  }
};

/* A lane's features of each strip: sums, or values of a row of X or Y. */
template <typename T, class S> using strips = vector<T, S::VEC>[S::STRIPS];

/* Maximum of the warp's values, which are the same within each group of GROUP lanes. */
template <int GROUP> __device__ __forceinline__ int largest_of_groups(int value) {
  if constexpr (32 % GROUP == 0) {
#pragma unroll
    for (int distance = GROUP; distance < 32; distance *= 2) {
      const int other = __shfl_xor_sync(~0u, value, distance);
      value = other > value ? other : value;
    }
    return value;
  } else
    return __reduce_max_sync(~0u, value);
}

/* The first lane of the calling lane's group. Spare lanes belong to the first group. */
template <int GROUP> __device__ __forceinline__ unsigned group_first() {
  const unsigned first = threadIdx.x % 32 / GROUP * GROUP;
  return 32 % GROUP != 0 && first + GROUP > 32 ? 0 : first;
}

/* Value of lane `from` of the calling lane's group. */
template <int GROUP, typename T> __device__ __forceinline__ T of_group(T value, int from) {
  if constexpr (32 % GROUP == 0)
    return __shfl_sync(~0u, value, from, GROUP);
  else
    return __shfl_sync(~0u, value, (int)group_first<GROUP>() + from);
}

/* Loads or stores the first `count` values of a vector of Y, one by one. */
template <typename T, int VEC> __device__ __forceinline__ vector<T, VEC> load_some(const T *from, int count) {
  vector<T, VEC> got = {};
#pragma unroll
  for (int v = 0; v < VEC; v++)
    if (v < count)
      got.item[v] = from[v];
  return got;
}

template <typename T, int VEC, typename S>
__device__ __forceinline__ void store_some(T *to, const S (&sum)[VEC], int count) {
#pragma unroll
  for (int v = 0; v < VEC; v++)
    if (v < count)
      to[v] = value<T>::narrow(sum[v]);
}

/* The groups of a warp process their chunks in step, until the longest ends, because a shuffle by all lanes
 * is one instruction and shuffles by some lanes are many. A spare lane computes what the lane of this number
 * in the warp's first group computes, and stores nothing. */
template <typename T, class S, bool BETA>
__device__ __forceinline__ void stream_chunk(const sl_stream_run &run, const x_places &places,
                                             const sl_chunk &chunk, int64_t f, int lane, bool spare) {
  constexpr int GROUP = S::GROUP, WAYS = S::WAYS, VEC = S::VEC, STRIPS = S::STRIPS, STRIP = S::STRIP,
                PANEL = S::PANEL, U = S::U;
  static_assert(GROUP % (U * WAYS) == 0, "whole steps");
  const int way = WAYS == 1 ? 0 : lane / S::LANES;
  using place = typename S::PLACE;
  using acc_t = accumulator<T>;
  using in_t = input<T>;
  using out_t = output<T>;
  const int features = keep((int)(run.k - f < PANEL ? run.k - f : PANEL));
  bool on[STRIPS];
#pragma unroll
  for (int s = 0; s < STRIPS; s++)
    on[s] = s * STRIP < features;
  /* Lanes of a single strip that have no features load the first features, and store nothing. */
  const in_t *x = keep((const in_t *)places.base + (STRIPS > 1 || on[0] ? f : 0));
  const int32_t *col = run.a.col + chunk.begin;
  const in_t *val = (const in_t *)run.a.val + chunk.begin;
  const bool fragment = chunk.slot >= 0;
  out_t *y = keep((out_t *)run.y + f);
  const uint32_t ldy = (uint32_t)(run.ldy * (int64_t)sizeof(out_t)); /* bytes */
  /* The row being summed, and the next one, whose number and old values are being loaded. */
  const int32_t *row = run.a.row + chunk.row;
  int rows_left = chunk.rows - 1;
  out_t *out = row_at(y, row[0], ldy);
  int32_t next = row[1];
  acc_t acc[STRIPS][VEC];
  vector<out_t, VEC> old[STRIPS];
  auto clear = [&] {
#pragma unroll
    for (int s = 0; s < STRIPS; s++)
#pragma unroll
      for (int v = 0; v < VEC; v++)
        acc[s][v] = 0;
  };
  auto load_old = [&](const out_t *from) {
#pragma unroll
    for (int s = 0; s < STRIPS; s++)
      if (on[s])
        old[s] = S::WHOLE ? load_plain<out_t, VEC>(from + s * STRIP)
                          : load_some<out_t, VEC>(from + s * STRIP, features - s * STRIP);
  };
  auto begin_with_old = [&] {
#pragma unroll
    for (int s = 0; s < STRIPS; s++)
      if (on[s] && way == 0)
        scaled<T, VEC>(acc[s], run.beta, old[s]);
  };
  auto load_x = [&](vector<in_t, VEC>(&in)[STRIPS], place my_place, int from) {
    const in_t *at = x + (uint64_t)of_group<GROUP>(my_place, from) * VEC;
#pragma unroll
    for (int s = 0; s < STRIPS; s++) {
      if (STRIPS > 1) /* otherwise its former value would have to be kept until the load completes */
        in[s] = {};
      if (STRIPS == 1 || on[s])
        in[s] = load_plain<in_t, VEC>(at + s * STRIP);
    }
  };
  auto add = [&](const vector<in_t, VEC>(&in)[STRIPS], acc_t weight) {
#pragma unroll
    for (int s = 0; s < STRIPS; s++)
#pragma unroll
      for (int v = 0; v < VEC; v++)
        acc[s][v] = multiply_add(weight, widened(in[s], v), acc[s][v]);
  };
  /* Adds the sums of all ways; all ways receive the result. */
  auto join_ways = [&] {
#pragma unroll
    for (int distance = S::LANES; distance < GROUP; distance *= 2)
#pragma unroll
      for (int s = 0; s < STRIPS; s++)
#pragma unroll
        for (int v = 0; v < VEC; v++)
          acc[s][v] += __shfl_xor_sync(~0u, acc[s][v], distance, GROUP);
  };
  auto end_row = [&] {
    join_ways();
    if (way == 0)
#pragma unroll
      for (int t = 0; t < STRIPS; t++)
        if (on[t] && !spare) {
          if constexpr (S::WHOLE)
            store_once<out_t, VEC>(out + t * STRIP, acc[t]);
          else
            store_some<out_t, VEC>(out + t * STRIP, acc[t], features - t * STRIP);
        }
    out = row_at(y, next, ldy);
    next = (++row)[1];
    clear();
    if (BETA && rows_left > 0)
      begin_with_old();
    if (BETA && --rows_left > 0)
      load_old(row_at(y, next, ldy));
  };
  clear();
  if (BETA && chunk.rows > 0 && !fragment) {
    load_old(out);
    begin_with_old();
    if (rows_left > 0)
      load_old(row_at(y, next, ldy));
  }
  /* A lane's entry of the next step. It is not used before that step, when it has arrived. */
  int32_t next_col = 0;
  in_t next_val = value<in_t>::narrow(0);
  if (lane < chunk.count) {
    next_col = __ldcs(col + lane);
    next_val = load_once(val + lane);
  }
  const int longest = largest_of_groups<GROUP>(chunk.count);
  for (int e = 0; e < longest; e += GROUP) {
    const acc_t my_val = value<in_t>::weight(run.alpha, next_val);
    const place my_place = place_of<place>(places, next_col & INT32_MAX);
    const unsigned ends = __ballot_sync(~0u, next_col < 0);
    const unsigned my_ends = ends >> group_first<GROUP>();
    next_col = 0;
    if (e + GROUP + lane < chunk.count) {
      next_col = __ldcs(col + e + GROUP + lane);
      next_val = load_once(val + e + GROUP + lane);
    }
    const int here = chunk.count - e; /* number of entries in this step, at most GROUP */
    if (S::RUNS && ends == 0 && (GROUP == 32 ? here >= GROUP : __all_sync(~0u, here >= GROUP))) {
      /* The loop without ends of rows: all entries belong to the open row. */
#pragma unroll
      for (int s = 0; s < GROUP; s += U * WAYS) {
        strips<in_t, S> in[U];
#pragma unroll
        for (int u = 0; u < U; u++)
          load_x(in[u], my_place, s + u * WAYS + way);
#pragma unroll
        for (int u = 0; u < U; u++)
          add(in[u], of_group<GROUP>(my_val, s + u * WAYS + way));
      }
      continue;
    }
    const int steps = longest - e < GROUP ? longest - e : GROUP;
#pragma unroll 1
    for (int s = 0; s < steps; s += U * WAYS) {
      strips<in_t, S> in[U];
#pragma unroll
      for (int u = 0; u < U; u++)
        load_x(in[u], my_place, s + u * WAYS + way);
#pragma unroll
      for (int u = 0; u < U; u++) {
        const int at = s + u * WAYS;
        const acc_t weight = of_group<GROUP>(my_val, at + way);
        if constexpr (WAYS == 1) {
          if (at < here) {
            add(in[u], weight);
            if (my_ends >> s & 1u << u)
              end_row();
          }
        } else {
          /* WAYS entries, one per lane: first the entries up to the end of a row, then the entries after it.
           */
          int from = at + way < here ? way : -1;
          for (unsigned left = ends >> at & ((1u << WAYS) - 1); left != 0; left &= left - 1) {
            if (from >= 0 && from < __ffs((int)left)) {
              add(in[u], weight);
              from = -1;
            }
            end_row();
          }
          if (from >= 0)
            add(in[u], weight);
        }
      }
    }
  }
  if (fragment)
    join_ways();
  if (fragment && way == 0 && !spare)
#pragma unroll
    for (int s = 0; s < STRIPS; s++)
      if (on[s])
#pragma unroll
        for (int v = 0; v < VEC; v++)
          if (S::WHOLE || s * STRIP + v < features)
            ((acc_t *)run.a.partial)[chunk.slot * run.k + f + s * STRIP + v] = acc[s][v];
}

/* Adds `count` partial sums, one every `step` slots from slot `first` on, for the panel of features from f
 * on. Calls done(feature, sum). */
template <typename T, class S, class DONE>
__device__ __forceinline__ void add_slots(const sl_stream_run &run, int64_t first, int count, int step,
                                          int64_t f, int lane, DONE done) {
  const accumulator<T> *partial = (const accumulator<T> *)run.a.partial + first * run.k;
  for (int64_t i = f + lane; i < f + S::PANEL && i < run.k; i += S::GROUP) {
    accumulator<T> sum = 0;
#pragma unroll 8
    for (int p = 0; p < count; p++)
      sum += __ldcg(partial + (int64_t)p * step * run.k + i);
    done(i, sum);
  }
}

/* Stores a panel of the sum of a fragment of a long row. The last group computes Y = beta Y + all
 * fragments. */
template <typename T, class S>
__device__ __noinline__ void finish_fragment(const sl_stream_run &run, const fragment_place where, int panel,
                                             int lane, unsigned mask) {
  using Y = value<output<T>>;
  using acc_t = accumulator<T>;
  const int32_t to = fragments_of(run.a, where).row;
  add_fragments<S::GROUP>(
      run.a, where, panel, lane, mask, [&](int64_t first, int count, int step, bool whole) {
        add_slots<T, S>(run, first, count, step, (int64_t)panel * S::PANEL, lane, [&](int64_t i, acc_t sum) {
          output<T> *y = (output<T> *)run.y + (int64_t)to * run.ldy + i;
          if (!whole)
            ((acc_t *)run.a.partial)[first * run.k + i] = sum;
          else
            *y = Y::narrow(run.beta == 0 ? sum : (acc_t)(run.beta * (double)Y::widen(*y)) + sum);
        });
      });
}

/* A grid has a row of blocks for each panel, so that one panel is processed after another and rows of X stay
 * in the cache; if rows arrive piece by piece, it has a single row in which the panels of a chunk are
 * neighbours. Blocks from number `blocks` on in each row clear rows of Y. */
template <typename T, class S, bool BETA>
__global__ void __launch_bounds__(STREAM_BLOCK, S::blocks(BETA))
    stream(const __grid_constant__ sl_stream_run run, const __grid_constant__ x_places places,
           const unsigned blocks) {
  constexpr int GROUP = S::GROUP, IN_WARP = 32 / GROUP, GROUPS = STREAM_BLOCK / 32 * IN_WARP;
  if (blockIdx.x >= blocks) {
    clear_rows<T>(run, (int64_t)blockIdx.y * (gridDim.x - blocks) + blockIdx.x - blocks);
    return;
  }
  unsigned panel = blockIdx.y, block = blockIdx.x;
  if (run.by_chunk) {
    const unsigned panels = (unsigned)((run.k + S::PANEL - 1) / S::PANEL);
    panel = blockIdx.x % panels;
    block = blockIdx.x / panels;
  }
  const bool spare = threadIdx.x % 32 >= IN_WARP * GROUP;
  const int lane = threadIdx.x % 32 % GROUP;
  const int64_t at = (int64_t)block * GROUPS + threadIdx.x / 32 * IN_WARP + group_first<GROUP>() / GROUP;
  sl_chunk chunk = {};
  chunk.slot = -1;
  if (at < run.a.chunks)
    chunk = chunk_at(run.a.chunk, at);
  if (run.arrivals) {
    if (lane == 0 && chunk.piece > 0)
      wait_for_piece(run.arrivals, chunk.piece, run.arrivals->round.value);
    __syncwarp();
  }
  stream_chunk<T, S, BETA>(run, places, chunk, (int64_t)panel * S::PANEL + lane % S::LANES * S::VEC, lane,
                           spare);
  if (chunk.slot >= 0 && !spare) {
    const unsigned mask = GROUP == 32 ? ~0u : ((1u << GROUP % 32) - 1) << group_first<GROUP>();
    finish_fragment<T, S>(run, {chunk.slot, chunk.long_row}, (int)panel, lane, mask);
  }
}

template <typename T, class S>
sley_status launch_shape(sl_queue *queue, const sl_stream_run &run, const x_places &places) {
  enum { MOST_DOWN = 65535 }; /* most rows of a grid */
  constexpr int GROUPS = STREAM_BLOCK / 32 * (32 / S::GROUP);
  sl_stream_run of = run;
  const int64_t panels = (run.k + S::PANEL - 1) / S::PANEL;
  of.by_chunk = run.by_chunk || panels > MOST_DOWN;
  const int64_t down = of.by_chunk ? 1 : panels;
  const int64_t blocks = (run.a.chunks + GROUPS - 1) / GROUPS * (panels / down),
                across = blocks + (blocks_that_clear(run) + down - 1) / down;
  if (across > INT32_MAX / down)
    return sl_fail(SLEY_ERR_OVERFLOW,
                   "a part with %lld entries is too large for %lld columns on one device: "
                   "use more ranks, or fewer columns at a time",
                   (long long)run.a.entries, (long long)run.k);
  if (across > 0) {
    const dim3 grid((unsigned)across, (unsigned)down);
    if (run.beta == 0)
      stream<T, S, false><<<grid, STREAM_BLOCK, 0, sl_cuda_stream(queue)>>>(of, places, (unsigned)blocks);
    else
      stream<T, S, true><<<grid, STREAM_BLOCK, 0, sl_cuda_stream(queue)>>>(of, places, (unsigned)blocks);
  }
  return sl_cuda_launched(queue, "spmm-stream");
}

} // namespace sley

#endif
