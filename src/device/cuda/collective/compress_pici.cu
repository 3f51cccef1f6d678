/* SPDX-License-Identifier: Apache-2.0 */
/* Compression to Pici in one pass over the values, for several arrays at once.
 *
 * The tiles of all arrays are numbered consecutively, array after array. Blocks of threads take tiles by a
 * ticket. A tile is first copied to a slot of shared memory, while other tiles are processed. Then its bits
 * and the number of values kept are found; the block publishes the number in the tile's word of `state`. The
 * values kept are compacted within the slot. DEFER tiles later the number of values kept by all earlier tiles
 * of the array is known, and the values are written to their place. So a block waits for other tiles only if
 * these are late by more than the time of DEFER tiles.
 *
 * The block that draws the first ticket takes no tile: each of its warps places the tiles of one array. The
 * warp goes through its array's words of `state` in order, many at a time, and replaces each count by the sum
 * of the earlier ones. This sum is taken over whole numbers in the order of tiles, so the bytes do not depend
 * on timing or on the other arrays.
 *
 * There is no deadlock. Tickets are drawn by running blocks, first by the placing block, whose warps wait
 * only for counts of their own arrays. Counting a tile waits only for tiles that the same block drew before,
 * of whatever array. These have smaller numbers, and each of them waits only for tiles of its own array with
 * smaller numbers to be counted. So the uncounted tile with the smallest number can always be counted. */
#include "device/cuda/collective/compress.cuh"
#include "device/cuda/collective/compressed_tile.cuh"
#include "device/cuda/collective/published.cuh"
#include "device/cuda/shared_memory.cuh"

