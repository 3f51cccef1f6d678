/* SPDX-License-Identifier: Apache-2.0 */
/* SL_OP_AGGREGATE with chosen: the gradients of minima and maxima.
 *
 * Of the terms of an entry few were chosen, of a row with n entries one in n. What limits it is how much is
 * loaded to find them: a row of numbers for each entry, as many bytes as a row of X. So a first kernel packs
 * the numbers into bytes; the second compares the bytes of a lane's features in one instruction, and loads
 * the entry's values of X only where one is equal, else those of a row that is always the same. Numbers from
 * 255 on share a byte, and are looked up where it is equal.
 *
 * Otherwise as aggregate.cu, whose order of summation it has. */
#include "device/cuda/graph_aggregate.cuh"

namespace {

using namespace sley;

enum { MANY = 255 }; /* the byte of all numbers from there on, and of -1 */

__device__ __forceinline__ uint32_t low_of(int32_t number) {
  return min(static_cast<uint32_t>(number), static_cast<uint32_t>(MANY));
}

/* Four numbers a thread; the arrays begin at multiples of 4 items. */
__global__ void __launch_bounds__(GRAPH_THREADS)
    pack_numbers(const int32_t *number, int64_t count, uint8_t *low) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * GRAPH_THREADS, fours = count / 4;
  const int64_t first = static_cast<int64_t>(blockIdx.x) * GRAPH_THREADS + threadIdx.x;
  for (int64_t i = first; i < fours; i += step) {
    const int4 n = __ldcs(reinterpret_cast<const int4 *>(number) + i);
    reinterpret_cast<uint32_t *>(low)[i] =
        low_of(n.x) | low_of(n.y) << 8 | low_of(n.z) << 16 | low_of(n.w) << 24;
  }
  for (int64_t i = fours * 4 + first; i < count; i += step)
    low[i] = static_cast<uint8_t>(low_of(number[i]));
}

/* The bytes of a lane's features, one after the other from the lowest on. */
template <int N> struct lane_bytes { using type = std::conditional_t<N == 4, uint32_t, uint16_t>; };

/* Which of the lane's features that are among `of` have the number wanted: a bit each, from bit 0 on. many:
 * whether the number may be one of those that share a byte; the same in all of a warp. */
template <int N>
__device__ __forceinline__ unsigned equal_features(unsigned of, uint32_t bytes, int32_t wanted, bool many,
                                                   const int32_t *number, int64_t at) {
  const unsigned same = __vcmpeq4(bytes, low_of(wanted) * 0x01010101u) & 0x08040201u;
  unsigned bits = (same | same >> 8 | same >> 16 | same >> 24) & of;
  if (many && wanted >= MANY && bits)
#pragma unroll
    for (int i = 0; i < N; i++)
      if ((bits >> i & 1u) && __ldg(number + at + i) != wanted)
        bits &= ~(1u << i);
  return bits;
}

/* Of all bits of v those in mask, which has all or none; or -0. */
__device__ __forceinline__ float or_minus_zero(uint32_t mask, float v) {
  return __uint_as_float((__float_as_uint(v) & mask) | (~mask & 0x80000000u));
}
__device__ __forceinline__ double or_minus_zero(uint32_t mask, double v) {
  return __hiloint2double(
      static_cast<int>((static_cast<uint32_t>(__double2hiint(v)) & mask) | (~mask & 0x80000000u)),
      static_cast<int>(static_cast<uint32_t>(__double2loint(v)) & mask));
}

/* acc + by x where mask has all bits; of none acc, since acc - 0 is acc. So no predicate is needed, of which
 * there are too few for a lane's entries and features. */
template <class A> __device__ __forceinline__ A add_if(uint32_t mask, A by, A x, A acc) {
  return multiply_add(or_minus_zero(mask, by), -or_minus_zero(mask, -x), acc);
}

