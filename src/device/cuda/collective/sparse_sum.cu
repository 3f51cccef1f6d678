/* SPDX-License-Identifier: Apache-2.0 */
/* The sum of arrays most of which are compressed. Blocks of threads take tiles in turn. A thread holds the
 * sums of its share of a tile in registers and adds the parts' values in the order of the parts
 * (compressed_parts.cuh).
 *
 * The sums begin as +0. Adding to +0 keeps every value except -0, and values left out add nothing. Only a sum
 * of nothing but -0 would be wrong, so each sum has a bit that says whether all its values so far were -0. */
#include "device/cuda/collective/compressed_parts.cuh"
#include "device/cuda/collective/reduced.cuh"

namespace {

using namespace sley;

struct summation {
  int64_t count;
  int parts, own;
  int64_t room;
  const void *own_src;
  void *dst;
  sley_type type;
  uint32_t *wrong;
  int tiles_each; /* tiles that a block takes at once; above 1 only if all their parts fit as entries */
  const void *src[SL_SPARSE_SUM_PARTS];
};

template <class T> struct bits_of;
template <> struct bits_of<f16> { using type = unsigned short; };
template <> struct bits_of<bf16> { using type = unsigned short; };
template <> struct bits_of<float> { using type = unsigned; };
template <> struct bits_of<double> { using type = unsigned long long; };

template <class TO, class FROM> __device__ __forceinline__ TO same_bits(FROM from) {
  static_assert(sizeof(TO) == sizeof(FROM), "of one size");
  TO to;
  memcpy(&to, &from, sizeof to);
  return to;
}

template <class T> struct tile_sums {
  using V = typename bits_of<T>::type;
  using A = typename held<T>::type;
  static constexpr int ROWS = tile_share<V>::ROWS, COLUMNS = tile_share<V>::COLUMNS;
  static constexpr V MINUS = V{1} << (8 * sizeof(V) - 1); /* -0 */

  A sum[ROWS][COLUMNS];
  unsigned minus; /* bit j COLUMNS + c: all values so far were -0 */

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int j = 0; j < ROWS; j++)
#pragma unroll
      for (int c = 0; c < COLUMNS; c++)
        sum[j][c] = 0;
    minus = ~0u;
  }

  /* Adds one part; each(take) calls take for its values. */
  template <class EACH> __device__ __forceinline__ void add(const EACH &each) {
    unsigned seen = 0;
    each([&](int j, int c, V bits) {
      sum[j][c] += held<T>::load(same_bits<T>(bits));
      seen |= bits == MINUS ? 1u << (j * COLUMNS + c) : 0;
    });
    minus &= seen;
  }

  __device__ void store(T *to, const tile_share<V> &share, int length, bool wide) const {
#pragma unroll
    for (int j = 0; j < ROWS; j++) {
      unsigned piece[PIECE_WORDS] = {};
#pragma unroll
      for (int c = 0; c < COLUMNS; c++)
        set_value<V>(piece, c,
                     minus >> (j * COLUMNS + c) & 1 ? MINUS : same_bits<V>(held<T>::store(sum[j][c])));
      store_piece<V>(piece, reinterpret_cast<V *>(to), share.at(j), length, wide);
    }
  }
};

/* The tiles and parts that a block processes at once: all parts of several tiles, or several parts of one
 * tile. */
struct step {
  int64_t first; /* first tile */
  int unit, from, parts;

  __device__ step(const summation &job, int64_t tiles) {
    begin_at(static_cast<int64_t>(blockIdx.x) * job.tiles_each, job, tiles);
  }
  __device__ void begin_at(int64_t tile, const summation &job, int64_t tiles) {
    first = tile;
    unit = tiles - tile < job.tiles_each ? static_cast<int>(tiles - tile) : job.tiles_each;
    take_parts(0, job);
  }
  __device__ void take_parts(int part, const summation &job) {
    from = part;
    parts = job.parts - part < MOST_ENTRIES ? job.parts - part : MOST_ENTRIES;
  }
  __device__ void advance(const summation &job, int64_t tiles) {
    if (from + parts < job.parts)
      take_parts(from + parts, job);
    else
      begin_at(first + static_cast<int64_t>(gridDim.x) * job.tiles_each, job, tiles);
  }
  /* Number of entries, one warp each; none after the last tile. */
  __device__ int entries() const {
    return unit * parts;
  }
  __device__ int64_t tile(int e) const {
    return first + e / parts;
  }
  __device__ int part(int e) const {
    return from + e % parts;
  }
  __device__ void ask(const summation &job, const part_view *view, int warp, asked_tile *out) const {
    if (warp < entries())
      sley::ask(view[part(warp)], job.count, tile(warp), &out[warp]);
  }
};

/* Blocks per multiprocessor. */
template <class T> constexpr int BLOCKS = sizeof(T) == 8 ? 2 : 3;

