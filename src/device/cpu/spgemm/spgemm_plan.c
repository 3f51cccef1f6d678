/* SPDX-License-Identifier: Apache-2.0 */
/* Counts products row by row, cuts rows into chunks of about equal numbers of products, and divides memory
 * within the limit. */
#include "device/cpu/spgemm/spgemm_plan.h"

#include <inttypes.h>

#include "base/interrupt.h"
#include "base/memory.h"

typedef struct counting {
  const sl_spgemm_problem *problem;
  int64_t *bound;
} counting;

static sley_status count_products(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  enum { AHEAD = 32 };
  const counting *self = context;
  const sley_csr *a = &self->problem->a;
  const int64_t *rowptr = self->problem->b.rowptr, last = a->rowptr[end];
  for (int64_t i = begin; i < end; i++) {
    int64_t products = 0;
    for (int64_t e = a->rowptr[i]; e < a->rowptr[i + 1]; e++) {
      if (e + AHEAD < last)
        __builtin_prefetch(&rowptr[sl_index_at(a->col, a->index, e + AHEAD)]);
      const int64_t k = sl_index_at(a->col, a->index, e);
      products += rowptr[k + 1] - rowptr[k];
    }
    self->bound[i] = products;
  }
  return sl_interrupted();
}

/* Running totals of the chunk that is being cut. */
typedef struct chunk_sums {
  int64_t rows, products, room;
} chunk_sums;

/* Ends the current chunk before `row`, and begins the next. */
static void cut(sl_spgemm_plan *plan, int64_t row, chunk_sums *sums) {
  plan->chunk[++plan->chunks] = row;
  if (sums->room > plan->chunk_room)
    plan->chunk_room = sums->room;
  *sums = (chunk_sums){0};
}

static void cut_rows(sl_spgemm_plan *plan, const sl_spgemm_problem *problem) {
  const int64_t rows = problem->a.rows;
  chunk_sums sums = {0};
  plan->chunk[0] = 0;
  for (int64_t i = 0; i < rows; i++) {
    const int64_t products = plan->bound[i], room = sl_spgemm_row_room(problem, i);
    if (sums.rows > 0 &&
        (sums.rows == SL_SPGEMM_CHUNK_ROWS || sums.products + products > SL_SPGEMM_CHUNK_PRODUCTS))
      cut(plan, i, &sums);
    sums.rows++;
    sums.products += products;
    sums.room += room;
    plan->products += products;
    plan->room += room;
    const bool is_short = !problem->mask && products <= problem->short_most;
    if (room > 0 && !is_short && sl_spgemm_row_columns(problem, i) > plan->row_columns)
      plan->row_columns = sl_spgemm_row_columns(problem, i);
  }
  if (sums.rows > 0)
    cut(plan, rows, &sums);
}

/* Upper bound of the number of chunks. */
static int64_t most_chunks(const sl_spgemm_problem *problem, const int64_t *bound) {
  const int64_t rows = problem->a.rows;
  int64_t products = 0;
  for (int64_t i = 0; i < rows; i++)
    products += bound[i];
  const int64_t most = rows / SL_SPGEMM_CHUNK_ROWS + 2 * (products / SL_SPGEMM_CHUNK_PRODUCTS) + 2;
  return most < rows ? most : rows;
}

int64_t sl_spgemm_entry_bytes(const sl_spgemm_args *args, const sl_spgemm_problem *problem, int64_t entries) {
  return entries * (int64_t)(sl_index_bytes(problem->index) + sley_dtype_bytes(args->a.dtype));
}

static int64_t thread_bytes(const sl_spgemm_plan *plan, const sl_spgemm_problem *problem, bool dense,
                            int buffers) {
  const int64_t entry = (int64_t)(sl_index_bytes(problem->index) + sley_dtype_bytes(problem->dtype));
  const int64_t space = plan->row_columns > 0 ? sl_spgemm_space_bytes(problem, dense, plan->row_columns) : 0;
  return space + buffers * ((plan->chunk_room + SL_SPGEMM_SPILL) * entry +
                            SL_SPGEMM_CHUNK_ROWS * (int64_t)sizeof(int64_t));
}

