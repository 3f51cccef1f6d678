/* SPDX-License-Identifier: Apache-2.0 */
/* SL_OP_AGGREGATE with chosen: the gradients of minima and maxima.
 *
 * Of the terms of an entry few were chosen: of a row with n entries each feature chose one, so that on
 * average a feature of a column has one term, however many entries the column has. A first kernel turns the
 * numbers around: for each entry a bit for each feature that chose it. A warp then takes neighbouring
 * columns, and of their entries, one column's after the other, 32 at a time: a lane loads the bits of an
 * entry, the warp transposes them, so that a lane has a bit of each of the 32 entries for a feature of its
 * own, and each lane loads the terms that its bits name, whatever columns they are for. They wait in shared
 * memory until their column is due, and are added in the order of entries. So what is loaded of X is what is
 * added, but for what else lies in the same sectors; what limits it is the rate of such loads, at addresses
 * as good as random. What leads to the bits (column, row's begin, bits) is loaded for the next entries
 * meanwhile.
 *
 * Features are done in panels of up to 128, so that the bits of an entry are 16 bytes at most. Long columns
 * are shared by the warps of a block (graph_rows.cuh), unless in_order is set. */
#include "device/cuda/graph_aggregate.cuh"

namespace {

using namespace sley;

enum { MOST_WORDS = 4, MOST_COLUMNS = 32 };

/* Terms of a feature that wait. */
template <class T> constexpr int chosen_depth = sizeof(T) == 8 ? 4 : 8;

/* Terms of a feature that are loaded at once. */
template <class T, int WORDS>
constexpr int chosen_at_once = 8 / WORDS < chosen_depth<T> ? 8 / WORDS : chosen_depth<T>;

struct chosen_run {
  sl_aggregate_args a;
  graph_cut cut; /* of long columns */
  x_places x;
  int64_t first, count; /* features of the panel */
  int columns;          /* of a warp, of those that are not long */
  bool weighted;
};

/* bits: of the entries of all rows, WORDS words each, zeroed. A warp takes neighbouring rows. */
template <int WORDS>
__global__ void __launch_bounds__(GRAPH_THREADS) mark_chosen(const __grid_constant__ chosen_run run) {
  constexpr int ROWS = 8 / WORDS;
  const sl_aggregate_args &a = run.a;
  const int lane = static_cast<int>(threadIdx.x % 32);
  const int64_t features = features_of(a.shape), rows = a.pattern.cols,
                step = static_cast<int64_t>(gridDim.x) * GRAPH_WARPS * ROWS;
  int64_t row = (static_cast<int64_t>(blockIdx.x) * GRAPH_WARPS + threadIdx.x / 32) * ROWS;
  for (; row < rows; row += step) {
    int32_t number[ROWS][WORDS];
    int64_t begin[ROWS + 1];
#pragma unroll
    for (int r = 0; r <= ROWS; r++)
      begin[r] = __ldg(a.pattern.of_row + (row + r < rows ? row + r : rows));
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
      for (int w = 0; w < WORDS; w++)
        number[r][w] = row + r < rows && w * 32 + lane < run.count
                           ? __ldcs(a.chosen + (row + r) * features + run.first + w * 32 + lane)
                           : -1;
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
      for (int w = 0; w < WORDS; w++) {
        const int32_t n = number[r][w] < begin[r + 1] - begin[r] ? number[r][w] : -1;
        const unsigned same = __match_any_sync(~0u, n);
        if (n >= 0 && lane == __ffs(static_cast<int>(same)) - 1)
          a.chosen_bits[(begin[r] + n) * WORDS + w] = same;
      }
  }
}

/* Bit j of lane i becomes bit i of lane j. All lanes. */
__device__ __forceinline__ uint32_t transposed(uint32_t x, int lane) {
  constexpr uint32_t low[5] = {0x55555555u, 0x33333333u, 0x0f0f0f0fu, 0x00ff00ffu, 0x0000ffffu};
#pragma unroll
  for (int s = 4; s >= 0; s--) {
    const int distance = 1 << s;
    const uint32_t other = __shfl_xor_sync(~0u, x, distance);
    x = lane & distance ? (x & ~low[s]) | (other >> distance & low[s])
                        : (x & low[s]) | (other << distance & ~low[s]);
  }
  return x;
}

/* Of a warp: where the rows of X lie that the 32 entries name, the entries' weights, and the terms that were
 * loaded: of word w the lane's n-th at term[w][n][lane]. */
template <class T, int WORDS> struct chosen_room {
  uint64_t place[32];
  accumulator<T> weight[32];
  T term[WORDS][chosen_depth<T>][32];
};

/* Entries of neighbouring columns. All lanes. */
template <class T, int WORDS> class chosen_entries {
  int64_t at = 0, end = 0;           /* of the 32 that are at hand the first; of all */
  uint32_t of[WORDS];                /* bit j: whether entry at + j chose the lane's feature of word w */
  vector<uint32_t, WORDS> bits = {}; /* of the next 32, as they lie in memory */
  int32_t row = 0;
  int64_t begin_2 = 0; /* of the 32 after them: the begin of their row, and their number in it */
  int32_t row_2 = 0, number_2 = 0, row_3 = 0, number_3 = 0; /* _3: of those after them */
  int piece = 32, from = 0; /* entries whose terms are loaded at a time; the first of those that are */

  __device__ __forceinline__ bool is_there(int64_t ahead) const {
    return at + ahead + threadIdx.x % 32 < end;
  }
  /* Each stage loads what the next needs, 32 entries further on. */
  __device__ __forceinline__ void load_bits(const chosen_run &run, int64_t ahead) {
    row = row_2;
    bits = {};
    if (is_there(ahead))
      bits = load_shared<uint32_t, WORDS>(run.a.chosen_bits + (begin_2 + number_2) * WORDS);
  }
  __device__ __forceinline__ void load_begin(const chosen_run &run, int64_t ahead) {
    row_2 = row_3;
    number_2 = number_3;
    begin_2 = is_there(ahead) ? __ldg(run.a.pattern.of_row + row_2) : 0;
  }
  __device__ __forceinline__ void load_entry(const chosen_run &run, int64_t ahead) {
    const int64_t e = at + ahead + threadIdx.x % 32;
    row_3 = is_there(ahead) ? __ldcs(run.a.pattern.col + e) : 0;
    number_3 = is_there(ahead) ? __ldcs(run.a.pattern.place + e) : 0;
  }
  __device__ __forceinline__ void advance(const chosen_run &run, chosen_room<T, WORDS> *room) {
    constexpr int DEPTH = chosen_depth<T>;
    const int lane = static_cast<int>(threadIdx.x % 32);
    at += 32;
    __syncwarp(); /* all have read what was there */
    room->place[lane] = place_of<uint64_t>(run.x, static_cast<uint32_t>(row));
    if (run.weighted)
      room->weight[lane] = is_there(0) ? weight_of<T>(run.a, at + lane, row, 0) : 0;
    __syncwarp();
    bool many = false;
#pragma unroll
    for (int w = 0; w < WORDS; w++) {
      of[w] = transposed(bits.item[w], lane);
      many = many || __popc(of[w]) > DEPTH;
    }
    piece = __any_sync(~0u, many) ? DEPTH : 32;
    load_bits(run, 32);
    load_begin(run, 64);
    load_entry(run, 96);
  }
  __device__ __forceinline__ uint32_t chosen(int w, int first, int last) const {
    return of[w] & (~0u << first) & (~0u >> (32 - last));
  }
  /* Loads the terms of entries from, from + 1, ..., of a piece. */
  __device__ __forceinline__ void load_terms(const T *x, chosen_room<T, WORDS> *room) const {
    constexpr int AT_ONCE = chosen_at_once<T, WORDS>;
    const int lane = static_cast<int>(threadIdx.x % 32);
    uint32_t left[WORDS], any = 0;
#pragma unroll
    for (int w = 0; w < WORDS; w++)
      any |= left[w] = chosen(w, from, from + piece);
#pragma unroll 1
    for (int n = 0; __any_sync(~0u, any != 0); n += AT_ONCE) {
      T term[WORDS][AT_ONCE];
      any = 0;
#pragma unroll
      for (int w = 0; w < WORDS; w++) {
#pragma unroll
        for (int u = 0; u < AT_ONCE; u++) {
          if (left[w])
            term[w][u] =
                load_shared<T, 1>(x + room->place[__ffs(static_cast<int>(left[w])) - 1] + w * 32).item[0];
          left[w] &= left[w] - 1;
        }
        any |= left[w];
      }
#pragma unroll
      for (int w = 0; w < WORDS; w++)
#pragma unroll
        for (int u = 0; u < AT_ONCE; u++)
          room->term[w][n + u][lane] = term[w][u];
    }
  }

public:
  /* Goes on with entry `first`; there are entries until `last`. */
  __device__ __forceinline__ void begin(const chosen_run &run, const T *x, int64_t first, int64_t last,
                                        chosen_room<T, WORDS> *room) {
    at = first - 32;
    end = last;
    load_entry(run, 32);
    load_begin(run, 32);
    load_entry(run, 64);
    load_bits(run, 32);
    load_begin(run, 64);
    load_entry(run, 96);
    advance(run, room);
    from = 0;
    load_terms(x, room);
  }
  /* The first entry whose terms are not loaded. */
  __device__ __forceinline__ int64_t loaded() const {
    return at + from + piece;
  }
  __device__ __forceinline__ void load_more(const chosen_run &run, const T *x, chosen_room<T, WORDS> *room) {
    from += piece;
    if (from == 32) {
      advance(run, room);
      from = 0;
    }
    load_terms(x, room);
  }
  /* Adds to each feature the terms of entries first <= e < last, which are loaded, in the order of entries.
   * Where not all of them are asked for at once: those before them first. */
  __device__ __forceinline__ void add_terms(const chosen_run &run, const chosen_room<T, WORDS> &room,
                                            int64_t first, int64_t last, accumulator<T> (&acc)[WORDS]) const {
    const int lane = static_cast<int>(threadIdx.x % 32), begin = static_cast<int>(first - at),
              stop = static_cast<int>(last - at < from + piece ? last - at : from + piece);
#pragma unroll
    for (int w = 0; w < WORDS; w++) {
      uint32_t left = chosen(w, begin, stop);
      int n = begin > from ? __popc(chosen(w, from, begin)) : 0;
#pragma unroll 1
      for (; left; left &= left - 1) {
        const accumulator<T> by = run.weighted ? room.weight[__ffs(static_cast<int>(left)) - 1] : 1;
        acc[w] = multiply_add(by, value<T>::widen(room.term[w][n++][lane]), acc[w]);
      }
    }
  }
};

template <class T, int WORDS> struct chosen_column {
  using A = accumulator<T>;
  A acc[WORDS];
  __device__ __forceinline__ void begin(const chosen_run &run, int64_t column, bool wanted) {
    const T *y = row_of<const T>(run.a.y, column) + run.first;
#pragma unroll
    for (int w = 0; w < WORDS; w++) {
      const int f = w * 32 + static_cast<int>(threadIdx.x % 32);
      acc[w] = run.a.add && wanted && f < run.count ? value<T>::widen(y[f]) : 0;
    }
  }
  __device__ __forceinline__ void store(const chosen_run &run, int64_t column) const {
    T *y = row_of<T>(run.a.y, column) + run.first;
#pragma unroll
    for (int w = 0; w < WORDS; w++) {
      const int f = w * 32 + static_cast<int>(threadIdx.x % 32);
      const A sum[1] = {acc[w]};
      if (f < run.count)
        store_once<T, 1>(y + f, sum);
    }
  }
};

/* The columns of a warp that are not long. */
template <class T, int WORDS>
__device__ __forceinline__ void sum_columns(const chosen_run &run, int64_t warp, const T *x,
                                            chosen_room<T, WORDS> *room) {
  const int64_t first = warp * run.columns, left = run.cut.rows - first;
  const int lane = static_cast<int>(threadIdx.x % 32),
            count = static_cast<int>(left < run.columns ? left : run.columns);
  if (count <= 0)
    return;
  const int64_t *rowptr = run.a.pattern.rowptr + first;
  const int64_t own_end = __ldg(rowptr + (lane < count ? lane + 1 : count)), last = __ldg(rowptr + count);
  int64_t at = __ldg(rowptr);
  chosen_entries<T, WORDS> entries;
  bool ready = false; /* whether the entries go on with the next column's first */
#pragma unroll 1
  for (int i = 0; i < count; i++) {
    const int64_t end = __shfl_sync(~0u, own_end, i);
    if (end - at > run.cut.longest) {
      at = end;
      ready = false;
      continue;
    }
    chosen_column<T, WORDS> column;
    column.begin(run, first + i, true);
#pragma unroll 1
    while (at < end) {
      if (!ready)
        entries.begin(run, x, at, last, room);
      else if (at == entries.loaded())
        entries.load_more(run, x, room);
      ready = true;
      entries.add_terms(run, *room, at, end, column.acc);
      at = end < entries.loaded() ? end : entries.loaded();
    }
    column.store(run, first + i);
  }
}

template <class T, int WORDS>
__global__ void __launch_bounds__(GRAPH_THREADS, WORDS == MOST_WORDS ? 3 : 4)
    chosen_sums(const __grid_constant__ chosen_run run) {
  using A = accumulator<T>;
  __shared__ chosen_room<T, WORDS> rooms[GRAPH_WARPS];
  __shared__ A joined[WORDS * GRAPH_THREADS];
  const int warp = static_cast<int>(threadIdx.x / 32);
  chosen_room<T, WORDS> *room = &rooms[warp];
  const T *x = static_cast<const T *>(run.x.base) + run.first + threadIdx.x % 32;
  if (static_cast<int>(blockIdx.x) >= run.cut.long_items) {
    const int64_t block = blockIdx.x - run.cut.long_items;
    return sum_columns<T, WORDS>(run, block * GRAPH_WARPS + warp, x, room);
  }
  graph_tasks tasks(run.cut);
  graph_task t;
  while (tasks.next(run.cut, &t)) {
    const int64_t end = t.begin + t.count;
    chosen_column<T, WORDS> column;
    column.begin(run, t.row, t.stores);
    chosen_entries<T, WORDS> entries;
#pragma unroll 1
    for (int64_t at = t.begin; at < end; at = entries.loaded()) {
      if (at == t.begin)
        entries.begin(run, x, at, end, room);
      else
        entries.load_more(run, x, room);
      entries.add_terms(run, *room, at, end, column.acc);
    }
    add_shares<WORDS>(run.cut, t, column.acc, joined);
    if (t.stores)
      column.store(run, t.row);
  }
}

unsigned blocks_for(int64_t warps) {
  return static_cast<unsigned>((warps + GRAPH_WARPS - 1) / GRAPH_WARPS);
}

template <class T, int WORDS> sley_status launch_panel(sl_queue *queue, chosen_run run, bool marked) {
  const cudaStream_t stream = sl_cuda_stream(queue);
  const int64_t processors = sl_cuda_processors(queue), most = 64 * processors;
  if (!marked) {
    const int64_t bytes = run.a.chosen_entries * WORDS * static_cast<int64_t>(sizeof(uint32_t)),
                  warps = (run.a.pattern.cols * WORDS + 7) / 8;
    if (cudaMemsetAsync(run.a.chosen_bits, 0, static_cast<size_t>(bytes), stream) != cudaSuccess)
      return sl_cuda_launched(queue, "aggregate-chosen");
    mark_chosen<WORDS><<<blocks_for(warps < most ? warps : most), GRAPH_THREADS, 0, stream>>>(run);
  }
  run.columns = MOST_COLUMNS;
  while (run.columns > 4 && run.cut.rows / run.columns < most)
    run.columns /= 2;
  const int64_t warps = (run.cut.rows + run.columns - 1) / run.columns;
  chosen_sums<T, WORDS>
      <<<static_cast<unsigned>(run.cut.long_items) + blocks_for(warps), GRAPH_THREADS, 0, stream>>>(run);
  return sl_cuda_launched(queue, "aggregate-chosen");
}

template <class T> sley_status launch_of(sl_queue *queue, const sl_aggregate_args &args) {
  chosen_run run = {args, {}, {}, 0, 0, 0, args.val || args.factor || args.scale};
  const int64_t features = sl_features(&args.shape);
  run.a.shape = {1, features}; /* heads do not differ */
  run.cut = cut_rows(queue, args.pattern, 1, 32, LANES_OF_LINES, args.in_order);
  find_rows<T, 1>(args.x, args.pattern.cols, &run.x);
  sley_status status = SLEY_OK;
  for (; run.first < features && status == SLEY_OK; run.first += run.count) {
    const int64_t left = features - run.first;
    const bool marked = args.marked && features <= MOST_WORDS * 32;
    run.count = left < MOST_WORDS * 32 ? left : MOST_WORDS * 32;
    status = run.count <= 32   ? launch_panel<T, 1>(queue, run, marked)
             : run.count <= 64 ? launch_panel<T, 2>(queue, run, marked)
                               : launch_panel<T, MOST_WORDS>(queue, run, marked);
  }
  return status;
}

sley_status run_chosen(sl_queue *queue, const sl_kernel_args *args) {
  const sl_aggregate_args *a = &args->aggregate;
  if (a->pattern.rows <= 0 || sl_features(&a->shape) <= 0)
    return SLEY_OK;
  SL_TRY(sl_cuda_use(queue->device));
  return launch_by_type(a->dtype, [&](auto type) { return launch_of<decltype(type)>(queue, *a); });
}

/* Weights that differ by heads are aggregate.cu's. */
bool chosen_ok(const sl_kernel_args *args) {
  const sl_aggregate_args *a = &args->aggregate;
  return sley_dtype_bytes(a->dtype) != 0 && a->chosen && a->chosen_bits && a->pattern.of_row &&
         (a->x.near || a->x.far) && (a->shape.heads == 1 || (!a->val && !a->factor));
}

double chosen_cost(const sl_kernel_args *args) {
  return graph_cost(args) / 2;
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
