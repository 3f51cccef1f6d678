/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of C of few products by AVX-512, in registers from the loads to the stores. A product's column and
 * number form a key, a bitonic network sorts the keys, the values are permuted by the numbers, and equal
 * columns are merged in the order of the numbers. Source of the network: Batcher, Sorting networks and their
 * applications, AFIPS 1968. */
#ifndef SLEY_DEVICE_CPU_SPGEMM_SHORT_AVX512_H
#define SLEY_DEVICE_CPU_SPGEMM_SHORT_AVX512_H

#include <immintrin.h>

#include "device/cpu/spgemm/ahead.h"
#include "device/cpu/spgemm/by_rank.h"

typedef sum lanes __attribute__((vector_size(64)));

enum {
  KEYS = 16,                     /* keys per register */
  LANES = 64 / (int)sizeof(sum), /* values per register */
  PARTS = KEYS / LANES,          /* registers of values per register of keys */
  MOST_REGISTERS = 4,            /* most registers of keys */
  NUMBER_BITS = 6                /* bits of a key that hold the number; the others hold a column below
                                  * SL_SPGEMM_SORTED_COLUMNS */
};

/* The products of a row in stored order, later in the order of columns. */
typedef struct row_registers {
  __m512i col[MOST_REGISTERS];
  lanes val[MOST_REGISTERS * PARTS];
} row_registers;

static inline __attribute__((always_inline)) lanes load_values(uint64_t mask, const sum *from) {
  if (sizeof(sum) == sizeof(float))
    return (lanes)_mm512_maskz_loadu_ps((__mmask16)mask, from);
  return (lanes)_mm512_maskz_loadu_pd((__mmask8)mask, from);
}

/* Lanes of b where the mask has a bit, else lanes of a. */
static inline __attribute__((always_inline)) lanes choose(uint64_t mask, lanes a, lanes b) {
  if (sizeof(sum) == sizeof(float))
    return (lanes)_mm512_mask_mov_ps((__m512)a, (__mmask16)mask, (__m512)b);
  return (lanes)_mm512_mask_mov_pd((__m512d)a, (__mmask8)mask, (__m512d)b);
}

/* product_of and add_product, for each lane. */
static inline __attribute__((always_inline)) lanes products_of(sley_semiring s, sum a, lanes b) {
  lanes p = {0};
  if (s == SLEY_PLUS_TIMES)
    return a * b;
  if (s == SLEY_MIN_PLUS)
    return a + b;
  if (s == SLEY_PLUS_PAIR)
    return p + 1;
  for (int i = 0; i < LANES; i++)
    p[i] = product_of(s, a, b[i]);
  return p;
}

static inline __attribute__((always_inline)) lanes add_products(sley_semiring s, lanes so_far, lanes p) {
  if (s == SLEY_PLUS_TIMES || s == SLEY_PLUS_PAIR)
    return so_far + p;
  for (int i = 0; i < LANES; i++)
    p[i] = add_product(s, so_far[i], p[i]);
  return p;
}

/* For each pair of partner keys, puts the smaller one in the lane whose bit in `upper` is 0. */
static inline __attribute__((always_inline)) __m512i order(__m512i keys, __m512i partners, __mmask16 upper) {
  return _mm512_mask_max_epu32(_mm512_min_epu32(keys, partners), upper, keys, partners);
}

static inline __attribute__((always_inline)) __m512i order_1(__m512i keys) {
  return order(keys, _mm512_shuffle_epi32(keys, _MM_PERM_CDAB), 0xaaaa);
}

static inline __attribute__((always_inline)) __m512i order_2(__m512i keys) {
  return order_1(order(keys, _mm512_shuffle_epi32(keys, _MM_PERM_BADC), 0xcccc));
}

/* Sorts a register whose keys ascend and then descend into ascending order. */
static inline __attribute__((always_inline)) __m512i order_8(__m512i keys) {
  keys = order(keys, _mm512_shuffle_i64x2(keys, keys, _MM_PERM_BADC), 0xff00);
  return order_2(order(keys, _mm512_shuffle_i64x2(keys, keys, _MM_PERM_CDAB), 0xf0f0));
}

