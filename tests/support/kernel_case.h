/* SPDX-License-Identifier: Apache-2.0 */
/* One product of an SpMM kernel with its operands, the documented order, and the bound of its errors. */
#ifndef SLEY_TESTS_KERNEL_CASE_H
#define SLEY_TESTS_KERNEL_CASE_H

#include "device/product.h"
#include "kernels.h"

typedef struct kernel_case {
  sl_spmm_matrix a;
  sl_spmm_problem problem;
  sl_spmm_run args;
  int64_t cols, y_rows;
  int64_t near; /* rows of X before those in a second memory; cols: there is none */
  bool paged;   /* X is read in place, each page in a memory of its own */
  int64_t *rowid, *rowptr;
  void *col, *val;
  block x, y;
} kernel_case;

/* One row far longer than all others together; many empty rows. */
typedef enum row_lengths { ONE_LONG, MANY_EMPTY, ANY, SHAPES } row_lengths;

/* How a kernel gets the matrix: it arrives after planning; prepare sees it; prepare sees other values, and
 * refill brings those of the matrix. */
typedef enum kernel_source { ARRIVED, PREPARED, REFILLED_FROM_HOST, REFILLED_FROM_DEVICE } kernel_source;

/* Of its Y. */
sley_dtype kernel_case_y_dtype(const kernel_case *c);

/* Of what kernels have functions for, 32 cases in a row have every combination: types, indices, whether X is
 * paged, whether alpha is 1 and beta 0 or 1. cols 0: some number. */
kernel_case kernel_case_sized(int64_t k, int64_t rows, int64_t cols, row_lengths lengths, int number);

/* Of some shape; the next number. kernel_case_free frees what either made. */
kernel_case kernel_case_make(int64_t k);
void kernel_case_free(kernel_case *c);

/* The documented order, one element of Y after the other. */
void kernel_case_in_order(const kernel_case *c, void *y);

/* |Y - (alpha A X + beta Y0)| <= (terms + 3) eps (|alpha A||X| + |beta Y0|) for every element, the sums in
 * long double: one rounding a term, and one each for alpha val, beta Y0 and the result. A kernel may say that
 * it needs more: accuracy. Y of 16 bits is rounded once more: 2^-11 or 2^-8 of it, in f16 at least 2^-25. */
void kernel_case_bound(const kernel_case *c, sl_accuracy accuracy, const void *y);

/* Y = alpha A X + beta Y on the queue; the test fails if the run allocates memory. Tells how accurate the
 * kernel promises to be. */
sl_accuracy kernel_case_run(const kernel_case *c, const sl_kernel *kernel, sl_queue *queue,
                            kernel_source from, const block *y);

/* What a kernel finds at plan time; of a part that arrives no more than its types. */
bool kernel_case_serves(const kernel_case *c, const sl_kernel *kernel, bool prepare);

#endif
