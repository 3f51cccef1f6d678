/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations that the files of execution share. bind.c creates an execution, run_steps.c and tune_shapes.c
 * run its steps; steps.c defines the kinds of steps, product.c the parts, update.c the parts that are
 * multiplied by W at once, operands.c the operations on whole operands. */
#ifndef SLEY_EXEC_EXEC_INSIDE_H
#define SLEY_EXEC_EXEC_INSIDE_H

#include "device/product.h"
#include "exec/conversions.h"
#include "exec/exec.h"
#include "exec/fetch_rows.h"
#include "plan/step.h"
#include "transport/trace/trace.h"

/* A part with the kernel that multiplies its rows by W as soon as they are summed; kernel NULL: not fused. */
typedef struct sl_bound_update {
  sl_spmm_problem problem;
  const sl_kernel *kernel;
  void *prepared;
  bool waits;
} sl_bound_update;

/* A part with the kernel that sums it. */
typedef struct sl_bound_part {
  sl_spmm_matrix a;
  sl_spmm_problem problem; /* product of a */
  const sl_kernel *kernel;
  void *prepared;
  bool shared; /* `prepared` belongs to the wide execution */
  bool waits;  /* the kernel waits for rows that arrive in pieces */
  sl_bound_update update;
} sl_bound_part;

struct sl_exec {
  sl_run run;          /* the state that steps of every kind receive */
  const sl_exec *wide; /* execution whose buffers and parts it uses, or NULL */
  sl_trace *trace;     /* NULL unless the comm is traced */
  int64_t products;    /* number of products traced */
  size_t value_bytes, sum_bytes;
  void **state; /* states that the steps' bind functions have created */
  sl_bound_part *parts;
  sl_exchange **exchanges;
  const sl_piece_words **words; /* words of each exchange, from its arrival to its end */
  bool *unreclaimed;            /* for each exchange: whether it has ended and its rows are not reclaimed */
  int unreclaimed_count;        /* number of such exchanges */
  uintptr_t *pages;             /* pages of the X of all ranks, for parts in place; the rows have no gaps */
  void *packed;                 /* copy of the rank's X, with rows `pitch` bytes apart; NULL: none */
  int64_t pitch;
  sl_mapped_rows *mapped; /* result of exchange_map, one element per peer */
  sl_fetches *fetches;    /* one-sided fetches, if the plan has any */
  sl_conversions *conversions;
  void *result;            /* Y as the steps compute it, if the plan needs a separate buffer */
  const sl_update *update; /* in a run whose parts are multiplied by W at once: the update; otherwise NULL */
  sl_queue *second_queue;  /* queue of concurrent steps, if the plan has such steps */
  sl_event *forked, *joined;
};

/* ---- product.c */

/* Finds the kernel for a part; messages name the part. A part without a name stands for the whole product. */
sley_status sl_product_kernel(const sl_plan *plan, const sl_part *part, const sl_kernel_args *args,
                              const sl_kernel **out);

/* Chooses a kernel for a part, and prepares the part unless its matrix is received later. Local. */
sley_status sl_product_bind(sl_exec *exec, int part);

/* Releases the prepared part and its update. */
void sl_product_release(sl_exec *exec, int part);

/* Returns the arguments for the kernel of a bound part. */
sl_kernel_args sl_product_args(const sl_exec *exec, int part, double alpha, double beta);

sley_status sl_product_run(const sl_exec *exec, int part, sl_queue *queue);

/* ---- update.c: fused updates. Local. */

/* Chooses a kernel for the update of a bound part, if the plan fuses it. */
sley_status sl_update_bind(sl_exec *exec, int part);
/* Called when the part's values have changed. */
sley_status sl_update_refill(sl_exec *exec, int part);
void sl_update_release(sl_exec *exec, int part);

/* Returns the arguments for the update's kernel, which runs in place of the product's kernel. */
sl_kernel_args sl_update_args_of(const sl_exec *exec, int part, const sl_spmm_run *product);

/* Computes Z = Y W + beta Z for a Y that is stored in `result`. */
sley_status sl_update_rows(const sl_exec *exec, const sl_update *update);

/* ---- operands.c: work enqueued in the rank's queue. Strides in bytes. */

/* Copies all rows of a strided array to another, or adds them. */
sley_status sl_operand_move(const sl_exec *exec, int64_t rows, int64_t bytes, const void *src,
                            int64_t src_stride, void *dst, int64_t dst_stride, bool add);
/* Computes y = beta y. */
sley_status sl_operand_scale(const sl_exec *exec, sley_dtype dtype, int64_t rows, int64_t k, double beta,
                             void *y, int64_t stride);
/* Computes y = beta y + result, rounded once. */
sley_status sl_operand_round(const sl_exec *exec, double beta, void *y, int64_t y_stride);
/* Computes result = y, in the type of sums. */
sley_status sl_operand_widen(const sl_exec *exec, const void *y, int64_t y_stride);
/* Returns the bytes between the rows of a copy of X that products read instead of the caller's X; 0: there is
 * no copy. Rows that are read in place must have the same stride on all ranks. On devices with their own
 * memory, kernels are faster if they can load 16 bytes at a time; the copy is made if that saves more time
 * than it takes, and if the plan says so (sl_plan.x_unit). */
int64_t sl_operand_pitch(const sl_plan *plan);

/* Lets the steps read the copy of X, if there is one, unless the caller's X serves as it is. unchanged: the
 * copy still has the values of X. */
sley_status sl_operand_pack_x(sl_exec *exec, bool unchanged);

/* ---- run_steps.c */

enum { SL_EVERY_BUFFER = -2 };

/* Reclaims the rows that ended exchanges have sent from a buffer. */
sley_status sl_exec_reclaim(sl_exec *exec, int buffer);

/* Runs the step with this number. */
sley_status sl_exec_step(sl_exec *exec, int index);

/* ---- tune_shapes.c: times kernels that read X in place, to choose their shape. Collective, agreed. */
sley_status sl_exec_tune(sl_exec *exec);

#endif
