/* SPDX-License-Identifier: Apache-2.0 */
/* SL_OP_AGGREGATE with chosen: the gradients of minima and maxima.
 *
 * Each feature of a row has chosen one of the row's entries. So a feature of a column has one chosen term on
 * average, however many entries the column has. Three kernels:
 *
 *   find_positions  finds, for each entry of the pattern by rows, its number by columns; once per pattern
 *   mark_chosen     inverts the choice: for each entry by columns, a bit for each feature that chose it
 *   chosen_sums     sums over columns like aggregate.cu. Each lane of a group examines one entry, and entries
 *                   that no feature chose are skipped: most of them, if rows are long. For the other entries
 *                   a lane reads the bits of its values, and loads only vectors of X in which a bit is set
 *
 * The limit of chosen_sums is the rate of these loads, at practically random addresses.
 *
 * The bits of an entry have the order in which lanes hold values: a part of a row (pattern_rows.cuh) has lanes
 * x values per lane bits, even if there are fewer features. Bits are computed for as many parts at a time as
 * memory allows, at most 128 bits per entry. */
#include "device/cuda/graph/aggregate.cuh"

namespace {

using namespace sley;

enum { MOST_WORDS = 4, POSITIONS_AHEAD = 4 };

/* Chosen entries whose vectors a group loads before it uses the first of them. */
enum { CHOSEN_AHEAD = 4 };

struct chosen_run {
  aggregate_run of;
  const uint32_t *bits; /* entries by columns */
  int64_t first_part;   /* first part that the bits cover */
  int parts, words;     /* number of parts that `bits` covers; words of `bits` per entry */
  int values, side;     /* values of a part per lane; how many of them are contiguous */
  bool y_singly;        /* load and store Y value by value, because it is less aligned than X */
};

/* Returns the feature for bit `bit` of an entry; -1: none. */
__device__ __forceinline__ int64_t feature_of_bit(const chosen_run &run, int bit) {
  const sl_heads &shape = run.of.a.shape;
  const int lanes = run.of.cut.lanes, part = bit / (lanes * run.values), lane = bit / run.values % lanes,
            i = bit % run.values;
  const int64_t number = run.first_part + part, head = number / run.of.panels,
                panel = number - head * run.of.panels,
                at = panel * (lanes * run.values) + i / run.side * (lanes * run.side) + lane * run.side +
                     i % run.side;
  return part < run.parts && at < shape.width ? head * shape.width + at : -1;
}

/* position: for each entry by rows, its number in the pattern by columns, in the order of col. */
template <class P>
__global__ void __launch_bounds__(GRAPH_THREADS) find_positions(sl_pattern p, int64_t entries, P *position) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * GRAPH_THREADS;
  int64_t j = static_cast<int64_t>(blockIdx.x) * GRAPH_THREADS + threadIdx.x;
  for (; j < entries; j += POSITIONS_AHEAD * step) {
    int64_t by_rows[POSITIONS_AHEAD];
#pragma unroll
    for (int u = 0; u < POSITIONS_AHEAD; u++) {
      const int64_t e = j + u * step < entries ? j + u * step : j;
      by_rows[u] = __ldg(p.of_row + __ldcs(p.col + e)) + __ldcs(p.place + e);
    }
#pragma unroll
    for (int u = 0; u < POSITIONS_AHEAD; u++)
      if (j + u * step < entries)
        position[by_rows[u]] = static_cast<P>(j + u * step);
  }
}

/* Loads the entries that features of a row chose; the lane has features 32 w + lane. number: entry number in
 * the row, -1 for none. */
template <int WORDS>
__device__ __forceinline__ void load_chosen(const chosen_run &run, const int64_t (&feature)[WORDS],
                                            int64_t row, int64_t entries, int32_t (&number)[WORDS]) {
  const sl_aggregate_args &a = run.of.a;
#pragma unroll
  for (int w = 0; w < WORDS; w++)
    number[w] = feature[w] >= 0 ? __ldcs(a.chosen + row * features_of(a.shape) + feature[w]) : -1;
#pragma unroll
  for (int w = 0; w < WORDS; w++)
    if (number[w] >= entries)
      number[w] = -1;
}

