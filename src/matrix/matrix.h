/* SPDX-License-Identifier: Apache-2.0 */
/* The sparse container, CSR. Invariants: rowptr ascends; columns are in range and ascend within each row
 * (equal neighbours allowed). rowptr[0] need not be 0: a row block is a view into the arrays of its matrix.
 */
#ifndef SLEY_MATRIX_MATRIX_H
#define SLEY_MATRIX_MATRIX_H

#include "base/team.h"
#include "base/types.h"

/* How a file was read, in numbers that ranks can send one another; sl_source_tell (io/io.h) turns them into
 * words. All zero: the matrix was not read from a file. */
typedef struct sl_source {
  int64_t format; /* position in the table of formats, from 1 */
  int64_t shape;  /* sl_shape of a file of numbers without a header */
  int64_t why;    /* sl_why: how base was determined */
  int64_t base;   /* number of the first row and column, if why is not 0 */
  int64_t unread; /* lines that have fields after the value, which were ignored */
} sl_source;

struct sley_matrix {
  int64_t rows, cols, nnz;
  int64_t entries_stored;
  sley_dtype dtype;
  sley_index index;
  const int64_t *rowptr;
  const void *col;
  const void *val;
  /* Frees the storage behind the arrays (memory, a mapping); NULL if the arrays are borrowed. */
  void (*release)(struct sley_matrix *matrix);
  void *storage;
  int64_t storage_bytes;
  sl_source source;
  /* Drops what others keep of the matrix, before it is destroyed; NULL: nothing is kept. */
  void (*forget)(const struct sley_matrix *matrix);
};

/* Arrays of a matrix under construction, from sl_alloc. Freed by sl_csr_arrays_free or taken by
 * sl_matrix_adopt. */
typedef struct sl_csr_arrays {
  int64_t *rowptr;
  void *col, *val;
} sl_csr_arrays;

/* Makes a matrix of nnz = rowptr[rows] that takes ownership of the arrays (on an error they are freed); the
 * caller guarantees the invariants. entries_stored < 0 stands for nnz. */
sley_status sl_matrix_adopt(int64_t rows, int64_t cols, sley_index index, sley_dtype dtype,
                            sl_csr_arrays arrays, int64_t entries_stored, sley_matrix **out);
void sl_csr_arrays_free(sl_csr_arrays *arrays);

/* Allocates all three arrays, contents undefined. On an error nothing is left allocated. */
sley_status sl_csr_arrays_alloc(int64_t rows, int64_t nnz, sley_index index, sley_dtype dtype,
                                sl_csr_arrays *out);

/* Bytes of the three arrays. */
int64_t sl_csr_bytes(int64_t rows, int64_t nnz, sley_index index, sley_dtype dtype);

/* Accepts NULL. */
void sl_matrix_destroy(sley_matrix *matrix);

/* Returns the arrays as a public struct; they belong to the matrix. */
sley_csr sl_matrix_csr(const sley_matrix *matrix);

/* Row pointer i of arrays with row pointers of either width. */
static inline int64_t sl_csr_pointer(const sley_csr *csr, int64_t i) {
  return csr->rowptr ? csr->rowptr[i] : csr->rowptr32[i];
}

/* Makes row pointers of 64 bits from those of 32 bits; the caller frees them. */
sley_status sl_csr_widen(const sley_csr *csr, int64_t **out);

/* Makes a matrix from the caller's arrays, which are validated; implements sley_matrix_from_csr. */
sley_status sl_matrix_from_csr(const sley_csr *csr, sley_ownership ownership, sl_team *team,
                               sley_matrix **out);

/* Makes a view of rows [first, first + count) of matrix, which must outlive it; entries_stored becomes the
 * view's nnz. The caller guarantees the range. */
sley_status sl_matrix_view(const sley_matrix *matrix, int64_t first, int64_t count, sley_matrix **out);

/* Entries of the longest row; 0 without rows. */
int64_t sl_matrix_max_row(const sley_matrix *matrix);

/* The row at which part `part` of `parts` begins, if rows and nonzeros are divided evenly: 0 for part 0, rows
 * for part `parts`. */
int64_t sl_csr_split(int64_t rows, const int64_t *rowptr, int part, int parts);