static inline __attribute__((always_inline)) __m512i reversed(__m512i keys) {
  return _mm512_permutexvar_epi32(_mm512_setr_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0),
                                  keys);
}

static inline __attribute__((always_inline)) __m512i sort_register(__m512i keys) {
  const __m512i mirror_8 = _mm512_setr_epi32(7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8);
  keys = order_1(keys);
  keys = order_1(order(keys, _mm512_shuffle_epi32(keys, _MM_PERM_ABCD), 0xcccc));
  keys = order_2(order(keys, _mm512_permutexvar_epi32(mirror_8, keys), 0xf0f0));
  keys = order(keys, reversed(keys), 0xff00);
  return order_2(order(keys, _mm512_shuffle_i64x2(keys, keys, _MM_PERM_CDAB), 0xf0f0));
}

static inline __attribute__((always_inline)) void sort_keys(__m512i *keys, int registers) {
  for (int r = 0; r < registers; r++)
    keys[r] = sort_register(keys[r]);
  for (int r = 0; r + 1 < registers; r += 2) {
    const __m512i second = reversed(keys[r + 1]), low = _mm512_min_epu32(keys[r], second);
    keys[r + 1] = order_8(_mm512_max_epu32(keys[r], second));
    keys[r] = order_8(low);
  }
  if (registers < MOST_REGISTERS)
    return;
  const __m512i third = reversed(keys[3]), fourth = reversed(keys[2]);
  const __m512i low_1 = _mm512_min_epu32(keys[0], third), high_1 = _mm512_max_epu32(keys[0], third);
  const __m512i low_2 = _mm512_min_epu32(keys[1], fourth), high_2 = _mm512_max_epu32(keys[1], fourth);
  keys[0] = order_8(_mm512_min_epu32(low_1, low_2));
  keys[1] = order_8(_mm512_max_epu32(low_1, low_2));
  keys[2] = order_8(_mm512_min_epu32(high_1, high_2));
  keys[3] = order_8(_mm512_max_epu32(high_1, high_2));
}

/* Loads the products of row i in stored order, and returns their number. Each row of B is loaded into the
 * lanes after those already filled, by a masked load from an address that is lower by the number of filled
 * lanes; masked lanes are not read. */
static inline __attribute__((always_inline)) int64_t load_products(const sl_spgemm_problem *p, int64_t i,
                                                                   sley_semiring semiring, int registers,
                                                                   row_registers *row) {
  enum { POINTERS = 32, ROWS = 16 };
  const int64_t all = p->a.rowptr[p->a.rows];
  int64_t count = 0;
  for (int64_t e = p->a.rowptr[i], end = p->a.rowptr[i + 1]; e < end; e++) {
    fetch_ahead(p, e, all, semiring, POINTERS, ROWS);
    const int64_t k = sl_index_at(p->a.col, p->a.index, e);
    const int64_t first = p->b.rowptr[k], length = p->b.rowptr[k + 1] - first;
    const uint64_t mask = ((UINT64_C(1) << length) - 1) << count;
    const uintptr_t col = (uintptr_t)p->b.col + (uintptr_t)(first - count) * sizeof(int32_t);
    for (int r = 0; r < registers; r++)
      row->col[r] = _mm512_mask_loadu_epi32(row->col[r], (__mmask16)(mask >> KEYS * r),
                                            (const void *)(col + (uintptr_t)r * sizeof(__m512i)));
    const sum a = semiring == SLEY_PLUS_PAIR ? 1 : ((const sum *)p->a.val)[e];
    const uintptr_t val = (uintptr_t)p->b.val + (uintptr_t)(first - count) * sizeof(sum);
    for (int v = 0; v < registers * PARTS; v++) {
      const uint64_t part = mask >> LANES * v;
      lanes b = {0};
      if (semiring != SLEY_PLUS_PAIR)
        b = load_values(part, (const sum *)(val + (uintptr_t)v * sizeof(lanes)));
      row->val[v] = choose(part, row->val[v], products_of(semiring, a, b));
    }
    count += length;
  }
  return count;
}

