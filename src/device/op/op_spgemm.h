/* SPDX-License-Identifier: Apache-2.0 */
/* SpGEMM: a sparse matrix times a sparse matrix, C = A B, in one process. The size of the result is not known
 * before it is computed, so the kernels of this operation, unlike others, allocate memory while they run: the
 * result and working memory. run waits for the queue's work and its own. */
#ifndef SLEY_DEVICE_OP_OP_SPGEMM_H
#define SLEY_DEVICE_OP_OP_SPGEMM_H

#include "base/types.h"
#include "sley.h"

/* How the entries of a row of C are accumulated. AUTO chooses for each row; the others are for tests. */
typedef enum sl_accumulator {
  SL_ACCUMULATOR_AUTO,
  SL_ACCUMULATOR_DENSE, /* a sum for each column of C, and marks for the columns that have a sum */
  SL_ACCUMULATOR_HASH   /* a hash table of columns */
} sl_accumulator;

/* Allocator of the result's arrays: memory of the queue's device. */
typedef struct sl_spgemm_allocator {
  void *context;
  /* Allocates count * bytes_each bytes, aligned to 64. Returns NULL on failure, with the thread's error
   * message set. Memory that is never written need not be backed by physical memory: the caller may request
   * more than it keeps. */
  void *(*alloc)(void *context, int64_t count, size_t bytes_each, const char *what);
  /* Frees the part of *block beyond count * bytes_each bytes; the block may move. After an error it is still
   * a valid block, which must be freed. */
  sley_status (*shrink)(void *context, void **block, int64_t count, size_t bytes_each, const char *what);
  void (*free)(void *context, void *block);
} sl_spgemm_allocator;

/* The definition: C[i][j] is the semiring's sum of the products a[i][k] b[k][j] over the entries k of row i
 * of A and j of row k of B. It has an entry if there is at least one product, whatever the sum is: sums that
 * cancel stay as explicit zeros. With a mask, C has entries only where the mask has them, whatever their
 * values. The columns of each row of C ascend, each once.
 *
 *             product                    sum                                     first sum
 *   plus-times  a b                      s + p                                   the first product
 *   plus-pair   1                        s + p
 *   min-plus    a + b                    p < s or p is NaN: p, else s
 *   or-and      1 if a, b != 0, else 0   the larger
 *
 * Order: the products of an entry are added in the order of A's entries in the row (then of B's, if entries
 * repeat), each product and each sum rounded once to the type of sums; 16-bit values are rounded to their
 * type at the end. So the bits depend neither on threads nor on accumulators. */
/* C. The caller owns its arrays and frees them by the allocator. */
typedef struct sl_spgemm_result {
  int64_t *rowptr; /* m + 1 elements, the first is 0 */
  void *col;       /* columns of type index: 32 bits if B's have 32, or if n columns fit */
  void *val;       /* values, of the dtype of A and B */
  sley_index index;
  int64_t nnz;
  int64_t products; /* number of products of A and B, before the mask */
  int64_t peak;     /* most bytes allocated at a time, including the result */
  int passes; /* 1: rows were computed once; 2: entries were counted first, because memory for all products
               * was not available */
} sl_spgemm_result;

/* The arrays of A, B and the mask are in the memory of the queue's device. */
typedef struct sl_spgemm_args {
  sley_semiring semiring;
  sley_csr a, b;        /* m x k and k x n, of the same dtype, with 64-bit row pointers */
  const sley_csr *mask; /* NULL, or m x n with 64-bit row pointers; values are not read */
  int64_t limit;        /* maximum number of bytes that the operation may allocate, with the result; 0: no
                           limit */
  sl_accumulator accumulator;
  const char *library;               /* NULL: Sley's own kernels; else the library whose kernels are used */
  const sl_spgemm_allocator *memory; /* allocator of the result; NULL: the device's alloc and free */
  sl_spgemm_result *out;             /* result; all zeros after an error */
} sl_spgemm_args;

/* The predicate of the operation. After an error of run, nothing stays allocated. Errors of run:
 * SLEY_ERR_MEMORY (also: the limit is too low; the message says what is needed), SLEY_ERR_INTERRUPTED,
 * SLEY_ERR_OVERFLOW, SLEY_ERR_UNSUPPORTED (a library's limits). */
static inline bool sl_spgemm_ok(const sl_spgemm_args *a) {
  return sley_dtype_bytes(a->a.dtype) != 0 && a->a.dtype == a->b.dtype && a->a.cols == a->b.rows &&
         a->semiring >= SLEY_PLUS_TIMES && a->semiring <= SLEY_OR_AND && a->a.rowptr && a->b.rowptr;
}

#endif
