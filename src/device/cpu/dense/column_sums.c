/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel that sums each column: the team sums blocks of rows, then the blocks' sums are added column by
 * column. */
#include "base/memory.h"
#include "device/cpu/cpu.h"
#include "device/cpu/dense/doubles.h"

enum { COLUMNS = SL_DOUBLES };

typedef struct column_sums {
  const sl_column_sums_args *a;
  int64_t blocks, block_rows;
  double *sums; /* blocks x cols */
} column_sums;

static void sum_rows(const sl_column_sums_args *a, int64_t first, int64_t last, int64_t j, int64_t count,
                     double *sums) {
  double row[COLUMNS];
  for (int64_t c = 0; c < count; c++)
    sums[c] = 0;
  for (int64_t i = first; i < last; i++) {
    sl_doubles_load(a->x, a->dtype, i * a->ldx + j, count, row);
    for (int64_t c = 0; c < count; c++)
      sums[c] += row[c];
  }
}

static sley_status sum_blocks(void *context, int64_t begin, int64_t end, int thread) {
  const column_sums *s = context;
  const sl_column_sums_args *a = s->a;
  (void)thread;
  for (int64_t b = begin; b < end; b++) {
    const int64_t first = b * s->block_rows, last = first + s->block_rows;
    for (int64_t j = 0; j < a->cols; j += COLUMNS)
      sum_rows(a, first, last < a->rows ? last : a->rows, j, a->cols - j < COLUMNS ? a->cols - j : COLUMNS,
               s->sums + b * a->cols + j);
  }
  return SLEY_OK;
}

/* Adds the sums of the group of blocks that begins with `first`. */
static void add_group(const column_sums *s, int64_t first, int64_t j, int64_t count, double *sums) {
  double group[COLUMNS] = {0};
  for (int64_t b = first; b < first + SL_SUM_GROUP && b < s->blocks; b++)
    for (int64_t c = 0; c < count; c++)
      group[c] += s->sums[b * s->a->cols + j + c];
  for (int64_t c = 0; c < count; c++)
    sums[c] += group[c];
}

static sley_status sum_columns(void *context, int64_t begin, int64_t end, int thread) {
  const column_sums *s = context;
  double sums[COLUMNS];
  (void)thread;
  for (int64_t j = begin; j < end; j += COLUMNS) {
    const int64_t count = end - j < COLUMNS ? end - j : COLUMNS;
    for (int64_t c = 0; c < count; c++)
      sums[c] = 0;
    for (int64_t b = 0; b < s->blocks; b += SL_SUM_GROUP)
      add_group(s, b, j, count, sums);
    sl_doubles_store(s->a->out, s->a->dtype, j, count, sums);
  }
  return SLEY_OK;
}

static sley_status column_sums_run(sl_queue *queue, const sl_kernel_args *args) {
  const sl_column_sums_args *a = &args->column_sums;
  sl_team *team = sl_cpu_queue_team(queue);
  column_sums s = {
      .a = a, .blocks = sl_sum_blocks(a->rows, a->cols), .block_rows = sl_sum_rows(a->rows, a->cols)};
  if (a->cols <= 0)
    return SLEY_OK;
  SL_TRY(SL_NEW(s.sums, s.blocks * a->cols, "sums of columns"));
  sley_status status = sl_team_for(team, s.blocks, 1, sum_blocks, &s);
  if (status == SLEY_OK)
    status = sl_team_for(team, a->cols, COLUMNS, sum_columns, &s);
  sl_free(s.sums);
  return status;
}

static bool column_sums_ok(const sl_kernel_args *args) {
  return sl_column_sums_ok(&args->column_sums);
}

const sl_kernel sl_cpu_column_sums = {.name = "sum of columns",
                                      .op = SL_OP_COLUMN_SUMS,
                                      .ok = column_sums_ok,
                                      .cost = sl_cost_of_bytes,
                                      SL_KERNEL_KEEPS_NOTHING,
                                      .run = column_sums_run};
