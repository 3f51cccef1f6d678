/* SPDX-License-Identifier: Apache-2.0 */
/* SL_OP_ATTENTION_ROWS and SL_OP_ATTENTION_COLUMNS of GATV2 and DOT, whose scores are sums over features.
 *
 * Rows and columns share one kernel. A group of lanes has two rows of its own, and each entry names two more,
 * one for the score and one for the gradient of P:
 *
 *             own, score     own, product   entry's, score   entry's, product
 *   rows      q              dy             k (GATV2: v)     v
 *   columns   k (GATV2: v)   v              q                dy
 *
 * The limit is the rate of loads of the entries' rows, each loaded once. The group's lanes compute parts of
 * the scores and of the products of four entries at a time; each lane computes P and dS for one of the four
 * (fold), and shuffles pass them to all. Each panel of a wide head computes the sums of the whole head.
 *
 * da: a block takes, for some parts, the rows of one block of SL_ATTENTION_BLOCK rows, or some of the long
 * rows. Each lane sums da over all of its rows, the sums are added in the order of shares, and a second
 * kernel adds the sums of all blocks. */
#include "device/cuda/graph/attention_pair.cuh"

namespace {

using namespace sley;

/* Adds parts of the sums for heads of several panels; places as in gather_rows. */
template <class T, int W, sl_attention KIND, bool COLUMNS>
__device__ __forceinline__ void add_wide(const pair_run &run, const graph_task &t, int64_t head,
                                         graph_unit<W> score_place, graph_unit<W> product_place, int s,
                                         int lane, pair_parts<T, W, own_pair<T, W, KIND, COLUMNS>> &parts) {
  const int lanes = run.cut.lanes;
#pragma unroll 1
  for (int64_t panel = 0; panel < run.panels; panel++) {
    const lane_part<T, W> mine(run.a.of.shape, head, panel, lanes, lane);
    own_pair<T, W, KIND, COLUMNS> own;
    own.load(run.a, mine, t);
    vector<T, lane_values<T>> rows[GRAPH_AHEAD], others[GRAPH_AHEAD];
    gather_rows(mine, mine.gather_from(run.score.base, lane), score_place, s, lanes, rows);
    gather_rows(mine, mine.gather_from(run.product.base, lane), product_place, s, lanes, others);
    parts.template add<KIND>(mine, own, static_cast<accumulator<T>>(run.a.of.slope), rows, others);
  }
}

/* Runs one task; its contribution to da stays in sums.first. */
template <class T, int W, sl_attention KIND, bool COLUMNS, bool WIDE, int LANES>
__device__ __forceinline__ void do_task(const pair_run &run, const graph_task &t, accumulator<T> *room,
                                        pair_sums<T> &sums) {
  constexpr int N = lane_values<T>;
  constexpr bool DOT = KIND == SL_ATTENTION_DOT, DA = !COLUMNS && !DOT;
  using A = accumulator<T>;
  using unit = graph_unit<W>;
  using pair = own_pair<T, W, KIND, COLUMNS>;
  const sl_attention_grad_args &a = run.a;
  const sl_heads &shape = a.of.shape;
  const A slope = static_cast<A>(a.of.slope);
  const int lanes = lanes_of<LANES>(run.cut), lane = static_cast<int>(threadIdx.x) & (lanes - 1);
  const int64_t head = head_of<LANES>(t, run.panels), panel = panel_of<LANES>(t, run.panels, head);
  const lane_part<T, W> mine(shape, head, panel, lanes, lane);
  const T *scores = mine.gather_from(run.score.base, lane),
          *products = mine.gather_from(run.product.base, lane);
  const int32_t *col = a.of.pattern.col + t.begin;
  pair own;
  own.load(a, mine, t);
  row_stats<A> stats;
  if (!COLUMNS) {
    if (t.on)
      stats = load_stats<T>(a, t.row, head);
    stats.delta = make_delta<T, W>(run, t, head, lane);
    if (t.stores && panel == 0 && lane == 0)
      static_cast<A *>(a.delta)[t.row * shape.heads + head] = stats.delta;
  }
#pragma unroll
  for (int i = 0; i < N; i++) {
    sums.second[i] = 0;
    if (!DA)
      sums.first[i] = 0;
  }
  int32_t ahead = t.first;
#pragma unroll 1
  for (int e = 0; e < t.most; e += lanes) {
    const int left = entries_left(t.count, e, lanes), all = entries_left(t.most, e, lanes);
    const unit score_place = place_of<unit>(run.score, static_cast<uint32_t>(ahead));
    const unit product_place = DA ? score_place : place_of<unit>(run.product, static_cast<uint32_t>(ahead));
    row_stats<A> entry; /* for columns */
    if (COLUMNS && lane < left) {
      entry = load_stats<T>(a, ahead, head);
      entry.delta = __ldg(static_cast<const A *>(a.delta) + ahead * shape.heads + head);
    }
    if (e + lanes + lane < t.count)
      ahead = __ldcs(col + e + lanes + lane);
#pragma unroll 1
    for (int s = 0; s < all; s += GRAPH_AHEAD) {
      vector<T, N> rows[GRAPH_AHEAD], others[DA ? 1 : GRAPH_AHEAD];
      gather_rows(mine, scores, score_place, s, lanes, rows);
      if constexpr (!DA)
        gather_rows(mine, products, product_place, s, lanes, others);
      pair_parts<T, W, pair> parts = {};
      if constexpr (WIDE)
        add_wide<T, W, KIND, COLUMNS>(run, t, head, score_place, product_place, s, lane, parts);
      else if constexpr (DA)
        parts.template add<KIND>(mine, own, slope, rows, rows);
      else
        parts.template add<KIND>(mine, own, slope, rows, others);
      const A dot = fold(parts.score, lanes, lane), product = fold(parts.product, lanes, lane);
      const int mine_of_four = s + lane % GRAPH_AHEAD;
      row_stats<A> now = stats;
      if (COLUMNS)
        now = {__shfl_sync(~0u, entry.greatest, mine_of_four, lanes),
               __shfl_sync(~0u, entry.sum, mine_of_four, lanes),
               __shfl_sync(~0u, entry.delta, mine_of_four, lanes)};
      A p = 0, ds = 0;
      if (mine_of_four < left) {
        p = exponential((DOT ? slope * dot : dot) - now.greatest) / now.sum;
        ds = p * (product - now.delta);
      }
#pragma unroll
      for (int u = 0; u < GRAPH_AHEAD; u++) {
        const A by = __shfl_sync(~0u, ds, u, lanes);
        const A by_p = COLUMNS ? __shfl_sync(~0u, p, u, lanes) : 0;
        if (s + u < left)
#pragma unroll
          for (int i = 0; i < N; i++) {
            const A x = widened(rows[u], i), sum = own.score[i] + x;
            if (DOT)
              sums.second[i] = multiply_add(by, x, sums.second[i]);
            else
              sums.second[i] += sum < 0 ? slope * by : by;
            if constexpr (DA)
              sums.first[i] = multiply_add(by, leaky(sum, slope), sums.first[i]);
            else if constexpr (COLUMNS)
              sums.first[i] = multiply_add(by_p, widened(others[u], i), sums.first[i]);
          }
      }
    }
  }
  if (joins<LANES>(run.cut, t)) {
    add_shares<N>(run.cut, t, sums.second, room);
    if (COLUMNS)
      add_shares<N>(run.cut, t, sums.first, room);
  }
  if (t.stores)
    store_gradients<T, W, KIND, COLUMNS>(a, t, mine, own.a, slope, sums);
}

/* Blocks per multiprocessor, as the registers allow. Since each entry loads two rows, few blocks suffice to
 * keep it loading. */
template <class T, int W> constexpr int pair_blocks(sl_attention kind, bool columns, bool wide) {
  const bool more = columns || kind == SL_ATTENTION_GATV2;
  if (wide && W == 1)
    return 1;
  return wide || W == 1 || sizeof(T) == 8 || more ? 2 : GRAPH_BLOCKS;
}

/* LANES: as in aggregate (aggregate.cu); 0 for the rows of GATV2, whose da needs blocks. */
template <class T, int W, sl_attention KIND, bool COLUMNS, bool WIDE, int LANES>
__global__ void __launch_bounds__(GRAPH_THREADS, pair_blocks<T, W>(KIND, COLUMNS, WIDE))
    pair_gradients(const __grid_constant__ pair_run run) {
  using A = accumulator<T>;
  __shared__ A room[lane_values<T> * GRAPH_THREADS];
  graph_task t;
  pair_sums<T> sums = {};
  if constexpr (COLUMNS || KIND == SL_ATTENTION_DOT) {
    typename tasks_of<LANES>::type tasks(run.cut);
    while (tasks.next(run.cut, &t))
      do_task<T, W, KIND, COLUMNS, WIDE, LANES>(run, t, room, sums);
  } else {
    const int lanes = run.cut.lanes, lane = static_cast<int>(threadIdx.x) & (lanes - 1);
    for (int64_t item = blockIdx.x; item < (run.row_blocks + run.long_blocks) * run.cut.chunks;
         item += gridDim.x) {
      block_tasks tasks(run, item);
      sums = {};
      while (tasks.next(run, &t))
        do_task<T, W, KIND, COLUMNS, WIDE, LANES>(run, t, room, sums);
      add_shares<lane_values<T>>(run.cut, tasks.all(run.cut), sums.first, room);
      const int64_t head = quotient(tasks.part, run.panels);
      const lane_part<T, W> mine(run.a.of.shape, head, tasks.part - head * run.panels, lanes, lane);
      if (tasks.on && graph_place(run.cut).share == 0)
        mine.store(static_cast<A *>(run.a.work) + item / run.cut.chunks * features_of(run.a.of.shape),
                   sums.first);
    }
  }
}

/* Sums da over the blocks of rows. Lane l of each warp takes feature l of a group of 32. */
template <class A>
__global__ void __launch_bounds__(GRAPH_THREADS)
    add_blocks(const A *work, int64_t blocks, int64_t features, A *da) {
  __shared__ A room[GRAPH_WARPS][32];
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  const int64_t f = static_cast<int64_t>(blockIdx.x) * 32 + lane;
  A sum = 0;
  if (f < features)
#pragma unroll 8
    for (int64_t b = warp; b < blocks; b += GRAPH_WARPS)
      sum += work[b * features + f];
  room[warp][lane] = sum;
  __syncthreads();
  if (warp == 0 && f < features) {
    for (int w = 1; w < GRAPH_WARPS; w++)
      sum += room[w][lane];
    da[f] = sum;
  }
}

template <class T, int W, sl_attention KIND, bool COLUMNS, bool WIDE>
void launch_width(sl_queue *queue, int lanes, pair_run run) {
  const cudaStream_t stream = sl_cuda_stream(queue);
  if constexpr (!COLUMNS && KIND == SL_ATTENTION_GATV2) {
    const int64_t items = (run.row_blocks + run.long_blocks) * run.cut.chunks;
    const unsigned grid = static_cast<unsigned>(items < INT32_MAX ? items : INT32_MAX);
    pair_gradients<T, W, KIND, COLUMNS, WIDE, 0><<<grid, GRAPH_THREADS, 0, stream>>>(run);
  } else {
    cut_and_launch<W == lane_values<T> && !WIDE>(
        queue, run.a.of.pattern, run.a.of.shape.heads * run.panels, lanes, false, &run.cut, [&](auto n) {
          pair_gradients<T, W, KIND, COLUMNS, WIDE, n><<<run.cut.blocks, GRAPH_THREADS, 0, stream>>>(run);
        });
  }
}

template <class T, int W, sl_attention KIND, bool COLUMNS>
void launch_kind(sl_queue *queue, const pair_run &run) {
  if (run.panels > 1)
    launch_width<T, W, KIND, COLUMNS, true>(queue, run.cut.lanes, run);
  else
    launch_width<T, W, KIND, COLUMNS, false>(queue, run.cut.lanes, run);
}

template <class T, int W> void launch(sl_queue *queue, const pair_run &run, bool columns) {
  const bool dot = run.a.of.kind == SL_ATTENTION_DOT;
  if (dot && columns)
    launch_kind<T, W, SL_ATTENTION_DOT, true>(queue, run);
  else if (dot)
    launch_kind<T, W, SL_ATTENTION_DOT, false>(queue, run);
  else if (columns)
    launch_kind<T, W, SL_ATTENTION_GATV2, true>(queue, run);
  else
    launch_kind<T, W, SL_ATTENTION_GATV2, false>(queue, run);
}

/* Finds the places of the entries' rows; returns whether 32 bits suffice. */
template <class T, int W> bool find_operands(pair_run *run, bool columns) {
  const sl_attention_grad_args &a = run->a;
  const int64_t cols = a.of.pattern.cols;
  const bool dot = a.of.kind == SL_ATTENTION_DOT;
  const sl_split_rows score = columns ? plain_rows(a.of.q, cols, a.of.ldq) : dot ? a.of.k : a.of.v;
  const sl_split_rows product = columns ? plain_rows(a.dy, cols, a.lddy) : a.of.v;
  const bool reached = find_rows<T, W>(score, cols, &run->score);
  return find_rows<T, W>(product, cols, &run->product) && reached;
}

template <class T> graph_alignment alignment_of(const sl_attention_grad_args &a, bool columns) {
  constexpr int64_t BYTES = sizeof(T), SUM = sizeof(accumulator<T>);
  const int64_t rows = a.of.pattern.rows;
  graph_alignment found;
  add_alignment(a.of, columns ? rows : a.of.pattern.cols, BYTES, &found);
  found.add(a.dy, a.lddy, BYTES);
  if (columns) {
    found.add(a.dv, rows, BYTES);
    if (a.of.kind == SL_ATTENTION_DOT)
      found.add(a.dk, rows, BYTES);
  } else {
    found.add(a.of.y, a.of.ldy, BYTES);
    found.add(a.dq, a.lddq, BYTES);
    if (a.of.kind == SL_ATTENTION_GATV2)
      found.add_items(a.work, SUM, BYTES);
  }
  return found;
}

/* If there are few blocks of rows, each takes fewer parts, so that there are more blocks: about this many. */
enum { DA_BLOCKS = 512 };

void cut_blocks(pair_run *run) {
  run->row_blocks = sl_attention_blocks(run->cut.rows);
  if (run->cut.long_row) {
    run->long_rows = static_cast<int>(run->a.of.pattern.long_rows);
    run->long_blocks = static_cast<int>(sl_attention_long_blocks(run->long_rows));
  }
  for (int lanes = 32; lanes >= run->cut.lanes; lanes /= 2) {
    set_at_once(&run->cut, lanes);
    if (run->row_blocks * run->cut.chunks >= DA_BLOCKS)
      return;
  }
}

template <class T> sley_status launch_of(sl_queue *queue, const sl_attention_grad_args &a, bool columns) {
  const graph_lanes g = lanes_for<T>(a.of.shape.width);
  pair_run run = {a, {}, {}, {}, g.panels, 0, 0, 0};
  run.cut = cut_rows(queue, a.of.pattern, a.of.shape.heads * g.panels, g.lanes, LANES_OF_LINES, false);
  if (!columns && a.of.kind == SL_ATTENTION_GATV2)
    cut_blocks(&run);
  const char *name = columns ? "attention-columns" : "attention-rows";
  if (a.of.pattern.rows > 0) {
    launch_by_alignment<T>(
        alignment_of<T>(a, columns), [&](auto w) { return find_operands<T, w>(&run, columns); },
        [&](auto w) { launch<T, w>(queue, run, columns); });
    SL_TRY(sl_cuda_launched(queue, name));
  }
  const int64_t features = sl_features(&a.of.shape);
  if (columns || a.of.kind != SL_ATTENTION_GATV2 || features <= 0)
    return SLEY_OK;
  using A = typename value<T>::sum;
  add_blocks<A><<<static_cast<unsigned>((features + 31) / 32), GRAPH_THREADS, 0, sl_cuda_stream(queue)>>>(
      static_cast<const A *>(a.work), run.row_blocks + run.long_blocks, features, static_cast<A *>(a.da));
  return sl_cuda_launched(queue, name);
}

} // namespace

sley_status sl_cuda_pair_gradients(sl_queue *queue, const sl_attention_grad_args *args, bool columns) {
  return launch_by_type(args->of.dtype,
                        [&](auto type) { return launch_of<decltype(type)>(queue, *args, columns); });
}
