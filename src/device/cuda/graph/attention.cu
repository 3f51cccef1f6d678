/* SPDX-License-Identifier: Apache-2.0 */
/* SL_OP_ATTENTION: score, softmax and weighted sum of each row's entries in one pass.
 *
 * The limit is the rate of loads of rows of v (and k), at practically random addresses; each is loaded once.
 * A group of lanes takes a head of a row (pattern_rows.cuh), or a panel of a wide head. It keeps the greatest
 * score so far, the sum of exp(score - greatest), and the weighted sum of v; when the greatest score grows,
 * the sums are rescaled (online softmax: Milakov and Gimelshein 2018).
 *
 * GAT: each lane computes the score of one entry, for as many entries as the group has lanes, while the first
 * rows of v are loaded. GATV2 and DOT: the group's lanes compute parts of the scores of four entries at a
 * time, each lane computes exp for one of the four (fold), and shuffles pass it to all. Each panel of a wide
 * head computes the scores of the whole head, in the same order.
 *
 * Long rows: the groups' sums are rescaled to the greatest score of all groups and added. */
#include "device/cuda/graph/attention.cuh"

namespace {

using namespace sley;

struct attention_run {
  sl_attention_args a;
  graph_cut cut;
  x_places k, v; /* k: for DOT */
  int64_t panels;
  bool side_fits; /* rows of side may be written as vectors */
};

/* A lane's sums of a row. sum: of P. bent: of P leaky', with SIDE. */
template <class T, bool SIDE> struct attention_sums {
  using A = accumulator<T>;
  A most, sum, bent;
  A y[lane_values<T>], side[lane_values<T>];

  __device__ __forceinline__ void scale(A by) {
    sum *= by;
    if (SIDE)
      bent *= by;
#pragma unroll
    for (int i = 0; i < lane_values<T>; i++) {
      y[i] *= by;
      if (SIDE)
        side[i] *= by;
    }
  }
  /* Sets the greatest score, which never decreases, and rescales the sums. Returns the number to subtract
   * from scores: the greatest, or 0 while all scores are -infinity, so that exp returns 0 until a greater
   * score comes. If there is none, the division by the sum yields NaN. */
  __device__ __forceinline__ A raise(A greatest) {
    if (most != greatest)
      scale(exponential(most - finite(greatest)));
    most = greatest;
    return finite(greatest);
  }
  static __device__ __forceinline__ A finite(A greatest) {
    return greatest == minus_infinity(A()) ? 0 : greatest;
  }
  /* Adds an entry's terms: P, not yet divided by the sum, and P leaky'. */
  __device__ __forceinline__ void add(const vector<T, lane_values<T>> &v, A p, A p_side) {
    sum += p;
    if (SIDE)
      bent += p_side;
#pragma unroll
    for (int i = 0; i < lane_values<T>; i++) {
      y[i] = multiply_add(p, widened(v, i), y[i]);
      if (SIDE)
        side[i] = multiply_add(p_side, widened(v, i), side[i]);
    }
  }
  /* Joins the sums of all shares of a task. */
  __device__ __forceinline__ void join(const graph_cut &cut, const graph_task &t, A *room) {
    raise(largest_of_shares(cut, t, most, room));
    add_shares<lane_values<T>>(cut, t, y, room);
    if (SIDE)
      add_shares<lane_values<T>>(cut, t, side, room);
    A two[2] = {sum, bent};
    add_shares<2>(cut, t, two, room);
    sum = two[0];
    bent = two[1];
  }
};

/* EXTRA: for GAT, with side outputs; for the other kinds, heads of several panels. */
template <sl_attention KIND, bool EXTRA> constexpr bool has_side = EXTRA &&KIND == SL_ATTENTION_GAT;
template <sl_attention KIND, bool EXTRA> constexpr bool is_wide = EXTRA &&KIND != SL_ATTENTION_GAT;

/* Adds this lane's parts of the scores of GRAPH_AHEAD entries. in: its values of their rows of v, or for DOT
 * of k. */
template <class T, int W, sl_attention KIND>
__device__ __forceinline__ void
add_scores(const lane_part<T, W> &mine, const own_query<T, W> &own, accumulator<T> slope,
           const vector<T, lane_values<T>> (&in)[GRAPH_AHEAD], accumulator<T> (&part)[GRAPH_AHEAD]) {
#pragma unroll
  for (int u = 0; u < GRAPH_AHEAD; u++)
    mine.each([&](int i) {
      const accumulator<T> x = widened(in[u], i);
      if (KIND == SL_ATTENTION_DOT)
        part[u] = multiply_add(own.q[i], x, part[u]);
      else
        part[u] = multiply_add(own.a[i], leaky(own.q[i] + x, slope), part[u]);
    });
}

/* Adds the same for heads of several panels. q: the row of q; place: rows of v, or for DOT of k, as in
 * gather_rows. */
template <class T, int W, sl_attention KIND>
__device__ __forceinline__ void add_wide_scores(const attention_run &run, const graph_task &t, int64_t head,
                                                const T *q, graph_unit<W> place, int s, int lane,
                                                accumulator<T> (&part)[GRAPH_AHEAD]) {
  const accumulator<T> slope = static_cast<accumulator<T>>(run.a.slope);
#pragma unroll 1
  for (int64_t panel = 0; panel < run.panels; panel++) {
    const lane_part<T, W> mine(run.a.shape, head, panel, run.cut.lanes, lane);
    own_query<T, W> own;
    own.template load<KIND>(mine, q, run.a.a, t.on);
    vector<T, lane_values<T>> rows[GRAPH_AHEAD];
    const void *base = KIND == SL_ATTENTION_DOT ? run.k.base : run.v.base;
    gather_rows(mine, mine.gather_from(base, lane), place, s, run.cut.lanes, rows);
    add_scores<T, W, KIND>(mine, own, slope, rows, part);
  }
}

template <class T, int W, bool SIDE>
__device__ __forceinline__ void store_row(const attention_run &run, const graph_task &t, int64_t head,
                                          const lane_part<T, W> &mine, bool first,
                                          attention_sums<T, SIDE> &sums) {
  using A = accumulator<T>;
  const sl_attention_args &a = run.a;
  const int64_t heads = a.shape.heads, features = features_of(a.shape);
  const A inverse = t.whole > 0 ? 1 / sums.sum : 0;
  const A sum = sums.sum > 0 ? sums.sum : sums.sum * inverse; /* NaN like Y if all scores are -infinity */
  sums.scale(inverse);
  mine.store(static_cast<T *>(a.y) + t.row * a.ldy, sums.y);
  if (a.stats && first) {
    A *stats = static_cast<A *>(a.stats) + (t.row * heads + head) * 2;
    stats[0] = t.whole > 0 ? sums.most : 0;
    stats[1] = sum;
  }
  if (SIDE) {
    A *side = static_cast<A *>(a.side) + t.row * (features + heads);
    if (run.side_fits)
      mine.store(side, sums.side);
    else
      mine.store_singly(side, sums.side);
    if (first)
      side[features + head] = sums.bent;
  }
}

/* LANES: as in aggregate (aggregate.cu). */
template <class T, int W, sl_attention KIND, bool EXTRA, int LANES>
__global__ void __launch_bounds__(GRAPH_THREADS, attention_blocks<T, W>(KIND, EXTRA))
    attention(const __grid_constant__ attention_run run) {
  constexpr int N = lane_values<T>;
  constexpr bool GAT = KIND == SL_ATTENTION_GAT, DOT = KIND == SL_ATTENTION_DOT;
  constexpr bool SIDE = has_side<KIND, EXTRA>, WIDE = is_wide<KIND, EXTRA>;
  using A = accumulator<T>;
  using unit = graph_unit<W>;
  __shared__ A room[N * GRAPH_THREADS];
  const sl_attention_args &a = run.a;
  const A slope = static_cast<A>(a.slope);
  const int lanes = lanes_of<LANES>(run.cut), lane = static_cast<int>(threadIdx.x) & (lanes - 1);
  typename tasks_of<LANES>::type tasks(run.cut);
  graph_task t;
  while (tasks.next(run.cut, &t)) {
    const int64_t head = head_of<LANES>(t, run.panels), panel = panel_of<LANES>(t, run.panels, head);
    const lane_part<T, W> mine(a.shape, head, panel, lanes, lane);
    const T *v = mine.gather_from(run.v.base, lane), *k = DOT ? mine.gather_from(run.k.base, lane) : nullptr;
    const T *q = static_cast<const T *>(a.q) + t.row * a.ldq;
    const int32_t *col = a.pattern.col + t.begin;
    own_query<T, W> own;
    A query = 0;
    if constexpr (GAT)
      query = t.on ? value_at(q + head) : 0;
    else
      own.template load<KIND>(mine, q, a.a, t.on);
    attention_sums<T, SIDE> sums = {};
    sums.most = minus_infinity(A());
    int32_t ahead = t.first;
#pragma unroll 1
    for (int e = 0; e < t.most; e += lanes) {
      const int left = entries_left(t.count, e, lanes), all = entries_left(t.most, e, lanes);
      const int32_t n = ahead;
      if (e + lanes + lane < t.count)
        ahead = __ldcs(col + e + lanes + lane);
      const unit place = place_of<unit>(run.v, static_cast<uint32_t>(n));
      const unit key_place = DOT ? place_of<unit>(run.k, static_cast<uint32_t>(n)) : 0;
      A key = 0, p = 0, bent = 0;
      if (GAT && lane < left)
        key = value_at(row_of<const T>(a.k, n) + head);
#pragma unroll 1
      for (int s = 0; s < all; s += GRAPH_AHEAD) {
        vector<T, N> in[GRAPH_AHEAD], keys[GRAPH_AHEAD];
        gather_rows(mine, v, place, s, lanes, in);
        if constexpr (DOT && !WIDE)
          gather_rows(mine, k, key_place, s, lanes, keys);
        if constexpr (GAT) {
          if (s == 0) { /* the scores of all entries that the lanes hold */
            const bool below = query + key < 0;
            const A score = lane < left ? leaky(query + key, slope) : minus_infinity(A());
            const A base = sums.raise(larger(sums.most, largest_of_group(score, lanes)));
            p = lane < left ? exponential(score - base) : 0;
            bent = below ? slope * p : p;
          }
        } else {
          A part[GRAPH_AHEAD] = {};
          if constexpr (WIDE)
            add_wide_scores<T, W, KIND>(run, t, head, q, DOT ? key_place : place, s, lane, part);
          else
            add_scores<T, W, KIND>(mine, own, slope, DOT ? keys : in, part);
          const A dot = fold(part, lanes, lane);
          const bool there = s + lane % GRAPH_AHEAD < left;
          const A score = there ? DOT ? slope * dot : dot : minus_infinity(A());
          const A base = sums.raise(larger(sums.most, largest_of_group(score, GRAPH_AHEAD)));
          p = there ? exponential(score - base) : 0;
        }
#pragma unroll
        for (int u = 0; u < GRAPH_AHEAD; u++) {
          const A by = __shfl_sync(~0u, p, GAT ? s + u : u, lanes);
          const A by_side = SIDE ? __shfl_sync(~0u, bent, s + u, lanes) : 0;
          if (s + u < left)
            sums.add(in[u], by, by_side);
        }
      }
    }
    if (joins<LANES>(run.cut, t))
      sums.join(run.cut, t, room);
    if (t.stores)
      store_row<T, W, SIDE>(run, t, head, mine, panel == 0 && lane == 0, sums);
  }
}

template <class T, int W, sl_attention KIND, bool EXTRA>
void launch_kind(sl_queue *queue, int lanes, attention_run run) {
  cut_and_launch<W == lane_values<T> && !is_wide<KIND, EXTRA>>(
      queue, run.a.pattern, run.a.shape.heads * run.panels, lanes, false, &run.cut, [&](auto n) {
        attention<T, W, KIND, EXTRA, n><<<run.cut.blocks, GRAPH_THREADS, 0, sl_cuda_stream(queue)>>>(run);
      });
}

template <class T, int W, sl_attention KIND>
void launch_one(sl_queue *queue, int lanes, const attention_run &run) {
  if (KIND == SL_ATTENTION_GAT ? run.a.side != nullptr : run.panels > 1)
    launch_kind<T, W, KIND, true>(queue, lanes, run);
  else
    launch_kind<T, W, KIND, false>(queue, lanes, run);
}

template <class T, int W> void launch(sl_queue *queue, int lanes, const attention_run &run) {
  if (run.a.kind == SL_ATTENTION_GAT)
    launch_one<T, W, SL_ATTENTION_GAT>(queue, lanes, run);
  else if (run.a.kind == SL_ATTENTION_GATV2)
    launch_one<T, W, SL_ATTENTION_GATV2>(queue, lanes, run);
  else
    launch_one<T, W, SL_ATTENTION_DOT>(queue, lanes, run);
}

template <class T, int W> bool find_operands(attention_run *run) {
  const int64_t cols = run->a.pattern.cols;
  const bool reached = find_rows<T, W>(run->a.v, cols, &run->v);
  return (run->a.kind != SL_ATTENTION_DOT || find_rows<T, W>(run->a.k, cols, &run->k)) && reached;
}

template <class T> graph_alignment alignment_of(const sl_attention_args &a) {
  graph_alignment found;
  add_alignment(a, a.pattern.cols, sizeof(T), &found);
  found.add(a.y, a.ldy, sizeof(T));
  return found;
}

template <class T> sley_status launch_of(sl_queue *queue, const sl_attention_args &a) {
  const graph_lanes g = lanes_for<T>(a.shape.width);
  attention_run run = {a, {}, {}, {}, g.panels, side_fits<T>(a)};
  launch_by_alignment<T>(
      alignment_of<T>(a), [&](auto w) { return find_operands<T, w>(&run); },
      [&](auto w) { launch<T, w>(queue, g.lanes, run); });
  return sl_cuda_launched(queue, "attention");
}

sley_status run_attention(sl_queue *queue, const sl_kernel_args *args) {
  const sl_attention_args *a = &args->attention;
  if (sl_pattern_work_rows(&a->pattern) <= 0 || a->shape.heads <= 0)
    return SLEY_OK;
  SL_TRY(sl_cuda_use(queue->device));
  return launch_by_type(a->dtype, [&](auto type) { return launch_of<decltype(type)>(queue, *a); });
}

bool attention_ok(const sl_kernel_args *args) {
  return sley_dtype_bytes(args->attention.dtype) != 0;
}

} // namespace

extern "C" {
extern const sl_kernel sl_cuda_attention;
const sl_kernel sl_cuda_attention = {.name = "attention",
                                     .op = SL_OP_ATTENTION,
                                     .ok = attention_ok,
                                     .cost = sl_cost_of_bytes,
                                     SL_KERNEL_KEEPS_NOTHING,
                                     .run = run_attention};
}
