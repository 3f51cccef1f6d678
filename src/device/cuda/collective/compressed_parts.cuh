/* SPDX-License-Identifier: Apache-2.0 */
/* Reads tiles of compressed arrays in a kernel. The input may be in any format and have any content; each
 * tile is checked, as described in device/cpu/collective/compressed_tile.c.
 *
 * A block of threads takes up to MOST_ENTRIES tiles (entries) at once: several tiles of one array, or the
 * same tile of several arrays. First one warp per entry finds which values the tile keeps (look_up). Then the
 * values of as many entries as fit are copied to shared memory (stage_some) and passed to the threads (give),
 * each of which has its share of a tile (compressed_tile.cuh). The input of look_up for the next entries is
 * requested before waiting for the values of the current ones (ask). So the latency of memory, which may be
 * another GPU's, is paid once per tile, not twice. */
#ifndef SLEY_DEVICE_CUDA_COLLECTIVE_COMPRESSED_PARTS_CUH
#define SLEY_DEVICE_CUDA_COLLECTIVE_COMPRESSED_PARTS_CUH

#include "device/cuda/collective/compressed_tile.cuh"
#include "device/cuda/shared_memory.cuh"

namespace sley {

enum {
  MOST_ENTRIES = TILE_WARPS,
  CHUNK = 8,   /* bytes per copy to the stage */
  ABSENT = -1, /* used in place of a format: the array is read as zeros */
};

/* A compressed array whose header has been read, or a dense one without a header. */
struct part_view {
  int format; /* sl_compressed_format, or ABSENT */
  const char *payload;
  int64_t nonzeros, index, values;
};

/* Opens an array. Returns bits of sl_compressed_fault. */
__device__ inline unsigned open_part(const void *src, int64_t room, sley_type type, int64_t value_bytes,
                                     int64_t count, part_view *out) {
  sl_compressed_header header = {};
  out->format = ABSENT;
  if (room >= SL_COMPRESSED_HEADER)
    header = *static_cast<const sl_compressed_header *>(src);
  if (sl_compressed_contradiction(&header, type, value_bytes, count, room))
    return SL_FAULT_HEADER;
  const sl_compressed_format format = static_cast<sl_compressed_format>(header.format);
  const sl_compressed_layout layout = sl_compressed_lay_out(format, value_bytes, count, header.nonzeros);
  *out = {header.format, static_cast<const char *>(src) + SL_COMPRESSED_HEADER, header.nonzeros, layout.index,
          layout.values};
  return 0;
}

/* One tile of an array, ready to be staged. */
struct tile_entry {
  int format;
  int kept;
  int bytes;  /* bytes to copy to the stage, in chunks; 0 for a dense tile that is read directly */
  int within; /* offset of the first value in the first chunk */
  const char *values, *position;
  int64_t first, nonzeros;

