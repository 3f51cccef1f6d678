/* SPDX-License-Identifier: Apache-2.0 */
/* The working memory in which a thread sums rows of C = A B, and the choice of the function that sums
 * them. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "device/cpu/cpu.h"
#include "device/cpu/spgemm/spgemm_rows.h"

/* Columns of the dense accumulator, padded so that whole vectors of marks can be read. */
static int64_t padded(const sl_spgemm_problem *problem) {
  return (problem->b.cols + SL_SPGEMM_AHEAD - 1) / SL_SPGEMM_AHEAD * SL_SPGEMM_AHEAD;
}

/* Number of slots, so that the table is at most half full. */
static int64_t slots_for(int64_t entries) {
  int64_t slots = 64;
  while (slots < 2 * entries)
    slots *= 2;
  return slots;
}

int64_t sl_spgemm_space_bytes(const sl_spgemm_problem *problem, bool dense, int64_t entries) {
  int64_t each = (int64_t)sley_dtype_bytes(problem->dtype);
  if (dense)
    return padded(problem) * (each + 1) + padded(problem) / SL_SPGEMM_GROUP;
  return slots_for(entries) * (each + 1 + (int64_t)sizeof(int64_t) + (int64_t)sizeof(sl_spgemm_found));
}

static sley_status fit_dense(sl_spgemm_space *space, const sl_spgemm_problem *problem) {
  static const char WHAT[] = "sums of a row";
  const int64_t columns = padded(problem);
  if (!(space->sum = sl_alloc(columns, sley_dtype_bytes(problem->dtype), WHAT)))
    return SLEY_ERR_MEMORY;
  SL_TRY(SL_NEW_ZERO(space->mark, columns, WHAT));
  SL_TRY(SL_NEW_ZERO(space->group, columns / SL_SPGEMM_GROUP, WHAT));
  /* The first sum of a row: adding the first product to it leaves that product unchanged, including the sign
   * of zero. */
  double first = -0.0;
  if (problem->semiring == SLEY_MIN_PLUS)
    first = INFINITY;
  else if (problem->semiring == SLEY_OR_AND)
    first = 0;
  if (problem->dtype == SLEY_F64)
    for (int64_t j = 0; j < columns; j++)
      ((double *)space->sum)[j] = first;
  else
    for (int64_t j = 0; j < columns; j++)
      ((float *)space->sum)[j] = (float)first;
  space->columns = columns;
  return SLEY_OK;
}

static void free_table(sl_spgemm_space *space) {
  sl_free(space->key);
  sl_free(space->slot_sum);
  sl_free(space->slot_mark);
  sl_free(space->found);
  sl_free(space->other);
  space->key = NULL;
  space->slot_sum = NULL;
  space->slot_mark = NULL;
  space->found = space->other = NULL;
  space->slots = 0;
}

static sley_status fit_table(sl_spgemm_space *space, const sl_spgemm_problem *problem, int64_t slots) {
  static const char WHAT[] = "a hash table of a row";
  free_table(space);
  SL_TRY(SL_NEW(space->key, slots, WHAT));
  SL_TRY(SL_NEW(space->slot_mark, slots, WHAT));
  SL_TRY(SL_NEW(space->found, slots / 2, WHAT));
  SL_TRY(SL_NEW(space->other, slots / 2, WHAT));
  if (!(space->slot_sum = sl_alloc(slots, sley_dtype_bytes(problem->dtype), WHAT)))
    return SLEY_ERR_MEMORY;
  memset(space->key, 0xff, (size_t)slots * sizeof *space->key);
  space->slots = slots;
  return SLEY_OK;
}

sley_status sl_spgemm_space_fit(sl_spgemm_space *space, const sl_spgemm_problem *problem, bool dense,
                                int64_t entries) {
  if (dense)
    return space->columns > 0 ? SLEY_OK : fit_dense(space, problem);
  const int64_t slots = slots_for(entries);
  return space->slots >= slots ? SLEY_OK : fit_table(space, problem, slots);
}

void sl_spgemm_space_end(sl_spgemm_space *space) {
  sl_free(space->sum);
  sl_free(space->mark);
  sl_free(space->group);
  free_table(space);
}

sl_spgemm_rows *sl_spgemm_rows_find(sley_dtype dtype) {
  int isa = SL_CPU_ISAS - 1;
  while (isa > SL_CPU_PORTABLE && !(sl_spgemm_rows_built[isa][0] && sl_cpu_has((sl_cpu_isa)isa)))
    isa--;
  return sl_spgemm_rows_built[isa][dtype == SLEY_F64];
}

int64_t sl_spgemm_short_most(const sl_spgemm_problem *problem) {
#if defined(__x86_64__)
  if (sl_cpu_has(SL_CPU_AVX512) && problem->index == SLEY_I32 && problem->b.cols <= SL_SPGEMM_SORTED_COLUMNS)
    return SL_SPGEMM_SORTED;
#endif
  (void)problem;
  return SL_SPGEMM_RANKED;
}