/* Returns the values of two registers that the numbers select. */
static inline __attribute__((always_inline)) lanes pick(lanes first, lanes second, __m512i number) {
  if (sizeof(sum) == sizeof(float))
    return (lanes)_mm512_permutex2var_ps((__m512)first, number, (__m512)second);
  return (lanes)_mm512_permutex2var_pd((__m512d)first, number, (__m512d)second);
}

static inline __attribute__((always_inline)) uint64_t has_bit(__m512i number, int bit) {
  if (sizeof(sum) == sizeof(float))
    return _mm512_test_epi32_mask(number, _mm512_set1_epi32(bit));
  return _mm512_test_epi64_mask(number, _mm512_set1_epi64(bit));
}

/* Returns the values that the numbers select: first from each pair of registers, then among the pairs by the
 * numbers' higher bits. */
static inline __attribute__((always_inline)) lanes permute(const lanes *val, __m512i number, int registers) {
  lanes from[MOST_REGISTERS * PARTS];
  const int all = registers * PARTS;
  for (int v = 0; v < all; v += 2)
    from[v / 2] = pick(val[v], val[v + 1 < all ? v + 1 : v], number);
  for (int have = all / 2, bit = 2 * LANES; have > 1; have /= 2, bit *= 2)
    for (int v = 0; v < have; v += 2)
      from[v / 2] = choose(has_bit(number, bit), from[v], from[v + 1]);
  return from[0];
}

/* Part v of the numbers, widened to the width of a value. */
static inline __attribute__((always_inline)) __m512i numbers_of(const __m512i *number, int v) {
  if (sizeof(sum) == sizeof(float))
    return number[v];
  return _mm512_cvtepu32_epi64(v % 2 ? _mm512_extracti64x4_epi64(number[v / 2], 1)
                                     : _mm512_castsi512_si256(number[v / 2]));
}

/* Sorts the products by column; among equal columns the earlier one comes first. Lanes without a product get
 * the largest representable column, which no product has. */
static inline __attribute__((always_inline)) void sort_row(row_registers *row, int64_t count, int registers) {
  const __m512i first = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  __m512i key[MOST_REGISTERS], number[MOST_REGISTERS];
  const uint64_t filled = (UINT64_C(1) << count) - 1;
  for (int r = 0; r < registers; r++)
    key[r] = _mm512_mask_or_epi32(_mm512_set1_epi32(-1), (__mmask16)(filled >> KEYS * r),
                                  _mm512_slli_epi32(row->col[r], NUMBER_BITS),
                                  _mm512_add_epi32(first, _mm512_set1_epi32(KEYS * r)));
  sort_keys(key, registers);
  for (int r = 0; r < registers; r++) {
    row->col[r] = _mm512_srli_epi32(key[r], NUMBER_BITS);
    number[r] = _mm512_and_si512(key[r], _mm512_set1_epi32((1 << NUMBER_BITS) - 1));
  }
  lanes sorted[MOST_REGISTERS * PARTS];
  for (int v = 0; v < registers * PARTS; v++)
    sorted[v] = permute(row->val, numbers_of(number, v), registers);
  for (int v = 0; v < registers * PARTS; v++)
    row->val[v] = sorted[v];
}

/* Moves all lanes down by one; the lanes freed after the row's end get a column that no product has. */
static inline __attribute__((always_inline)) void shift(row_registers *row, int registers) {
  for (int r = 0; r < registers; r++)
    row->col[r] =
        _mm512_alignr_epi32(r + 1 < registers ? row->col[r + 1] : _mm512_set1_epi32(-1), row->col[r], 1);
  for (int v = 0; v < registers * PARTS; v++) {
    const __m512i low = (__m512i)row->val[v],
                  high = v + 1 < registers * PARTS ? (__m512i)row->val[v + 1] : low;
    row->val[v] = sizeof(sum) == sizeof(float) ? (lanes)_mm512_alignr_epi32(high, low, 1)
                                               : (lanes)_mm512_alignr_epi64(high, low, 1);
  }
}

