/* SPDX-License-Identifier: Apache-2.0 */
/* The sparse product: plan, execute, count. The public functions of the same names document each. */
#ifndef SLEY_OPS_SPMM_H
#define SLEY_OPS_SPMM_H

#include "exec/kernel_use.h"
#include "algo/algorithm.h"
#include "plan/transpose_blocks.h"

/* The accepted values of sley_plan_options.wire; NULL-terminated. The first is the default. */
extern const char *const sl_wires[];

/* Declared properties of an execute's input. */
typedef struct sl_input {
  bool there; /* the plan's buffers contain the rows that this execute has fetched */
  sley_input state;
  int64_t generation;
  const void *x;
  int64_t ldx;
  double alpha;
} sl_input;

struct sley_plan {
  sl_comm *comm;
  sl_plan plan;
  int64_t nnz; /* entries of this rank's block of A, whose values set_values takes */
  /* In blocks of columns the plan runs for `width` columns at a time, and for `rest` at the end. */
  int64_t width, rest, blocks;
  sl_plan full_block, last_block; /* plans for width columns, unless these are all columns, and for rest
                                     columns if there are any */
  int64_t needed_bytes, limit_bytes;
  sl_exec *exec;            /* NULL for a dry plan */
  sl_exec *last;            /* for rest columns, or NULL */
  sley_matrix *transposed;  /* this rank's rows of A^T, if the plan uses or renews them, or NULL */
  sl_transposition *values; /* copies new values to it, or NULL */
  sl_halo *halo;            /* the inspection's halo */
  sl_input kept;            /* input of the last execute */
  sl_accuracy accuracy;     /* accuracy of its sums, on all ranks */
  sl_kernel_use used;       /* use of kernels by this rank; empty in dry plans for another machine */
  sl_counters counted;      /* counts of this rank in the last execute */
};

sley_status sl_spmm_plan(sl_comm *comm, const sley_matrix *block, const int64_t *row_begin,
                         const int64_t *col_begin, int64_t k, const sley_plan_options *options,
                         sley_plan **out);
/* The same as sley_plan_create_pair. may_be_one: if A^T has the bits of A, *out_transposed is *out, for
 * callers that run only one of both at a time. */
sley_status sl_spmm_plan_pair(sl_comm *comm, const sley_matrix *block, const int64_t *row_begin,
                              const int64_t *col_begin, int64_t k, const sley_plan_options *options,
                              bool may_be_one, sley_plan **out, sley_plan **out_transposed);

/* Makes a plan for k columns, fewer than wide has; wide is neither dry nor in blocks of columns. It uses
 * wide's memory, so wide must outlive it, and they must not run at the same time. It has the figures of wide,
 * except for its counts. Collective, agreed. Errors: SLEY_ERR_MEMORY. */
sley_status sl_spmm_narrow(const sley_plan *wide, int64_t k, sley_plan **out);
sley_status sl_spmm_execute(sley_plan *plan, double alpha, const void *x, int64_t ldx, double beta, void *y,
                            int64_t ldy);
/* Executes one block of columns; x and y belong to the block. */
sley_status sl_spmm_execute_block(sley_plan *plan, int64_t block, double alpha, const void *x, int64_t ldx,
                                  double beta, void *y, int64_t ldy);

/* The same as sley_spmm_input. Errors are the same on all ranks, and leave the comm usable, except errors in
 * flight. Collective. */
sley_status sl_spmm_execute_input(sley_plan *plan, const sl_input *input, double beta, void *y, int64_t ldy);

/* The same as sley_spmm_update. */
sley_status sl_spmm_update(sley_plan *plan, double alpha, const void *x, int64_t ldx,
                           const sl_update *update);

/* The same as sley_plan_set_values. */
sley_status sl_spmm_set_values(sley_plan *plan, const void *val);

/* In fit.c: finds the width of the blocks and prepares their plans; for dry plans only the numbers. ins: the
 * inspection of the plan. Collective, agreed. Errors: SLEY_ERR_MEMORY. */
sley_status sl_spmm_fit(sley_plan *plan, const sl_inspection *ins, const sley_plan_options *options);

/* Decides whether a plan of all columns fits that needs plan_bytes on this rank, besides X and Y if they
 * count. Fills in the figures of memory of the handle, whose plan is not built. Collective, agreed. */
sley_status sl_spmm_fits(sley_plan *handle, const sl_inspection *ins, const sley_plan_options *options,
                         int64_t plan_bytes, bool *fits);

/* The same as sley_plan_info_get. */
void sl_spmm_info(const sley_plan *plan, sley_plan_info *out);

/* The same as sley_plan_trials. */
void sl_spmm_trials(const sley_plan *plan, sley_trial *out, int room, int *count);

/* Describes the plan in words, and what its kernels have decided. The caller frees *out with sl_free. */
sley_status sl_spmm_describe(const sley_plan *plan, char **out);
sley_status sl_spmm_counted(sley_plan *plan, sley_traffic *out);
/* Destroys the handle's plans, to which nothing may be bound any more. */
void sl_spmm_free_plans(sley_plan *plan);
void sl_spmm_plan_destroy(sley_plan *plan);

#endif