/* Checks the invariants of arrays with rowptr; *sorted: whether every row ascends (the only invariant that
 * may fail without an error); sorted NULL: not looked at. Errors: SLEY_ERR_INPUT, naming the first bad row.
 */
sley_status sl_csr_validate(const sley_csr *csr, sl_team *team, bool *sorted);

/* Returns the error of arrays, with row pointers of either width, of which a row is bad: SLEY_ERR_INPUT,
 * naming the first bad row; SLEY_ERR_MEMORY. */
sley_status sl_csr_refuse(const sley_csr *csr, sl_team *team);

/* Triplets to be converted to CSR. row and col have type index, val type dtype; val is NULL for a pattern
 * (all ones). */
typedef struct sl_coo {
  int64_t rows, cols, count;
  sley_index index;
  sley_dtype dtype;
  void *row, *col, *val;
} sl_coo;

typedef enum sl_symmetry { SL_GENERAL, SL_SYMMETRIC, SL_SKEW } sl_symmetry;
typedef enum sl_repeats { SL_SUM_REPEATS, SL_DROP_REPEATS } sl_repeats; /* dropping keeps the first entry */

void sl_coo_free(sl_coo *coo);

/* Converts triplets, which stay the caller's, to CSR. Entries must be in range. With a symmetry every
 * off-diagonal entry is mirrored too. Repeats are summed in the order of the triplets (a mirrored entry after
 * a given one), so the result does not depend on the team's size. entries_stored = count. */
sley_status sl_coo_to_csr(const sl_coo *coo, sl_symmetry symmetry, sl_repeats repeats, sl_team *team,
                          sley_matrix **out);

sley_status sl_matrix_transpose(const sley_matrix *matrix, sl_team *team, sley_matrix **out);

/* How a square matrix differs from its transpose. */
enum { SL_ASYMMETRY_SUMS = 2 };
typedef struct sl_asymmetry {
  bool repeats; /* a row repeats a column, or its columns do not ascend */
  /* Sums of hashes. Added up over all rows they are 0 if the matrix equals its transpose, and otherwise with
   * a probability of 2^-64 each. */
  uint64_t sum[SL_ASYMMETRY_SUMS];
} sl_asymmetry;

/* Finds the asymmetry of rows first_row, first_row + 1, ... of a square matrix, of which `matrix` has these
 * rows; without its values if `values` is false. Errors: SLEY_ERR_INTERRUPTED. */
sley_status sl_matrix_asymmetry(const sley_matrix *matrix, int64_t first_row, bool values, sl_team *team,
                                sl_asymmetry *out);

/* The undirected graph of a square matrix: entries (i, j) and (j, i) wherever A has one of them, without
 * repeats. If A has both, both get the mean of their values; repeats count as their sum. sl_csr_undirected
 * makes the arrays alone, without values if `values` is false, with columns of type sl_index_for(cols). Needs
 * memory for A^T besides, unless A is the result already. Errors: SLEY_ERR_ARG (not square), SLEY_ERR_MEMORY.
 */
sley_status sl_matrix_undirected(const sley_matrix *matrix, sl_team *team, sley_matrix **out);
sley_status sl_csr_undirected(const sley_matrix *matrix, bool values, sl_team *team, sl_csr_arrays *out);

sley_status sl_matrix_permute(const sley_matrix *matrix, const int64_t *row_perm, const int64_t *col_perm,
                              sl_team *team, sley_matrix **out);

/* Checks that perm contains each of 0 .. count - 1 once. Errors: SLEY_ERR_ARG, naming `what` and the
 * position; SLEY_ERR_MEMORY. */
sley_status sl_permutation_check(const int64_t *perm, int64_t count, const char *what);

/* Sorts the entries of every row by column (stable) in place. val may be NULL. */
sley_status sl_csr_sort_rows(int64_t rows, const int64_t *rowptr, sley_index index, void *col,
                             sley_dtype dtype, void *val, sl_team *team);

/* Merges entries of equal columns in ascending rows into one entry, moves the rows together (rowptr[0] must
 * be 0) and frees the unused memory. arrays->val may be NULL. Sums are rounded once, after the last addition.
 * Errors: SLEY_ERR_MEMORY; the arrays stay the caller's. */
sley_status sl_csr_merge_repeats(int64_t rows, sley_index index, sley_dtype dtype, sl_repeats repeats,
                                 sl_team *team, sl_csr_arrays *arrays);

#endif