/* Sets WORDS words of bits for each entry by columns; bits must be zeroed. A warp takes ROWS neighbouring
 * rows at a time. If a row has few entries, their words are assembled in shared memory and stored at once. */
template <int WORDS, class P>
__global__ void __launch_bounds__(GRAPH_THREADS)
    mark_chosen(const __grid_constant__ chosen_run run, const P *position, uint32_t *bits) {
  constexpr int ROWS = 8 / WORDS, FEW = WORDS > 1 ? 64 : 0;
  using words_of_entry = vector<uint32_t, WORDS>;
  __shared__ words_of_entry room[GRAPH_WARPS][FEW + 1];
  const sl_aggregate_args &a = run.of.a;
  const int lane = static_cast<int>(threadIdx.x % 32);
  const int64_t rows = a.pattern.cols, step = static_cast<int64_t>(gridDim.x) * GRAPH_WARPS * ROWS;
  words_of_entry *mine = room[threadIdx.x / 32];
  int64_t feature[WORDS];
#pragma unroll
  for (int w = 0; w < WORDS; w++)
    feature[w] = feature_of_bit(run, w * 32 + lane);
  int64_t row = (static_cast<int64_t>(blockIdx.x) * GRAPH_WARPS + threadIdx.x / 32) * ROWS;
  for (; row < rows; row += step) {
    int32_t number[ROWS][WORDS];
    int64_t begin[ROWS + 1];
#pragma unroll
    for (int r = 0; r <= ROWS; r++)
      begin[r] = __ldg(a.pattern.of_row + (row + r < rows ? row + r : rows));
#pragma unroll
    for (int r = 0; r < ROWS; r++)
      load_chosen(run, feature, row + r < rows ? row + r : row, begin[r + 1] - begin[r], number[r]);
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
      const bool few = begin[r + 1] - begin[r] <= FEW;
      const int entries = few ? static_cast<int>(begin[r + 1] - begin[r]) : 0;
      for (int e = lane; e < entries; e += 32)
        mine[e] = {};
      __syncwarp();
#pragma unroll
      for (int w = 0; w < WORDS; w++) {
        const unsigned same = __match_any_sync(~0u, number[r][w]);
        if (number[r][w] < 0 || lane != __ffs(static_cast<int>(same)) - 1)
          continue;
        if (few)
          mine[number[r][w]].item[w] = same;
        else
          bits[static_cast<int64_t>(__ldg(position + begin[r] + number[r][w])) * WORDS + w] = same;
      }
      __syncwarp();
      for (int e = lane; e < entries; e += 32) {
        packed<uint32_t, WORDS> all;
        all.values = mine[e];
        *reinterpret_cast<typename word<sizeof(uint32_t) * WORDS>::type *>(
            bits + static_cast<int64_t>(__ldg(position + begin[r] + e)) * WORDS) = all.bits;
      }
    }
  }
}

/* The bits of the entries of a task. Each lane holds the words of one entry and prefetches those of the next
 * one. For another lane's entry it reads only the word that contains its own values' bits. */
