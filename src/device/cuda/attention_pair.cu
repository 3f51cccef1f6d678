/* SPDX-License-Identifier: Apache-2.0 */
/* SL_OP_ATTENTION_ROWS and SL_OP_ATTENTION_COLUMNS of GATV2 and DOT, whose scores are sums over features.
 *
 * Rows and columns are one kernel. A group of lanes has a row of its own, and its entries name pairs of rows,
 * one for the score and one for the gradient of P:
 *
 *             own, score   own, product   entry's, score   entry's, product
 *   rows      q            dy             k (GATV2: v)     v
 *   columns   k (GATV2: v) v              q                dy
 *
 * What limits it is the rate at which the entries' rows are loaded, each once. Of four entries at a time the
 * group's lanes sum parts of the scores and of the products; each lane makes P and dS of one of the four
 * (fold), and all get them by shuffles. A panel of a wide head makes the sums of the whole head.
 *
 * da. A block takes the rows of a block of SL_ATTENTION_BLOCK for parts of them; each lane sums da of all of
 * its rows, the sums are added in the order of shares, and a second kernel adds those of the blocks. */
#include "device/cuda/graph_attention.cuh"

namespace {

using namespace sley;

struct pair_run {
  sl_attention_grad_args a;
  graph_cut cut;
  x_places score, product; /* rows of the entries */
  int64_t panels;
  int64_t row_blocks, chunks; /* of da: blocks of rows; of their parts, at_once each */
};

/* The tasks of a block of da: whole rows, a row per group with the same part; then long rows, together. */
class block_tasks {
  long_state *state;
  int64_t first;
  int at = 0, count;

public:
  int64_t part;
  bool on;

