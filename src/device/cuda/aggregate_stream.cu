/* SPDX-License-Identifier: Apache-2.0 */
/* SL_OP_AGGREGATE where a warp takes a row of X at a time: the entries of neighbouring rows as one stream.
 *
 * A warp has 32 rows. Their entries, one row's after the other, are its stream: the lanes load 32 columns at
 * a time, and with them find which entries are their row's last; then the rows of X are loaded, several at a
 * time whatever rows they are for, and each is added to the lanes' features, or compared. So short rows cost
 * little more than their entries, and rows that differ in length leave no lane idle. What limits it is the
 * rate at which rows of X are loaded.
 *
 * Long rows (sl_pattern lists them) are shared by the warps of a block, or of a cluster of blocks on GPUs
 * that have clusters, each with a contiguous share: the first blocks of the grid take one each, unless
 * in_order is set. Sums of shares are added in the order of the shares, so that bits repeat. */
#include <cooperative_groups.h>

#include "device/cuda/graph_aggregate.cuh"

namespace {

using namespace sley;

enum { STREAM_ROWS = 32, CLUSTER = 4 /* blocks that share a long row */, MOST_PANELS = 65535 };

struct stream_run {
  sl_aggregate_args a;
  graph_cut cut;
  x_places x;
  int64_t features;
  int rows;    /* of a warp */
  int cluster; /* blocks that share a long row */
  bool weighted, extremes, flips;
};

/* Rows of X that are loaded before the first is used. */
template <class T, int V> constexpr int stream_ahead = V * sizeof(T) > 8 ? 4 : 8;

/* What a warp works on: rows, whose entries follow one another in its stream. Lane l has row l. */
struct stream_rows {
  int64_t begin, before; /* the row's first entry; entries of the stream before it */
  int64_t after, total;  /* entries of the stream up to the row's end, and of all */
  int row;

  __device__ __forceinline__ void count_entries(int64_t count) {
    const int lane = static_cast<int>(threadIdx.x % 32);
    after = count;
#pragma unroll
    for (int distance = 1; distance < 32; distance *= 2) {
      const int64_t other = __shfl_up_sync(~0u, after, distance);
      after += lane >= distance ? other : 0;
    }
    before = after - count;
    total = __shfl_sync(~0u, after, 31);
  }
};

/* 32 entries of the stream, from `at` on. */
struct stream_entries {
  int32_t col = 0;
  int lane_row = 0;  /* which lane has the row */
  int64_t entry = 0; /* of the pattern */
  unsigned ends = 0; /* a bit for each entry that is its row's last */