template <class T, int LANES> class task_bits {
  static constexpr int N = lane_values<T>, BITS = LANES * N,
                       WORDS = BITS > MOST_WORDS * 32 ? MOST_WORDS
                               : BITS > 32            ? BITS / 32
                                                      : 1; /* used if LANES > 0 */
  const uint32_t *from; /* word of the task's first entry that has the part's first bit */
  int64_t words;        /* words per entry */
  int used;             /* words used by the part */
  uint32_t mask;        /* the part's bits in a word */
  int word, shift;      /* position of the lane's bits */
  vector<uint32_t, WORDS> own, next;

public:
  __device__ __forceinline__ task_bits(const chosen_run &run, const graph_task &t, int lanes, int lane) {
    const int first = LANES > 0 ? 0 : (t.part - static_cast<int>(run.first_part)) * (lanes * N),
              bit = first % 32 + lane * N;
    words = LANES > 0 ? WORDS : run.words;
    used = lanes * N > 32 ? lanes * N / 32 : 1;
    from = run.bits + t.begin * words + first / 32;
    mask = lanes * N < 32 ? ((1u << lanes * N) - 1) << first % 32 : ~0u;
    word = bit / 32;
    shift = bit % 32;
    load(lane, t.count);
  }
  /* Loads the words of the lane's own entry: entry `entry` of `count`. */
  __device__ __forceinline__ void load(int entry, int count) {
    next = {};
    if (entry >= count)
      return;
    const uint32_t *p = from + entry * words;
    if constexpr (LANES > 0)
      next = load_shared<uint32_t, WORDS>(p);
    else
      for (int w = 0; w < used; w++)
        next.item[0] |= __ldg(p + w);
  }
  /* Makes the loaded words current. Returns whether any feature chose the entry. */
  __device__ __forceinline__ bool take() {
    uint32_t any = 0;
    own = next;
#pragma unroll
    for (int w = 0; w < WORDS; w++)
      any |= own.item[w];
    return (any & mask) != 0;
  }
  /* Bits of this lane's values (bit i: value i) for the entry of lane s of the group, which is entry `entry`
   * of the task; 0 if `on` is false. Called by all lanes of the warp. */
  __device__ __forceinline__ uint32_t of(int entry, int s, int lanes, bool on) const {
    uint32_t all;
    if constexpr (LANES > 0 && WORDS == 1)
      all = __shfl_sync(~0u, own.item[0], s, lanes);
    else
      all = on ? __ldg(from + entry * words + word) : 0;
    return on ? all >> shift & ((1u << N) - 1) : 0;
  }
};

template <class T, int W>
__device__ __forceinline__ void load_y(const chosen_run &run, const lane_part<T, W> &mine, const T *y,
                                       accumulator<T> (&to)[lane_values<T>]) {
  if (!run.y_singly)
    return mine.load(y, true, to);
  mine.each([&](int i) { to[i] = value<T>::widen(y[mine.feature(i)]); });
}

template <class T, int W>
__device__ __forceinline__ void store_y(const chosen_run &run, const lane_part<T, W> &mine, T *y,
                                        const accumulator<T> (&from)[lane_values<T>]) {
  if (!run.y_singly)
    return mine.store(y, from);
  mine.each([&](int i) {
    const accumulator<T> one[1] = {from[i]};
    store_once<T, 1>(y + mine.feature(i), one);
  });
}

