/* SPDX-License-Identifier: Apache-2.0 */
/* Every entry above the diagonal adds a hash of its place and value to a sum; every entry below it subtracts
 * the hash of its mirror entry. One pass over the entries, with all threads. */
#include <stdatomic.h>
#include <string.h>

#include "base/interrupt.h"
#include "base/random.h"
#include "base/value.h"
#include "matrix/matrix.h"

enum { ROWS_AT_ONCE = 1024 };

typedef struct adding {
  const sley_matrix *matrix;
  int64_t first; /* number of the first row */
  bool values;
  atomic_bool repeats;
  _Atomic uint64_t sum[SL_ASYMMETRY_SUMS];
} adding;

/* Bits of the value of an entry. */
static inline uint64_t bits_of(const sley_matrix *m, int64_t e) {
  const double value = sl_value_at(m->val, m->dtype, e);
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

/* Adds the hashes of one row. Returns whether it repeats a column. */
static bool add_row(const adding *a, int64_t i, uint64_t *sum) {
  static const uint64_t seed[SL_ASYMMETRY_SUMS] = {UINT64_C(0x73796d6d65747279),
                                                   UINT64_C(0x7472616e73706f73)};
  const sley_matrix *m = a->matrix;
  const int64_t row = a->first + i;
  uint64_t own[SL_ASYMMETRY_SUMS];
  int64_t before = -1;
  bool repeats = false;
  for (int s = 0; s < SL_ASYMMETRY_SUMS; s++)
    own[s] = sl_mix((uint64_t)row + seed[s]);
  for (int64_t e = m->rowptr[i]; e < m->rowptr[i + 1]; e++) {
    const int64_t col = sl_index_at(m->col, m->index, e);
    repeats |= col <= before;
    before = col;
    if (col == row)
      continue;
    const uint64_t value = a->values ? bits_of(m, e) : 0, higher = (uint64_t)(col > row ? col : row);
    for (int s = 0; s < SL_ASYMMETRY_SUMS; s++) {
      const uint64_t lower = col > row ? own[s] : sl_mix((uint64_t)col + seed[s]);
      const uint64_t hash = sl_mix(sl_mix(lower ^ higher) ^ value);
      sum[s] += col > row ? hash : -hash;
    }
  }
  return repeats;
}

static sley_status add_rows(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  adding *a = context;
  uint64_t sum[SL_ASYMMETRY_SUMS] = {0};
  bool repeats = false;
  for (int64_t i = begin; i < end; i++)
    repeats |= add_row(a, i, sum);
  if (repeats)
    atomic_store(&a->repeats, true);
  for (int s = 0; s < SL_ASYMMETRY_SUMS; s++)
    atomic_fetch_add(&a->sum[s], sum[s]);
  return sl_interrupted();
}

sley_status sl_matrix_asymmetry(const sley_matrix *matrix, int64_t first_row, bool values, sl_team *team,
                                sl_asymmetry *out) {
  adding a = {.matrix = matrix, .first = first_row, .values = values};
  SL_TRY(sl_team_for(team, matrix->rows, ROWS_AT_ONCE, add_rows, &a));
  out->repeats = atomic_load(&a.repeats);
  for (int s = 0; s < SL_ASYMMETRY_SUMS; s++)
    out->sum[s] = atomic_load(&a.sum[s]);
  return SLEY_OK;
}
