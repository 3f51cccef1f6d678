/* SPDX-License-Identifier: Apache-2.0 */
/* Sparse times dense in one call, on the cores of this process: the library keeps what it prepares. */
#ifndef SLEY_MULTIPLY_H
#define SLEY_MULTIPLY_H

#include "sley_matrix.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sley_multiply_options {
  size_t struct_size;
  double alpha, beta; /* Y = alpha A X + beta Y; with beta = 0 Y need not be initialised */
  int64_t ldx, ldy;   /* elements between rows of X and of Y, at least k; 0: k */
  bool transpose;     /* Y = A^T X */
  /* The arrays of a matrix made with SLEY_BORROW may change between products: columns in any order, but in
   * range, and values. Then only the division of the rows is kept, which is read from the row pointers; these
   * must not change. With transpose nothing is kept then, and values of 16 bits are refused. */
  bool changing;
  int threads; /* 0: all cores that this process may use */
} sley_multiply_options;
#define SLEY_MULTIPLY_OPTIONS_INIT                                                                           \
  { sizeof(sley_multiply_options), 1, 0, 0, 0, false, false, 0 }

/* Computes Y = A X, or as options (NULL: the defaults) say. x: the rows of X, k values each, in host memory;
 * y likewise; they must not overlap each other or the matrix. The bits of Y are those of a reproducible plan,
 * at every call.
 *
 * A first product begins at once, with a kernel that needs no preparation. From the second product of the
 * same matrix, k, transpose, changing and threads on, what the kernel prepares is kept: the division of the
 * rows among threads. For narrow products the kernel also copies the entries; as this takes as long as
 * several products, it does so in the sixth. With transpose A^T is made and kept in the sixth product too,
 * and by the first for values of 16 bits. At most SLEY_KEPT_MOST products are kept, with at most as many
 * bytes as sley_kept_set_limit allows; the least recently used are dropped first, and those of a matrix when
 * it is destroyed. If memory is short, nothing is kept and the product is computed without it.
 *
 * Any threads may call it at the same time, also with the same matrix; products at the same time have threads
 * of their own, up to SLEY_MULTIPLY_TEAMS products, and others wait for them. A forked child may call it.
 * Threads that have no work sleep; they are kept until the process ends. Not collective. Errors:
 * SLEY_ERR_ARG, SLEY_ERR_MEMORY; SLEY_ERR_INPUT if the product meets a column that is out of range, which not
 * every kernel checks. */
sley_status sley_multiply_with(sley_matrix *matrix, int64_t k, const sley_multiply_options *options,
                               const void *x, void *y);

/* The same for the arrays of the caller, of which no matrix is made and nothing is kept: for a first product,
 * and for arrays that are not valid for a matrix. Columns may be in any order; each row is summed in the
 * order of its entries. Row pointers and columns are checked to be in range. options->changing is not used.
 * Errors: also SLEY_ERR_INPUT, naming the first bad row. */
sley_status sley_multiply_csr(const sley_csr *a, int64_t k, const sley_multiply_options *options,
                              const void *x, void *y);

/* The same with the default options: Y = A X, both contiguous. */
sley_status sley_multiply(sley_matrix *matrix, int64_t k, const void *x, void *y);

enum { SLEY_KEPT_MOST = 64, SLEY_MULTIPLY_TEAMS = 16 };

/* What is kept, and how it was used since the process began. */
typedef struct sley_kept_info {
  int64_t products; /* kept products, of the matrix if one is given */
  int64_t bytes;    /* bytes of entries that they have copied, and of A^T */
  int64_t limit;    /* most bytes, of all matrices */
  int64_t hits;     /* products of all matrices that used what was kept */
  int64_t misses;   /* products of all matrices that did not */
} sley_kept_info;

/* Describes the kept products of a matrix; NULL: of all matrices. */
sley_status sley_kept_get(const sley_matrix *matrix, sley_kept_info *out);

/* Drops the kept products of a matrix; NULL: of all matrices. What a running product uses is freed at its
 * end. */
void sley_kept_clear(const sley_matrix *matrix);

/* Sets the most bytes that may be kept; 0: nothing is kept. At first a quarter of the machine's memory.
 * Errors: SLEY_ERR_ARG (a negative number). */
sley_status sley_kept_set_limit(int64_t bytes);

#ifdef __cplusplus
}
#endif
#endif
