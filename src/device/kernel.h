/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels: descriptors {operation, predicate, cost, prepare, run}. A kernel takes raw pointers and sizes; it
 * knows neither ranks nor plans. The CPU has a kernel for every operation, which is the reference. Each
 * family of operations has a header with its arguments and its definition. */
#ifndef SLEY_DEVICE_KERNEL_H
#define SLEY_DEVICE_KERNEL_H

#include "device/op/op_activate.h"
#include "device/op/op_adam.h"
#include "device/op/op_aggregate.h"
#include "device/op/op_attention.h"
#include "device/op/op_column_sums.h"
#include "device/op/op_compress.h"
#include "device/op/op_dropout.h"
#include "device/op/op_edge_softmax.h"
#include "device/op/op_gemm.h"
#include "device/op/op_inspect.h"
#include "device/op/op_nll.h"
#include "device/op/op_pull.h"
#include "device/op/op_reduce.h"
#include "device/op/op_rows.h"
#include "device/op/op_scale.h"
#include "device/op/op_sddmm.h"
#include "device/op/op_sparsify.h"
#include "device/op/op_spgemm.h"
#include "device/op/op_spmm.h"
#include "device/op/op_update.h"

typedef struct sl_queue sl_queue;
typedef struct sl_device sl_device;
struct sl_neighbour_table; /* device/neighbour_search.h */

/* An operation is one line here and one in the union below; CONTRIBUTING.md says what else. */
typedef enum sl_op {
  SL_OP_SPMM,              /* Y[rowid] = alpha A X + beta Y */
  SL_OP_UPDATE,            /* Z = T W + beta Z, T given or alpha A X */
  SL_OP_ROWS,              /* copy or add listed rows */
  SL_OP_CONVERT,           /* copy or add listed rows whose values change their type */
  SL_OP_PULL,              /* copy or add listed rows of several memories at once */
  SL_OP_ARRIVE,            /* wait until a piece of a pull is complete */
  SL_OP_AWAIT,             /* wait until the peers have read the rows lent to them */
  SL_OP_SCALE,             /* Y = beta Y */
  SL_OP_ROUND,             /* Y = beta Y + S, S in f32 and Y of 16 bits */
  SL_OP_REDUCE,            /* one array of several, value by value */
  SL_OP_COLUMNS,           /* find the columns of a row block, and whose they are */
  SL_OP_NEEDS,             /* find which rows of a block need which columns first */
  SL_OP_TALLY,             /* count the entries of each row of a block by part */
  SL_OP_CUT,               /* copy the entries of a block to parts */
  SL_OP_AGGREGATE,         /* rows become sums, means, minima or maxima of the rows that their entries name */
  SL_OP_SDDMM,             /* a value for each entry, of the two rows that it joins */
  SL_OP_EDGE_SOFTMAX,      /* softmax by rows of values of entries, or its gradient */
  SL_OP_ATTENTION,         /* score, softmax and weighted sum of each row */
  SL_OP_ATTENTION_ROWS,    /* its gradients of rows */
  SL_OP_ATTENTION_COLUMNS, /* its gradients of columns */
  SL_OP_GEMM,              /* C = act(alpha op(A) op(B) + beta C + bias) */
  SL_OP_COLUMN_SUMS,       /* the sum of each column */
  SL_OP_ACTIVATE_GRAD,     /* dX = dY act'(Y) */
  SL_OP_DROPOUT,           /* values set to zero by a mask of numbers */
  SL_OP_NLL,               /* log-softmax, the loss of labels and its gradient */
  SL_OP_ADAM,              /* a step of Adam */
  SL_OP_NONZEROS,          /* how many values are not zero */
  SL_OP_COMPRESS,          /* leave zeros out */
  SL_OP_DECOMPRESS,        /* put them back */
  SL_OP_SPARSE_SUM,        /* the sum of arrays of which most are compressed */
  SL_OP_THRESHOLD,         /* what a share of the values reaches, from a sample */
  SL_OP_SPARSIFY,          /* values below a threshold go to a residual */
  SL_OP_SPGEMM             /* C = A B, all three sparse */
} sl_op;

typedef struct sl_kernel_args {
  sl_op op;
  union {
    sl_spmm_run spmm;      /* at plan time: only spmm.problem is set */
    sl_update_args update; /* at plan time: only update.product.problem and dtype are set */
    sl_rows_args rows;
    sl_convert_args convert;
    sl_pull_args pull;
    sl_arrive_args arrive;
    sl_await_args await;
    sl_scale_args scale;
    sl_round_args round;
    sl_reduce_args reduce;
    sl_columns_args columns;
    sl_needs_args needs;
    sl_tally_args tally;
    sl_cut_args cut;
    sl_aggregate_args aggregate;
    sl_sddmm_args sddmm;
    sl_edge_softmax_args edge_softmax;
    sl_attention_args attention;
    sl_attention_grad_args attention_grad;
    sl_gemm_args gemm;
    sl_column_sums_args column_sums;
    sl_activate_grad_args activate_grad;
    sl_dropout_args dropout;
    sl_nll_args nll;
    sl_adam_args adam;
    sl_nonzeros_args nonzeros;
    sl_compress_args compress;
    sl_decompress_args decompress;
    sl_sparse_sum_args sparse_sum;
    sl_threshold_args threshold;
    sl_sparsify_args sparsify;
    sl_spgemm_args spgemm;
  };
} sl_kernel_args;