template <class T, int U>
__global__ void __launch_bounds__(GRAPH_THREADS, 3) chosen_sums(const __grid_constant__ aggregate_run run) {
  constexpr int N = lane_values<T>;
  using A = accumulator<T>;
  using word = typename lane_bytes<N>::type;
  __shared__ A room[N * GRAPH_THREADS];
  const sl_aggregate_args &a = run.a;
  const int lanes = run.cut.lanes, lane = static_cast<int>(threadIdx.x) & (lanes - 1);
  const int64_t features = features_of(a.shape);
  graph_tasks tasks(run.cut);
  graph_task t;
  while (tasks.next(run.cut, &t)) {
    const int64_t head = quotient(t.part, run.panels);
    const lane_part<T, N> mine(a.shape, head, t.part - head * run.panels, lanes, lane);
    const T *x = mine.gather_from(run.x.base, lane);
    const uint8_t *low = a.chosen_low + (mine.on[0] ? mine.first : 0);
    const int32_t *col = a.pattern.col + t.begin;
    A acc[N] = {};
    if (a.add)
      mine.load(row_of<const T>(a.y, t.row), t.stores, acc);
    int32_t ahead = t.first;
#pragma unroll 1
    for (int e = 0; e < t.most; e += lanes) {
      const int left = entries_left(t.count, e, lanes), all = entries_left(t.most, e, lanes);
      const int32_t n = ahead;
      if (e + lanes + lane < t.count)
        ahead = __ldcs(col + e + lanes + lane);
      const uint32_t place = place_of<uint32_t>(run.x, static_cast<uint32_t>(n));
      A weight = 0;
      int32_t number = -1;
      if (lane < left) {
        weight = weight_of<T>(a, t.begin + e + lane, n, head);
        number = __ldg(a.pattern.place + t.begin + e + lane);
      }
      const bool many = __any_sync(~0u, number >= MANY);
#pragma unroll 1
      for (int s = 0; s < all; s += U) {
        uint32_t bytes[U];
#pragma unroll
        for (int u = 0; u < U; u++) {
          const int64_t row = __shfl_sync(~0u, n, s + u, lanes);
          bytes[u] = __ldg(reinterpret_cast<const word *>(low + row * features));
        }
#pragma unroll
        for (int half = 0; half < U; half += GRAPH_AHEAD) {
          vector<T, N> in[GRAPH_AHEAD];
          unsigned which = 0; /* N bits of each entry */
#pragma unroll
          for (int u = 0; u < GRAPH_AHEAD; u++) {
            const int from = s + half + u;
            const int32_t row = __shfl_sync(~0u, n, from, lanes),
                          wanted = __shfl_sync(~0u, number, from, lanes);
            const uint32_t at = __shfl_sync(~0u, place, from, lanes);
            const unsigned equal =
                equal_features<N>(from < left && mine.on[0] ? (1u << N) - 1 : 0, bytes[half + u], wanted,
                                  many, a.chosen, row * features + mine.first);
            /* of others the row that all lanes load when they need none, so that no load waits for a branch
             */
            in[u] = load_shared<T, N>(x + static_cast<uint64_t>(equal ? at : 0u) * N);
            which |= equal << (N * u);
          }
#pragma unroll
          for (int u = 0; u < GRAPH_AHEAD; u++) {
            const A by = __shfl_sync(~0u, weight, s + half + u, lanes);
#pragma unroll
            for (int i = 0; i < N; i++)
              acc[i] = add_if(0u - (which >> (N * u + i) & 1u), by, widened(in[u], i), acc[i]);
          }
        }
      }
    }
    if (is_shared(run.cut, t))
      add_shares<N>(run.cut, t, acc, room);
    if (t.stores)
      mine.store(row_of<T>(a.y, t.row), acc);
  }
}

/* Whether vectors serve, of the bytes too. */
template <class T> bool are_aligned(const sl_aggregate_args &a, x_places *x) {
  constexpr int N = lane_values<T>;
  constexpr int64_t BYTES = sizeof(T);
  graph_alignment found;
  found.add_width(a.shape.width, BYTES);
  found.add(a.x, a.pattern.cols, BYTES);
  found.add(a.y, a.pattern.rows, BYTES);
  found.reach((a.x.near || a.x.far) && find_rows<T, N>(a.x, a.pattern.cols, x));
  return found.fits(N * BYTES) && reinterpret_cast<uintptr_t>(a.chosen) % sizeof(int4) == 0 &&
         reinterpret_cast<uintptr_t>(a.chosen_low) % sizeof(uint32_t) == 0;
}

template <class T> sley_status launch_of(sl_queue *queue, const sl_aggregate_args &args, bool *done) {
  aggregate_run run = {args, {}, {}, 1};
  sl_aggregate_args &a = run.a;
  const cudaStream_t stream = sl_cuda_stream(queue);
  *done = are_aligned<T>(args, &run.x);
  if (!*done)
    return SLEY_OK;
  const int64_t numbers = a.pattern.cols * sl_features(&a.shape), most = 16 * sl_cuda_processors(queue);
  const int64_t blocks = (numbers / 4 + GRAPH_THREADS) / GRAPH_THREADS;
  pack_numbers<<<static_cast<unsigned>(blocks < most ? blocks : most), GRAPH_THREADS, 0, stream>>>(
      a.chosen, numbers, a.chosen_low);
  if (!a.val && !a.factor) /* heads do not differ */
    a.shape = {1, sl_features(&a.shape)};
  const graph_lanes g = lanes_for<T>(a.shape.width);
  run.panels = g.panels;
  run.cut = cut_rows(queue, a.pattern, a.shape.heads * g.panels, g.lanes, LANES_OF_LINES, a.in_order);
  const unsigned grid = run.cut.blocks;
  if (g.lanes > GRAPH_AHEAD)
    chosen_sums<T, 2 * GRAPH_AHEAD><<<grid, GRAPH_THREADS, 0, stream>>>(run);
  else
    chosen_sums<T, GRAPH_AHEAD><<<grid, GRAPH_THREADS, 0, stream>>>(run);
  return sl_cuda_launched(queue, "aggregate");
}

} // namespace

sley_status sl_cuda_chosen_sums(sl_queue *queue, const sl_aggregate_args *args, bool *done) {
  return launch_by_type(args->dtype,
                        [&](auto type) { return launch_of<decltype(type)>(queue, *args, done); });
}