  /* All lanes. */
  __device__ __forceinline__ void find(const stream_run &run, const stream_rows &rows, int64_t at) {
    const int64_t s = at + threadIdx.x % 32;
    lane_row = 0; /* the last row that begins there or before: those before it that do, too, are empty */
#pragma unroll
    for (int step = 16; step > 0; step /= 2)
      if (__shfl_sync(~0u, rows.before, lane_row + step) <= s)
        lane_row += step;
    const bool there = s < rows.total;
    entry = __shfl_sync(~0u, rows.begin, lane_row) + s - __shfl_sync(~0u, rows.before, lane_row);
    ends = __ballot_sync(~0u, there && s + 1 == __shfl_sync(~0u, rows.after, lane_row));
    col = there ? __ldcs(run.a.pattern.col + entry) : 0;
  }
};

/* A lane's sums, or greatest terms and their entries. */
template <class T, int V, bool EXTREMES> struct stream_result {
  using A = accumulator<T>;
  A acc[V];
  int32_t entry[EXTREMES ? V : 1];
  int32_t number; /* of the next entry in its row */

  __device__ __forceinline__ void clear(int32_t first) {
    number = first;
#pragma unroll
    for (int i = 0; i < V; i++)
      acc[i] = EXTREMES ? minus_infinity(A()) : 0;
#pragma unroll
    for (int i = 0; i < (EXTREMES ? V : 1); i++)
      entry[i] = -1;
  }
  __device__ __forceinline__ void take(A by, const vector<T, V> &x) {
#pragma unroll
    for (int i = 0; i < V; i++) {
      if constexpr (EXTREMES) {
        const A term = by * widened(x, i);
        if (acc[i] == acc[i] && !(term <= acc[i])) {
          acc[i] = term;
          entry[i] = number;
        }
      } else {
        acc[i] = multiply_add(by, widened(x, i), acc[i]);
      }
    }
    number++;
  }
  /* None was greater than -infinity: the first of the entries, which are some. */
  __device__ __forceinline__ void settle(int32_t first) {
    if constexpr (EXTREMES)
#pragma unroll
      for (int i = 0; i < V; i++)
        entry[i] = entry[i] < 0 ? first : entry[i];
  }
  /* Those of this and of later entries. */
  __device__ __forceinline__ void join(int i, A other, int32_t other_entry) {
    if constexpr (EXTREMES) {
      const extreme<A> best = first_of(extreme<A>{acc[i], entry[i]}, extreme<A>{other, other_entry});
      acc[i] = best.term;
      entry[i] = best.entry;
    } else {
      acc[i] += other;
    }
  }
};

/* Of a lane: its features of the panel, which are side by side. */
template <class T, int V, bool EXTREMES> struct stream_lane {
  using A = accumulator<T>;
  int64_t feature;
  bool on;

  __device__ __forceinline__ explicit stream_lane(const stream_run &run) {
    feature = (static_cast<int64_t>(blockIdx.y) * 32 + threadIdx.x % 32) * V;
    on = feature < run.features;
  }
  /* Where a row begins for it; lanes without features load the panel's first, and leave it alone. */
  __device__ __forceinline__ const T *x(const stream_run &run) const {
    return static_cast<const T *>(run.x.base) + (on ? feature : static_cast<int64_t>(blockIdx.y) * 32 * V);
  }
  /* What Y had is the beginning of a sum. */
  __device__ __forceinline__ void begin(const stream_run &run, int row,
                                        stream_result<T, V, EXTREMES> *r) const {
    r->clear(0);
    if constexpr (!EXTREMES)
      if (run.a.add && on) {
        const vector<T, V> y = load_plain<T, V>(row_of<const T>(run.a.y, row) + feature);
#pragma unroll
        for (int i = 0; i < V; i++)
          r->acc[i] = widened(y, i);
      }
  }
  __device__ __forceinline__ void store(const stream_run &run, int row, int64_t entries,
                                        stream_result<T, V, EXTREMES> &r) const {
    if (!on)
      return;
    if constexpr (EXTREMES) {
      if (run.a.arg) {
        int32_t *arg = run.a.arg + row * run.features + feature;
#pragma unroll
        for (int i = 0; i < V; i++)
          arg[i] = r.entry[i];
      }
#pragma unroll
      for (int i = 0; i < V; i++)
        r.acc[i] = r.entry[i] < 0 ? 0 : run.flips ? -r.acc[i] : r.acc[i];
    } else if (run.a.kind == SL_AGGREGATE_MEAN) {
#pragma unroll
      for (int i = 0; i < V; i++)
        r.acc[i] = entries > 0 ? r.acc[i] / static_cast<A>(entries) : 0;
    }
    store_once<T, V>(row_of<T>(run.a.y, row) + feature, r.acc);
  }
};

/* Takes the entries of the stream. store: whether rows end where `ends` says, and are stored; else all is one
 * row's. */
template <class T, int V, bool EXTREMES>
__device__ __forceinline__ void read_stream(const stream_run &run, const stream_rows &rows, bool store,
                                            const stream_lane<T, V, EXTREMES> &mine,
                                            stream_result<T, V, EXTREMES> *r) {
  using A = accumulator<T>;
  constexpr int U = stream_ahead<T, V>;
  const T *x = mine.x(run);
  const int lane = static_cast<int>(threadIdx.x % 32);
  const A sign = run.flips ? A(-1) : A(1); /* the least is the greatest of the negative terms */
  stream_entries next;
  next.find(run, rows, 0);
#pragma unroll 1
  for (int64_t at = 0; at < rows.total; at += 32) {
    const stream_entries now = next;
    if (at + 32 < rows.total)
      next.find(run, rows, at + 32);
    const int left = rows.total - at < 32 ? static_cast<int>(rows.total - at) : 32;
    const uint32_t place = place_of<uint32_t>(run.x, static_cast<uint32_t>(now.col));
    A weight = sign;
    if (run.weighted && lane < left)
      weight *= weight_of<T>(run.a, now.entry, now.col, 0);
#pragma unroll 1
    for (int s = 0; s < left; s += U) {
      vector<T, V> in[U];
#pragma unroll
      for (int u = 0; u < U; u++)
        in[u] = load_shared<T, V>(x + static_cast<uint64_t>(__shfl_sync(~0u, place, s + u)) * V);
#pragma unroll
      for (int u = 0; u < U; u++) {
        if (s + u >= left)
          break;
        r->take(run.weighted ? __shfl_sync(~0u, weight, s + u) : sign, in[u]);
        if (store && now.ends >> (s + u) & 1) {
          const int from = __shfl_sync(~0u, now.lane_row, s + u);
          const int row = __shfl_sync(~0u, rows.row, from);
          r->settle(0);
          mine.store(run, row, r->number, *r);
          /* the next entry's row, if there is one */
          const int beyond = __shfl_sync(~0u, next.lane_row, 0);
          const int next_row = s + u + 1 < 32 ? __shfl_sync(~0u, now.lane_row, s + u + 1) : beyond;
          mine.begin(run, __shfl_sync(~0u, rows.row, next_row), r);
        }
      }
    }
  }
}

/* The rows of a warp that are not long. */
template <class T, int V, bool EXTREMES>
__device__ __forceinline__ void aggregate_rows(const stream_run &run, int64_t warp) {
  const stream_lane<T, V, EXTREMES> mine(run);
  const int lane = static_cast<int>(threadIdx.x % 32);
  const int64_t first = warp * run.rows, left = run.cut.rows - first;
  const int count = static_cast<int>(left < run.rows ? left : run.rows);
  if (count <= 0)
    return;
  stream_rows rows = {};
  int64_t entries = 0;
  if (lane < count) {
    rows.row = run.cut.listed ? __ldg(run.cut.listed + first + lane) : static_cast<int>(first) + lane;
    rows.begin = __ldg(run.cut.rowptr + rows.row);
    entries = __ldg(run.cut.rowptr + rows.row + 1) - rows.begin;
  }
  unsigned empty = __ballot_sync(~0u, lane < count && entries == 0);
  rows.count_entries(entries <= run.cut.longest ? entries : 0);
  stream_result<T, V, EXTREMES> r;
  for (; empty; empty &= empty - 1) {
    const int row = __shfl_sync(~0u, rows.row, __ffs(static_cast<int>(empty)) - 1);
    mine.begin(run, row, &r);
    mine.store(run, row, 0, r);
  }
  if (rows.total == 0)
    return;
  const unsigned filled = __ballot_sync(~0u, rows.after > rows.before);
  mine.begin(run, __shfl_sync(~0u, rows.row, __ffs(static_cast<int>(filled)) - 1), &r);
  read_stream<T, V, EXTREMES>(run, rows, true, mine, &r);
}

/* What the shares of a long row come to. */
template <class T, int V, bool EXTREMES> struct stream_room {
  accumulator<T> acc[V * GRAPH_THREADS];
  int32_t entry[EXTREMES ? V * GRAPH_THREADS : 1];
  __device__ __forceinline__ void put(int at, const stream_result<T, V, EXTREMES> &r) {
#pragma unroll
    for (int i = 0; i < V; i++) {
      acc[i * GRAPH_THREADS + at] = r.acc[i];
      if (EXTREMES)
        entry[i * GRAPH_THREADS + at] = r.entry[i];
    }
  }
  __device__ __forceinline__ void join(int at, stream_result<T, V, EXTREMES> *r) const {
#pragma unroll
    for (int i = 0; i < V; i++)
      r->join(i, acc[i * GRAPH_THREADS + at], EXTREMES ? entry[i * GRAPH_THREADS + at] : 0);
  }
};

/* Waits for all blocks of the cluster, if there is one. */
__device__ __forceinline__ void sync_cluster(int blocks) {
#if __CUDA_ARCH__ >= 900
  if (blocks > 1)
    asm volatile("barrier.cluster.arrive.release;\n\tbarrier.cluster.wait.acquire;" ::: "memory");
#endif
  (void)blocks;
}

/* The room of another block of the cluster. */
template <class Room> __device__ __forceinline__ const Room *room_of(Room *room, int block) {
#if __CUDA_ARCH__ >= 900
  if (block > 0)
    return cooperative_groups::this_cluster().map_shared_rank(room, static_cast<unsigned>(block));
#endif
  (void)block;
  return room;
}

/* A long row, of which all warps of the cluster have a share. */
template <class T, int V, bool EXTREMES>
__device__ __forceinline__ void aggregate_long(const stream_run &run, stream_room<T, V, EXTREMES> *room) {
  const stream_lane<T, V, EXTREMES> mine(run);
  const int item = static_cast<int>(blockIdx.x) / run.cluster,
            block = static_cast<int>(blockIdx.x) % run.cluster, warp = static_cast<int>(threadIdx.x / 32),
            lane = static_cast<int>(threadIdx.x % 32), share = block * GRAPH_WARPS + warp,
            shares = run.cluster * GRAPH_WARPS;
  const int row = __ldg(run.cut.long_row + item) - run.cut.long_base;
  const int64_t begin = __ldg(run.cut.rowptr + row), whole = __ldg(run.cut.rowptr + row + 1) - begin;
  const int64_t first = whole * share / shares, last = whole * (share + 1) / shares;
  stream_rows rows = {};
  rows.begin = begin + first;
  rows.row = row;
  rows.count_entries(lane == 0 ? last - first : 0);
  stream_result<T, V, EXTREMES> r;
  if (share == 0)
    mine.begin(run, row, &r);
  else
    r.clear(static_cast<int32_t>(first));
  read_stream<T, V, EXTREMES>(run, rows, false, mine, &r);
  if (last > first)
    r.settle(static_cast<int32_t>(first));
  room->put(static_cast<int>(threadIdx.x), r);
  __syncthreads();
  if (warp == 0) {
    for (int w = 1; w < GRAPH_WARPS; w++)
      room->join(w * 32 + lane, &r);
    room->put(lane, r);
  }
  sync_cluster(run.cluster);
  if (block == 0 && warp == 0) {
    for (int b = 1; b < run.cluster; b++)
      room_of(room, b)->join(lane, &r);
    mine.store(run, row, whole, r);
  }
  sync_cluster(run.cluster); /* a block's memory is there until it has ended */
}

template <class T, int V, bool EXTREMES>
__global__ void __launch_bounds__(GRAPH_THREADS, sizeof(T) == 8 || V * sizeof(T) > 8 ? 3 : 4)
    aggregate_stream(const __grid_constant__ stream_run run) {
  __shared__ stream_room<T, V, EXTREMES> room;
  const int long_blocks = run.cut.long_items * run.cluster;
  if (static_cast<int>(blockIdx.x) < long_blocks)
    aggregate_long<T, V, EXTREMES>(run, &room);
  else
    aggregate_rows<T, V, EXTREMES>(run, static_cast<int64_t>(blockIdx.x - long_blocks) * GRAPH_WARPS +
                                            threadIdx.x / 32);
}

template <class T, int V, bool EXTREMES> sley_status launch_as(sl_queue *queue, const stream_run &run) {
  const int64_t warps = (run.cut.rows + run.rows - 1) / run.rows,
                blocks = (warps + GRAPH_WARPS - 1) / GRAPH_WARPS +
                         static_cast<int64_t>(run.cut.long_items) * run.cluster;
  const unsigned panels = static_cast<unsigned>((run.features + 32 * V - 1) / (32 * V));
  cudaLaunchAttribute cluster = {};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim.x = static_cast<unsigned>(run.cluster);
  cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim =
      dim3(static_cast<unsigned>((blocks + run.cluster - 1) / run.cluster * run.cluster), panels);
  config.blockDim = dim3(GRAPH_THREADS);
  config.stream = sl_cuda_stream(queue);
  config.attrs = &cluster;
  config.numAttrs = run.cluster > 1 ? 1 : 0;
  if (cudaLaunchKernelEx(&config, aggregate_stream<T, V, EXTREMES>, run) != cudaSuccess)
    return sl_cuda_launched(queue, "aggregate-stream"); /* which finds the error */
  return sl_cuda_launched(queue, "aggregate-stream");
}

template <class T, int V> sley_status launch(sl_queue *queue, const stream_run &run) {
  return run.extremes ? launch_as<T, V, true>(queue, run) : launch_as<T, V, false>(queue, run);
}

/* Values of a lane, of which there are few enough that most lanes have some; and as many bytes as rows can be
 * loaded by. 0: none. */
template <class T> int values_of_lane(const sl_aggregate_args &a) {
  constexpr int64_t BYTES = sizeof(T), MOST = 16 / BYTES;
  const int64_t features = sl_features(&a.shape);
  graph_alignment found;
  found.add_width(features, BYTES);
  found.add(a.x, a.pattern.cols, BYTES);
  found.add(a.y, a.pattern.rows, BYTES);
  found.add_items(a.arg, sizeof(int32_t), BYTES);
  int64_t v = MOST;
  while (v > 1 && 16 * v >= features)
    v /= 2;
  while (v > 1 && !found.fits(v * BYTES))
    v /= 2;
  return features > 16 * v && features <= 64 * v ? static_cast<int>(v)
         : features > 64 * v && v == MOST        ? static_cast<int>(v)
                                                 : 0;
}

template <class T, int V> bool reaches(const sl_aggregate_args &a, x_places *x) {
  return find_rows<T, V>(a.x, a.pattern.cols, x);
}

/* launch(V) of as many values of a lane. */
template <class T, class Launch> auto by_values(int values, Launch launch) {
  constexpr int MOST = 16 / sizeof(T);
  if constexpr (MOST >= 8)
    if (values == 8)
      return launch(std::integral_constant<int, 8>());
  if constexpr (MOST >= 4)
    if (values == 4)
      return launch(std::integral_constant<int, 4>());
  if (values == 2)
    return launch(std::integral_constant<int, 2>());
  return launch(std::integral_constant<int, 1>());
}

template <class T> bool serves(const sl_aggregate_args &a) {
  x_places x;
  const int values = values_of_lane<T>(a);
  return values > 0 && sl_features(&a.shape) <= static_cast<int64_t>(MOST_PANELS) * 32 * values &&
         by_values<T>(values, [&](auto v) { return reaches<T, decltype(v)::value>(a, &x); });
}

/* Weights that differ by heads, narrow rows, and rows that cannot be loaded so are aggregate.cu's. */
bool stream_ok(const sl_kernel_args *args) {
  const sl_aggregate_args &a = args->aggregate;
  if (sley_dtype_bytes(a.dtype) == 0 || a.chosen || !(a.x.near || a.x.far) ||
      (a.shape.heads != 1 && (a.val || a.factor)))
    return false;
  return a.dtype == SLEY_F32   ? serves<float>(a)
         : a.dtype == SLEY_F64 ? serves<double>(a)
         : a.dtype == SLEY_F16 ? serves<f16>(a)
                               : serves<bf16>(a);
}

double stream_cost(const sl_kernel_args *args) {
  return graph_cost(args) / 2;
}

template <class T> sley_status launch_of(sl_queue *queue, const sl_aggregate_args &a) {
  stream_run run = {a,     {},   {}, sl_features(&a.shape), STREAM_ROWS, 1, a.val || a.factor || a.scale,
                    false, false};
  run.a.shape = {1, run.features}; /* heads do not differ */
  run.extremes = a.kind == SL_AGGREGATE_MIN || a.kind == SL_AGGREGATE_MAX;
  run.flips = a.kind == SL_AGGREGATE_MIN;
  run.cut = cut_rows(queue, a.pattern, 1, 32, LANES_OF_LINES, a.in_order);
  const int64_t wanted = 64 * static_cast<int64_t>(sl_cuda_processors(queue));
  while (run.rows > 4 && run.cut.rows / run.rows < wanted)
    run.rows /= 2;
  if (run.cut.long_items > 0 && run.cut.long_items < INT32_MAX / CLUSTER / 2 && sl_cuda_has_clusters(queue))
    run.cluster = CLUSTER;
  return by_values<T>(values_of_lane<T>(a), [&](auto v) {
    constexpr int V = decltype(v)::value;
    reaches<T, V>(run.a, &run.x);
    return launch<T, V>(queue, run);
  });
}

sley_status run_stream(sl_queue *queue, const sl_kernel_args *args) {
  const sl_aggregate_args *a = &args->aggregate;
  if (sl_pattern_work_rows(&a->pattern) <= 0)
    return SLEY_OK;
  SL_TRY(sl_cuda_use(queue->device));
  return launch_by_type(a->dtype, [&](auto type) { return launch_of<decltype(type)>(queue, *a); });
}

} // namespace

extern "C" {
extern const sl_kernel sl_cuda_aggregate_stream;
const sl_kernel sl_cuda_aggregate_stream = {.name = "aggregate-stream",
                                            .op = SL_OP_AGGREGATE,
                                            .ok = stream_ok,
                                            .cost = stream_cost,
                                            SL_KERNEL_KEEPS_NOTHING,
                                            .run = run_stream};
}
