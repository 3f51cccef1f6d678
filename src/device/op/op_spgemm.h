/* SPDX-License-Identifier: Apache-2.0 */
/* SpGEMM: a sparse matrix times a sparse matrix, C = A B, of one process. The size of the result is known
 * only once it is made, so the kernels of this operation, unlike others, allocate while they run: the result,
 * and what they work in. run waits for the queue's work and its own. */
#ifndef SLEY_DEVICE_OP_OP_SPGEMM_H
#define SLEY_DEVICE_OP_OP_SPGEMM_H

#include "base/types.h"
#include "sley.h"

/* How the entries of a row of C are gathered; AUTO chooses by the row. For tests the others can be forced. */
typedef enum sl_accumulator {
  SL_ACCUMULATOR_AUTO,
  SL_ACCUMULATOR_DENSE, /* a sum for each column of C, and marks of those that have one */
  SL_ACCUMULATOR_HASH   /* a hash table of columns */
} sl_accumulator;

/* Where the arrays of the result come from: memory of the queue's device. */
typedef struct sl_spgemm_allocator {
  void *context;
  /* count * bytes_each bytes, aligned to 64; NULL with the message written. What is not written to later need
   * not take memory: more may be asked for than is kept. */
  void *(*alloc)(void *context, int64_t count, size_t bytes_each, const char *what);
  /* Gives back what *block has beyond count * bytes_each bytes; it may move. On an error it is still a block
   * to be freed. */
  sley_status (*shrink)(void *context, void **block, int64_t count, size_t bytes_each, const char *what);
  void (*free)(void *context, void *block);
} sl_spgemm_allocator;

/* The definition: C[i][j] is the semiring's sum of the products a[i][k] b[k][j] over the entries k of row i
 * of A and j of row k of B, and has an entry where there is at least one, whatever it comes to: sums that
 * cancel stay as explicit zeros. With a mask there are entries only where the mask has them, whatever their
 * values. The columns of each row of C ascend, each once.
 *
 *             product                    sum                                     first sum
 *   plus-times  a b                      s + p                                   the first product
 *   plus-pair   1                        s + p
 *   min-plus    a + b                    p < s or p is NaN: p, else s
 *   or-and      1 if a, b != 0, else 0   the larger
 *
 * Order: the products of an entry are added in the order of A's entries in the row (then of B's, where
 * entries repeat), each product and each sum rounded once to the type of sums; values of 16 bits are rounded
 * to their type at the end. So the bits depend neither on threads nor on accumulators. */
/* C, whose arrays are the caller's, to be freed by the allocator. */
typedef struct sl_spgemm_result {
  int64_t *rowptr; /* m + 1, from 0 */
  void *col;       /* of type index: 32 bits where B's are, or where n columns fit */
  void *val;       /* of the dtype of A and B */
  sley_index index;
  int64_t nnz;
  int64_t products; /* of A and B, before the mask */
  int64_t peak;     /* bytes of the result and of all that was allocated, at most at a time */
  int passes; /* 1: rows were computed once; 2: counted first, since room for all products was too much */
} sl_spgemm_result;

/* The arrays of A, B and the mask lie in the memory of the queue's device. */
typedef struct sl_spgemm_args {
  sley_semiring semiring;
  sley_csr a, b;        /* m x k and k x n, of one dtype, with row pointers of 64 bits */
  const sley_csr *mask; /* NULL, or m x n with row pointers of 64 bits; values are not read */
  int64_t limit;        /* bytes of the result and of all that is allocated here; 0: none */
  sl_accumulator accumulator;
  const char *library;               /* NULL: Sley's own kernels; else of the library's */
  const sl_spgemm_allocator *memory; /* of the result; NULL: the device's alloc and free */
  sl_spgemm_result *out;             /* all zeros after an error */
} sl_spgemm_args;

/* On an error nothing is left allocated. Errors of run: SLEY_ERR_MEMORY (also: the limit is too low, with
 * what is needed), SLEY_ERR_INTERRUPTED, SLEY_ERR_OVERFLOW, SLEY_ERR_UNSUPPORTED (a library's limits). */
static inline bool sl_spgemm_ok(const sl_spgemm_args *a) {
  return sley_dtype_bytes(a->a.dtype) != 0 && a->a.dtype == a->b.dtype && a->a.cols == a->b.rows &&
         a->semiring >= SLEY_PLUS_TIMES && a->semiring <= SLEY_OR_AND && a->a.rowptr && a->b.rowptr;
}

#endif