  /* Bytes of the stage that the entry occupies; entries begin at whole pieces. */
  __device__ int taken() const {
    return (bytes + PIECE_BYTES - 1) / PIECE_BYTES * PIECE_BYTES;
  }
};

/* For Pici: the fields of all columns for each range of rows, and the number of values kept before each
 * field. */
template <class V> struct tile_bits {
  static constexpr int FIELD = tile_share<V>::FIELD, RANGES = tile_share<V>::RANGES;
  unsigned pair_of_starts[RANGES][SL_TILE_COLUMNS / 2];
  unsigned long long fields[RANGES][SL_TILE_COLUMNS * FIELD / 64];
};

/* For Pici: the input of look_up, in shared memory. */
struct asked_tile {
  unsigned long long words[SL_TILE_COLUMNS];
  unsigned long long before[2]; /* for PICI32: two 32-bit numbers */
};

template <class V> struct entries {
  tile_entry entry[MOST_ENTRIES];
  alignas(16) tile_bits<V> bits[MOST_ENTRIES];
  asked_tile asked[MOST_ENTRIES]; /* input for the next entries */
};

/* ---- looking up */

/* The bits of a column that stand for values, in a tile of `length` values. */
__device__ __forceinline__ unsigned long long bits_of_column(int length, int column) {
  const int rows = (length - column + SL_TILE_COLUMNS - 1) / SL_TILE_COLUMNS;
  return rows >= 64 ? ~0ull : rows <= 0 ? 0 : (1ull << rows) - 1;
}

/* Stores the fields of two neighbouring columns, of FIELD bits each, as one word. */
template <int FIELD, class BITS>
__device__ __forceinline__ void set_fields(BITS *fields, int lane, unsigned left, unsigned right) {
  if constexpr (FIELD == 8)
    reinterpret_cast<unsigned short *>(fields)[lane] = static_cast<unsigned short>(left | right << 8);
  else if constexpr (FIELD == 16)
    reinterpret_cast<unsigned *>(fields)[lane] = left | right << 16;
  else
    reinterpret_cast<uint2 *>(fields)[lane] = make_uint2(left, right);
}

/* Starts to copy the input of look_up for a tile. The warp must wait for the copies before look_up. Called by
 * all lanes of a warp. */
__device__ __forceinline__ void ask(const part_view &part, int64_t count, int64_t tile, asked_tile *out) {
  const int lane = threadIdx.x % 32;
  if (part.format != SL_COMPRESSED_PICI32 && part.format != SL_COMPRESSED_PICI64)
    return;
  __syncwarp(); /* all lanes have read the previous input */
  const auto *words = reinterpret_cast<const unsigned long long *>(part.payload) + tile * SL_TILE_COLUMNS;
  copy_ahead<8>(&out->words[lane], words + lane);
  copy_ahead<8>(&out->words[32 + lane], words + 32 + lane);
  if (lane > 1 || tile + lane == sl_compressed_tiles(count)) /* no tile follows the last tile */
    return;
  if (part.format == SL_COMPRESSED_PICI32)
    copy_ahead<4>(reinterpret_cast<unsigned *>(out->before) + lane,
                  reinterpret_cast<const unsigned *>(part.payload + part.index) + tile + lane);
  else
    copy_ahead<8>(&out->before[lane],
                  reinterpret_cast<const unsigned long long *>(part.payload + part.index) + tile + lane);
}

/* Looks up a tile for which ask was called. Returns bits of sl_compressed_fault, and leaves *out unchanged if
 * there are any. Called by all lanes of a warp. */
template <class V>
__device__ unsigned look_up_pici(const part_view &part, int64_t count, int64_t tile, const asked_tile &asked,
                                 tile_entry *out, tile_bits<V> *bits) {
  constexpr int FIELD = tile_bits<V>::FIELD;
  constexpr unsigned MASK = FIELD == 32 ? ~0u : (1u << FIELD) - 1;
  const int lane = threadIdx.x % 32, length = length_of_tile(count, tile);
  const auto all = static_cast<unsigned long long>(part.nonzeros);
  const auto *before = reinterpret_cast<const unsigned *>(asked.before);
  const bool last = tile + 1 == sl_compressed_tiles(count), narrow = part.format == SL_COMPRESSED_PICI32;
  unsigned long long left = asked.words[2 * lane], right = asked.words[2 * lane + 1];
  const unsigned long long begin = narrow ? before[0] : asked.before[0], end = last     ? all
                                                                               : narrow ? before[1]
                                                                                        : asked.before[1];
  const bool beyond =
      ((left & ~bits_of_column(length, 2 * lane)) | (right & ~bits_of_column(length, 2 * lane + 1))) != 0;
  const unsigned in_left = __popcll(left);
  unsigned start;
  const unsigned kept = scan_columns(in_left + __popcll(right), &start);
  if (__any_sync(~0u, beyond) || begin > end || end > all || end - begin != kept || (tile == 0 && begin != 0))
    return SL_FAULT_PAYLOAD;
  unsigned right_start = start + in_left;
#pragma unroll
  for (int r = 0; r < tile_bits<V>::RANGES; r++) {
    const unsigned in_range_left = static_cast<unsigned>(left) & MASK,
                   in_range_right = static_cast<unsigned>(right) & MASK;
    bits->pair_of_starts[r][lane] = start | right_start << 16;
    set_fields<FIELD>(bits->fields[r], lane, in_range_left, in_range_right);
    start += __popc(in_range_left);
    right_start += __popc(in_range_right);
    left >>= FIELD;
    right >>= FIELD;
  }
  if (lane == 0) {
    const auto at = part.values + static_cast<int64_t>(begin * sizeof(V));
    out->format = part.format;
    out->kept = static_cast<int>(kept);
    out->within = static_cast<int>(at % CHUNK);
    out->values = part.payload + at - out->within;
    out->bytes = (out->within + static_cast<int>(kept * sizeof(V)) + CHUNK - 1) / CHUNK * CHUNK;
  }
  return 0;
}

/* Returns a place n in an array of `count` positions: position n - 1 is below the limit, and position n is
 * not (if they exist). If positions ascend, n is unique. Otherwise n is arbitrary, but the same for every
 * call with the same limit. Called by all lanes of a warp. */
__device__ inline int64_t positions_below(const unsigned *position, int64_t count, int64_t limit) {
  int64_t from = 0, to = count;
  while (from < to) {
    const int64_t at = from + (to - from) * (threadIdx.x % 32) / 32; /* ascending over the lanes, starting
                                                                      * with `from` */
    const unsigned reached = __ballot_sync(~0u, position[at] >= limit);
    const int lane = reached ? __ffs(reached) - 1 : 32;
    const int64_t stop = __shfl_sync(~0u, at, lane < 32 ? lane : 31);
    const int64_t passed = __shfl_sync(~0u, at, lane > 0 ? lane - 1 : 0);
    to = lane < 32 ? stop : to;
    from = lane > 0 ? passed + 1 : from;
  }
  return from;
}

/* Looks up a tile. Whether its positions ascend is checked later, by stage_coo. Called by all lanes of a
 * warp. */
template <class V>
__device__ unsigned look_up_coo(const part_view &part, int64_t count, int64_t tile, tile_entry *out) {
  const unsigned *position = reinterpret_cast<const unsigned *>(part.payload);
  const int64_t first = tile * SL_TILE_VALUES, end = first + length_of_tile(count, tile);
  const int64_t from = positions_below(position, part.nonzeros, first),
                to = positions_below(position, part.nonzeros, end);
  if (from > to || to - from > end - first || (end == count && to != part.nonzeros))
    return SL_FAULT_PAYLOAD;
  if (threadIdx.x % 32 == 0) {
    out->format = part.format;
    out->kept = static_cast<int>(to - from);
    out->values = part.payload + part.values + from * static_cast<int64_t>(sizeof(V));
    out->position = reinterpret_cast<const char *>(position + from);
    out->first = first;
  }
  return 0;
}

/* Looks up a tile of a dense array. Values are copied to the stage only if they consist of whole chunks. */
template <class V>
__device__ void look_up_dense(const part_view &part, int64_t count, int64_t tile, tile_entry *out) {
  const char *values = part.payload + tile * tile_bytes<V>;
  const int bytes = length_of_tile(count, tile) * static_cast<int>(sizeof(V));
  const bool whole = (reinterpret_cast<uintptr_t>(values) | static_cast<unsigned>(bytes)) % CHUNK == 0;
  out->format = SL_COMPRESSED_DENSE;
  out->bytes = whole ? bytes : 0;
  out->values = values;
}

/* Finds all properties of a tile that can be known before its values are read. ask must have been called for
 * the tile. An invalid tile is marked to be read as zeros. Returns bits of sl_compressed_fault. Called by all
 * lanes of a warp. */
template <class V>
__device__ unsigned look_up(const part_view &part, int64_t count, int64_t tile, const asked_tile &asked,
                            tile_entry *out, tile_bits<V> *bits) {
  copies_wait_all();
  if (threadIdx.x % 32 == 0) {
    out->format = ABSENT;
    out->bytes = 0;
    if (part.format == SL_COMPRESSED_DENSE)
      look_up_dense<V>(part, count, tile, out);
  }
  __syncwarp();
  if (part.format == ABSENT || part.format == SL_COMPRESSED_DENSE)
    return 0;
  return part.format == SL_COMPRESSED_COO ? look_up_coo<V>(part, count, tile, out)
                                          : look_up_pici<V>(part, count, tile, asked, out, bits);
}

/* ---- staging. Called by all threads of the block. */

/* Stages a COO tile, each value at its position in the tile. Returns whether the positions ascend. */
template <class V> __device__ bool stage_coo(const tile_entry &e, char *stage) {
  const unsigned *position = reinterpret_cast<const unsigned *>(e.position);
  const V *values = reinterpret_cast<const V *>(e.values);
  for (int at = threadIdx.x * PIECE_BYTES; at < tile_bytes<V>; at += TILE_BLOCK * PIECE_BYTES)
    *reinterpret_cast<uint4 *>(stage + staged(at)) = make_uint4(0, 0, 0, 0);
  __syncthreads();
  bool wrong = false;
  for (int j = threadIdx.x; j < e.kept; j += TILE_BLOCK) {
    const int64_t place = static_cast<int64_t>(position[j]) - e.first;
    const bool ascends = j == 0 ? place >= 0 : position[j] > position[j - 1];
    if (ascends && place >= 0 && place < SL_TILE_VALUES)
      *reinterpret_cast<V *>(stage + staged(static_cast<int>(place) * static_cast<int>(sizeof(V)))) =
          values[j];
    else
      wrong = true;
  }
  return __syncthreads_or(wrong) == 0;
}

/* Stages the values of entries first to end - 1, as many as fit in `room` bytes, and returns end > first.
 * give describes where they lie. If *wrong is set, the entry must be read as zeros. */
template <class V>
__device__ int stage_some(const tile_entry *entry, int first, int count, char *stage, int room, bool *wrong) {
  if (entry[first].format == SL_COMPRESSED_COO) {
    *wrong = !stage_coo<V>(entry[first], stage);
    return first + 1;
  }
  int end = first, at = 0;
  for (; end < count && entry[end].format != SL_COMPRESSED_COO && at + entry[end].taken() <= room; end++) {
    for (int i = threadIdx.x * CHUNK; i < entry[end].bytes; i += TILE_BLOCK * CHUNK)
      copy_ahead<CHUNK>(stage + staged(at + i), entry[end].values + i);
    at += entry[end].taken();
  }
  copies_wait_all();
  __syncthreads();
  return end;
}

/* ---- access to staged values. Calls take(j, c, value) for each of the thread's values of a tile: row j and
 * column c of the thread's share. Calls may be omitted for values that are zero. at: offset of the entry's
 * values in the stage. */
template <class V, class TAKE>
__device__ __forceinline__ void give_pici(const tile_entry &e, const tile_bits<V> &bits,
                                          const tile_share<V> &share, const char *stage, int at,
                                          const TAKE &take) {
  constexpr int FIELD = tile_bits<V>::FIELD;
  unsigned start[tile_share<V>::COLUMNS];
  load_starts<V>(start,
                 reinterpret_cast<const unsigned short *>(bits.pair_of_starts[share.range]) + share.column);
  const uint2 fields = *reinterpret_cast<const uint2 *>(
      reinterpret_cast<const char *>(bits.fields[share.range]) + share.column * (FIELD / 8));
#pragma unroll
  for (int c = 0; c < tile_share<V>::COLUMNS; c++) {
    const unsigned word = c < tile_share<V>::COLUMNS / 2 ? fields.x : fields.y;
    const unsigned field = FIELD == 32 ? word : word >> c * FIELD % 32 & ((1u << FIELD % 32) - 1);
    const unsigned own = share.own(field);
    if (own == 0)
      continue;
    int from = at + e.within + (start[c] + share.before(field)) * static_cast<int>(sizeof(V));
#pragma unroll
    for (int j = 0; j < tile_share<V>::ROWS; j++)
      if (own >> j & 1) {
        take(j, c, *reinterpret_cast<const V *>(stage + staged(from)));
        from += sizeof(V);
      }
  }
}

/* length: values of the tile. For an entry that is ABSENT, take is not called. */
template <class V, class TAKE>
__device__ __forceinline__ void give(const tile_entry &e, const tile_bits<V> &bits,
                                     const tile_share<V> &share, const char *stage, int at, int length,
                                     const TAKE &take) {
  if (e.format == ABSENT)
    return;
  if (e.format == SL_COMPRESSED_PICI32 || e.format == SL_COMPRESSED_PICI64) {
    give_pici<V>(e, bits, share, stage, at, take);
    return;
  }
  const bool direct = e.format == SL_COMPRESSED_DENSE && e.bytes == 0;
#pragma unroll
  for (int j = 0; j < tile_share<V>::ROWS; j++) {
    unsigned piece[PIECE_WORDS];
    if (direct)
      load_piece<V>(piece, reinterpret_cast<const V *>(e.values), share.at(j), length, false);
    else
      load_words(piece, stage + staged(at + share.at(j) * static_cast<int>(sizeof(V))));
#pragma unroll
    for (int c = 0; c < tile_share<V>::COLUMNS; c++)
      take(j, c, value_in<V>(piece, c));
  }
}

/* Stages the tiles of the first `count` entries, which warps have looked up, and calls use(e, at) for each in
 * turn; use passes its arguments to give. room: bytes of the stage, at least one tile and 2 CHUNK. Returns
 * after all threads have finished the last use, with bits of sl_compressed_fault. Called by all threads of
 * the block. */
template <class V, class USE>
__device__ __forceinline__ unsigned use_entries(tile_entry *entry, int count, char *stage, int room,
                                                const USE &use) {
  unsigned fault = 0;
  __syncthreads();
  for (int e = 0; e < count;) {
    bool disorder = false;
    const int end = stage_some<V>(entry, e, count, stage, room, &disorder);
    if (disorder) {
      fault = SL_FAULT_PAYLOAD;
      if (threadIdx.x == 0)
        entry[e].format = ABSENT;
      __syncthreads();
    }
    for (int at = 0; e < end; at += entry[e].taken(), e++)
      use(e, at);
    __syncthreads();
  }
  return fault;
}

/* How many tiles a block takes at once, at most `most`: such that all blocks have equally many turns, and if
 * there are many tiles, at least TURNS. */
inline int tiles_at_once(int64_t tiles, int64_t blocks, int most) {
  constexpr int64_t TURNS = 4;
  const int64_t single = (tiles + blocks - 1) / blocks, least = (single + most - 1) / most;
  const int64_t few = single < TURNS ? single : TURNS, turns = least > few ? least : few;
  return turns == 0 ? 1 : static_cast<int>((tiles + blocks * turns - 1) / (blocks * turns));
}

} // namespace sley

#endif
