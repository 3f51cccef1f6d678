/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels: descriptors {operation, predicate, cost, prepare, run}. A kernel takes raw pointers and sizes; it
 * knows neither ranks nor plans. The CPU has a kernel for every operation, which is the reference. Each
 * family of operations has a header with its arguments and its definition. */
#ifndef SLEY_DEVICE_KERNEL_H
#define SLEY_DEVICE_KERNEL_H

#include "device/op_activate.h"
#include "device/op_adam.h"
#include "device/op_aggregate.h"
#include "device/op_attention.h"
#include "device/op_column_sums.h"
#include "device/op_compress.h"
#include "device/op_dropout.h"
#include "device/op_edge_softmax.h"
#include "device/op_gemm.h"
#include "device/op_inspect.h"
#include "device/op_nll.h"
#include "device/op_pull.h"
#include "device/op_reduce.h"
#include "device/op_rows.h"
#include "device/op_scale.h"
#include "device/op_sddmm.h"
#include "device/op_sparsify.h"
#include "device/op_spgemm.h"
#include "device/op_spmm.h"
#include "device/op_update.h"

typedef struct sl_queue sl_queue;
typedef struct sl_device sl_device;
struct sl_product_traits; /* device/product.h */

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

/* Where the values that a kernel is refilled with lie. */
typedef enum sl_values_in { SL_VALUES_IN_HOST, SL_VALUES_IN_DEVICE } sl_values_in;

/* No slot is NULL but `library`. */
typedef struct sl_kernel {
  const char *name; /* e.g. "spmm-f32-avx512" */
  sl_op op;
  const char *library; /* the library that it calls, which arguments must name to get it; NULL: Sley's own */
  /* Whether the kernel can run these arguments on this machine. Of SL_OP_SPMM only the problem is read. */
  bool (*ok)(const sl_kernel_args *args);
  /* Estimated seconds; the cheapest kernel is chosen. Of SL_OP_SPMM only the problem is read. */
  double (*cost)(const sl_kernel_args *args);
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
   * it takes besides while it works. */
  int64_t (*memory)(const sl_kernel_args *args, int64_t *passing);
  void (*release)(sl_device *device, void *prepared);
  const struct sl_product_traits *product; /* of SL_OP_SPMM and SL_OP_UPDATE; others: sl_product_plain */
  /* Enqueues the work. The arguments, and the problem, are read before it returns, data when the work runs.
   */
  sley_status (*run)(sl_queue *queue, const sl_kernel_args *args);
} sl_kernel;

/* For kernels that prepare nothing, or nothing that holds values. */
sley_status sl_prepare_nothing(sl_device *device, sl_queue *queue, const sl_kernel_args *args,
                               void **prepared);
sley_status sl_refill_nothing(sl_device *device, sl_queue *queue, const sl_kernel_args *args, const void *val,
                              sl_values_in where, void *prepared);
int64_t sl_memory_nothing(const sl_kernel_args *args, int64_t *passing);
void sl_release_nothing(sl_device *device, void *prepared);

/* For kernels with nothing special about them as products: see device/product.h. */
extern const struct sl_product_traits sl_product_plain;

#define SL_KERNEL_KEEPS_NOTHING                                                                              \
  .prepare = sl_prepare_nothing, .refill = sl_refill_nothing, .memory = sl_memory_nothing,                   \
  .release = sl_release_nothing, .product = &sl_product_plain

#endif