/* Returns whether to use the dense accumulator: it needs columns of 32 bits, and enough products to pay for
 * initializing a sum per column. */
static bool wants_dense(const sl_spgemm_plan *plan, const sl_spgemm_args *args,
                        const sl_spgemm_problem *problem) {
  if (problem->index == SLEY_I64 || problem->b.cols > INT32_MAX - SL_SPGEMM_AHEAD ||
      args->accumulator == SL_ACCUMULATOR_HASH)
    return false;
  return args->accumulator == SL_ACCUMULATOR_DENSE || problem->b.cols / 4 <= plan->products;
}

/* One pass if C, with memory for all products, fits together with the memory of all threads; unused memory of
 * C is never touched. Else two passes, with as many threads as fit, at least one. */
static sley_status settle_memory(sl_spgemm_plan *plan, const sl_spgemm_args *args,
                                 const sl_spgemm_problem *problem, int threads) {
  const int64_t limit = args->limit > 0 ? args->limit : INT64_MAX / 4;
  const int64_t most = args->limit > 0 ? limit : sl_memory_machine() / 2;
  const int64_t result = sl_spgemm_entry_bytes(args, problem, plan->room + SL_SPGEMM_SPILL);
  plan->threads = threads < plan->chunks ? threads : (int)plan->chunks;
  plan->dense = wants_dense(plan, args, problem);
  plan->buffers = plan->threads > 1 ? SL_SPGEMM_BUFFERS : 1;
  plan->each = thread_bytes(plan, problem, plan->dense, plan->buffers);
  plan->passes = 1;
  if (plan->fixed + plan->threads * plan->each + result <= most)
    return SLEY_OK;
  plan->passes = 2;
  plan->buffers = 1;
  plan->each = thread_bytes(plan, problem, plan->dense, 1);
  if (args->accumulator == SL_ACCUMULATOR_AUTO && plan->fixed + plan->each > limit / 2 &&
      thread_bytes(plan, problem, false, 1) < plan->each) {
    plan->dense = false;
    plan->each = thread_bytes(plan, problem, false, 1);
  }
  while (plan->threads > 1 && plan->fixed + plan->threads * plan->each > limit / 2)
    plan->threads--;
  if (plan->fixed + plan->each > limit)
    return sl_fail(SLEY_ERR_MEMORY,
                   "sley_spgemm: a mem_limit of %" PRId64 " bytes leaves no room to work: at least %" PRId64
                   " are needed besides the result",
                   limit, plan->fixed + plan->each);
  return SLEY_OK;
}

sley_status sl_spgemm_plan_make(const sl_spgemm_args *args, sl_spgemm_operands *operands, sl_team *team,
                                sl_spgemm_plan *out) {
  sl_spgemm_problem *problem = &operands->problem;
  const int64_t rows = problem->a.rows;
  enum { ROWS_AT_ONCE = 1024 };
  *out = (sl_spgemm_plan){0};
  SL_TRY(SL_NEW(out->bound, rows, "products of rows"));
  counting job = {problem, out->bound};
  SL_TRY(sl_team_for(team, rows, ROWS_AT_ONCE, count_products, &job));
  problem->bound = out->bound;
  problem->short_most = args->accumulator == SL_ACCUMULATOR_AUTO ? sl_spgemm_short_most(problem) : 0;
  const int64_t most = most_chunks(problem, out->bound);
  SL_TRY(SL_NEW(out->chunk, most + 1, "chunks of rows"));
  cut_rows(out, problem);
  out->fixed = operands->bytes + (2 * rows + 1 + 3 * (most + 1)) * (int64_t)sizeof(int64_t);
  return settle_memory(out, args, problem, sl_team_size(team));
}

void sl_spgemm_plan_end(sl_spgemm_plan *plan) {
  sl_free(plan->bound);
  sl_free(plan->chunk);
}
