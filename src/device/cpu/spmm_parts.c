/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts an SpMM into parts and runs them. */
#include "device/cpu/spmm_parts.h"

#include <math.h>

#include "base/memory.h"

/* Parts a thread gets, on average; the work of a row beyond its entries, in entries; features below which a
 * row is not cut further (a line of f32); entries times features below which the team is not woken. */
enum { PARTS_PER_THREAD = 24, ROW_WORK = 2, FEATURES_LEAST = 16, SERIAL_WORK = 30000 };

/* Cycles of an entry: for each vector; for one that is not whole, and for one that is then loaded value by
 * value; for each lane of a vector, since wider ones load across cache lines more often; where the fused
 * multiply-add is a call. */
static const double VECTOR = 0.5, PART_OF_VECTOR = 0.25, PART_BY_VALUE = 8, LANE = 0.02, FMA_CALL = 10;

typedef struct parts {
  int64_t count;
  sl_spmm_part part[];
} parts;

/* Number of fragments to cut the features of a row of `work` into. */
static int64_t row_fragments(int64_t work, int64_t fair, int64_t k) {
  int64_t most = (k + FEATURES_LEAST - 1) / FEATURES_LEAST;
  int64_t want = work / fair;
  return want < 2 || most < 2 ? 1 : want < most ? want : most;
}

/* Work of rows [begin, end). */
static int64_t work_of(const sl_spmm_matrix *a, int64_t begin, int64_t end) {
  return a->rowptr[end] - a->rowptr[begin] + ROW_WORK * (end - begin);
}

/* The end of the part that begins with row begin: one row, and as many more as it has room for. */
static int64_t end_of_part(const sl_spmm_matrix *a, int64_t begin, int64_t fair) {
  int64_t fits = begin + 1, beyond = a->rows + 1;
  while (beyond - fits > 1) {
    int64_t middle = fits + (beyond - fits) / 2;
    if (work_of(a, begin, middle) <= fair)
      fits = middle;
    else
      beyond = middle;
  }
  return fits;
}

/* Cuts greedily; returns the number of parts. Two parts in a row hold more than a fair share together, and a
 * row is cut into no more fragments than it holds shares. */
static int64_t cut(const sl_spmm_matrix *a, int64_t k, int64_t fair, sl_spmm_part *out) {
  int64_t count = 0, lines = (k + FEATURES_LEAST - 1) / FEATURES_LEAST;
  for (int64_t begin = 0, end; begin < a->rows; begin = end) {
    end = end_of_part(a, begin, fair);
    int64_t fragments = row_fragments(work_of(a, begin, begin + 1), fair, k);
    for (int64_t p = 0; p < fragments; p++) {
      int64_t from = lines * p / fragments * FEATURES_LEAST,
              to = lines * (p + 1) / fragments * FEATURES_LEAST;
      out[count++] = (sl_spmm_part){begin, end, from, to < k ? to : k};
    }
  }
  return count;
}

sley_status sl_cpu_spmm_prepare(sl_device *device, sl_queue *queue, const sl_kernel_args *args,
                                void **prepared) {
  (void)device;
  *prepared = NULL;
  const sl_spmm_matrix *a = args->spmm.problem->a;
  int64_t k = args->spmm.problem->k, threads = sl_team_size(sl_cpu_queue_team(queue));
  if (threads == 1 || k == 0 || a->rows == 0)
    return SLEY_OK;
  int64_t fair = work_of(a, 0, a->rows) / (threads * PARTS_PER_THREAD) + 1;
  int64_t most = 3 * threads * PARTS_PER_THREAD + 2;
  parts *made =
      sl_alloc((int64_t)sizeof *made + most * (int64_t)sizeof made->part[0], 1, "the parts of a product");
  if (!made)
    return SLEY_ERR_MEMORY;
  made->count = cut(a, k, fair, made->part);
  *prepared = made;
  return SLEY_OK;
}

void sl_cpu_spmm_release(sl_device *device, void *prepared) {
  (void)device;
  sl_free(prepared);
}

typedef struct product {
  const sl_spmm_run *args;
  sl_spmm_part_body body;
} product;

static sley_status run_parts(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  const product *p = context;
  const parts *made = p->args->prepared;
  for (int64_t i = begin; i < end; i++)
    p->body(p->args, &made->part[i]);
  return SLEY_OK;
}

static sley_status run_rows(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  const product *p = context;
  p->body(p->args, &(sl_spmm_part){begin, end, 0, p->args->problem->k});
  return SLEY_OK;
}

sley_status sl_cpu_spmm_run(sl_queue *queue, const sl_spmm_run *args, sl_spmm_part_body body) {
  const sl_spmm_matrix *a = args->problem->a;
  int64_t k = args->problem->k;
  if (k <= 0 || a->rows <= 0)
    return SLEY_OK;
  product p = {.args = args, .body = body};
  sl_team *team = sl_cpu_queue_team(queue);
  if ((double)(sl_spmm_entries(a) + a->rows) * (double)k < SERIAL_WORK || sl_team_size(team) == 1)
    return run_rows(&p, 0, a->rows, 0);
  if (args->prepared)
    return sl_team_for(team, ((const parts *)args->prepared)->count, 1, run_parts, &p);
  int64_t grain = a->rows / (sl_team_size(team) * PARTS_PER_THREAD) + 1;
  return sl_team_for(team, a->rows, grain, run_rows, &p);
}

double sl_cpu_spmm_cost(const sl_spmm_problem *problem, int lanes, bool by_value) {
  const double cycles_per_second = 2.5e9, bytes_per_second = 1e10;
  const sl_spmm_matrix *a = problem->a;
  double entries = (double)sl_spmm_entries(a), k = (double)problem->k;
  double bytes = entries * k * (double)sley_dtype_bytes(a->dtype) +
                 entries * (double)(sl_index_bytes(a->index) + sley_dtype_bytes(a->dtype));
  double part_of_one = problem->k % lanes == 0 ? 0 : by_value ? PART_BY_VALUE : PART_OF_VECTOR;
  double cycles = lanes > 1 ? VECTOR * ceil(k / lanes) + part_of_one + LANE * lanes : FMA_CALL * k;
  return entries * cycles / cycles_per_second + bytes / bytes_per_second;
}
