/* SPDX-License-Identifier: Apache-2.0 */
/* Counts nonzero values, and compresses to the simple formats: dense, and COO in two passes, one that counts
 * tile by tile and one that writes. */
#include "device/cuda/collective/compress.cuh"
#include "device/cuda/collective/compressed_tile.cuh"

namespace {

using namespace sley;

enum { BLOCKS_PER_PROCESSOR = 8, AHEAD = 4, PLACERS = 1024, PLACER_WARPS = PLACERS / 32, TILES_EACH = 8 };

unsigned blocks_to_move(const sl_queue *queue, int64_t wanted) {
  const int64_t most = BLOCKS_PER_PROCESSOR * static_cast<int64_t>(sl_cuda_processors(queue));
  return static_cast<unsigned>(wanted < 1 ? 1 : wanted < most ? wanted : most);
}

/* ---- counting and copying */

/* Number of values of type V in a word that are not zero. */
template <class V> __device__ __forceinline__ int nonzeros_in(V word) {
  return word != 0;
}
template <class V> __device__ __forceinline__ int nonzeros_in(uint4 word) {
  const unsigned piece[PIECE_WORDS] = {word.x, word.y, word.z, word.w};
  int found = 0;
#pragma unroll
  for (int c = 0; c < tile_share<V>::COLUMNS; c++)
    found += value_in<V>(piece, c) != 0;
  return found;
}

/* Adds the threads' numbers to *total. Called by all threads of a block. */
__device__ void add_to(int64_t *total, int64_t mine) {
  __shared__ unsigned long long sum;
  if (threadIdx.x == 0)
    sum = 0;
  __syncthreads();
#pragma unroll
  for (int step = 16; step > 0; step /= 2)
    mine += __shfl_down_sync(~0u, mine, step);
  if (threadIdx.x % 32 == 0)
    atomicAdd(&sum, static_cast<unsigned long long>(mine));
  __syncthreads();
  if (threadIdx.x == 0 && sum > 0)
    atomicAdd(reinterpret_cast<unsigned long long *>(total), sum);
}

/* Returns whether both addresses are aligned to pieces. */
__host__ __device__ bool is_wide(const void *src, const void *dst) {
  return (reinterpret_cast<uintptr_t>(src) | reinterpret_cast<uintptr_t>(dst)) % PIECE_BYTES == 0;
}

/* Copies values to dst if it is not NULL, in words W, to which both must be aligned. Returns how many of the
 * thread's values are not zero, if counts is set. Called by all threads of a launch. */
template <class V, class W> __device__ int64_t move_words(const V *src, V *dst, int64_t count, bool counts) {
  constexpr int EACH = sizeof(W) / sizeof(V);
  const W *from = reinterpret_cast<const W *>(src);
  W *to = reinterpret_cast<W *>(dst);
  const int64_t words = count / EACH, step = static_cast<int64_t>(gridDim.x) * TILE_BLOCK;
  const int64_t thread = static_cast<int64_t>(blockIdx.x) * TILE_BLOCK + threadIdx.x;
  int64_t found = 0;
  for (int64_t first = thread; first < words; first += AHEAD * step) {
    W word[AHEAD];
#pragma unroll
    for (int i = 0; i < AHEAD; i++)
      word[i] = first + i * step < words ? from[first + i * step] : W{};
#pragma unroll
    for (int i = 0; i < AHEAD; i++) {
      if (counts)
        found += nonzeros_in<V>(word[i]);
      if (dst && first + i * step < words)
        to[first + i * step] = word[i];
    }
  }
  if (const int64_t i = words * EACH + thread; i < count) { /* the values after the last whole word */
    found += src[i] != 0;
    if (dst)
      dst[i] = src[i];
  }
  if (dst && thread == 0)
    pad_array(reinterpret_cast<char *>(dst), count * static_cast<int64_t>(sizeof(V)));
  return found;
}

/* Copies values to dst if it is not NULL, and adds the number of nonzero values to *nonzeros. */
template <class V, class W>
__global__ void __launch_bounds__(TILE_BLOCK)
    move_values(const V *src, V *dst, int64_t count, int64_t *nonzeros) {
  add_to(nonzeros, move_words<V, W>(src, dst, count, true));
}

/* Copies the values of arrays whose headers say dense. */
template <class V>
__global__ void __launch_bounds__(TILE_BLOCK) move_rest(const __grid_constant__ compressions jobs) {
  const int lane = threadIdx.x % 32;
  const bool mine = lane < jobs.arrays && header_of(jobs.array[lane])->format == SL_COMPRESSED_DENSE;
  for (unsigned left = __ballot_sync(~0u, mine); left != 0; left &= left - 1) {
    const compression &job = jobs.array[__ffs(left) - 1];
    const V *src = reinterpret_cast<const V *>(job.src);
    V *dst = reinterpret_cast<V *>(job.dst + SL_COMPRESSED_HEADER);
    if (is_wide(src, dst))
      move_words<V, uint4>(src, dst, job.count, false);
    else
      move_words<V, V>(src, dst, job.count, false);
  }
}

template <class V>
void move_by_width(sl_queue *queue, const void *src, void *dst, int64_t count, int64_t *nonzeros) {
  const V *from = static_cast<const V *>(src);
  V *to = static_cast<V *>(dst);
  if (is_wide(src, dst))
    move_values<V, uint4><<<blocks_to_move(queue, count / (TILE_BLOCK * AHEAD * tile_share<V>::COLUMNS) + 1),
                            TILE_BLOCK, 0, sl_cuda_stream(queue)>>>(from, to, count, nonzeros);
  else
    move_values<V, V>
        <<<blocks_to_move(queue, count / (TILE_BLOCK * AHEAD) + 1), TILE_BLOCK, 0, sl_cuda_stream(queue)>>>(
            from, to, count, nonzeros);
}

void move(sl_queue *queue, int64_t value_bytes, const void *src, void *dst, int64_t count,
          int64_t *nonzeros) {
  if (value_bytes == 2)
    move_by_width<unsigned short>(queue, src, dst, count, nonzeros);
  else if (value_bytes == 4)
    move_by_width<unsigned>(queue, src, dst, count, nonzeros);
  else
    move_by_width<unsigned long long>(queue, src, dst, count, nonzeros);
}

template <class V> void launch_rest_of(sl_queue *queue, const compressions &jobs) {
  int64_t wanted = 0;
  for (int i = 0; i < jobs.arrays; i++)
    wanted += jobs.array[i].count / (TILE_BLOCK * AHEAD * tile_share<V>::COLUMNS) + 1;
  move_rest<V><<<blocks_to_move(queue, wanted), TILE_BLOCK, 0, sl_cuda_stream(queue)>>>(jobs);
}

__global__ void begin_dense(const __grid_constant__ compression job) {
  finish_compression(job, 0);
}

/* ---- COO. A warp has 16 turns of 32 successive values of a tile. */

enum { TURNS = SL_TILE_VALUES / TILE_BLOCK };

/* Bits of the values that a warp keeps in each turn, and their total; values after the array's end are
 * zero. */
template <class V> struct warp_values {
  V value[TURNS];
  int first; /* first value of the warp in the tile */
  int kept = 0;

  __device__ warp_values(const compression &job, int64_t tile) {
    const V *from = reinterpret_cast<const V *>(job.src) + tile * SL_TILE_VALUES;
    const int length = length_of_tile(job.count, tile), lane = threadIdx.x % 32;
    first = threadIdx.x / 32 * (TURNS * 32);
#pragma unroll
    for (int i = 0; i < TURNS; i++)
      value[i] = first + i * 32 + lane < length ? from[first + i * 32 + lane] : 0;
#pragma unroll
    for (int i = 0; i < TURNS; i++)
      kept += __popc(__ballot_sync(~0u, value[i] != 0));
  }
};

template <class V>
__global__ void __launch_bounds__(TILE_BLOCK) count_tiles(const __grid_constant__ compression job) {
  __shared__ unsigned kept;
  for (int64_t tile = blockIdx.x; tile < job.tiles; tile += gridDim.x) {
    if (threadIdx.x == 0)
      kept = 0;
    __syncthreads();
    const warp_values<V> mine(job, tile);
    if (threadIdx.x % 32 == 0)
      atomicAdd(&kept, static_cast<unsigned>(mine.kept));
    __syncthreads();
    if (threadIdx.x == 0)
      job.state[tile] = kept;
    __syncthreads();
  }
}

/* Run by one block: replaces each tile's count by the sum of the earlier ones, then finishes the
 * compression. */
__global__ void __launch_bounds__(PLACERS) place_tiles(const __grid_constant__ compression job) {
  __shared__ unsigned sums[PLACER_WARPS];
  const int warp = threadIdx.x / 32;
  unsigned long long before = 0;
  for (int64_t window = 0; window < job.tiles; window += PLACERS * TILES_EACH) {
    const int64_t first = window + threadIdx.x * TILES_EACH;
    unsigned count[TILES_EACH], mine = 0, ahead;
    for (int i = 0; i < TILES_EACH; i++) {
      count[i] = first + i < job.tiles ? static_cast<unsigned>(job.state[first + i]) : 0;
      mine += count[i];
    }
    const unsigned of_warp = scan_columns(mine, &ahead);
    if (threadIdx.x % 32 == 0)
      sums[warp] = of_warp;
    __syncthreads();
    unsigned long long next = before + ahead;
    for (int w = 0; w < PLACER_WARPS; w++) {
      next += w < warp ? sums[w] : 0;
      before += sums[w];
    }
    for (int i = 0; i < TILES_EACH; i++) {
      if (first + i < job.tiles)
        job.state[first + i] = next;
      next += count[i];
    }
    __syncthreads();
  }
  if (threadIdx.x == 0)
    finish_compression(job, static_cast<int64_t>(before));
}

template <class V>
__global__ void __launch_bounds__(TILE_BLOCK) write_coo(const __grid_constant__ compression job) {
  __shared__ int of_warp[TILE_WARPS];
  if (header_of(job)->format != SL_COMPRESSED_COO)
    return;
  char *payload = job.dst + SL_COMPRESSED_HEADER;
  unsigned *position = reinterpret_cast<unsigned *>(payload);
  V *values = reinterpret_cast<V *>(payload + sl_compressed_padded(header_of(job)->nonzeros * 4));
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (int64_t tile = blockIdx.x; tile < job.tiles; tile += gridDim.x) {
    const warp_values<V> mine(job, tile);
    if (lane == 0)
      of_warp[warp] = mine.kept;
    __syncthreads();
    int64_t next = static_cast<int64_t>(job.state[tile]);
    for (int w = 0; w < warp; w++)
      next += of_warp[w];
#pragma unroll
    for (int i = 0; i < TURNS; i++) {
      const unsigned kept = __ballot_sync(~0u, mine.value[i] != 0);
      const int64_t to = next + __popc(kept & (1u << lane) - 1);
      if (mine.value[i] != 0) {
        position[to] = static_cast<unsigned>(tile * SL_TILE_VALUES + mine.first + i * 32 + lane);
        values[to] = mine.value[i];
      }
      next += __popc(kept);
    }
    __syncthreads();
  }
}

template <class V> void launch_coo_of(sl_queue *queue, const compression &job) {
  cudaStream_t stream = sl_cuda_stream(queue);
  const unsigned blocks = blocks_to_move(queue, job.tiles);
  count_tiles<V><<<blocks, TILE_BLOCK, 0, stream>>>(job);
  place_tiles<<<1, PLACERS, 0, stream>>>(job);
  write_coo<V><<<blocks, TILE_BLOCK, 0, stream>>>(job);
}

} // namespace