/* Bytes of the stage. */
template <class T> constexpr int ROOM = sizeof(T) == 8 ? 96 << 10 : 56 << 10;

/* Offset in dynamic shared memory of the parts, after the stage. */
template <class T> constexpr int PARTS_AT = staged_bytes(ROOM<T>);

template <class T>
__global__ void __launch_bounds__(TILE_BLOCK, BLOCKS<T>) sparse_sum(const __grid_constant__ summation job) {
  using V = typename bits_of<T>::type;
  extern __shared__ __align__(16) char stage[];
  __shared__ entries<V> all;
  part_view *view = reinterpret_cast<part_view *>(stage + PARTS_AT<T>);
  const int warp = threadIdx.x / 32;
  const int64_t tiles = sl_compressed_tiles(job.count);
  const tile_share<V> share(threadIdx.x);
  const bool wide = reinterpret_cast<uintptr_t>(job.dst) % PIECE_BYTES == 0;
  unsigned fault = 0;
  for (int p = threadIdx.x; p < job.parts; p += TILE_BLOCK)
    if (p == job.own)
      view[p] = {SL_COMPRESSED_DENSE, static_cast<const char *>(job.own_src), 0, 0, 0};
    else
      fault |= open_part(job.src[p], job.room, job.type, sizeof(V), job.count, &view[p]);
  __syncthreads();
  tile_sums<T> sums; /* kept across the steps of a tile with many parts */
  step now(job, tiles);
  now.ask(job, view, warp, all.asked);
  while (now.first < tiles) {
    if (warp < now.entries())
      fault |= look_up<V>(view[now.part(warp)], job.count, now.tile(warp), all.asked[warp], &all.entry[warp],
                          &all.bits[warp]);
    step next = now;
    next.advance(job, tiles);
    next.ask(job, view, warp, all.asked);
    fault |= use_entries<V>(all.entry, now.entries(), stage, ROOM<T>, [&](int e, int at) {
      const int64_t tile = now.tile(e);
      const int length = length_of_tile(job.count, tile), part = now.part(e);
      if (part == 0)
        sums.clear();
      sums.add([&](auto take) { give<V>(all.entry[e], all.bits[e], share, stage, at, length, take); });
      if (part == job.parts - 1)
        sums.store(static_cast<T *>(job.dst) + tile * SL_TILE_VALUES, share, length, wide);
    });
    now = next;
  }
  if (fault)
    atomicOr(job.wrong, fault);
}

template <class T> sley_status launch(sl_queue *queue, summation *job) {
  const int64_t most = BLOCKS<T> * static_cast<int64_t>(sl_cuda_processors(queue));
  const int64_t tiles = sl_compressed_tiles(job->count), bytes = PARTS_AT<T> + job->parts * sizeof(part_view);
  job->tiles_each = tiles_at_once(tiles, most, job->parts < MOST_ENTRIES ? MOST_ENTRIES / job->parts : 1);
  const int64_t wanted = (tiles + job->tiles_each - 1) / job->tiles_each;
  const unsigned blocks = static_cast<unsigned>(wanted < 1 ? 1 : wanted < most ? wanted : most);
  SL_TRY(grant<sparse_sum<T>>(bytes));
  sparse_sum<T><<<blocks, TILE_BLOCK, static_cast<size_t>(bytes), sl_cuda_stream(queue)>>>(*job);
  return sl_cuda_launched(queue, "sparse sum");
}

sley_status sparse_sum_run(sl_queue *queue, const sl_kernel_args *args) {
  const sl_sparse_sum_args *a = &args->sparse_sum;
  summation job = {a->count, a->parts, a->own, a->room, a->own_src, a->dst, a->type, a->wrong, 1, {}};
  for (int p = 0; p < a->parts; p++)
    job.src[p] = p == a->own ? nullptr : a->src[p];
  SL_TRY(sl_cuda_use(queue->device));
  if (a->type == SLEY_TYPE_F32)
    return launch<float>(queue, &job);
  if (a->type == SLEY_TYPE_F64)
    return launch<double>(queue, &job);
  return a->type == SLEY_TYPE_F16 ? launch<f16>(queue, &job) : launch<bf16>(queue, &job);
}

bool sparse_sum_ok(const sl_kernel_args *args) {
  return sl_sparsely_summable(&args->sparse_sum) && args->sparse_sum.parts <= SL_SPARSE_SUM_PARTS;
}

} // namespace

extern "C" {
extern const sl_kernel sl_cuda_sparse_sum;
const sl_kernel sl_cuda_sparse_sum = {.name = "sparse-sum",
                                      .op = SL_OP_SPARSE_SUM,
                                      .ok = sparse_sum_ok,
                                      .cost = sl_cost_of_bytes,
                                      SL_KERNEL_KEEPS_NOTHING,
                                      .run = sparse_sum_run};
}
