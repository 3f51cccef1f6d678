/* SPDX-License-Identifier: Apache-2.0 */
/* A tile of 64 x 64 values and a block of 256 threads, for the kernels of compressed arrays (op_compress.h).
 *
 * Values are processed as bits: V is an unsigned integer of 2, 4 or 8 bytes. A piece is 16 bytes of a row of
 * a tile. A thread has the piece at the same place of sizeof(V) successive rows, so 16 values of any type:
 * rows row .. row + ROWS - 1, columns column .. column + COLUMNS - 1. The eight lanes 8 q .. 8 q + 7 of a
 * warp have 128 successive bytes; the four q have successive rows. So a warp has FIELD rows of 8 COLUMNS
 * columns. Of the words of these columns it has bits range FIELD .. range FIELD + FIELD - 1: one field per
 * column.
 *
 * (1-byte values would have 16 columns per piece and 4 lanes across a row, hence eight q and other
 * constants.) */
#ifndef SLEY_DEVICE_CUDA_COLLECTIVE_COMPRESSED_TILE_CUH
#define SLEY_DEVICE_CUDA_COLLECTIVE_COMPRESSED_TILE_CUH

#include "device/cuda/cuda.h"

namespace sley {

enum { TILE_BLOCK = 256, TILE_WARPS = TILE_BLOCK / 32, PIECE_BYTES = 16, PIECE_WORDS = PIECE_BYTES / 4 };

template <class V> struct tile_share {
  static constexpr int ROWS = sizeof(V), COLUMNS = PIECE_BYTES / sizeof(V);
  static constexpr int FIELD = 4 * ROWS, RANGES = SL_TILE_COLUMNS / FIELD, ACROSS = TILE_WARPS / RANGES;
  static_assert(ACROSS * 8 * COLUMNS == SL_TILE_COLUMNS, "the warps of a range share out all columns");

  int range, row, column;
  int above; /* rows of the field above the thread's rows */

  __device__ explicit tile_share(int thread) {
    const int warp = thread / 32, lane = thread % 32;
    range = warp / ACROSS;
    above = lane / 8 * ROWS;
    row = range * FIELD + above;
    column = (warp % ACROSS * 8 + lane % 8) * COLUMNS;
  }
  /* Number, in the tile, of the first value of the thread's piece in its row j. */
  __device__ int at(int j) const {
    return (row + j) * SL_TILE_COLUMNS + column;
  }
  /* The thread's bits of a column's field; `before` returns how many bits are set above them. */
  __device__ unsigned own(unsigned field) const {
    return field >> above & (1u << ROWS) - 1;
  }
  __device__ int before(unsigned field) const {
    return __popc(field & (1u << above) - 1);
  }
};

template <class V> constexpr int tile_bytes = SL_TILE_VALUES *static_cast<int>(sizeof(V));

/* Returns whether kernels with tiles support the type; 1-byte types are not supported. */
inline bool has_tiles(sley_type type) {
  return sley_type_bytes(type) >= 2;
}

/* Values in a tile of an array of count values. */
__device__ __forceinline__ int length_of_tile(int64_t count, int64_t tile) {
  const int64_t rest = count - tile * SL_TILE_VALUES;
  return rest < SL_TILE_VALUES ? static_cast<int>(rest) : SL_TILE_VALUES;
}

/* ---- pieces, as 32-bit words; indices are constants in unrolled loops */

template <class V> __device__ __forceinline__ V value_in(const unsigned (&piece)[PIECE_WORDS], int c) {
  if constexpr (sizeof(V) == 2)
    return static_cast<V>(piece[c / 2] >> 16 * (c % 2));
  else if constexpr (sizeof(V) == 4)
    return piece[c];
  else
    return piece[2 * c] | static_cast<V>(piece[2 * c + 1]) << 32;
}

/* Sets a value of a piece; it must be zero before. */
template <class V> __device__ __forceinline__ void set_value(unsigned (&piece)[PIECE_WORDS], int c, V v) {
  if constexpr (sizeof(V) == 2) {
    piece[c / 2] |= static_cast<unsigned>(v) << 16 * (c % 2);
  } else if constexpr (sizeof(V) == 4) {
    piece[c] = v;
  } else {
    piece[2 * c] = static_cast<unsigned>(v);
    piece[2 * c + 1] = static_cast<unsigned>(v >> 32);
  }
}

__device__ __forceinline__ void load_words(unsigned (&piece)[PIECE_WORDS], const void *from) {
  const uint4 v = *static_cast<const uint4 *>(from);
  piece[0] = v.x, piece[1] = v.y, piece[2] = v.z, piece[3] = v.w;
}

/* Loads a piece from value `at` of an array of `length` values; values past the end are zero. wide: the array
 * is aligned to pieces. */
template <class V>
__device__ __forceinline__ void load_piece(unsigned (&piece)[PIECE_WORDS], const V *array, int at, int length,
                                           bool wide) {
  constexpr int COLUMNS = tile_share<V>::COLUMNS;
  if (wide && at + COLUMNS <= length) {
    load_words(piece, array + at);
    return;
  }
#pragma unroll
  for (int w = 0; w < PIECE_WORDS; w++)
    piece[w] = 0;
#pragma unroll
  for (int c = 0; c < COLUMNS; c++)
    if (at + c < length)
      set_value<V>(piece, c, array[at + c]);
}

template <class V>
__device__ __forceinline__ void store_piece(const unsigned (&piece)[PIECE_WORDS], V *array, int at,
                                            int length, bool wide) {
  constexpr int COLUMNS = tile_share<V>::COLUMNS;
  if (wide && at + COLUMNS <= length) {
    /* Written as an intrinsic, because the compiler would merge this store with the stores below and store
     * word by word. */
    __stwb(reinterpret_cast<uint4 *>(array + at), make_uint4(piece[0], piece[1], piece[2], piece[3]));
    return;
  }
#pragma unroll
  for (int c = 0; c < COLUMNS; c++)
    if (at + c < length)
      array[at + c] = value_in<V>(piece, c);
}

/* ---- values of a tile in shared memory */

/* Offset in shared memory of byte `at` of successive values. 16 bytes are skipped after each 1024, so that
 * lanes whose columns are full, and which therefore start at multiples of 1024 bytes, use different banks.
 * Pieces stay contiguous. */
__device__ __forceinline__ int staged(int at) {
  return at + (at >> 10 << 4);
}

/* Bytes of shared memory for `bytes` bytes of values. */
constexpr int staged_bytes(int bytes) {
  return bytes + (bytes + 1023) / 1024 * 16;
}

/* ---- columns */

/* Exclusive prefix sum over a warp. mine: number of values kept in columns 2 l and 2 l + 1 for lane l;
 * *before: number in all earlier columns. Returns the total. Called by all lanes. */
__device__ __forceinline__ unsigned scan_columns(unsigned mine, unsigned *before) {
  const int lane = threadIdx.x % 32;
  unsigned upto = mine;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const unsigned other = __shfl_up_sync(~0u, upto, step);
    upto += lane >= step ? other : 0;
  }
  *before = upto - mine;
  return __shfl_sync(~0u, upto, 31);
}

/* Loads the number of values kept before each of a thread's columns within its field: COLUMNS 16-bit numbers,
 * at an address aligned to all of them. */
template <class V>
__device__ __forceinline__ void load_starts(unsigned (&start)[tile_share<V>::COLUMNS], const void *from) {
  constexpr int PAIRS = tile_share<V>::COLUMNS / 2;
  unsigned pair[PAIRS];
  if constexpr (PAIRS == 4) {
    load_words(pair, from);
  } else if constexpr (PAIRS == 2) {
    const uint2 two = *static_cast<const uint2 *>(from);
    pair[0] = two.x, pair[1] = two.y;
  } else {
    pair[0] = *static_cast<const unsigned *>(from);
  }
#pragma unroll
  for (int c = 0; c < tile_share<V>::COLUMNS; c++)
    start[c] = pair[c / 2] >> 16 * (c % 2) & 0xffff;
}

} // namespace sley

#endif