  __device__ __forceinline__ block_tasks(const pair_run &run, int64_t item, long_state *memory)
      : state(memory) {
    begin_long(run.cut, state);
    const int64_t block = item / run.chunks, left = run.cut.rows - block * SL_ATTENTION_BLOCK;
    first = block * SL_ATTENTION_BLOCK;
    count = static_cast<int>(left < SL_ATTENTION_BLOCK ? left : SL_ATTENTION_BLOCK);
    part = (item - block * run.chunks) * run.cut.at_once + graph_place(run.cut).part;
    on = part < run.cut.parts;
    part = on ? part : 0;
  }
  __device__ __forceinline__ bool next(const graph_cut &cut, graph_task *t) {
    const graph_place place(cut);
    t->part = part;
    t->on = on;
    if (at < count) {
      const bool some = at + place.share < count;
      whole_row(cut, first + (some ? at + place.share : 0), t);
      t->on = on && some && t->whole <= cut.longest;
      t->stores = true;
      at += place.shares;
    } else {
      int64_t row;
      if (!next_long(cut, state, first, 1, count, &row))
        return false;
      whole_row(cut, row, t);
      cut_row(place.share, place.shares, t);
    }
    finish_task(cut, t);
    return true;
  }
};

/* A lane's values of the own rows, and of GATV2's a. */
template <class T, int W, sl_attention KIND, bool COLUMNS> struct own_pair {
  static constexpr bool ONE = COLUMNS && KIND == SL_ATTENTION_GATV2; /* both are the row of v */
  accumulator<T> score[lane_values<T>], other[lane_values<T>], a[lane_values<T>];

  __device__ __forceinline__ void load(const sl_attention_grad_args &args, const lane_part<T, W> &mine,
                                       const graph_task &t) {
    const sl_attention_args &of = args.of;
    if (KIND == SL_ATTENTION_GATV2)
      mine.load(static_cast<const T *>(of.a), t.on, a);
    if (!COLUMNS) {
      mine.load(static_cast<const T *>(of.q) + t.row * of.ldq, t.on, score);
      mine.load(static_cast<const T *>(args.dy) + t.row * args.lddy, t.on, other);
    } else {
      mine.load(row_of<const T>(ONE ? of.v : of.k, t.row), t.on, score);
      if (!ONE)
        mine.load(row_of<const T>(of.v, t.row), t.on, other);
    }
  }
  __device__ __forceinline__ accumulator<T> product(int i) const {
    return ONE ? score[i] : other[i];
  }
};

/* Parts of the scores and of the products of GRAPH_AHEAD entries. */
template <class T, int W, class Own> struct pair_parts {
  using A = accumulator<T>;
  A score[GRAPH_AHEAD], product[GRAPH_AHEAD];

  template <sl_attention KIND>
  __device__ __forceinline__ void add(const lane_part<T, W> &mine, const Own &own, A slope,
                                      const vector<T, lane_values<T>> (&score_rows)[GRAPH_AHEAD],
                                      const vector<T, lane_values<T>> (&product_rows)[GRAPH_AHEAD]) {
#pragma unroll
    for (int u = 0; u < GRAPH_AHEAD; u++)
      mine.each([&](int i) {
        const A x = widened(score_rows[u], i);
        if (KIND == SL_ATTENTION_DOT)
          score[u] = multiply_add(own.score[i], x, score[u]);
        else
          score[u] = multiply_add(own.a[i], leaky(own.score[i] + x, slope), score[u]);
        product[u] = multiply_add(own.product(i), widened(product_rows[u], i), product[u]);
      });
  }
};

/* Of a row: the greatest score, the sum, and D. */
template <class A> struct row_stats { A greatest = 0, sum = 1, delta = 0; };

template <class T>
__device__ __forceinline__ row_stats<accumulator<T>> load_stats(const sl_attention_grad_args &a, int64_t row,
                                                                int64_t head) {
  const int64_t at = row * a.of.shape.heads + head;
  const auto *stats = static_cast<const accumulator<T> *>(a.of.stats) + at * 2;
  return {__ldg(stats), __ldg(stats + 1), 0};
}

/* D of a row, which all lanes of its group get. */
template <class T, int W>
__device__ __forceinline__ accumulator<T> make_delta(const pair_run &run, const graph_task &t, int64_t head,
                                                     int lane) {
  constexpr int N = lane_values<T>;
  const sl_attention_args &of = run.a.of;
  accumulator<T> delta = 0;
  for (int64_t panel = 0; panel < run.panels; panel++) {
    const lane_part<T, W> part(of.shape, head, panel, run.cut.lanes, lane);
    accumulator<T> dy[N], y[N];
    part.load(static_cast<const T *>(run.a.dy) + t.row * run.a.lddy, t.on, dy);
    part.load(static_cast<const T *>(of.y) + t.row * of.ldy, t.on, y);
#pragma unroll
    for (int i = 0; i < N; i++)
      delta = multiply_add(dy[i], y[i], delta);
  }
  return sum_of_group(delta, run.cut.lanes);
}

/* Sums of a lane: of P dy (columns), or of da; and of dS with what the score's gradient is. */
template <class T> struct pair_sums { accumulator<T> first[lane_values<T>], second[lane_values<T>]; };

/* Stores what the sums of a row or a column make. */
template <class T, int W, sl_attention KIND, bool COLUMNS>
__device__ __forceinline__ void
store_gradients(const sl_attention_grad_args &a, const graph_task &t, const lane_part<T, W> &mine,
                const accumulator<T> (&weight)[lane_values<T>], accumulator<T> slope, pair_sums<T> &sums) {
  constexpr bool DOT = KIND == SL_ATTENTION_DOT;
#pragma unroll
  for (int i = 0; i < lane_values<T>; i++) {
    sums.second[i] *= DOT ? slope : weight[i];
    if (COLUMNS && !DOT)
      sums.first[i] += sums.second[i];
  }
  if (!COLUMNS)
    mine.store(static_cast<T *>(a.dq) + t.row * a.lddq, sums.second);
  else
    mine.store(row_of<T>(a.dv, t.row), sums.first);
  if (COLUMNS && DOT)
    mine.store(row_of<T>(a.dk, t.row), sums.second);
}

/* One task; what it adds to da stays in sums.first. */
template <class T, int W, sl_attention KIND, bool COLUMNS, bool WIDE>
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
  const int lanes = run.cut.lanes, lane = static_cast<int>(threadIdx.x) & (lanes - 1);
  const int64_t head = quotient(t.part, run.panels), panel = t.part - head * run.panels;
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
  int32_t ahead = lane < t.count ? __ldcs(col + lane) : 0;
#pragma unroll 1
  for (int e = 0; e < t.most; e += lanes) {
    const int left = entries_left(t.count, e, lanes), all = entries_left(t.most, e, lanes);
    const unit score_place = place_of<unit>(run.score, static_cast<uint32_t>(ahead));
    const unit product_place = DA ? score_place : place_of<unit>(run.product, static_cast<uint32_t>(ahead));
    row_stats<A> entry; /* of columns */
    if (COLUMNS && lane < left) {
      entry = load_stats<T>(a, ahead, head);
      entry.delta = __ldg(static_cast<const A *>(a.delta) + ahead * shape.heads + head);
    }
    if (e + lanes + lane < t.count)
      ahead = __ldcs(col + e + lanes + lane);
#pragma unroll 1
    for (int s = 0; s < all; s += GRAPH_AHEAD) {
      vector<T, N> rows[GRAPH_AHEAD], others[DA ? 1 : GRAPH_AHEAD];
#pragma unroll
      for (int u = 0; u < GRAPH_AHEAD; u++) {
        rows[u] =
            mine.gather(scores + static_cast<uint64_t>(__shfl_sync(~0u, score_place, s + u, lanes)) * W);
        if constexpr (!DA)
          others[u] = mine.gather(products +
                                  static_cast<uint64_t>(__shfl_sync(~0u, product_place, s + u, lanes)) * W);
      }
      pair_parts<T, W, pair> parts = {};
      if constexpr (!WIDE) {
        if constexpr (DA)
          parts.template add<KIND>(mine, own, slope, rows, rows);
        else
          parts.template add<KIND>(mine, own, slope, rows, others);
      } else {
#pragma unroll 1
        for (int64_t at = 0; at < run.panels; at++) {
          const lane_part<T, W> there(shape, head, at, lanes, lane);
          pair theirs;
          theirs.load(a, there, t);
          vector<T, N> score_rows[GRAPH_AHEAD], product_rows[GRAPH_AHEAD];
          const T *from = there.gather_from(run.score.base, lane);
          const T *from_other = there.gather_from(run.product.base, lane);
#pragma unroll
          for (int u = 0; u < GRAPH_AHEAD; u++) {
            score_rows[u] =
                there.gather(from + static_cast<uint64_t>(__shfl_sync(~0u, score_place, s + u, lanes)) * W);
            product_rows[u] = there.gather(
                from_other + static_cast<uint64_t>(__shfl_sync(~0u, product_place, s + u, lanes)) * W);
          }
          parts.template add<KIND>(there, theirs, slope, score_rows, product_rows);
        }
      }
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
  if (t.joint) {
    add_shares<N>(run.cut, sums.second, room);
    if (COLUMNS)
      add_shares<N>(run.cut, sums.first, room);
  }
  if (t.stores)
    store_gradients<T, W, KIND, COLUMNS>(a, t, mine, own.a, slope, sums);
}

template <class T, int W, sl_attention KIND, bool COLUMNS, bool WIDE>
__global__ void __launch_bounds__(GRAPH_THREADS, WIDE || sizeof(T) == 8 || W == 1 ? 2 : 3)
    pair_gradients(const __grid_constant__ pair_run run) {
  using A = accumulator<T>;
  __shared__ long_state state;
  __shared__ A room[lane_values<T> * GRAPH_THREADS];
  graph_task t;
  pair_sums<T> sums = {};
  if constexpr (COLUMNS || KIND == SL_ATTENTION_DOT) {
    graph_tasks tasks(run.cut, &state);
    while (tasks.next(run.cut, &t))
      do_task<T, W, KIND, COLUMNS, WIDE>(run, t, room, sums);
  } else {
    const int lanes = run.cut.lanes, lane = static_cast<int>(threadIdx.x) & (lanes - 1);
    for (int64_t item = blockIdx.x; item < run.row_blocks * run.chunks; item += gridDim.x) {
      block_tasks tasks(run, item, &state);
      sums = {};
      while (tasks.next(run.cut, &t))
        do_task<T, W, KIND, COLUMNS, WIDE>(run, t, room, sums);
      add_shares<lane_values<T>>(run.cut, sums.first, room);
      const int64_t head = quotient(tasks.part, run.panels);
      const lane_part<T, W> mine(run.a.of.shape, head, tasks.part - head * run.panels, lanes, lane);
      if (tasks.on && graph_place(run.cut).share == 0)
        mine.store(static_cast<A *>(run.a.work) + item / run.chunks * features_of(run.a.of.shape),
                   sums.first);
    }
  }
}

/* da: the sum of the sums of blocks of rows. A lane of each warp takes a feature. */
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

template <class T, int W, sl_attention KIND, bool COLUMNS>
void launch_kind(sl_queue *queue, const pair_run &run) {
  constexpr bool DA = !COLUMNS && KIND == SL_ATTENTION_GATV2;
  const cudaStream_t stream = sl_cuda_stream(queue);
  const int64_t items = run.row_blocks * run.chunks;
  const unsigned grid = DA ? static_cast<unsigned>(items < INT32_MAX ? items : INT32_MAX) : grid_of(run.cut);
  if (run.panels > 1)
    pair_gradients<T, W, KIND, COLUMNS, true><<<grid, GRAPH_THREADS, 0, stream>>>(run);
  else
    pair_gradients<T, W, KIND, COLUMNS, false><<<grid, GRAPH_THREADS, 0, stream>>>(run);
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

/* Where the entries' rows lie; whether 32 bits reach them. */
template <class T, int W> bool find_operands(pair_run *run, bool columns) {
  const sl_attention_grad_args &a = run->a;
  const int64_t cols = a.of.pattern.cols;
  const bool dot = a.of.kind == SL_ATTENTION_DOT;
  const sl_split_rows score = columns ? plain_rows(a.of.q, cols, a.of.ldq) : dot ? a.of.k : a.of.v;
  const sl_split_rows product = columns ? plain_rows(a.dy, cols, a.lddy) : a.of.v;
  const bool reached = find_rows<T, W>(score, cols, &run->score);
  return find_rows<T, W>(product, cols, &run->product) && reached;
}

template <class T> bool are_aligned(pair_run *run, bool columns) {
  constexpr int64_t BYTES = sizeof(T), SUM = sizeof(accumulator<T>);
  const sl_attention_grad_args &a = run->a;
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
  found.reach(find_operands<T, lane_values<T>>(run, columns));
  return found.fits(lane_values<T> * BYTES);
}

/* With few blocks of rows, each takes fewer parts, so that there are more: about these. */
enum { DA_BLOCKS = 512 };

void cut_blocks(pair_run *run) {
  graph_cut *cut = &run->cut;
  run->row_blocks = (cut->rows + SL_ATTENTION_BLOCK - 1) / SL_ATTENTION_BLOCK;
  while (cut->at_once > 1 && run->row_blocks * ((cut->parts + cut->at_once - 1) / cut->at_once) < DA_BLOCKS)
    cut->at_once /= 2;
  run->chunks = (cut->parts + cut->at_once - 1) / cut->at_once;
}

template <class T> sley_status launch_of(sl_queue *queue, const sl_attention_grad_args &a, bool columns) {
  const graph_lanes g = lanes_for<T>(a.of.shape.width);
  pair_run run = {a, {}, {}, {}, g.panels, 0, 0};
  run.cut = cut_rows(queue, a.of.pattern, a.of.shape.heads * g.panels, g.lanes, false);
  cut_blocks(&run);
  if (a.of.pattern.rows <= 0) {
  } else if (are_aligned<T>(&run, columns)) {
    launch<T, lane_values<T>>(queue, run, columns);
  } else {
    find_operands<T, 1>(&run, columns);
    launch<T, 1>(queue, run, columns);
  }
  SL_TRY(sl_cuda_launched(queue, columns ? "attention-columns" : "attention-rows"));
  const int64_t features = sl_features(&a.of.shape);
  if (columns || a.of.kind != SL_ATTENTION_GATV2 || features <= 0)
    return SLEY_OK;
  using A = typename value<T>::sum;
  add_blocks<A><<<static_cast<unsigned>((features + 31) / 32), GRAPH_THREADS, 0, sl_cuda_stream(queue)>>>(
      static_cast<const A *>(a.work), run.row_blocks, features, static_cast<A *>(a.da));
  return sl_cuda_launched(queue, "attention-rows");
}

} // namespace

sley_status sl_cuda_pair_gradients(sl_queue *queue, const sl_attention_grad_args *args, bool columns) {
  return launch_by_type(args->of.dtype,
                        [&](auto type) { return launch_of<decltype(type)>(queue, *args, columns); });
}