namespace {

using namespace sley;

typedef unsigned long long word_t;

enum { RUN = 8 }; /* successive words of `state` that each lane of a placing warp reads at once */

/* States of a word: 0, nothing yet; COUNTED, with the number of values that the tile keeps; PLACED, with the
 * number that all earlier tiles keep. */
constexpr word_t COUNTED = 1ull << 62, PLACED = 1ull << 63, NUMBER = COUNTED - 1;

/* Slots hold the tile being copied, the tile being processed, and DEFER tiles that wait for their place.
 * BLOCKS: blocks per multiprocessor, as shared memory allows. */
template <class V> struct pipeline {
  static constexpr int SLOTS = sizeof(V) == 8 ? 3 : 4, DEFER = SLOTS - 2;
  static constexpr int BLOCKS = sizeof(V) == 8 ? 2 : sizeof(V) == 4 ? 3 : 5;
  static constexpr int SLOT_BYTES = staged_bytes(tile_bytes<V>);
};

struct pici_array {
  compression all;
  char *words, *index, *values;
  int64_t capacity; /* values that fit in the payload */
  int64_t end;      /* number of tiles of this array and all earlier ones */
};

struct pici_job {
  int arrays;
  word_t *ticket;
  pici_array array[MOST_ARRAYS];
};

/* A tile, by its array and its number in that array; array = arrays: no tile. kept: number of values kept,
 * once counted. */
struct place {
  int array;
  unsigned kept;
  int64_t tile;
};

/* Finds the tile with this number among the tiles of all arrays; it is not in an array before `array`. */
__device__ __forceinline__ place place_of(const pici_job &job, int64_t number, int array) {
  while (array < job.arrays && number >= job.array[array].end)
    array++;
  return {array, 0, array > 0 ? number - job.array[array - 1].end : number};
}

/* Turns the words of state of an array's tiles into PLACED ones, in order. Called by all lanes of a warp;
 * each takes a run of words. Returns the number of values kept. */
__device__ int64_t place_tiles(const compression &all) {
  const int lane = threadIdx.x % 32;
  word_t before = 0;
  for (int64_t first = 0; first < all.tiles;) {
    const int64_t from = first + lane * RUN;
    word_t word[RUN];
#pragma unroll
    for (int i = 0; i < RUN; i++)
      word[i] = from + i < all.tiles ? published(&all.state[from + i]) : 0;
    int lead = 0; /* number of words of the run before the first gap; mine: values that their tiles keep */
    unsigned mine = 0, ahead;
#pragma unroll
    for (int i = 0; i < RUN; i++)
      if (lead == i && (word[i] & COUNTED)) {
        lead++;
        mine += static_cast<unsigned>(word[i] & NUMBER);
      }
    const unsigned whole = __ballot_sync(~0u, lead == RUN);
    const int gap = whole == ~0u ? 32 : __ffs(~whole) - 1; /* first lane with a gap */
    if (lane > gap)
      lead = mine = 0;
    const unsigned sum = scan_columns(mine, &ahead);
    word_t next = before + ahead;
#pragma unroll
    for (int i = 0; i < RUN; i++)
      if (i < lead) {
        publish(&all.state[from + i], PLACED | next);
        next += word[i] & NUMBER;
      }
    before += sum;
    first += gap * RUN + (gap < 32 ? __shfl_sync(~0u, lead, gap) : 0);
  }
  return static_cast<int64_t>(before);
}

/* Starts to copy a tile to a slot, COPY bytes at a time. Values after the array's end become zero. */
template <class V, int COPY>
__device__ __forceinline__ void fetch_by(char *slot, const compression &all, int64_t tile) {
  const char *from = all.src + tile * tile_bytes<V>;
  const int there = length_of_tile(all.count, tile) * static_cast<int>(sizeof(V));
  constexpr int STEP = TILE_BLOCK * COPY;
  if constexpr (COPY < 4) {
    for (int at = threadIdx.x * COPY; at < tile_bytes<V>; at += STEP)
      *reinterpret_cast<V *>(slot + at) = at < there ? *reinterpret_cast<const V *>(from + at) : 0;
  } else if (there == tile_bytes<V>) {
#pragma unroll
    for (int i = 0; i < tile_bytes<V> / STEP; i++)
      copy_ahead<COPY>(slot + threadIdx.x * COPY + i * STEP, from + threadIdx.x * COPY + i * STEP);
  } else {
    for (int at = threadIdx.x * COPY; at < tile_bytes<V>; at += STEP) {
      if (there - at >= COPY)
        copy_ahead<COPY>(slot + at, from + at);
      else /* the last piece of the array, and the pieces after it */
        for (int i = at; i < at + COPY; i += static_cast<int>(sizeof(V)))
          *reinterpret_cast<V *>(slot + i) = i < there ? *reinterpret_cast<const V *>(from + i) : 0;
    }
  }
}

/* Selects the copy by whether the array begins at a multiple of 16 bytes. */
template <class V> __device__ __forceinline__ void fetch(char *slot, const compression &all, int64_t tile) {
  if (reinterpret_cast<uintptr_t>(all.src) % PIECE_BYTES == 0)
    fetch_by<V, PIECE_BYTES>(slot, all, tile);
  else
    fetch_by<V, static_cast<int>(sizeof(V))>(slot, all, tile);
}

/* Prefetches bytes to the L2 cache that some block of the grid will read soon. Called by all threads of the
 * block. */
__device__ __forceinline__ void fetch_to_l2(const char *from, int bytes) {
  constexpr int LINE = 128;
  for (int at = threadIdx.x * LINE; at < bytes; at += TILE_BLOCK * LINE)
    asm volatile("prefetch.global.L2 [%0];" ::"l"(from + at));
}

/* Prefetches the tile that this block takes next if all blocks proceed equally. */
template <class V>
__device__ __forceinline__ void look_ahead(const pici_job &job, int64_t number, int array) {
  const place later = place_of(job, number + gridDim.x, array);
  if (later.array < job.arrays) {
    const compression &all = job.array[later.array].all;
    fetch_to_l2(all.src + later.tile * tile_bytes<V>,
                length_of_tile(all.count, later.tile) * static_cast<int>(sizeof(V)));
  }
}

/* Fields of the thread's columns, FIELD bits each, packed in two words. A bit is set if the value is kept. */
template <class V> struct fields {
  unsigned word[2] = {0, 0};

  /* Sets the bits of row j of the thread. */
  __device__ void add(const unsigned (&piece)[PIECE_WORDS], int j) {
#pragma unroll
    for (int m = 0; m < PIECE_WORDS; m++) {
      if constexpr (sizeof(V) == 2) /* two columns are counted at once */
        word[m / 2] |= __vminu2(piece[m], 0x00010001) << (8 * (m % 2) + j);
      else if constexpr (sizeof(V) == 4)
        word[m / 2] |= min(piece[m], 1u) << (16 * (m % 2) + j);
      else if (m % 2 == 0)
        word[m / 2] |= min(piece[m] | piece[m + 1], 1u) << j;
    }
  }
  /* The field of column c. */
  __device__ unsigned operator[](int c) const {
    if constexpr (sizeof(V) == 2)
      return word[c / 4] >> (16 * (c % 2) + 8 * (c / 2 % 2)) & 0xff;
    else if constexpr (sizeof(V) == 4)
      return word[c / 2] >> 16 * (c % 2) & 0xffff;
    else
      return word[c];
  }
  /* Merges the fields of the lanes that have the other rows of the same columns. */
  __device__ void join(int above) {
#pragma unroll
    for (int i = 0; i < 2; i++) {
      word[i] <<= above;
      word[i] |= __shfl_xor_sync(~0u, word[i], 8);
      word[i] |= __shfl_xor_sync(~0u, word[i], 16);
    }
  }
};

/* A thread's data of the tile being processed. */
template <class V> struct thread_tile {
  unsigned piece[tile_share<V>::ROWS][PIECE_WORDS];
  fields<V> kept;
};

/* Writes a tile's values to the second destination. */
template <class V>
__device__ void copy_on(const compression &all, int64_t tile, const tile_share<V> &share,
                        const thread_tile<V> &t) {
  V *to = reinterpret_cast<V *>(all.copy) + tile * SL_TILE_VALUES;
  const bool wide = reinterpret_cast<uintptr_t>(to) % PIECE_BYTES == 0;
#pragma unroll
  for (int j = 0; j < tile_share<V>::ROWS; j++)
    store_piece<V>(t.piece[j], to, share.at(j), length_of_tile(all.count, tile), wide);
}

/* Loads the thread's values of the tile in a slot, and writes the tile's words. */
template <class V>
__device__ void find_bits(const char *slot, const tile_share<V> &share, thread_tile<V> *t, word_t *words) {
  constexpr int FIELD = tile_share<V>::FIELD;
#pragma unroll
  for (int j = 0; j < tile_share<V>::ROWS; j++) {
    load_words(t->piece[j], slot + share.at(j) * static_cast<int>(sizeof(V)));
    t->kept.add(t->piece[j], j);
  }
  t->kept.join(share.above);
  char *field = reinterpret_cast<char *>(words + share.column) + share.range * (FIELD / 8);
#pragma unroll
  for (int c = 0; c < tile_share<V>::COLUMNS; c++) {
    if (c % 4 != threadIdx.x % 32 / 8)
      continue;
    if constexpr (FIELD == 8)
      *reinterpret_cast<unsigned char *>(field + 8 * c) = static_cast<unsigned char>(t->kept[c]);
    else if constexpr (FIELD == 16)
      *reinterpret_cast<unsigned short *>(field + 8 * c) = static_cast<unsigned short>(t->kept[c]);
    else
      *reinterpret_cast<unsigned *>(field + 8 * c) = t->kept[c];
  }
}

/* Returns the number of values that the tile keeps, and writes to starts where the fields of the warp begin.
 * Called by all warps. */
template <class V>
__device__ unsigned count_columns(const word_t *words, const tile_share<V> &share, unsigned *starts) {
  const int lane = threadIdx.x % 32;
  const word_t left = words[2 * lane], right = words[2 * lane + 1];
  const word_t above = (1ull << share.range * tile_share<V>::FIELD) - 1;
  const unsigned in_left = __popcll(left);
  unsigned before;
  const unsigned kept = scan_columns(in_left + __popcll(right), &before);
  starts[lane] = (before + __popcll(left & above)) | (before + in_left + __popcll(right & above)) << 16;
  __syncwarp();
  return kept;
}

/* Compacts the values kept at the start of the slot. All threads must have loaded their values before. */
template <class V>
__device__ void compact(char *slot, const tile_share<V> &share, const thread_tile<V> &t,
                        const unsigned *starts) {
  unsigned start[tile_share<V>::COLUMNS];
  load_starts<V>(start, reinterpret_cast<const unsigned short *>(starts) + share.column);
#pragma unroll
  for (int c = 0; c < tile_share<V>::COLUMNS; c++) {
    const unsigned field = t.kept[c], own = share.own(field);
    if (own == 0)
      continue;
    int at = (start[c] + share.before(field)) * sizeof(V);
#pragma unroll
    for (int j = 0; j < tile_share<V>::ROWS; j++)
      if (own >> j & 1) {
        *reinterpret_cast<V *>(slot + staged(at)) = value_in<V>(t.piece[j], c);
        at += sizeof(V);
      }
  }
}

template <class V> __device__ __forceinline__ V staged_value(const char *slot, int i) {
  return *reinterpret_cast<const V *>(slot + staged(i * static_cast<int>(sizeof(V))));
}

/* Writes a tile's values from a slot to the payload, from value `base` on, as far as they fit. */
template <class V>
__device__ void write_values(const pici_array &array, const char *slot, int64_t base, unsigned kept) {
  const int64_t room = array.capacity - base;
  const int count = room <= 0 ? 0 : room < kept ? static_cast<int>(room) : static_cast<int>(kept);
  V *to = reinterpret_cast<V *>(array.values) + base;
  if constexpr (sizeof(V) != 2) {
    for (int i = threadIdx.x; i < count; i += TILE_BLOCK)
      to[i] = staged_value<V>(slot, i);
  } else { /* aligned pairs; the first or the last value may have no partner */
    const int odd = static_cast<int>(base & 1);
    for (int i = odd + 2 * threadIdx.x; i + 1 < count; i += 2 * TILE_BLOCK)
      *reinterpret_cast<unsigned *>(to + i) =
          staged_value<V>(slot, i) | static_cast<unsigned>(staged_value<V>(slot, i + 1)) << 16;
    if (threadIdx.x == 0 && odd && count > 0)
      to[0] = staged_value<V>(slot, 0);
    if (threadIdx.x == 0 && count > odd && (count - odd) % 2 == 1)
      to[count - 1] = staged_value<V>(slot, count - 1);
  }
}

__device__ void write_count(const pici_array &array, int64_t tile, int64_t base) {
  if (array.all.format == SL_COMPRESSED_PICI32)
    reinterpret_cast<unsigned *>(array.index)[tile] = static_cast<unsigned>(base);
  else
    reinterpret_cast<int64_t *>(array.index)[tile] = base;
}

/* Waits for the number of values that all earlier tiles keep, and returns it. */
__device__ int64_t wait_for_place(const word_t *state) {
  for (;;) {
    const word_t word = published(state);
    if (word & PLACED)
      return static_cast<int64_t>(word & NUMBER);
  }
}

template <class V>
__global__ void __launch_bounds__(TILE_BLOCK, pipeline<V>::BLOCKS)
    compress_pici(const __grid_constant__ pici_job job) {
  constexpr int SLOTS = pipeline<V>::SLOTS, DEFER = pipeline<V>::DEFER, SLOT = pipeline<V>::SLOT_BYTES;
  extern __shared__ __align__(16) char slots[];
  __shared__ word_t words[SL_TILE_COLUMNS];
  __shared__ __align__(16) unsigned starts[TILE_WARPS][32];
  __shared__ word_t drawn[2];   /* the first and the next ticket */
  __shared__ place held[SLOTS]; /* the tile in each slot */
  __shared__ int64_t base;
  const int thread = threadIdx.x, warp = thread / 32, arrays = job.arrays;
  if (thread == 0) {
    drawn[0] = atomicAdd(job.ticket, 1ull);
    if (drawn[0] != 0)
      drawn[1] = atomicAdd(job.ticket, 1ull);
  }
  __syncthreads();
  if (drawn[0] == 0) {
    if (warp >= arrays)
      return;
    const compression &all = job.array[warp].all;
    const int64_t kept = place_tiles(all);
    if (thread % 32 == 0)
      finish_compression(all, kept);
    return;
  }
  const tile_share<V> share(thread);
  const place first = place_of(job, static_cast<int64_t>(drawn[0]) - 1, 0);
  if (thread < SLOTS)
    held[thread] = {thread == 0 ? first.array : arrays, 0, first.tile};
  if (first.array < arrays) {
    fetch<V>(slots, job.array[first.array].all, first.tile);
    look_ahead<V>(job, static_cast<int64_t>(drawn[0]) - 1, first.array);
  }
  int turns = first.array < arrays ? DEFER : 0; /* turns left until no tile waits for its place */
  for (int slot = 0; turns > 0; slot = slot + 1 == SLOTS ? 0 : slot + 1) {
    const int next_slot = slot + 1 == SLOTS ? 0 : slot + 1, old_slot = (slot + SLOTS - DEFER) % SLOTS;
    char *here = slots + slot * SLOT;
    copies_wait_all();
    __syncthreads(); /* the tile is in its slot; the slot to be filled next and drawn[1] are no longer read */
    place &now = held[slot];
    const bool works = now.array < arrays;
    word_t ticket = drawn[1];
    const place next = place_of(job, static_cast<int64_t>(ticket) - 1, now.array);
    if (next.array < arrays) {
      fetch<V>(slots + next_slot * SLOT, job.array[next.array].all, next.tile);
      look_ahead<V>(job, static_cast<int64_t>(ticket) - 1, next.array);
    }
    if (thread == 0) {
      held[next_slot] = next;
      if (next.array < arrays)
        ticket = atomicAdd(job.ticket, 1ull);
    }
    thread_tile<V> t;
    if (works)
      find_bits<V>(here, share, &t, words);
    __syncthreads(); /* words are complete; the slot has been read */
    if (works) {
      const pici_array &array = job.array[now.array];
      const int64_t tile = now.tile;
      if (array.all.copy)
        copy_on<V>(array.all, tile, share, t);
      const unsigned kept = count_columns<V>(words, share, starts[warp]);
      if (thread == 0) {
        publish(&array.all.state[tile], COUNTED | kept);
        now.kept = kept;
      }
      if (thread < SL_TILE_COLUMNS)
        reinterpret_cast<word_t *>(array.words)[tile * SL_TILE_COLUMNS + thread] = words[thread];
      compact<V>(here, share, t, starts[warp]);
    }
    const place &old = held[old_slot];
    if (thread == TILE_BLOCK - 32 && old.array < arrays) {
      base = wait_for_place(&job.array[old.array].all.state[old.tile]);
      write_count(job.array[old.array], old.tile, base);
    }
    if (thread == 0)
      drawn[1] = ticket;
    __syncthreads(); /* base and drawn[1] are set; the slot is compacted */
    if (old.array < arrays)
      write_values<V>(job.array[old.array], slots + old_slot * SLOT, base, old.kept);
    turns = works ? DEFER : turns - 1;
  }
}

template <class V> sley_status launch(sl_queue *queue, const pici_job &job) {
  constexpr int BYTES = pipeline<V>::SLOTS * pipeline<V>::SLOT_BYTES;
  const int64_t most = static_cast<int64_t>(pipeline<V>::BLOCKS) * sl_cuda_processors(queue);
  const int64_t wanted = job.array[job.arrays - 1].end + 1;
  const unsigned blocks = static_cast<unsigned>(wanted < most ? wanted : most);
  SL_TRY(grant<compress_pici<V>>(BYTES));
  compress_pici<V><<<blocks, TILE_BLOCK, BYTES, sl_cuda_stream(queue)>>>(job);
  return sl_cuda_launched(queue, "compress");
}

} // namespace

sley_status sley::launch_pici(sl_queue *queue, const compressions &jobs) {
  const compression &one = jobs.array[0];
  pici_job job = {};
  job.arrays = jobs.arrays;
  job.ticket = one.state + one.tiles; /* the words after the tiles of the other arrays are unused */
  int64_t end = 0;
  for (int i = 0; i < jobs.arrays; i++) {
    const compression &all = jobs.array[i];
    const sl_compressed_layout layout = sl_compressed_lay_out(all.format, all.value_bytes, all.count, 0);
    char *payload = all.dst + SL_COMPRESSED_HEADER;
    end += all.tiles;
    job.array[i] = {all,
                    payload,
                    payload + layout.index,
                    payload + layout.values,
                    (all.room - SL_COMPRESSED_HEADER - layout.values) / all.value_bytes,
                    end};
  }
  if (one.value_bytes == 2)
    return launch<unsigned short>(queue, job);
  if (one.value_bytes == 4)
    return launch<unsigned>(queue, job);
  return launch<word_t>(queue, job);
}
