/* SPDX-License-Identifier: Apache-2.0 */
/* Every entry above the diagonal adds a hash of its place and value to a sum; every entry below it subtracts
 * the hash of its mirror entry. The sum over all ranks is 0 if A^T equals A, and otherwise with a probability
 * of 2^-128. So one pass over the entries is enough, and no entry travels. */
#include "plan/symmetric_block.h"

#include <stdatomic.h>
#include <string.h>

#include "base/interrupt.h"
#include "base/random.h"
#include "base/value.h"

enum { ROWS = 1024 }; /* grain */

/* A sum of 128 bits: two sums of independent hashes. */
enum { HALVES = 2 };

typedef struct search {
  const sl_inspection *ins;
  int64_t first;     /* first row of the rank */
  atomic_bool other; /* a row does not ascend, or repeats a column */
  _Atomic uint64_t sum[HALVES];
} search;

/* Bits of the value of an entry. */
static inline uint64_t bits_of(const sley_matrix *block, int64_t e) {
  const double value = sl_value_at(block->val, block->dtype, e);
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

/* Adds the hashes of one row. Returns false if it does not ascend or repeats a column. */
static bool add_row(const search *s, int64_t i, uint64_t *sum) {
  static const uint64_t seed[HALVES] = {UINT64_C(0x73796d6d65747279), UINT64_C(0x7472616e73706f73)};
  const sley_matrix *block = s->ins->block;
  const int64_t row = s->first + i;
  uint64_t own[HALVES];
  int64_t before = -1;
  for (int half = 0; half < HALVES; half++)
    own[half] = sl_mix((uint64_t)row + seed[half]);
  for (int64_t e = block->rowptr[i]; e < block->rowptr[i + 1]; e++) {
    const int64_t col = sl_index_at(block->col, block->index, e);
    if (col <= before)
      return false;
    before = col;
    if (col == row)
      continue;
    const uint64_t value = bits_of(block, e), higher = (uint64_t)(col > row ? col : row);
    for (int half = 0; half < HALVES; half++) {
      const uint64_t lower = col > row ? own[half] : sl_mix((uint64_t)col + seed[half]);
      const uint64_t hash = sl_mix(sl_mix(lower ^ higher) ^ value);
      sum[half] += col > row ? hash : -hash;
    }
  }
  return true;
}

static sley_status add_rows(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  search *s = context;
  uint64_t sum[HALVES] = {0};
  for (int64_t i = begin; i < end && !atomic_load_explicit(&s->other, memory_order_relaxed); i++)
    if (!add_row(s, i, sum))
      atomic_store(&s->other, true);
  for (int half = 0; half < HALVES; half++)
    atomic_fetch_add(&s->sum[half], sum[half]);
  return sl_interrupted();
}

/* Sets *out to whether all ranks' rows ascend and their sums add up to 0. Sums travel in halves of 32 bits,
 * which do not overflow. Collective. */
static sley_status agree(search *s, bool *out) {
  sl_comm *comm = s->ins->comm;
  int64_t words[2 * HALVES + 1] = {[2 * HALVES] = atomic_load(&s->other)};
  for (int half = 0; half < HALVES; half++) {
    const uint64_t sum = atomic_load(&s->sum[half]);
    words[2 * half] = (int64_t)(sum & UINT32_MAX);
    words[2 * half + 1] = (int64_t)(sum >> 32);
  }
  SL_TRY(comm->ops->allreduce(comm, SL_SUM, words, 2 * HALVES + 1));
  *out = words[2 * HALVES] == 0;
  for (int half = 0; half < HALVES; half++)
    *out &= ((uint64_t)words[2 * half + 1] << 32) + (uint64_t)words[2 * half] == 0;
  return SLEY_OK;
}

sley_status sl_is_symmetric(const sl_inspection *ins, bool *out) {
  sl_comm *comm = ins->comm;
  search s = {.ins = ins, .first = ins->row_begin[comm->rank]};
  *out = false;
  /* the ranks have agreed on both partitions, so all take the same branch */
  if (memcmp(ins->row_begin, ins->col_begin, ((size_t)comm->size + 1) * sizeof *ins->row_begin) != 0)
    return SLEY_OK;
  sl_comm_begin_work(comm, "comparing with the transpose", 1);
  SL_TRY(sl_agree(comm, sl_team_for(sl_plan_team(ins), ins->block->rows, ROWS, add_rows, &s)));
  return agree(&s, out);
}