/* Bit mask of the lanes that are the first of their column. */
static inline __attribute__((always_inline)) uint64_t first_of_columns(const row_registers *row,
                                                                       int64_t count, int registers) {
  uint64_t first = 0;
  for (int r = 0; r < registers; r++) {
    const __m512i before = r == 0 ? _mm512_set1_epi32(-1) : row->col[r - 1];
    const __mmask16 differ =
        _mm512_cmpneq_epi32_mask(row->col[r], _mm512_alignr_epi32(row->col[r], before, 15));
    first |= (uint64_t)differ << KEYS * r;
  }
  return first & ((UINT64_C(1) << count) - 1);
}

/* Adds the other products of each column to its first one, in order. */
static inline __attribute__((always_inline)) void add_equal(row_registers *row, uint64_t first,
                                                            sley_semiring semiring, int registers) {
  row_registers next = *row;
  for (;;) {
    uint64_t equal = 0;
    shift(&next, registers);
    for (int r = 0; r < registers; r++)
      equal |= (uint64_t)_mm512_cmpeq_epi32_mask(row->col[r], next.col[r]) << KEYS * r;
    equal &= first;
    if (equal == 0)
      return;
    for (int v = 0; v < registers * PARTS; v++)
      row->val[v] = choose(equal >> LANES * v, row->val[v], add_products(semiring, row->val[v], next.val[v]));
  }
}

/* Stores the lanes whose bit in `first` is set, contiguously, and returns how many. */
static inline __attribute__((always_inline)) int64_t store_row(const row_registers *row, uint64_t first,
                                                               int registers, int32_t *col, sum *val) {
  for (int r = 0; r < registers; r++) {
    const __mmask16 mask = (__mmask16)(first >> KEYS * r);
    _mm512_storeu_si512(col, _mm512_maskz_compress_epi32(mask, row->col[r]));
    col += __builtin_popcount(mask);
  }
  for (int v = 0; v < registers * PARTS; v++) {
    const uint64_t mask = first >> LANES * v & ((UINT64_C(1) << LANES) - 1);
    if (sizeof(sum) == sizeof(float))
      _mm512_storeu_ps(val, _mm512_maskz_compress_ps((__mmask16)mask, (__m512)row->val[v]));
    else
      _mm512_storeu_pd(val, _mm512_maskz_compress_pd((__mmask8)mask, (__m512d)row->val[v]));
    val += __builtin_popcountll(mask);
  }
  return __builtin_popcountll(first);
}

static inline __attribute__((always_inline)) int64_t sorted_row(const sl_spgemm_problem *p, int64_t i,
                                                                sley_semiring semiring, int registers,
                                                                int32_t *col, sum *val) {
  row_registers row;
  for (int r = 0; r < registers; r++)
    row.col[r] = _mm512_setzero_si512();
  for (int v = 0; v < registers * PARTS; v++)
    row.val[v] = (lanes){0};
  const int64_t count = load_products(p, i, semiring, registers, &row);
  sort_row(&row, count, registers);
  const uint64_t first = first_of_columns(&row, count, registers);
  add_equal(&row, first, semiring, registers);
  return store_row(&row, first, registers, col, val);
}

/* The same contract as in short_portable.h. */
static inline __attribute__((always_inline)) int64_t short_row(const sl_spgemm_problem *p, int64_t i,
                                                               sley_semiring semiring, sley_index index,
                                                               void *col, sum *val) {
  if (index == SLEY_I64 || p->short_most <= SL_SPGEMM_RANKED)
    return rank_row(p, i, semiring, index, col, val);
  if (p->bound[i] <= KEYS)
    return sorted_row(p, i, semiring, 1, col, val);
  if (p->bound[i] <= 2 * KEYS)
    return sorted_row(p, i, semiring, 2, col, val);
  return sorted_row(p, i, semiring, 4, col, val);
}

#endif