/* A sum of n terms errs by at most `each` times n + 3 roundings, and `more`, of the type of sums. */
typedef struct sl_accuracy {
  int each, more;
  bool tf32; /* operands are rounded to tf32 */
} sl_accuracy;
#define SL_ACCURACY_IN_ORDER ((sl_accuracy){1, 0, false})

/* Where the values that a kernel is refilled with lie. */
typedef enum sl_values_in { SL_VALUES_IN_HOST, SL_VALUES_IN_DEVICE } sl_values_in;

/* No slot is NULL unless its comment says so. */
typedef struct sl_kernel {
  const char *name; /* e.g. "spmm-f32-avx512" */
  sl_op op;
  const char *library; /* NULL, or the library that it calls, which arguments must name to get it */
  /* Whether the kernel can run these arguments on this machine. Of SL_OP_SPMM only the problem is read. */
  bool (*ok)(const sl_kernel_args *args);
  /* Estimated seconds; the cheapest kernel is chosen. Of SL_OP_SPMM only the problem is read. */
  double (*cost)(const sl_kernel_args *args);
  /* Of SL_OP_UPDATE, where the kernel sums the rows of T itself: whether so many rows with so many entries
   * and k columns are expected to be faster than by a product and an update of the rows that it gives; where
   * not, plans do not fuse. NULL: always. */
  bool (*pays)(int64_t rows, int64_t entries, int64_t k);
  /* Inspection, once per plan: what run needs to know about the problem. It may allocate in the device's
   * memory and wait for the queue. *prepared may be NULL. */
  sley_status (*prepare)(sl_device *device, sl_queue *queue, const sl_kernel_args *args, void **prepared);
  /* Gives what prepare made from the matrix new values; rows and columns stay. args: the problem as at
   * prepare, and renewable. val[j] is the new value of entry j, rowptr[0] <= j < rowptr[rows], as in the
   * matrix; it lies in the host's memory or in the memory of the queue's device. prepared may be NULL.
   * Enqueues the work and allocates nothing. Values in the host's memory may be changed when it returns,
   * those in the device's memory when the queue has done the work. Runs that are enqueued later have the bits
   * of a new prepare, unless that settles something by timing. Kernels of the CPU read the matrix itself at
   * every run, besides a copy that they may keep: the caller also changes the values in place, or lets the
   * matrix point to others. */
  sley_status (*refill)(sl_device *device, sl_queue *queue, const sl_kernel_args *args, const void *val,
                        sl_values_in where, void *prepared);
  /* At most what prepare takes of the device's memory for these arguments and keeps, in bytes; *passing: what
   * it takes besides while it works. NULL: next to nothing. */
  int64_t (*memory)(const sl_kernel_args *args, int64_t *passing);
  /* Whether a run of this problem waits for pieces itself. Once the first has arrived all workers of the pull
   * are running, so the kernel may fill the device with blocks that wait. NULL: never. */
  bool (*waits)(const sl_kernel_args *args);
  /* What prepare copies entries to for run to read, such as "bundles"; NULL: run reads the rows of the
   * matrix. */
  const char *layout;
  /* How many of the problem's entries prepare has copied to it, or, with prepared NULL, copies about; run
   * reads the others in the rows of the matrix. NULL: as layout. */
  int64_t (*copied)(const sl_kernel_args *args, const void *prepared);
  /* How accurate sums are by what prepare has made; prepared NULL: by whatever it may make. NULL: as in the
   * documented order. */
  sl_accuracy (*accuracy)(const sl_kernel_args *args, const void *prepared);
  /* The kernel that reports name where prepare has left all to another; prepared NULL: where it may. NULL:
   * the kernel itself. */
  const struct sl_kernel *(*stands_for)(const void *prepared);
  bool serves_fewer_columns; /* what prepare makes for k columns serves runs of fewer */
  void (*release)(sl_device *device, void *prepared);
  /* Enqueues the work. The arguments, and the problem, are read before it returns, data when the work runs.
   */
  sley_status (*run)(sl_queue *queue, const sl_kernel_args *args);
  /* For products over X in several memories; NULL: nothing to do. Once per plan, with arguments that could
   * run (whose values are zeros): settles by timing what prepare left open. All ranks call it at once. */
  sley_status (*tune)(sl_queue *queue, const sl_kernel_args *args);
  /* The shapes that tune has timed, until release; NULL, or of no shapes: none. */
  const struct sl_neighbour_table *(*tuned)(const void *prepared);
} sl_kernel;

/* For kernels that prepare nothing, or nothing that holds values. */
sley_status sl_prepare_nothing(sl_device *device, sl_queue *queue, const sl_kernel_args *args,
                               void **prepared);
sley_status sl_refill_nothing(sl_device *device, sl_queue *queue, const sl_kernel_args *args, const void *val,
                              sl_values_in where, void *prepared);
void sl_release_nothing(sl_device *device, void *prepared);

#define SL_KERNEL_KEEPS_NOTHING                                                                              \
  .prepare = sl_prepare_nothing, .refill = sl_refill_nothing, .release = sl_release_nothing

#endif
