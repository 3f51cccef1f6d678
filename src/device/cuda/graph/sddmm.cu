/* SPDX-License-Identifier: Apache-2.0 */
/* SL_OP_SDDMM: a value for each entry, from the row of U and the row of V that the entry joins.
 *
 * The limit is the rate of loads of rows of V, at practically random addresses. DOT: a group of lanes takes a
 * head of a row of U, which stays in registers if the group can hold it, and loads the rows of V of four or
 * eight entries before it uses the first. Four sums over the lanes are computed together (fold). Each lane
 * keeps the sum of its own entry, so that a group stores as many neighbours as it has lanes, and the groups
 * of a warp, which have neighbouring heads, store whole lines of S. ADD: each lane computes the values of its
 * own entries, four at a time. Shares of long rows (pattern_rows.cuh) need no joining. */
#include "device/cuda/graph/features.cuh"

namespace {

using namespace sley;

struct sddmm_run {
  sl_sddmm_args a;
  graph_cut cut;
  x_places v;
  int64_t panels;
};

/* Stores the result of entry j: sum times val, rounded. S may be val. */
template <class T>
__device__ __forceinline__ void store_value(const sl_sddmm_args &a, int64_t j, int64_t head,
                                            accumulator<T> sum) {
  const int64_t at = j * a.shape.heads + head;
  if (a.val)
    sum *= value<T>::widen(static_cast<const T *>(a.val)[at]);
  static_cast<T *>(a.s)[at] = value<T>::narrow(sum);
}

/* The lane's part of a row of U; with CHOSEN, also the entry that each feature chose. */
template <class T, int W, bool CHOSEN> struct own_row {
  accumulator<T> u[lane_values<T>];
  vector<int32_t, lane_values<T>> chosen;
  __device__ __forceinline__ void load(const sl_sddmm_args &a, const lane_part<T, W> &mine,
                                       const graph_task &t) {
    mine.load(static_cast<const T *>(a.u) + t.row * a.ldu, t.on, u);
    if (CHOSEN)
      chosen = mine.load_numbers(a.chosen + t.row * features_of(a.shape), t.on);
  }
  /* Adds the lane's part of the products with the rows of V of entries number, number + 1, ... of the row. */
  template <int U>
  __device__ __forceinline__ void add_products(const lane_part<T, W> &mine,
                                               const vector<T, lane_values<T>> (&in)[U], int32_t number,
                                               accumulator<T> (&part)[U]) const {
#pragma unroll
    for (int n = 0; n < U; n++)
      mine.each([&](int i) {
        if (!CHOSEN || chosen.item[i] == number + n)
          part[n] = multiply_add(u[i], widened(in[n], i), part[n]);
      });
  }
};

/* Blocks per multiprocessor, as many as the registers allow. */
template <int PANELS> constexpr int dot_blocks = PANELS == 3 ? 2 : GRAPH_BLOCKS;

/* PANELS: panels of a head whose rows of U stay in registers; 0: any number, each loaded when it is needed.
 * U: rows of V that are loaded before the first is used. LANES > 0: lanes of a group, which takes whole rows;
 * 0: groups as in run.cut, which take heads. */
template <class T, int W, bool CHOSEN, int PANELS, int U, int LANES>
__global__ void __launch_bounds__(GRAPH_THREADS, dot_blocks<PANELS>)
    sddmm_dot(const __grid_constant__ sddmm_run run) {
  constexpr int N = lane_values<T>, KEPT = PANELS > 0 ? PANELS : 1;
  using A = accumulator<T>;
  using unit = graph_unit<W>;
  const sl_sddmm_args &a = run.a;
  const int lanes = lanes_of<LANES>(run.cut), lane = static_cast<int>(threadIdx.x) & (lanes - 1);
  typename tasks_of<LANES>::type tasks(run.cut);
  graph_task t;
  while (tasks.next(run.cut, &t)) {
    const int64_t head = head_of<LANES>(t, 1);
    own_row<T, W, CHOSEN> own[KEPT];
#pragma unroll
    for (int p = 0; p < PANELS; p++)
      own[p].load(a, lane_part<T, W>(a.shape, head, p, lanes, lane), t);
    const A scale = a.scale && t.on ? static_cast<const A *>(a.scale)[t.row] : 1;
    const int32_t *col = a.pattern.col + t.begin;
    int32_t ahead = t.first;
#pragma unroll 1
    for (int e = 0; e < t.most; e += lanes) {
      const int left = entries_left(t.count, e, lanes), all = entries_left(t.most, e, lanes);
      const unit place = place_of<unit>(run.v, static_cast<uint32_t>(ahead));
      if (e + lanes + lane < t.count)
        ahead = __ldcs(col + e + lanes + lane);
      A result = 0;
#pragma unroll 1
      for (int s = 0; s < all; s += U) {
        A part[U] = {};
        const int32_t number = t.before + e + s;
        if constexpr (PANELS == 0) {
#pragma unroll 1
          for (int64_t p = 0; p < run.panels; p++) {
            const lane_part<T, W> mine(a.shape, head, p, lanes, lane);
            own[0].load(a, mine, t);
            vector<T, N> in[U];
            gather_rows(mine, mine.gather_from(run.v.base, lane), place, s, lanes, in);
            own[0].add_products(mine, in, number, part);
          }
        } else {
          vector<T, N> in[KEPT][U];
#pragma unroll
          for (int p = 0; p < PANELS; p++) {
            const lane_part<T, W> mine(a.shape, head, p, lanes, lane);
            gather_rows(mine, mine.gather_from(run.v.base, lane), place, s, lanes, in[p]);
          }
#pragma unroll
          for (int p = 0; p < PANELS; p++)
            own[p].add_products(lane_part<T, W>(a.shape, head, p, lanes, lane), in[p], number, part);
        }
#pragma unroll
        for (int u = 0; u < U; u += GRAPH_AHEAD) {
          const A sum = fold(part + u, lanes, lane);
          if ((lane & -GRAPH_AHEAD) == s + u)
            result = sum;
        }
      }
      if (lane < left)
        store_value<T>(a, t.begin + e + lane, head, result * scale);
    }
  }
}

template <class T>
__global__ void __launch_bounds__(GRAPH_THREADS) sddmm_add(const __grid_constant__ sddmm_run run) {
  using A = accumulator<T>;
  const sl_sddmm_args &a = run.a;
  const int lanes = run.cut.lanes, lane = static_cast<int>(threadIdx.x) & (lanes - 1);
  graph_tasks tasks(run.cut);
  graph_task t;
  while (tasks.next(run.cut, &t)) {
    const A u = t.on ? value_at(static_cast<const T *>(a.u) + t.row * a.ldu + t.part) : 0;
    for (int e = lane; e < t.count; e += GRAPH_AHEAD * lanes) {
      int32_t n[GRAPH_AHEAD];
      A v[GRAPH_AHEAD];
#pragma unroll
      for (int i = 0; i < GRAPH_AHEAD; i++)
        n[i] = e + i * lanes < t.count ? __ldcs(a.pattern.col + t.begin + e + i * lanes) : -1;
#pragma unroll
      for (int i = 0; i < GRAPH_AHEAD; i++)
        v[i] = n[i] >= 0 ? value_at(row_of<const T>(a.v, n[i]) + t.part) : 0;
#pragma unroll
      for (int i = 0; i < GRAPH_AHEAD; i++)
        if (n[i] >= 0)
          store_value<T>(a, t.begin + e + i * lanes, t.part, u + v[i]);
    }
  }
}

template <class T> graph_alignment alignment_of(const sl_sddmm_args &a) {
  constexpr int64_t BYTES = sizeof(T);
  graph_alignment found;
  found.add_width(a.shape.width, BYTES);
  found.add(a.u, a.ldu, BYTES);
  found.add(a.v, a.pattern.cols, BYTES);
  found.add_items(a.chosen, sizeof(int32_t), BYTES);
  return found;
}

/* Chooses, among all shapes that hold a head, the one with the fewest unused lanes; at most 3 panels, which
 * stay in registers. */
template <class T> graph_lanes lanes_of_dot(int64_t width, bool chosen) {
  constexpr int N = lane_values<T>, MOST = 3;
  graph_lanes best = lanes_for<T>(width);
  const int64_t vectors = (width + N - 1) / N;
  for (int lanes = 4; lanes <= 32 && !chosen; lanes *= 2) {
    const int64_t panels = (vectors + lanes - 1) / lanes;
    if (panels > 0 && panels <= MOST && panels * lanes < best.panels * best.lanes)
      best = {lanes, panels};
  }
  return best;
}

template <class T, int W, bool CHOSEN, int PANELS, int U>
void launch_dot(sl_queue *queue, int lanes, sddmm_run run) {
  cut_and_launch<W == lane_values<T> && !CHOSEN && PANELS != 0>(
      queue, run.a.pattern, run.a.shape.heads, lanes, false, &run.cut, [&](auto n) {
        sddmm_dot<T, W, CHOSEN, PANELS, n == 4 ? GRAPH_AHEAD : U, n>
            <<<run.cut.blocks, GRAPH_THREADS, 0, sl_cuda_stream(queue)>>>(run);
      });
}

template <class T, int W> void launch(sl_queue *queue, int lanes, const sddmm_run &run) {
  if (run.a.chosen && run.panels == 1)
    return launch_dot<T, W, true, 1, GRAPH_AHEAD>(queue, lanes, run);
  if (run.a.chosen)
    return launch_dot<T, W, true, 0, GRAPH_AHEAD>(queue, lanes, run);
  if constexpr (W > 1) { /* single values need more registers */
    if (run.panels == 2)
      return launch_dot<T, W, false, 2, GRAPH_AHEAD>(queue, lanes, run);
    if (run.panels == 3)
      return launch_dot<T, W, false, 3, GRAPH_AHEAD>(queue, lanes, run);
    if (run.panels == 1 && lanes > GRAPH_AHEAD)
      return launch_dot<T, W, false, 1, 2 * GRAPH_AHEAD>(queue, lanes, run);
  }
  if (run.panels == 1)
    launch_dot<T, W, false, 1, GRAPH_AHEAD>(queue, lanes, run);
  else
    launch_dot<T, W, false, 0, GRAPH_AHEAD>(queue, lanes, run);
}

template <class T> sley_status launch_of(sl_queue *queue, const sl_sddmm_args &a) {
  sddmm_run run = {a, {}, {}, 1};
  if (a.form == SL_SDDMM_ADD) {
    run.cut =
        cut_rows(queue, a.pattern, a.shape.heads, lanes_of_entries(a.shape.heads), LANES_OF_ENTRIES, false);
    sddmm_add<T><<<run.cut.blocks, GRAPH_THREADS, 0, sl_cuda_stream(queue)>>>(run);
    return sl_cuda_launched(queue, "sddmm");
  }
  const graph_lanes g = lanes_of_dot<T>(a.shape.width, a.chosen);
  run.panels = g.panels;
  launch_by_alignment<T>(
      alignment_of<T>(a), [&](auto w) { return find_rows<T, w>(a.v, a.pattern.cols, &run.v); },
      [&](auto w) { launch<T, w>(queue, g.lanes, run); });
  return sl_cuda_launched(queue, "sddmm");
}

sley_status run_sddmm(sl_queue *queue, const sl_kernel_args *args) {
  const sl_sddmm_args *a = &args->sddmm;
  if (sl_pattern_work_rows(&a->pattern) <= 0 || a->shape.heads <= 0)
    return SLEY_OK;
  SL_TRY(sl_cuda_use(queue->device));
  return launch_by_type(a->dtype, [&](auto type) { return launch_of<decltype(type)>(queue, *a); });
}

bool sddmm_ok(const sl_kernel_args *args) {
  return sley_dtype_bytes(args->sddmm.dtype) != 0;
}

} // namespace

extern "C" {
extern const sl_kernel sl_cuda_sddmm;
const sl_kernel sl_cuda_sddmm = {.name = "sddmm",
                                 .op = SL_OP_SDDMM,
                                 .ok = sddmm_ok,
                                 .cost = sl_cost_of_bytes,
                                 SL_KERNEL_KEEPS_NOTHING,
                                 .run = run_sddmm};
}