/* LANES: as in aggregate (aggregate.cu). */
template <class T, int W, int LANES>
__global__ void __launch_bounds__(GRAPH_THREADS, W == 1 ? 2 : GRAPH_BLOCKS)
    chosen_sums(const __grid_constant__ chosen_run run) {
  constexpr int N = lane_values<T>, U = CHOSEN_AHEAD;
  using A = accumulator<T>;
  using unit = graph_unit<W>;
  __shared__ A room[N * GRAPH_THREADS];
  const sl_aggregate_args &a = run.of.a;
  const graph_cut &cut = run.of.cut;
  const int lanes = lanes_of<LANES>(cut), lane = static_cast<int>(threadIdx.x) & (lanes - 1);
  typename tasks_of<LANES>::type tasks(cut);
  graph_task t;
  while (tasks.next(cut, &t)) {
    t.part += static_cast<int>(run.first_part);
    const int64_t head = quotient(t.part, run.of.panels);
    const lane_part<T, W> mine(a.shape, head, t.part - head * run.of.panels, lanes, lane);
    task_bits<T, LANES> bits(run, t, lanes, lane);
    const T *x = keep(mine.gather_from(run.of.x.base, lane));
    T *y = row_of<T>(a.y, t.row);
    A acc[N] = {};
    if (a.add && t.stores)
      load_y(run, mine, y, acc);
    int32_t ahead = t.first;
#pragma unroll 1
    for (int e = 0; e < t.most; e += lanes) {
      const int32_t n = ahead;
      const bool any = bits.take();
      if (e + lanes + lane < t.count)
        ahead = __ldcs(a.pattern.col + t.begin + e + lanes + lane);
      bits.load(e + lanes + lane, t.count);
      const unit place = place_of<unit>(run.of.x, static_cast<uint32_t>(n));
      const A weight = any ? weight_of<T>(a, t.begin + e + lane, n, head) : 0;
      /* Bit s: whether any feature chose the entry of lane s of the group. */
      uint32_t left = __ballot_sync(~0u, any);
      if (lanes < 32)
        left = left >> (threadIdx.x % 32 & -lanes) & ((1u << lanes) - 1);
      while (__any_sync(~0u, left != 0)) {
        uint32_t chosen[U];
        int from[U];
        vector<T, N> in[U];
#pragma unroll
        for (int u = 0; u < U; u++) {
          from[u] = __ffs(static_cast<int>(left)) - 1;
          chosen[u] = bits.of(e + from[u], from[u], lanes, left != 0);
          left &= left - 1;
        }
#pragma unroll
        for (int u = 0; u < U; u++) {
          const T *row = x + static_cast<uint64_t>(__shfl_sync(~0u, place, from[u], lanes)) * W;
          if constexpr (W == N)
            in[u] = load_shared_if<T, W>(chosen[u], row);
          else if (chosen[u])
            in[u] = mine.gather(row);
        }
#pragma unroll
        for (int u = 0; u < U; u++) {
          const A by = __shfl_sync(~0u, weight, from[u], lanes);
#pragma unroll
          for (int i = 0; i < N; i++)
            if (chosen[u] & 1u << i)
              acc[i] = multiply_add(by, widened(in[u], i), acc[i]);
        }
      }
    }
    if (joins<LANES>(cut, t))
      add_shares<N>(cut, t, acc, room);
    if (t.stores)
      store_y(run, mine, y, acc);
  }
}

/* Number of blocks so that every item has a thread, up to the number that the device runs at once. */
unsigned blocks_for(const sl_queue *queue, int64_t threads) {
  const int64_t blocks = (threads + GRAPH_THREADS - 1) / GRAPH_THREADS,
                most = 16 * static_cast<int64_t>(sl_cuda_processors(queue));
  return static_cast<unsigned>(blocks < most ? blocks : most);
}

template <int WORDS, class P>
sley_status make_bits(sl_queue *queue, const chosen_run &run, P *position, bool find) {
  const sl_aggregate_args &a = run.of.a;
  const int64_t entries = a.chosen_entries;
  const cudaStream_t stream = sl_cuda_stream(queue);
  if (entries == 0 || a.pattern.cols == 0)
    return SLEY_OK;
  if (find)
    find_positions<P><<<blocks_for(queue, entries), GRAPH_THREADS, 0, stream>>>(a.pattern, entries, position);
  if (cudaMemsetAsync(a.chosen_bits, 0, static_cast<size_t>(entries) * WORDS * sizeof(uint32_t), stream) ==
      cudaSuccess)
    mark_chosen<WORDS, P>
        <<<blocks_for(queue, (a.pattern.cols * WORDS + 7) / 8 * 32), GRAPH_THREADS, 0, stream>>>(
            run, position, a.chosen_bits);
  return sl_cuda_launched(queue, "aggregate-chosen");
}

template <class P> sley_status make_bits_of(sl_queue *queue, const chosen_run &run, bool find) {
  const sl_aggregate_args &a = run.of.a;
  P *position = reinterpret_cast<P *>(reinterpret_cast<char *>(a.chosen_bits) +
                                      sl_chosen_positions_at(a.chosen_entries, sl_features(&a.shape)));
  return run.words == 1   ? make_bits<1>(queue, run, position, find)
         : run.words == 2 ? make_bits<2>(queue, run, position, find)
                          : make_bits<MOST_WORDS>(queue, run, position, find);
}

