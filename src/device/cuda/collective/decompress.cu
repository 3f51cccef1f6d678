/* SPDX-License-Identifier: Apache-2.0 */
/* Decompresses arrays to dense ones. A unit is several successive tiles of one array; blocks of threads take
 * units in turn (compressed_parts.cuh). Units are numbered round-robin over the arrays, so that arrays in the
 * memories of several GPUs are read over all links at once. */
#include <algorithm>

#include "device/cuda/collective/compressed_parts.cuh"

namespace {

using namespace sley;

enum { MOST_PARTS = 64 };

/* Blocks per multiprocessor. */
template <class V> constexpr int BLOCKS = sizeof(V) == 8 ? 3 : 4;

/* Bytes of the stage, limited by shared memory. */
template <class V> constexpr int ROOM = sizeof(V) == 8 ? 56 << 10 : 36 << 10;

struct target {
  const void *src;
  int64_t room;
  void *dst;
  int64_t count;
  int64_t units;
  int64_t end; /* number of units after which neither this part nor any shorter part has a unit left */
};

struct decompression {
  int parts, tiles_each; /* parts of this launch; tiles per unit */
  sley_type type;
  uint32_t *wrong;
  target part[MOST_PARTS]; /* in ascending order of their units */
};

/* Writes a staged tile to its destination; values that are left out become zero. */
template <class V>
__device__ void write_tile(const tile_entry &e, const tile_bits<V> &bits, const tile_share<V> &share,
                           const char *stage, int at, V *to, int length) {
  unsigned piece[tile_share<V>::ROWS][PIECE_WORDS] = {};
  give<V>(e, bits, share, stage, at, length,
          [&](int j, int c, V value) { set_value<V>(piece[j], c, value); });
  const bool wide = reinterpret_cast<uintptr_t>(to) % PIECE_BYTES == 0;
#pragma unroll
  for (int j = 0; j < tile_share<V>::ROWS; j++)
    store_piece<V>(piece[j], to, share.at(j), length, wide);
}

/* The tiles of a unit: `count` tiles from `first` on, of one part; no tiles after the last unit. */
struct unit_tiles {
  int part, count;
  int64_t first;
};

/* Finds the tiles of a unit. *level: state from the previous call, 0 at first; units must be looked up in
 * ascending order. */
__device__ __forceinline__ unit_tiles tiles_of(const decompression &job, int64_t unit, int *level) {
  while (*level < job.parts && unit >= job.part[*level].end)
    ++*level;
  if (*level == job.parts)
    return {0, 0, 0};
  const int p = *level, left = job.parts - p;
  const int64_t turns = p > 0 ? job.part[p - 1].units : 0, within = unit - (p > 0 ? job.part[p - 1].end : 0);
  const int part = p + static_cast<int>(within % left);
  const int64_t first = (turns + within / left) * job.tiles_each;
  const int64_t rest = sl_compressed_tiles(job.part[part].count) - first;
  return {part, rest < job.tiles_each ? static_cast<int>(rest) : job.tiles_each, first};
}

template <class V>
__global__ void __launch_bounds__(TILE_BLOCK, BLOCKS<V>)
    decompress(const __grid_constant__ decompression job) {
  extern __shared__ __align__(16) char stage[];
  __shared__ entries<V> all;
  __shared__ part_view view[MOST_PARTS];
  const tile_share<V> share(threadIdx.x);
  if (threadIdx.x < job.parts) {
    const target &part = job.part[threadIdx.x];
    const unsigned fault =
        open_part(part.src, part.room, job.type, sizeof(V), part.count, &view[threadIdx.x]);
    if (fault && blockIdx.x == 0)
      atomicOr(job.wrong, fault);
  }
  __syncthreads();
  const int warp = threadIdx.x / 32;
  int level = 0;
  int64_t unit = blockIdx.x;
  unsigned fault = 0;
  unit_tiles now = tiles_of(job, unit, &level);
  if (warp < now.count)
    ask(view[now.part], job.part[now.part].count, now.first + warp, &all.asked[warp]);
  while (now.count > 0) {
    const target &part = job.part[now.part];
    if (warp < now.count)
      fault |= look_up<V>(view[now.part], part.count, now.first + warp, all.asked[warp], &all.entry[warp],
                          &all.bits[warp]);
    unit += gridDim.x;
    const unit_tiles next = tiles_of(job, unit, &level);
    if (warp < next.count)
      ask(view[next.part], job.part[next.part].count, next.first + warp, &all.asked[warp]);
    fault |= use_entries<V>(all.entry, now.count, stage, ROOM<V>, [&](int e, int at) {
      write_tile<V>(all.entry[e], all.bits[e], share, stage, at,
                    static_cast<V *>(part.dst) + (now.first + e) * SL_TILE_VALUES,
                    length_of_tile(part.count, now.first + e));
    });
    now = next;
  }
  if (fault && threadIdx.x % 32 == 0)
    atomicOr(job.wrong, fault);
}

/* Distributes the parts' tiles over units, for `blocks` blocks. */
void lay_out_units(decompression *job, int64_t blocks) {
  int64_t tiles = 0, end = 0, turns = 0;
  for (int p = 0; p < job->parts; p++)
    tiles += sl_compressed_tiles(job->part[p].count);
  job->tiles_each = tiles_at_once(tiles, blocks, MOST_ENTRIES);
  for (int p = 0; p < job->parts; p++)
    job->part[p].units = (sl_compressed_tiles(job->part[p].count) + job->tiles_each - 1) / job->tiles_each;
  std::stable_sort(job->part, job->part + job->parts,
                   [](const target &a, const target &b) { return a.units < b.units; });
  for (int p = 0; p < job->parts; p++) {
    end += (job->part[p].units - turns) * (job->parts - p);
    turns = job->part[p].units;
    job->part[p].end = end;
  }
}

template <class V> sley_status launch(sl_queue *queue, decompression *job) {
  const int64_t most = BLOCKS<V> * static_cast<int64_t>(sl_cuda_processors(queue));
  lay_out_units(job, most);
  const int64_t units = job->part[job->parts - 1].end;
  const unsigned blocks = static_cast<unsigned>(units < 1 ? 1 : units < most ? units : most);
  SL_TRY(grant<decompress<V>>(staged_bytes(ROOM<V>)));
  decompress<V><<<blocks, TILE_BLOCK, staged_bytes(ROOM<V>), sl_cuda_stream(queue)>>>(*job);
  return sl_cuda_launched(queue, "decompress");
}

/* Runs in several launches if there are more parts than a kernel's arguments hold. */
sley_status decompress_run(sl_queue *queue, const sl_kernel_args *args) {
  const sl_decompress_args *a = &args->decompress;
  SL_TRY(sl_cuda_use(queue->device));
  for (int first = 0; first < a->parts; first += MOST_PARTS) {
    decompression job = {};
    job.parts = a->parts - first < MOST_PARTS ? a->parts - first : MOST_PARTS;
    job.type = a->type;
    job.wrong = a->wrong;
    for (int p = 0; p < job.parts; p++) {
      const sl_compressed_part &part = a->part[first + p];
      job.part[p] = {part.src, part.room, part.dst, part.count, 0, 0};
    }
    if (sley_type_bytes(a->type) == 2)
      SL_TRY(launch<unsigned short>(queue, &job));
    else if (sley_type_bytes(a->type) == 4)
      SL_TRY(launch<unsigned>(queue, &job));
    else
      SL_TRY(launch<unsigned long long>(queue, &job));
  }
  return SLEY_OK;
}

bool decompress_ok(const sl_kernel_args *args) {
  return sl_decompressible(&args->decompress) && has_tiles(args->decompress.type);
}

} // namespace

extern "C" {
extern const sl_kernel sl_cuda_decompress;
const sl_kernel sl_cuda_decompress = {.name = "decompress",
                                      .op = SL_OP_DECOMPRESS,
                                      .ok = decompress_ok,
                                      .cost = sl_cost_of_bytes,
                                      SL_KERNEL_KEEPS_NOTHING,
                                      .run = decompress_run};
}
