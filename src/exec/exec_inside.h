/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of execution share: bind.c makes it, run.c and tune.c run its steps, steps.c has the kinds
 * of steps, product.c the parts, update.c those that are multiplied at once, operands.c what is done to whole
 * operands. */
#ifndef SLEY_EXEC_EXEC_INSIDE_H
#define SLEY_EXEC_EXEC_INSIDE_H

#include "device/product.h"
#include "exec/conversions.h"
#include "exec/exec.h"
#include "exec/fetch_rows.h"
#include "plan/step.h"
#include "transport/trace/trace.h"

/* The same part with the kernel that multiplies its rows by W at once; none: NULL. */
typedef struct sl_bound_update {
  sl_spmm_problem problem;
  const sl_kernel *kernel;
  void *prepared;
  bool waits;
} sl_bound_update;

/* A part with the kernel chosen for it. */
typedef struct sl_bound_part {
  sl_spmm_matrix a;
  sl_spmm_problem problem; /* of a */
  const sl_kernel *kernel;
  void *prepared;
  bool shared; /* prepared is another's */
  bool waits;  /* the kernel waits for rows that arrive in pieces */
  sl_bound_update update;
} sl_bound_part;

struct sl_exec {
  sl_run run;          /* what steps of every kind run with */
  const sl_exec *wide; /* whose buffers and parts it uses, or NULL */
  sl_trace *trace;     /* NULL unless the comm is traced */
  int64_t products;    /* traced so far */
  size_t value_bytes, sum_bytes;
  void **state; /* of each step, what its kind's bind made */
  sl_bound_part *parts;
  sl_exchange **exchanges;
  const sl_piece_words **words; /* of each exchange, from its arrival to its end */
  bool *unreclaimed;            /* of each exchange: ended, its rows not reclaimed */
  int unreclaimed_count;        /* of those */
  uintptr_t *pages;             /* of the X of all ranks, for parts in place, which want rows without gaps */
  void *packed;                 /* own X without gaps, where the caller's has some */
  sl_mapped_rows *mapped;       /* what an exchange lends: one a peer */
  sl_fetches *fetches;          /* one-sided, if the plan has any */
  sl_conversions *conversions;
  void *result;            /* Y computed apart, if the plan wants that */
  const sl_update *update; /* of a run whose parts are multiplied by W at once; else NULL */
  sl_queue *second_queue;  /* for concurrent steps, if the plan has any */
  sl_event *forked, *joined;
};

/* ---- product.c */

/* The kernel for a part, or for what stands for it and has no name; a message names the part. */
sley_status sl_product_kernel(const sl_plan *plan, const sl_part *part, const sl_kernel_args *args,
                              const sl_kernel **out);

/* Takes a kernel for a part, and lets it inspect the matrix where that is here already. Local. */
sley_status sl_product_bind(sl_exec *exec, int part);

/* Ends what was bound of a part. */
void sl_product_release(sl_exec *exec, int part);

/* What a bound part's kernel is run with. */
sl_kernel_args sl_product_args(const sl_exec *exec, int part, double alpha, double beta);

sley_status sl_product_run(const sl_exec *exec, int part, sl_queue *queue);

/* ---- update.c: of plans that multiply rows by W at once. Local. */

/* Takes a kernel for the update of a part that is bound, if the plan wants one. */
sley_status sl_update_bind(sl_exec *exec, int part);
/* The part's values have changed. */
sley_status sl_update_refill(sl_exec *exec, int part);
void sl_update_release(sl_exec *exec, int part);

/* What the kernel is run with in a run that has an update, in place of the product. */
sl_kernel_args sl_update_args_of(const sl_exec *exec, int part, const sl_spmm_run *product);

/* Z = the result W + beta Z, for a result that is there whole. */
sley_status sl_update_rows(const sl_exec *exec, const sl_update *update);

/* ---- operands.c: enqueued in the rank's queue. Strides in bytes. */

/* Moves or adds all rows of one strided array to another. */
sley_status sl_operand_move(const sl_exec *exec, int64_t rows, int64_t bytes, const void *src,
                            int64_t src_stride, void *dst, int64_t dst_stride, bool add);
/* y = beta y. */
sley_status sl_operand_scale(const sl_exec *exec, sley_dtype dtype, int64_t rows, int64_t k, double beta,
                             void *y, int64_t stride);
/* y = beta y + the result, rounded once. */
sley_status sl_operand_round(const sl_exec *exec, double beta, void *y, int64_t y_stride);
/* The result = y, in the type of sums. */
sley_status sl_operand_widen(const sl_exec *exec, const void *y, int64_t y_stride);
/* Rows that are read in place must have the same stride on all ranks: that of rows without gaps. */
sley_status sl_operand_pack_x(sl_exec *exec);

/* ---- run.c */

enum { SL_EVERY_BUFFER = -2 };

/* The rows that ended exchanges sent from a buffer are this rank's again. */
sley_status sl_exec_reclaim(sl_exec *exec, int buffer);

/* Runs the step of that index. */
sley_status sl_exec_step(sl_exec *exec, int index);

/* ---- tune.c: lets kernels that read X in place settle their shape. Collective, agreed. */
sley_status sl_exec_tune(sl_exec *exec);

#endif
