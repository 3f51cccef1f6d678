/* SPDX-License-Identifier: Apache-2.0 */
/* The sparse product: plan, execute, count. The public functions of the same names say what each does. */
#ifndef SLEY_OPS_SPMM_H
#define SLEY_OPS_SPMM_H

#include "exec/kernel_use.h"
#include "algo/algorithm.h"
#include "plan/transpose_blocks.h"

/* What an execute was told of its input. */
typedef struct sl_input {
  bool there; /* the plan's buffers hold what this execute has brought */
  sley_input state;
  int64_t generation;
  const void *x;
  int64_t ldx;
  double alpha;
} sl_input;

struct sley_plan {
  sl_comm *comm;
  sl_plan plan;
  int64_t nnz; /* of this rank's block of A, whose values set_values takes */
  /* In blocks of columns the plan is run for `width` of them at a time, and for `rest` at the end. */
  int64_t width, rest, blocks;
  sl_plan full_block,
      last_block; /* plan for width columns, where that is not all of them, and for rest, if any */
  int64_t needed_bytes, limit_bytes;
  sl_exec *exec;            /* NULL for a dry plan */
  sl_exec *last;            /* for rest columns, or NULL */
  sley_matrix *transposed;  /* this rank's rows of A^T where the plan uses them or renews them, or NULL */
  sl_transposition *values; /* by which they get new values, or NULL */
  sl_halo *halo;            /* the inspection's */
  sl_input kept;            /* of the last execute */
  sl_accuracy accuracy;     /* of its sums, on all ranks */
  sl_kernel_use used;       /* by this rank: what kernels sum; nothing of dry plans for another machine */
  sl_counters counted;      /* by this rank, in the last execute */
};

sley_status sl_spmm_plan(sl_comm *comm, const sley_matrix *block, const int64_t *row_begin,
                         const int64_t *col_begin, int64_t k, const sley_plan_options *options,
                         sley_plan **out);
/* As sley_plan_create_pair. may_be_one: where A^T has the bits of A, *out_transposed is *out, for callers
 * that run one of both at a time. */
sley_status sl_spmm_plan_pair(sl_comm *comm, const sley_matrix *block, const int64_t *row_begin,
                              const int64_t *col_begin, int64_t k, const sley_plan_options *options,
                              bool may_be_one, sley_plan **out, sley_plan **out_transposed);

/* A plan for k columns, fewer than those of wide, which is neither dry nor in blocks of columns. It uses the
 * memory of wide, which outlives it, and is not run while that runs. Its figures are those of wide but for
 * what it counts. Collective, agreed. Errors: SLEY_ERR_MEMORY. */
sley_status sl_spmm_narrow(const sley_plan *wide, int64_t k, sley_plan **out);
sley_status sl_spmm_execute(sley_plan *plan, double alpha, const void *x, int64_t ldx, double beta, void *y,
                            int64_t ldy);
/* One block of columns; x and y are its own. */
sley_status sl_spmm_execute_block(sley_plan *plan, int64_t block, double alpha, const void *x, int64_t ldx,
                                  double beta, void *y, int64_t ldy);

/* As sley_spmm_input. Errors are the same on all ranks, and leave the comm usable, but for those in flight.
 * Collective. */
sley_status sl_spmm_execute_input(sley_plan *plan, const sl_input *input, double beta, void *y, int64_t ldy);

/* As sley_spmm_update. */
sley_status sl_spmm_update(sley_plan *plan, double alpha, const void *x, int64_t ldx,
                           const sl_update *update);

/* As sley_plan_set_values. */
sley_status sl_spmm_set_values(sley_plan *plan, const void *val);

/* fit.c: finds the width of the blocks and prepares the plans for them; of dry plans only the numbers. ins:
 * what the plan was built from. Collective, agreed. Errors: SLEY_ERR_MEMORY. */
sley_status sl_spmm_fit(sley_plan *plan, const sl_inspection *ins, const sley_plan_options *options);

/* Whether a plan of all columns fits that takes so many bytes on this rank, beside X and Y if they count;
 * fills what the handle, whose plan is not built, says of memory. Collective, agreed. */
sley_status sl_spmm_fits(sley_plan *handle, const sl_inspection *ins, const sley_plan_options *options,
                         int64_t plan_bytes, bool *fits);

/* As sley_plan_info_get. */
void sl_spmm_info(const sley_plan *plan, sley_plan_info *out);

/* As sley_plan_trials. */
void sl_spmm_trials(const sley_plan *plan, sley_trial *out, int room, int *count);

/* The plan in words, and what its kernels settled; freed by sl_free. */
sley_status sl_spmm_describe(const sley_plan *plan, char **out);
sley_status sl_spmm_counted(sley_plan *plan, sley_traffic *out);
/* Leaves a handle without plans, which nothing may be bound to any more. */
void sl_spmm_free_plans(sley_plan *plan);
void sl_spmm_plan_destroy(sley_plan *plan);

#endif
