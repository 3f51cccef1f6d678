/* SPDX-License-Identifier: Apache-2.0 */
/* SL_OP_ATTENTION_ROWS and SL_OP_ATTENTION_COLUMNS: gradients of attention for GAT. The other kinds are in
 * attention_pair.cu.
 *
 * Rows: the side outputs of ATTENTION reduce the gradients to products of rows, without a pass over the
 * entries.
 *
 * Columns: a group of lanes takes a head of a column, or a panel of a wide head, and keeps its v in
 * registers. The limit is the rate of loads of rows of dy, each loaded once. Each lane computes P of one
 * entry while the first rows of dy are loaded. The lanes compute the products of dy and v for four entries at
 * a time (fold), and each keeps the product of its own entry for its part of dk. Long columns are shared by
 * the groups of a block (pattern_rows.cuh). */
#include "device/cuda/graph/attention.cuh"

namespace {

using namespace sley;

struct gat_run {
  sl_attention_grad_args a;
  graph_cut cut;
  x_places dy; /* for columns */
  int64_t panels;
  bool side_fits;
};

/* 16-bit types that are loaded value by value need many registers; the other kernels have no bound. */
template <class T, int W>
__global__ void __launch_bounds__(GRAPH_THREADS, lane_part<T, W>::STRIPS > 4 ? 2 : 0)
    gat_rows(const __grid_constant__ gat_run run) {
  constexpr int N = lane_values<T>;
  using A = accumulator<T>;
  const sl_attention_args &of = run.a.of;
  const int64_t heads = of.shape.heads, features = features_of(of.shape);
  const int lanes = run.cut.lanes, lane = static_cast<int>(threadIdx.x) & (lanes - 1);
  graph_tasks tasks(run.cut);
  graph_task t;
  while (tasks.next(run.cut, &t)) {
    const int64_t head = t.part;
    const T *dy_row = static_cast<const T *>(run.a.dy) + t.row * run.a.lddy;
    const T *y_row = static_cast<const T *>(of.y) + t.row * of.ldy;
    const A *side_row = static_cast<const A *>(of.side) + t.row * (features + heads);
    A delta = 0, bent = 0;
    for (int64_t panel = 0; panel < run.panels; panel++) {
      const lane_part<T, W> mine(of.shape, head, panel, lanes, lane);
      A dy[N], y[N], side[N];
      mine.load(dy_row, t.on, dy);
      mine.load(y_row, t.on, y);
      if (run.side_fits)
        mine.load(side_row, t.on, side);
      else
        mine.load_singly(side_row, t.on, side);
#pragma unroll
      for (int i = 0; i < N; i++) {
        delta = multiply_add(dy[i], y[i], delta);
        bent = multiply_add(dy[i], side[i], bent);
      }
    }
    delta = sum_of_group(delta, lanes);
    bent = sum_of_group(bent, lanes);
    if (t.on && lane == 0) {
      static_cast<A *>(run.a.delta)[t.row * heads + head] = delta;
      static_cast<T *>(run.a.dq)[t.row * run.a.lddq + head] =
          value<T>::narrow(multiply_add(-delta, side_row[features + head], bent));
    }
  }
}

/* Data of an entry that is known before its dy is loaded. */
template <class A> struct gat_entry {
  A x = 0; /* q + k */
  A greatest = 0, sum = 1, delta = 0;
};

template <class T>
__device__ __forceinline__ gat_entry<accumulator<T>> load_entry(const sl_attention_grad_args &a, int32_t row,
                                                                int64_t head, accumulator<T> key) {
  using A = accumulator<T>;
  const int64_t at = row * a.of.shape.heads + head;
  const A *stats = static_cast<const A *>(a.of.stats) + at * 2;
  return {value_at(static_cast<const T *>(a.of.q) + row * a.of.ldq + head) + key, __ldg(stats),
          __ldg(stats + 1), __ldg(static_cast<const A *>(a.delta) + at)};
}

/* Adds this lane's parts of the products of rows of dy and v. */
template <class T, int W>
__device__ __forceinline__ void
add_products(const lane_part<T, W> &mine, const accumulator<T> (&v)[lane_values<T>],
             const vector<T, lane_values<T>> (&in)[GRAPH_AHEAD], accumulator<T> (&part)[GRAPH_AHEAD]) {
#pragma unroll
  for (int u = 0; u < GRAPH_AHEAD; u++)
    mine.each([&](int i) { part[u] = multiply_add(v[i], widened(in[u], i), part[u]); });
}

/* Adds the same for heads of several panels. */
template <class T, int W>
__device__ __forceinline__ void add_wide_products(const gat_run &run, const graph_task &t, int64_t head,
                                                  graph_unit<W> place, int s, int lane,
                                                  accumulator<T> (&part)[GRAPH_AHEAD]) {
#pragma unroll 1
  for (int64_t panel = 0; panel < run.panels; panel++) {
    const lane_part<T, W> mine(run.a.of.shape, head, panel, run.cut.lanes, lane);
    accumulator<T> v[lane_values<T>];
    mine.load(row_of<const T>(run.a.of.v, t.row), t.on, v);
    vector<T, lane_values<T>> rows[GRAPH_AHEAD];
    gather_rows(mine, mine.gather_from(run.dy.base, lane), place, s, run.cut.lanes, rows);
    add_products(mine, v, rows, part);
  }
}

/* LANES: as in aggregate (aggregate.cu). */
template <class T, int W, bool WIDE, int LANES>
__global__ void __launch_bounds__(GRAPH_THREADS, WIDE || sizeof(T) == 8 ? 2 : GRAPH_BLOCKS)
    gat_columns(const __grid_constant__ gat_run run) {
  constexpr int N = lane_values<T>;
  using A = accumulator<T>;
  using unit = graph_unit<W>;
  __shared__ A room[N * GRAPH_THREADS];
  const sl_attention_grad_args &a = run.a;
  const sl_heads &shape = a.of.shape;
  const A slope = static_cast<A>(a.of.slope);
  const int lanes = lanes_of<LANES>(run.cut), lane = static_cast<int>(threadIdx.x) & (lanes - 1);
  typename tasks_of<LANES>::type tasks(run.cut);
  graph_task t;
  while (tasks.next(run.cut, &t)) {
    const int64_t head = head_of<LANES>(t, run.panels), panel = panel_of<LANES>(t, run.panels, head);
    const lane_part<T, W> mine(shape, head, panel, lanes, lane);
    const T *dy = mine.gather_from(run.dy.base, lane);
    const int32_t *col = a.of.pattern.col + t.begin;
    const A key = t.on ? value_at(row_of<const T>(a.of.k, t.row) + head) : 0;
    A v[N], dv[N] = {}, dk[1] = {0};
    mine.load(row_of<const T>(a.of.v, t.row), t.on, v);
    int32_t ahead = t.first;
#pragma unroll 1
    for (int e = 0; e < t.most; e += lanes) {
      const int left = entries_left(t.count, e, lanes), all = entries_left(t.most, e, lanes);
      const unit place = place_of<unit>(run.dy, static_cast<uint32_t>(ahead));
      gat_entry<A> entry;
      if (lane < left)
        entry = load_entry<T>(a, ahead, head, key);
      if (e + lanes + lane < t.count)
        ahead = __ldcs(col + e + lanes + lane);
      A p = 0, product = 0;
#pragma unroll 1
      for (int s = 0; s < all; s += GRAPH_AHEAD) {
        vector<T, N> in[GRAPH_AHEAD];
        gather_rows(mine, dy, place, s, lanes, in);
        if (s == 0 && lane < left)
          p = exponential(leaky(entry.x, slope) - entry.greatest) / entry.sum;
        A part[GRAPH_AHEAD] = {};
        if constexpr (WIDE)
          add_wide_products<T, W>(run, t, head, place, s, lane, part);
        else
          add_products(mine, v, in, part);
        const A sum = fold(part, lanes, lane);
        if ((lane & -GRAPH_AHEAD) == s)
          product = sum;
#pragma unroll
        for (int u = 0; u < GRAPH_AHEAD; u++) {
          const A by = __shfl_sync(~0u, p, s + u, lanes);
          if (s + u < left)
#pragma unroll
            for (int i = 0; i < N; i++)
              dv[i] = multiply_add(by, widened(in[u], i), dv[i]);
        }
      }
      if (lane < left) {
        const A ds = p * (product - entry.delta);
        dk[0] += entry.x < 0 ? slope * ds : ds;
      }
    }
    dk[0] = sum_of_group(dk[0], lanes);
    if (joins<LANES>(run.cut, t)) {
      add_shares<N>(run.cut, t, dv, room);
      add_shares<1>(run.cut, t, dk, room);
    }
    if (t.stores) {
      mine.store(row_of<T>(a.dv, t.row), dv);
      if (panel == 0 && lane == 0)
        row_of<T>(a.dk, t.row)[head] = value<T>::narrow(dk[0]);
    }
  }
}

template <class T> sley_status launch_rows_of(sl_queue *queue, const sl_attention_grad_args &a) {
  const sl_heads &shape = a.of.shape;
  const graph_lanes g = lanes_for<T>(shape.width);
  const gat_run run = {a,
                       cut_rows(queue, a.of.pattern, shape.heads, g.lanes, LANES_OF_LINES, true),
                       {},
                       g.panels,
                       side_fits<T>(a.of)};
  graph_alignment found;
  found.add_width(shape.width, sizeof(T));
  found.add(a.dy, a.lddy, sizeof(T));
  found.add(a.of.y, a.of.ldy, sizeof(T));
  const unsigned grid = run.cut.blocks;
  launch_by_alignment<T>(
      found, [](auto) { return true; },
      [&](auto w) { gat_rows<T, w><<<grid, GRAPH_THREADS, 0, sl_cuda_stream(queue)>>>(run); });
  return sl_cuda_launched(queue, "attention-rows");
}

template <class T, int W, bool WIDE> void launch_columns(sl_queue *queue, int lanes, gat_run run) {
  cut_and_launch<W == lane_values<T> && !WIDE>(
      queue, run.a.of.pattern, run.a.of.shape.heads * run.panels, lanes, false, &run.cut, [&](auto n) {
        gat_columns<T, W, WIDE, n><<<run.cut.blocks, GRAPH_THREADS, 0, sl_cuda_stream(queue)>>>(run);
      });
}

template <class T> sley_status launch_columns_of(sl_queue *queue, const sl_attention_grad_args &a) {
  const sl_pattern &p = a.of.pattern;
  const sl_heads &shape = a.of.shape;
  const graph_lanes g = lanes_for<T>(shape.width);
  const sl_split_rows dy = plain_rows(a.dy, p.cols, a.lddy);
  gat_run run = {a, {}, {}, g.panels, false};
  graph_alignment found;
  found.add_width(shape.width, sizeof(T));
  found.add(a.dy, a.lddy, sizeof(T));
  found.add(a.of.v, p.rows, sizeof(T));
  found.add(a.dv, p.rows, sizeof(T));
  launch_by_alignment<T>(
      found, [&](auto w) { return find_rows<T, w>(dy, p.cols, &run.dy); },
      [&](auto w) {
        if (g.panels > 1)
          launch_columns<T, w, true>(queue, g.lanes, run);
        else
          launch_columns<T, w, false>(queue, g.lanes, run);
      });
  return sl_cuda_launched(queue, "attention-columns");
}

sley_status run_rows(sl_queue *queue, const sl_kernel_args *args) {
  const sl_attention_grad_args *a = &args->attention_grad;
  if (a->of.shape.heads <= 0)
    return SLEY_OK;
  SL_TRY(sl_cuda_use(queue->device));
  if (a->of.kind != SL_ATTENTION_GAT)
    return sl_cuda_pair_gradients(queue, a, false);
  if (a->of.pattern.rows <= 0)
    return SLEY_OK;
  return launch_by_type(a->of.dtype, [&](auto type) { return launch_rows_of<decltype(type)>(queue, *a); });
}

sley_status run_columns(sl_queue *queue, const sl_kernel_args *args) {
  const sl_attention_grad_args *a = &args->attention_grad;
  if (a->of.pattern.rows <= 0 || a->of.shape.heads <= 0)
    return SLEY_OK;
  SL_TRY(sl_cuda_use(queue->device));
  if (a->of.kind != SL_ATTENTION_GAT)
    return sl_cuda_pair_gradients(queue, a, true);
  return launch_by_type(a->of.dtype, [&](auto type) { return launch_columns_of<decltype(type)>(queue, *a); });
}

bool gradients_ok(const sl_kernel_args *args) {
  return sley_dtype_bytes(args->attention_grad.of.dtype) != 0;
}

} // namespace

extern "C" {
extern const sl_kernel sl_cuda_attention_rows, sl_cuda_attention_columns;
const sl_kernel sl_cuda_attention_rows = {.name = "attention-rows",
                                          .op = SL_OP_ATTENTION_ROWS,
                                          .ok = gradients_ok,
                                          .cost = sl_cost_of_bytes,
                                          SL_KERNEL_KEEPS_NOTHING,
                                          .run = run_rows};
const sl_kernel sl_cuda_attention_columns = {.name = "attention-columns",
                                             .op = SL_OP_ATTENTION_COLUMNS,
                                             .ok = gradients_ok,
                                             .cost = sl_cost_of_bytes,
                                             SL_KERNEL_KEEPS_NOTHING,
                                             .run = run_columns};
}
