/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels: descriptors {operation, predicate, cost, prepare, run}. A kernel takes raw pointers and sizes; it
 * does not depend on ranks or plans. The CPU has a kernel for every operation, which is the reference. Each
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
struct sl_product_traits; /* device/product.h */
struct sl_device_figures; /* device/figures.h */

/* An operation is one line here and one in the union below; CONTRIBUTING.md describes the rest. */
typedef enum sl_op {
  SL_OP_SPMM,              /* Y[rowid] = alpha A X + beta Y */
  SL_OP_UPDATE,            /* Z = T W + beta Z, where T is given or alpha A X */
  SL_OP_ROWS,              /* copy or add listed rows */
  SL_OP_CONVERT,           /* copy or add listed rows and convert their values */
  SL_OP_PULL,              /* copy or add listed rows from several memories at once */
  SL_OP_ARRIVE,            /* wait until a piece of a pull is complete */
  SL_OP_AWAIT,             /* wait until peers have read the rows shared with them */
  SL_OP_SCALE,             /* Y = beta Y */
  SL_OP_ROUND,             /* Y = beta Y + S, S in f32 and Y in a 16-bit type */
  SL_OP_REDUCE,            /* reduce several arrays to one, value by value */
  SL_OP_COLUMNS,           /* find the columns of a row block, and their owners */
  SL_OP_NEEDS,             /* find the rows that need remote columns, and each column's first piece */
  SL_OP_TALLY,             /* count the entries of each row of a block by part */
  SL_OP_CUT,               /* copy the entries of a block to parts */
  SL_OP_AGGREGATE,         /* sum, mean, minimum or maximum of the rows that a row's entries name */
  SL_OP_SDDMM,             /* a value for each entry, from the two rows that it joins */
  SL_OP_EDGE_SOFTMAX,      /* softmax over the values of each row's entries, or its gradient */
  SL_OP_ATTENTION,         /* score, softmax and weighted sum of each row */
  SL_OP_ATTENTION_ROWS,    /* gradients of ATTENTION for rows */
  SL_OP_ATTENTION_COLUMNS, /* gradients of ATTENTION for columns */
  SL_OP_GEMM,              /* C = act(alpha op(A) op(B) + beta C + bias) */
  SL_OP_COLUMN_SUMS,       /* the sum of each column */
  SL_OP_ACTIVATE_GRAD,     /* dX = dY act'(Y) */
  SL_OP_DROPOUT,           /* set values to zero by a random mask */
  SL_OP_NLL,               /* log-softmax, negative log-likelihood and its gradient */
  SL_OP_ADAM,              /* a step of Adam */
  SL_OP_NONZEROS,          /* number of values that are not zero */
  SL_OP_COMPRESS,          /* compress arrays by leaving out zeros */
  SL_OP_DECOMPRESS,        /* decompress arrays */
  SL_OP_SPARSE_SUM,        /* sum of arrays, most of them compressed */
  SL_OP_THRESHOLD,         /* threshold that a share of the values reaches, from a sample */
  SL_OP_SPARSIFY,          /* move values below a threshold to a residual */
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

/* Memory that contains the values with which a kernel is refilled. */
typedef enum sl_values_in { SL_VALUES_IN_HOST, SL_VALUES_IN_DEVICE } sl_values_in;

/* No slot is NULL but `library`. */
typedef struct sl_kernel {
  const char *name; /* for example "spmm-f32-avx512" */
  sl_op op;
  const char *library; /* the library that contains the kernel; arguments must name the library to get the
                        * kernel; NULL: Sley's own */
  /* Returns whether the kernel can run these arguments on this machine. For SL_OP_SPMM reads only the
   * problem. */
  bool (*ok)(const sl_kernel_args *args);
  /* Estimated seconds on a device with these figures; the cheapest kernel is chosen. For SL_OP_SPMM reads
   * only the problem. */
  double (*cost)(const struct sl_device_figures *figures, const sl_kernel_args *args);
  /* Inspects the problem, once per plan, and creates what run needs. It may allocate device memory and wait
   * for the queue. *prepared may be NULL. */
  sley_status (*prepare)(sl_device *device, sl_queue *queue, const sl_kernel_args *args, void **prepared);
  /* Replaces the matrix's values in what prepare created; rows and columns stay the same. args: the problem
   * as at prepare, with renewable set. val[j] is the new value of entry j, rowptr[0] <= j < rowptr[rows], as
   * in the matrix; val is in host memory or in the memory of the queue's device. prepared may be NULL.
   * Enqueues the work and allocates nothing. Values in host memory may be changed when it returns; values in
   * device memory, when the queue has done the work. Later runs have the same bits as after a new prepare,
   * unless prepare decides something by timing. Kernels of the CPU read the matrix itself at every run,
   * besides a copy that they may keep: so the caller must also change the values in place, or make the matrix
   * point to the new ones. */
  sley_status (*refill)(sl_device *device, sl_queue *queue, const sl_kernel_args *args, const void *val,
                        sl_values_in where, void *prepared);
  /* Upper bound of the bytes of device memory that prepare allocates and keeps for these arguments; *passing:
   * bytes used temporarily. */
  int64_t (*memory)(const sl_kernel_args *args, int64_t *passing);
  void (*release)(sl_device *device, void *prepared);
  const struct sl_product_traits *product; /* traits of kernels of SL_OP_SPMM and SL_OP_UPDATE; other kernels:
                                              sl_product_plain */
  /* Enqueues the work. Reads the arguments and the problem before it returns, and data when the work runs. */
  sley_status (*run)(sl_queue *queue, const sl_kernel_args *args);
} sl_kernel;

/* Slots of kernels that prepare nothing, or nothing that contains values. */
sley_status sl_prepare_nothing(sl_device *device, sl_queue *queue, const sl_kernel_args *args,
                               void **prepared);
sley_status sl_refill_nothing(sl_device *device, sl_queue *queue, const sl_kernel_args *args, const void *val,
                              sl_values_in where, void *prepared);
int64_t sl_memory_nothing(const sl_kernel_args *args, int64_t *passing);
void sl_release_nothing(sl_device *device, void *prepared);

/* Traits of a kernel without special properties as a product: see device/product.h. */
extern const struct sl_product_traits sl_product_plain;

#define SL_KERNEL_KEEPS_NOTHING                                                                              \
  .prepare = sl_prepare_nothing, .refill = sl_refill_nothing, .memory = sl_memory_nothing,                   \
  .release = sl_release_nothing, .product = &sl_product_plain

#endif
