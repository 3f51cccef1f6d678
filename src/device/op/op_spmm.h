/* SPDX-License-Identifier: Apache-2.0 */
/* SL_OP_SPMM: Y = alpha A X + beta Y for a matrix A of stored rows. What is known when a product is planned
 * (sl_spmm_problem) is apart from what each run gives (sl_spmm_run). */
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
 * acc has the type of sums: the dtype itself for f32 and f64, f32 for f16 and bf16. Values of 16 bits are
 * converted to f32 when they are loaded, which is exact. alpha val and beta y are computed in double and
 * rounded to the type of sums. In step 3 acc is rounded to the type of Y, to nearest, ties to even; which NaN
 * a NaN becomes is not specified.
 *
 * Why this order: it is the one of the plain loop over CSR, so each output can be computed independently of
 * all others, an oracle of ten lines gives the same bits (tests/property/kernels/test_kernels.c), and a row can be
 * summed by several calls: the first with the caller's beta, each later one with beta = 1 and the next
 * entries. That gives the bits of one call if Y has the type of sums (wide_y); SL_OP_ROUND then converts the
 * sums to 16 bits. Plans that sum the local and the remote columns of a row in separate calls rely on it.
 *
 * Where in_order is false, a kernel may sum fragments of a row separately, each from 0 in stored order, and
 * add beta y and the fragments in a fixed order. Which entries form a fragment may depend on the matrix and
 * on what prepare and tune have settled, never on the course of a run: the bits repeat from run to run of a
 * plan, but they may differ from those of the order above. */

/* Memory: when a kernel prepares, all arrays lie in the host's memory, whatever the device, except those of
 * resident columns and values. A run with what
 * prepare returned reads none of them on a device with memory of its own; kernels of the CPU read the arrays
 * at every run, whether they keep a copy or not. A run without preparation reads them in the device's memory.
 */
typedef struct sl_spmm_matrix {
  int64_t rows;         /* stored rows */
  const int64_t *rowid; /* row of Y of each stored row, ascending; NULL: stored row i is row i of Y */
  const int64_t *rowptr;
  const void *col, *val; /* of entry j, rowptr[0] <= j < rowptr[rows] */
  sley_index index;
  sley_dtype dtype;
  /* On a device with memory of its own: col and val lie there when a kernel prepares, col in 32 bits, and
   * begin with entry rowptr[0] = 0. What prepare returns uses them where they are, and may set the sign bits
   * of col; the caller keeps them until release. */
  bool resident;
} sl_spmm_matrix;

static inline int64_t sl_spmm_entries(const sl_spmm_matrix *a) {
  return a->rows > 0 ? a->rowptr[a->rows] - a->rowptr[0] : 0;
}

/* Columns per page, where X is spread over several memories. */
enum { SL_X_PAGE = 4096 };

/* Known at plan time; the same for prepare, refill, tune and every run. Read by a kernel's ok, cost, memory
 * and waits. */
typedef struct sl_spmm_problem {
  const sl_spmm_matrix *a;
  int64_t k;
  /* far_rows > 0: X lies in two memories. Columns below x_rows are rows of x; column x_rows + i is row i of
   * far, of which rows begin far_stride values apart. far_rows = 0: all columns are below x_rows. */
  int64_t x_rows, far_rows, far_stride;
  /* pieces > 0: the rows of far arrive in pieces. Stored rows before piece_end[s] name only rows that are
   * there once piece s is complete. piece_end lies in the host's memory and is read by prepare only. Only for
   * kernels that wait for pieces (sl_kernel's waits). */
  int pieces;
  const int64_t *piece_end;
  /* Not NULL: X is spread over several memories and read in place. Column c lies at
   * pages[c / SL_X_PAGE] + c * ldx values; x is unused. Host memory; the contents may change between runs. */
  const uintptr_t *pages;
  /* With pages: memory p of `segments` holds columns segment[p] .. segment[p + 1], which begin at pages; own:
   * the device's own memory. */
  const int64_t *segment;
  int segments, own;
  bool wide_y;    /* Y has the type of sums: f32 where the dtype has 16 bits, else no difference */
  bool in_order;  /* every row must be summed in stored order */
  bool tf32;      /* values of f32 may be rounded to tf32, 11 significant bits, before they are multiplied */
  bool lean;      /* no kernel that keeps more than another, unless it is asked for */
  bool renewable; /* the values may change: refill is called */
  bool arrives;   /* the contents of a's arrays are known after the plan is made: no preparation */
  const char
      *library; /* NULL: a kernel of Sley's own; else the name of the library whose kernel is asked for */
  const struct sl_window_model *windows; /* figures for row windows on Tensor cores; NULL: those built in */
  const struct sl_kernel *kernel;        /* NULL: any of those; else the one that is asked for */
  sl_rowwise_choice rowwise;             /* of the kernel over X in several memories */
  sl_team *team; /* threads of the host that prepare may use; NULL: the calling thread alone */
} sl_spmm_problem;

/* Known when the product runs. All pointers are to the device's memory unless said otherwise. */
typedef struct sl_spmm_run {
  const sl_spmm_problem
      *problem;         /* as given to prepare; k may be smaller if the kernel `serves_fewer_columns` */
  const void *prepared; /* what prepare returned for the problem, or NULL */
  double alpha, beta;
  const void *x, *far;
  int64_t ldx, ldfar; /* elements between rows; ldfar: the problem's far_stride */
  void *y;
  int64_t ldy; /* elements between rows */
  /* With pieces: words by which the kernel waits for the pieces after the first, which the caller has waited
   * for. NULL: all rows are there. */
  const sl_piece_words *arrivals;
  bool during_pull; /* a pull runs at the same time on the device: a hint, which affects speed only */
} sl_spmm_run;

/* Bytes that a device loads at once. Rows that arrive while others are read have none in common with them:
 * the first one that is loaded would leave in a cache what the second was before it arrived. */
enum { SL_SECTOR = 32 };

static inline bool sl_far_has_own_sectors(const sl_spmm_problem *p) {
  return p->far_stride * (int64_t)sley_dtype_bytes(p->a->dtype) % SL_SECTOR == 0;
}

#endif
