/* SPDX-License-Identifier: Apache-2.0 */
#include "dry_plan.h"

#include "support.h"

typedef struct planned {
  const sley_matrix *matrix;
  const int64_t *begin, *col_begin;
  int64_t k;
  const char *algo;
  sley_plan_info info;
} planned;

static sley_status plan_rank(sley_comm *comm, void *argument) {
  planned *p = argument;
  const int rank = sley_comm_rank(comm);
  sley_plan_options options = SLEY_PLAN_OPTIONS_INIT;
  options.algo = p->algo;
  options.dry = true;
  sley_matrix *block = NULL;
  sley_plan *plan = NULL;
  sley_status status =
      sley_matrix_row_block(p->matrix, p->begin[rank], p->begin[rank + 1] - p->begin[rank], &block);
  if (status == SLEY_OK)
    status = sley_plan_create(comm, block, p->begin, p->col_begin, p->k, &options, &plan);
  if (status == SLEY_OK && rank == 0) {
    status = sley_plan_info_get(plan, &p->info);
    p->info.reason = ""; /* its text belongs to the plan */
  }
  sley_plan_destroy(plan);
  sley_matrix_destroy(block);
  return status;
}

sley_plan_info dry_plan(const sley_rank_options *options, const sley_matrix *matrix, const int64_t *begin,
                        const int64_t *col_begin, int64_t k, const char *algo) {
  planned p = {.matrix = matrix, .begin = begin, .col_begin = col_begin, .k = k, .algo = algo};
  assert_sley_ok(sley_run_ranks(options, plan_rank, &p));
  return p.info;
}
