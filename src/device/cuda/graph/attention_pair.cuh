/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the kernels of attention_pair.cu: their tasks, and what a lane holds of a row or column and of
 * its entries. */
#ifndef SLEY_DEVICE_CUDA_GRAPH_ATTENTION_PAIR_CUH
#define SLEY_DEVICE_CUDA_GRAPH_ATTENTION_PAIR_CUH

#include "device/cuda/graph/attention.cuh"

namespace sley {

struct pair_run {
  sl_attention_grad_args a;
  graph_cut cut;
  x_places score, product; /* rows that the entries name */
  int64_t panels;
  int64_t row_blocks; /* blocks of da; the blocks of long rows come before them */
  int long_rows, long_blocks;
};

/* The tasks of a block of da, which all have the same part: the rows of a block of SL_ATTENTION_BLOCK that
 * are not long, each shared by `ways` groups; or every n-th long row, each shared by all groups. */
class block_tasks {
  int first, at, count;
  int long_at;
  rows_ahead ahead;

  static __device__ __forceinline__ int rows_at_once(const graph_cut &cut, const graph_place &place) {
    return place.shares >> cut.ways_log2;
  }
  static __device__ __forceinline__ int of_ways(const graph_cut &cut, const graph_place &place) {
    return place.share & (cut.ways - 1);
  }
  __device__ __forceinline__ int row_at(int n) const {
    return on && n < count ? first + n : -1;
  }
  __device__ __forceinline__ bool next_short(const pair_run &run, const graph_place &place, graph_task *t) {
    const graph_cut &cut = run.cut;
    const int step = rows_at_once(cut, place);
    if (at - (place.share >> cut.ways_log2) >= count) /* first of the rows that the block processes at once */
      return false;
    ahead.take(cut, of_ways(cut, place), first + (at < count ? at : 0), cut.lanes * cut.at_once, t);
    t->on = on && at < count && t->whole <= cut.longest;
    at += step;
    ahead.advance(cut, of_ways(cut, place), row_at(at + step));
    return true;
  }
  __device__ __forceinline__ bool next_long(const pair_run &run, const graph_place &place, graph_task *t) {
    if (long_at >= run.long_rows)
      return false;
    t->on = on;
    whole_row(run.cut, __ldg(run.cut.long_row + long_at) - run.cut.long_base, t);
    cut_row(run.cut, place.share, place.shares, t);
    long_at += run.long_blocks;
    return true;
  }

public:
  int part;
  bool on;

  __device__ __forceinline__ block_tasks(const pair_run &run, int64_t item) {
    const graph_place place(run.cut);
    const int64_t number = item / run.cut.chunks, block = number - run.long_blocks,
                  rows = run.cut.rows - block * SL_ATTENTION_BLOCK;
    part = static_cast<int>(item - number * run.cut.chunks) * run.cut.at_once + place.part;
    on = part < run.cut.parts;
    part = on ? part : 0;
    at = place.share >> run.cut.ways_log2;
    if (block < 0) {
      long_at = static_cast<int>(number);
      first = count = 0;
      return;
    }
    long_at = run.long_rows;
    first = static_cast<int>(block) * SL_ATTENTION_BLOCK;
    count = static_cast<int>(rows < SL_ATTENTION_BLOCK ? rows : SL_ATTENTION_BLOCK);
    ahead.advance(run.cut, of_ways(run.cut, place), row_at(at));
    ahead.advance(run.cut, of_ways(run.cut, place), row_at(at + rows_at_once(run.cut, place)));
  }
  __device__ __forceinline__ bool next(const pair_run &run, graph_task *t) {
    const graph_place place(run.cut);
    t->part = part;
    if (!next_short(run, place, t) && !next_long(run, place, t))
      return false;
    finish_task(run.cut, t);
    return true;
  }
  /* A task that stands for all groups with the same part, to join their sums. */
  __device__ __forceinline__ graph_task all(const graph_cut &cut) const {
    graph_task t = {};
    t.joint = true;
    t.apart = cut.lanes * cut.at_once;
    return t;
  }
};

/* A lane's values of the group's own rows, and of a for GATV2. */
template <class T, int W, sl_attention KIND, bool COLUMNS> struct own_pair {
  static constexpr bool ONE = COLUMNS && KIND == SL_ATTENTION_GATV2; /* both rows are the row of v */
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

/* A lane's parts of the scores and of the products of GRAPH_AHEAD entries. */
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

/* Figures of a row: the greatest score, the sum, and D. */
template <class A> struct row_stats { A greatest = 0, sum = 1, delta = 0; };

template <class T>
__device__ __forceinline__ row_stats<accumulator<T>> load_stats(const sl_attention_grad_args &a, int64_t row,
                                                                int64_t head) {
  const int64_t at = row * a.of.shape.heads + head;
  const auto *stats = static_cast<const accumulator<T> *>(a.of.stats) + at * 2;
  return {__ldg(stats), __ldg(stats + 1), 0};
}

/* Computes D of a row, in all lanes of its group. */
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

/* A lane's sums. first: sums of P dy (columns), or of da (rows). second: sums of dS times the gradient of the
   score. */
template <class T> struct pair_sums { accumulator<T> first[lane_values<T>], second[lane_values<T>]; };

/* Stores the gradients that the sums of a row or a column yield. */
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

} // namespace sley

#endif
