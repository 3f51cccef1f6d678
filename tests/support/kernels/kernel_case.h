/* SPDX-License-Identifier: Apache-2.0 */
/* One product of an SpMM kernel with its operands, a reference in the documented order, and the error
 * bound. */
#ifndef SLEY_TESTS_KERNEL_CASE_H
#define SLEY_TESTS_KERNEL_CASE_H

#include "device/product.h"
#include "kernels.h"

typedef struct kernel_case {
  sl_spmm_matrix a;
  sl_spmm_problem problem;
  sl_spmm_run args;
  int64_t cols, y_rows;
  int64_t near; /* number of rows of X in the first memory; cols if there is no second memory */
  bool paged;   /* X is read in place, with each page in a separate memory */
  const sl_device_figures *figures; /* NULL: the device's */
  int64_t *rowid, *rowptr;
  void *col, *val;
  block x, y;
} kernel_case;

/* One row far longer than all others together; many empty rows. */
typedef enum row_lengths { ONE_LONG, MANY_EMPTY, ANY, SHAPES } row_lengths;

/* The way in which a kernel receives the matrix: it arrives after planning; prepare receives it; or prepare
 * receives other values, and refill replaces them. */
typedef enum kernel_source { ARRIVED, PREPARED, REFILLED_FROM_HOST, REFILLED_FROM_DEVICE } kernel_source;

/* The type of the case's Y. */
sley_dtype kernel_case_y_dtype(const kernel_case *c);

/* A case of the given size. 32 consecutive numbers cover all combinations for which kernels have separate
 * functions: types, indices, whether X is paged, whether alpha is 1, and whether beta is 0 or 1. cols 0: a
 * random number. */
kernel_case kernel_case_sized(int64_t k, int64_t rows, int64_t cols, row_lengths lengths, int number);

/* A case of random shape, with the next number. Cases of both functions are freed by kernel_case_free. */
kernel_case kernel_case_make(int64_t k);
void kernel_case_free(kernel_case *c);

/* Computes Y in the documented order, element by element. */
void kernel_case_in_order(const kernel_case *c, void *y);

/* Asserts |Y - (alpha A X + beta Y0)| <= (terms + 3) eps (|alpha A||X| + |beta Y0|) for every element, with
 * reference sums in long double: one rounding per term, and one each for alpha val, beta Y0 and the result.
 * `accuracy` is the kernel's own, possibly larger bound. A Y of 16 bits is rounded once more: a relative
 * error of 2^-11 or 2^-8, in f16 an absolute error of at least 2^-25. */
void kernel_case_bound(const kernel_case *c, sl_accuracy accuracy, const void *y);

/* Runs Y = alpha A X + beta Y on the queue; the test fails if the run allocates memory. Returns the accuracy
 * that the kernel promises. */
sl_accuracy kernel_case_run(const kernel_case *c, const sl_kernel *kernel, sl_queue *queue,
                            kernel_source from, const block *y);

/* Whether the kernel's predicate accepts the case at plan time; without prepare it only knows the types. */
bool kernel_case_serves(const kernel_case *c, const sl_kernel *kernel, const sl_device *device, bool prepare);

#endif
