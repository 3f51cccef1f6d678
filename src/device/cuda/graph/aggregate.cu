/* SPDX-License-Identifier: Apache-2.0 */
/* SL_OP_AGGREGATE: each row becomes the sum, mean, minimum or maximum of the rows that its entries name.
 *
 * The limit is the rate of loads of rows of X, at practically random addresses. A group of lanes takes a row,
 * or one head of it if heads have values of their own (pattern_rows.cuh). Each lane loads the column, value and
 * scale of one entry; shuffles pass them to the group one after the other. The rows of X of four or eight
 * entries are loaded before the first is used. Long rows are shared by the groups of a block unless in_order
 * is set; each share is summed from 0 in stored order. */
#include "device/cuda/graph/aggregate.cuh"

namespace {

using namespace sley;

enum form { SUMS, CHOSEN, EXTREMES };

/* Rows of ones, for a call without X. */
template <class T, int U> __device__ __forceinline__ void set_ones(vector<T, lane_values<T>> (&to)[U]) {
#pragma unroll
  for (int i = 0; i < U * lane_values<T>; i++)
    to[i / lane_values<T>].item[i % lane_values<T>] = value<T>::narrow(1);
}

/* Joins the extremes of the shares of a task, like join_shares. */
template <int N, class A>
__device__ __forceinline__ void join_extremes(const graph_cut &cut, const graph_task &t, A (&term)[N],
                                              int32_t (&entry)[N], A *room, int32_t *numbers) {
  for (int distance = t.apart; distance < shared_lanes(cut, t); distance *= 2)
#pragma unroll
    for (int i = 0; i < N; i++) {
      const extreme<A> other = {__shfl_xor_sync(~0u, term[i], distance),
                                __shfl_xor_sync(~0u, entry[i], distance)};
      const extreme<A> best = first_of(extreme<A>{term[i], entry[i]}, other);
      term[i] = best.term;
      entry[i] = best.entry;
    }
  if (!t.joint)
    return;
#pragma unroll
  for (int i = 0; i < N; i++) {
    room[i * GRAPH_THREADS + threadIdx.x] = term[i];
    numbers[i * GRAPH_THREADS + threadIdx.x] = entry[i];
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < N; i++) {
    const int at = i * GRAPH_THREADS + static_cast<int>(threadIdx.x % 32);
    extreme<A> best = {room[at], numbers[at]};
    for (int warp = 1; warp < GRAPH_WARPS; warp++)
      best = first_of(best, extreme<A>{room[at + warp * 32], numbers[at + warp * 32]});
    term[i] = best.term;
    entry[i] = best.entry;
  }
  __syncthreads();
}

/* Stores the results of a row: sums, or extreme terms with the numbers of their entries. */
template <class T, int W, form FORM>
__device__ __forceinline__ void
store_row(const sl_aggregate_args &a, const graph_task &t, const lane_part<T, W> &mine,
          accumulator<T> (&result)[lane_values<T>], const int32_t (&entry)[lane_values<T>]) {
  if (FORM == EXTREMES && a.arg)
    mine.store_numbers(a.arg + t.row * features_of(a.shape), entry);
#pragma unroll
  for (int i = 0; i < lane_values<T>; i++) {
    if (FORM == EXTREMES)
      result[i] = entry[i] < 0 ? 0 : a.kind == SL_AGGREGATE_MIN ? -result[i] : result[i];
    if (FORM == SUMS && a.kind == SL_AGGREGATE_MEAN)
      result[i] = t.whole > 0 ? result[i] / static_cast<accumulator<T>>(t.whole) : 0;
  }
  mine.store(row_of<T>(a.y, t.row), result);
}

/* Blocks per multiprocessor, as many as the registers allow. */
template <int W, form FORM, int LANES> constexpr int aggregate_blocks() {
  if (FORM == CHOSEN || W == 1)
    return 2;
  return LANES > 0 ? GRAPH_BLOCKS + 1 : GRAPH_BLOCKS;
}

/* U: rows of X that are loaded before the first is used. LANES > 0: lanes of a group, which takes whole rows.
 * LANES = 0: groups as in run.cut, which take parts of rows. */
template <class T, int W, form FORM, int U, int LANES>
__global__ void __launch_bounds__(GRAPH_THREADS, aggregate_blocks<W, FORM, LANES>())
    aggregate(const __grid_constant__ aggregate_run run) {
  constexpr int N = lane_values<T>;
  using A = accumulator<T>;
  using unit = graph_unit<W>;
  __shared__ A room[N * GRAPH_THREADS];
  __shared__ int32_t numbers[FORM == EXTREMES ? N * GRAPH_THREADS : 1];
  const sl_aggregate_args &a = run.a;
  const int lanes = lanes_of<LANES>(run.cut), lane = static_cast<int>(threadIdx.x) & (lanes - 1);
  const int64_t features = features_of(a.shape);
  const bool flips = a.kind == SL_AGGREGATE_MIN; /* the minimum is the maximum of the negated terms */
  typename tasks_of<LANES>::type tasks(run.cut);
  graph_task t;
  while (tasks.next(run.cut, &t)) {
    const int64_t head = head_of<LANES>(t, run.panels);
    const lane_part<T, W> mine(a.shape, head, panel_of<LANES>(t, run.panels, head), lanes, lane);
    const T *x = keep(mine.gather_from(run.x.base, lane));
    const int32_t *col = a.pattern.col + t.begin;
    A acc[N];
    int32_t entry[N];
#pragma unroll
    for (int i = 0; i < N; i++) {
      acc[i] = FORM == EXTREMES ? minus_infinity(A()) : 0;
      entry[i] = -1;
    }
    if (FORM != EXTREMES && a.add)
      mine.load(row_of<const T>(a.y, t.row), t.stores, acc);
    int32_t ahead = t.first;
#pragma unroll 1
    for (int e = 0; e < t.most; e += lanes) {
      const int left = entries_left(t.count, e, lanes), all = entries_left(t.most, e, lanes);
      const int32_t n = ahead;
      if (e + lanes + lane < t.count)
        ahead = __ldcs(col + e + lanes + lane);
      const unit place = place_of<unit>(run.x, static_cast<uint32_t>(n));
      A weight = 0;
      int32_t which = -1;
      if (lane < left) {
        weight = weight_of<T>(a, t.begin + e + lane, n, head);
        if (FORM == EXTREMES && flips)
          weight = -weight;
        if (FORM == CHOSEN)
          which = __ldg(a.pattern.place + t.begin + e + lane);
      }
#pragma unroll 1
      for (int s = 0; s < all; s += U) {
        vector<T, N> in[U];
        vector<int32_t, N> chosen[U];
        if (W > 1 || a.x.near || a.x.far)
          gather_rows(mine, x, place, s, lanes, in);
        else
          set_ones(in);
        if (FORM == CHOSEN)
#pragma unroll
          for (int u = 0; u < U; u++) {
            const int32_t row = __shfl_sync(~0u, n, s + u, lanes);
            chosen[u] = mine.load_numbers(a.chosen + row * features, s + u < left);
          }
#pragma unroll
        for (int u = 0; u < U; u++) {
          const A by = __shfl_sync(~0u, weight, s + u, lanes);
          const int32_t wanted = FORM == CHOSEN ? __shfl_sync(~0u, which, s + u, lanes) : 0;
          const int32_t number = t.before + e + s + u;
          if (s + u < left)
#pragma unroll
            for (int i = 0; i < N; i++) {
              const A value = widened(in[u], i);
              if (FORM == EXTREMES) {
                const A term = by * value;
                if (acc[i] == acc[i] && !(term <= acc[i])) {
                  acc[i] = term;
                  entry[i] = number;
                }
              } else if (FORM == SUMS || chosen[u].item[i] == wanted) {
                acc[i] = multiply_add(by, value, acc[i]);
              }
            }
        }
      }
    }
    if constexpr (FORM == EXTREMES) /* no term is above -infinity: choose the first */
#pragma unroll
      for (int i = 0; i < N; i++)
        if (entry[i] < 0 && t.count > 0)
          entry[i] = t.before;
    if (joins<LANES>(run.cut, t)) {
      if constexpr (FORM == EXTREMES)
        join_extremes<N>(run.cut, t, acc, entry, room, numbers);
      else
        add_shares<N>(run.cut, t, acc, room);
    }
    if (t.stores)
      store_row<T, W, FORM>(a, t, mine, acc, entry);
  }
}

template <class T, int W, form FORM> void launch_form(sl_queue *queue, int lanes, aggregate_run run) {
  constexpr int MORE = FORM != SUMS || W == 1 ? GRAPH_AHEAD : 2 * GRAPH_AHEAD;
  const cudaStream_t stream = sl_cuda_stream(queue);
  const int64_t parts = run.a.shape.heads * run.panels;
  cut_and_launch<W == lane_values<T> && FORM != CHOSEN>(
      queue, run.a.pattern, parts, lanes, run.a.in_order, &run.cut, [&](auto n) {
        if (lanes > GRAPH_AHEAD)
          aggregate<T, W, FORM, n == 4 ? GRAPH_AHEAD : MORE, n>
              <<<run.cut.blocks, GRAPH_THREADS, 0, stream>>>(run);
        else
          aggregate<T, W, FORM, GRAPH_AHEAD, n == 0 ? 0 : 4>
              <<<run.cut.blocks, GRAPH_THREADS, 0, stream>>>(run);
      });
}

template <class T, int W> void launch(sl_queue *queue, int lanes, const aggregate_run &run) {
  if (run.a.kind == SL_AGGREGATE_MIN || run.a.kind == SL_AGGREGATE_MAX)
    launch_form<T, W, EXTREMES>(queue, lanes, run);
  else if (run.a.chosen)
    launch_form<T, W, CHOSEN>(queue, lanes, run);
  else
    launch_form<T, W, SUMS>(queue, lanes, run);
}

template <class T> graph_alignment alignment_of(const sl_aggregate_args &a) {
  constexpr int64_t BYTES = sizeof(T);
  graph_alignment found;
  found.add_width(a.shape.width, BYTES);
  found.add(a.x, a.pattern.cols, BYTES);
  found.add(a.y, a.pattern.rows, BYTES);
  found.add_items(a.arg, sizeof(int32_t), BYTES);
  found.add_items(a.chosen, sizeof(int32_t), BYTES);
  return found;
}

template <class T> sley_status launch_of(sl_queue *queue, const sl_aggregate_args *args) {
  aggregate_run run = {*args, {}, {}, 1};
  sl_aggregate_args &a = run.a;
  if (!a.val && !a.factor) /* heads have the same weights */
    a.shape = {1, sl_features(&a.shape)};
  const graph_lanes g = lanes_for<T>(a.shape.width);
  run.panels = g.panels;
  launch_by_alignment<T>(
      alignment_of<T>(a),
      [&](auto w) { return find_rows<T, w>(a.x, a.pattern.cols, &run.x) && (a.x.near || a.x.far); },
      [&](auto w) { launch<T, w>(queue, g.lanes, run); });
  return sl_cuda_launched(queue, "aggregate");
}

sley_status run_aggregate(sl_queue *queue, const sl_kernel_args *args) {
  const sl_aggregate_args *a = &args->aggregate;
  if (sl_pattern_work_rows(&a->pattern) <= 0 || sl_features(&a->shape) <= 0)
    return SLEY_OK;
  SL_TRY(sl_cuda_use(queue->device));
  return launch_by_type(a->dtype, [&](auto type) { return launch_of<decltype(type)>(queue, a); });
}

bool aggregate_ok(const sl_kernel_args *args) {
  return sley_dtype_bytes(args->aggregate.dtype) != 0;
}

} // namespace

extern "C" {
extern const sl_kernel sl_cuda_aggregate;
const sl_kernel sl_cuda_aggregate = {.name = "aggregate",
                                     .op = SL_OP_AGGREGATE,
                                     .ok = aggregate_ok,
                                     .cost = sl_cost_of_bytes,
                                     SL_KERNEL_KEEPS_NOTHING,
                                     .run = run_aggregate};
}