sley_status sley::launch_coo(sl_queue *queue, const compression &job) {
  if (job.value_bytes == 2)
    launch_coo_of<unsigned short>(queue, job);
  else if (job.value_bytes == 4)
    launch_coo_of<unsigned>(queue, job);
  else
    launch_coo_of<unsigned long long>(queue, job);
  return sl_cuda_launched(queue, "compress to COO");
}

sley_status sley::launch_dense(sl_queue *queue, const compression &job) {
  begin_dense<<<1, 1, 0, sl_cuda_stream(queue)>>>(job);
  move(queue, job.value_bytes, job.src, job.dst + SL_COMPRESSED_HEADER, job.count,
       &reinterpret_cast<sl_compressed_header *>(job.dst)->nonzeros);
  return sl_cuda_launched(queue, "compress to dense");
}

sley_status sley::launch_rest(sl_queue *queue, const compressions &jobs) {
  const int64_t value_bytes = jobs.array[0].value_bytes;
  if (value_bytes == 2)
    launch_rest_of<unsigned short>(queue, jobs);
  else if (value_bytes == 4)
    launch_rest_of<unsigned>(queue, jobs);
  else
    launch_rest_of<unsigned long long>(queue, jobs);
  return sl_cuda_launched(queue, "compress to dense");
}

sley_status sley::launch_count(sl_queue *queue, const sl_nonzeros_args *a) {
  move(queue, static_cast<int64_t>(sley_type_bytes(a->type)), a->src, nullptr, a->count, a->nonzeros);
  return sl_cuda_launched(queue, "nonzeros");
}
