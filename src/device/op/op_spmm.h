/* SPDX-License-Identifier: Apache-2.0 */
/* SL_OP_SPMM: Y = alpha A X + beta Y for a matrix A of stored rows. Data known when the plan is made
 * (sl_spmm_problem) is separate from the data of each run (sl_spmm_run). */
#ifndef SLEY_DEVICE_OP_OP_SPMM_H
#define SLEY_DEVICE_OP_OP_SPMM_H

#include "base/team.h"
#include "base/types.h"
#include "device/op/op_pull.h"
#include "device/rowwise_choice.h"

/* The definition: for each stored row i, over its entries j,
 *
 *   Y[row(i)] = alpha * sum_j val[j] X[col[j]] + beta * Y[row(i)].
 *
 * Order of summation. Addition of floating-point numbers is not associative, so the bits of Y depend on the
 * order in which the terms are added. This is the order for each element of Y, on every device, with every
 * instruction set and any number of threads:
 *
 *   1. acc = beta y, or 0 if beta is 0; y is then not read, so that its NaNs have no effect.
 *   2. For each entry of the row in stored order: acc = fma(alpha val, x, acc), with one rounding.
 *   3. y = acc.
 *
 * acc has the type of sums: the dtype itself for f32 and f64, f32 for f16 and bf16. 16-bit values are
 * converted to f32 when they are loaded, which is exact. alpha val and beta y are computed in double and
 * rounded to the type of sums. In step 3 acc is rounded to the type of Y, to nearest, ties to even; which NaN
 * a NaN becomes is not specified.
 *
 * Why this order: it is the order of the plain loop over CSR. So each output can be computed independently of
 * all others, and an oracle of ten lines returns the same bits (tests/property/kernels/test_kernels.c). A row can be
 * summed by several calls: the first with the caller's beta, each later one with beta = 1 and the next
 * entries. Their bits are those of one call if Y has the type of sums (wide_y); SL_OP_ROUND then converts the
 * sums to 16 bits. Plans that sum the local and the remote columns of a row in separate calls rely on this.
 *
 * If in_order is false, a kernel may sum fragments of a row separately, each from 0 in stored order, and add
 * beta y and the fragments in a fixed order. Which entries form a fragment may depend on the matrix and on
 * decisions of prepare and tune, never on timing during a run: the bits repeat from run to run of a plan, but
 * may differ from the bits of the order above. */

/* Memory: when a kernel prepares, all arrays are in host memory, whatever the device, except resident columns
 * and values. On a device with its own memory, a run with prepared data reads none of these arrays; kernels
 * of the CPU read the arrays at every run, whether they keep a copy or not. A run without preparation reads
 * them in device memory. */
typedef struct sl_spmm_matrix {
  int64_t rows;         /* number of stored rows */
  const int64_t *rowid; /* row of Y of each stored row, ascending; NULL: stored row i is row i of Y */
  const int64_t *rowptr;
  const void *col, *val; /* column and value of each entry j, rowptr[0] <= j < rowptr[rows] */
  sley_index index;
  sley_dtype dtype;
  /* For a device with its own memory: col and val are already in that memory when a kernel prepares, with
   * 32-bit columns, and begin with entry rowptr[0] = 0. The prepared data refers to them directly, and
   * prepare may set the sign bits of col; the caller must keep them until release. */
  bool resident;
} sl_spmm_matrix;

static inline int64_t sl_spmm_entries(const sl_spmm_matrix *a) {
  return a->rows > 0 ? a->rowptr[a->rows] - a->rowptr[0] : 0;
}

/* Columns per page, if X is spread over several memories. */
enum { SL_X_PAGE = 4096 };

/* The part of a product that is known when the plan is made; the same for prepare, refill, tune and every
 * run. A kernel's ok, cost, memory and waits read it. */
typedef struct sl_spmm_problem {
  const sl_spmm_matrix *a;
  int64_t k;
  /* far_rows > 0: X is in two memories. Columns below x_rows are rows of x; column x_rows + i is row i of
   * far, whose rows begin far_stride values apart. far_rows = 0: all columns are below x_rows. */
  int64_t x_rows, far_rows, far_stride;
  /* pieces > 0: the rows of far arrive in pieces. Stored rows before piece_end[s] name only rows that have
   * arrived once piece s is complete. piece_end is in host memory and is read by prepare only. Only for
   * kernels that wait for pieces (sl_kernel's waits). */
  int pieces;
  const int64_t *piece_end;
  /* Not NULL: X is spread over several memories and read in place. Column c is at pages[c / SL_X_PAGE] + c *
   * ldx values; x is unused. Host memory; the contents may change between runs. */
  const uintptr_t *pages;
  /* With pages: memory p of `segments` contains columns segment[p] .. segment[p + 1], which begin at page
   * boundaries; own: index of the device's own memory. */
  const int64_t *segment;
  int segments, own;
  bool wide_y;    /* Y has the type of sums: f32 for a 16-bit dtype; no difference for other dtypes */
  bool in_order;  /* every row must be summed in stored order */
  bool tf32;      /* f32 values may be rounded to tf32, 11 significant bits, before they are multiplied */
  bool lean;      /* do not choose a kernel that needs more memory than another one, unless the kernel is
                     requested */
  bool renewable; /* the values may change: refill is called */
  bool arrives;   /* a's arrays are filled after the plan is made, so nothing can be prepared */
  const char *library; /* NULL: one of Sley's kernels; else the library whose kernel is used */
  const struct sl_device_figures *figures; /* figures by which the product is shaped; not read by ok and cost */
  const struct sl_kernel *kernel;          /* NULL: any kernel of `library`; else the kernel that is used */
  sl_rowwise_choice rowwise;               /* choice for the kernel with X in several memories */
  sl_team *team; /* host threads that prepare may use; NULL: only the calling thread */
} sl_spmm_problem;

/* The part of a product that is known when it runs. All pointers are to device memory unless stated
 * otherwise. */
typedef struct sl_spmm_run {
  const sl_spmm_problem
      *problem;         /* the problem that was passed to prepare; k may be smaller if the kernel
                           `serves_fewer_columns` */
  const void *prepared; /* data that prepare returned for the problem, or NULL */
  double alpha, beta;
  const void *x, *far;
  int64_t ldx, ldfar; /* elements between rows; ldfar: the problem's far_stride */
  void *y;
  int64_t ldy; /* elements between rows */
  /* With pieces: words by which the kernel waits for the second and later pieces; the caller has waited for
   * the first. NULL: all rows have arrived. */
  const sl_piece_words *arrivals;
  bool padded; /* rows of x and far may be read up to the next row; what follows their values does not count */
  bool during_pull; /* a pull runs on the device at the same time: a hint, which affects only speed */
} sl_spmm_run;

/* Bytes that a device loads at once. Rows that arrive while other rows are read must not share such a sector
 * with them, because reading one row would leave old contents of the other in a cache. */
enum { SL_SECTOR = 32 };

static inline bool sl_far_has_own_sectors(const sl_spmm_problem *p) {
  return p->far_stride * (int64_t)sley_dtype_bytes(p->a->dtype) % SL_SECTOR == 0;
}

#endif