/* Runs over all parts, as many at a time as the words of an entry allow. */
template <class T, int W> sley_status launch(sl_queue *queue, chosen_run run) {
  const sl_aggregate_args &a = run.of.a;
  const int lanes = run.of.cut.lanes;
  const int64_t each = run.words * 32 / (lanes * lane_values<T>), parts = a.shape.heads * run.of.panels;
  run.bits = a.chosen_bits;
  run.values = lane_values<T>;
  run.side = W;
  for (; run.first_part < parts; run.first_part += each) {
    run.parts = static_cast<int>(parts - run.first_part < each ? parts - run.first_part : each);
    if (!a.marked || parts > each) {
      const bool find = !a.positions_kept && run.first_part == 0;
      SL_TRY(a.chosen_entries > UINT32_MAX ? make_bits_of<uint64_t>(queue, run, find)
                                           : make_bits_of<uint32_t>(queue, run, find));
    }
    cut_and_launch<W == lane_values<T>>(
        queue, a.pattern, run.parts, lanes, a.in_order, &run.of.cut, [&](auto n) {
          chosen_sums<T, W, n><<<run.of.cut.blocks, GRAPH_THREADS, 0, sl_cuda_stream(queue)>>>(run);
        });
    SL_TRY(sl_cuda_launched(queue, "aggregate-chosen"));
  }
  return SLEY_OK;
}

/* Like lanes_for, but a part has at most as many values as an entry has bits. */
template <class T> graph_lanes lanes_for_bits(int64_t width) {
  constexpr int VALUES = MOST_WORDS * 32;
  const graph_lanes g = lanes_for<T>(width);
  if (g.lanes * lane_values<T> <= VALUES)
    return g;
  return {VALUES / lane_values<T>, (width + VALUES - 1) / VALUES};
}

template <class T> sley_status launch_of(sl_queue *queue, const sl_aggregate_args &args) {
  chosen_run run = {{args, {}, {}, 1}};
  sl_aggregate_args &a = run.of.a;
  const int64_t features = sl_features(&a.shape);
  if (!a.val && !a.factor) /* heads have the same weights */
    a.shape = {1, features};
  const graph_lanes g = lanes_for_bits<T>(a.shape.width);
  run.of.panels = g.panels;
  run.of.cut.lanes = g.lanes;
  run.words = static_cast<int>(sl_chosen_words(features));
  sley_status status = SLEY_OK;
  /* Bits are ordered by the alignment of X alone, so that calls with the same chosen and different Y use the
   * same order. */
  graph_alignment of_x, of_y;
  of_x.add_width(a.shape.width, sizeof(T));
  of_x.add(a.x, a.pattern.cols, sizeof(T));
  of_y.add(a.y, a.pattern.rows, sizeof(T));
  launch_by_alignment<T>(
      of_x, [&](auto w) { return find_rows<T, w>(a.x, a.pattern.cols, &run.of.x); },
      [&](auto w) {
        run.y_singly = !of_y.fits(w * static_cast<int64_t>(sizeof(T)));
        status = launch<T, w>(queue, run);
      });
  return status;
}

sley_status run_chosen(sl_queue *queue, const sl_kernel_args *args) {
  const sl_aggregate_args *a = &args->aggregate;
  if (a->pattern.rows <= 0 || sl_features(&a->shape) <= 0)
    return SLEY_OK;
  SL_TRY(sl_cuda_use(queue->device));
  return launch_by_type(a->dtype, [&](auto type) { return launch_of<decltype(type)>(queue, *a); });
}

bool chosen_ok(const sl_kernel_args *args) {
  const sl_aggregate_args *a = &args->aggregate;
  return sley_dtype_bytes(a->dtype) != 0 && a->chosen && a->chosen_bits && a->pattern.of_row &&
         (a->x.near || a->x.far);
}

/* Less than the kernel that serves all aggregations. */
double chosen_cost(const sl_device_figures *figures, const sl_kernel_args *args) {
  return sl_cost_of_bytes(figures, args) / 2;
}

} // namespace

extern "C" {
extern const sl_kernel sl_cuda_aggregate_chosen;
const sl_kernel sl_cuda_aggregate_chosen = {.name = "aggregate-chosen",
                                            .op = SL_OP_AGGREGATE,
                                            .ok = chosen_ok,
                                            .cost = chosen_cost,
                                            SL_KERNEL_KEEPS_NOTHING,
                                            .run = run_chosen};
}
