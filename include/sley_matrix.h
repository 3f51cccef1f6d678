/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices, their files and generators; orderings; partitions of rows. */
#ifndef SLEY_MATRIX_H
#define SLEY_MATRIX_H

#include "sley_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------------------------- matrices */

typedef struct sley_matrix sley_matrix;
typedef struct sley_comm sley_comm; /* one rank's place among the ranks: sley_comm.h */

typedef enum sley_ownership {
  SLEY_COPY = 0,  /* Sley keeps its own copy of the arrays */
  SLEY_BORROW = 1 /* the arrays stay the caller's and must outlive the matrix */
} sley_ownership;

typedef struct sley_matrix_info {
  int64_t rows, cols, nnz;
  int64_t entries_stored; /* entries in the file it came from, before symmetry was expanded; else nnz */
  int64_t max_row_nnz;
  sley_dtype dtype;
  sley_index index;
  int64_t bytes; /* of the CSR arrays */
} sley_matrix_info;

typedef struct sley_csr {
  int64_t rows, cols;
  const int64_t *rowptr; /* rows + 1 positions into col and val; rowptr[0] may be greater than 0; or NULL */
  const void *col;       /* int32_t or int64_t, see index; ascending within each row */
  const void *val;       /* float, double or 16 bits, see dtype */
  sley_index index;
  sley_dtype dtype;
  const int32_t *rowptr32; /* in place of rowptr: the same in 32 bits. One of the two is NULL */
} sley_csr;

typedef struct sley_read_options {
  size_t struct_size;
  sley_dtype dtype;     /* of the values; default SLEY_F32 */
  int threads;          /* to read with; 0: all cores */
  uint64_t seed;        /* for generators that name none; default 1 */
  int64_t unpack_limit; /* bytes that a compressed file may unpack to; default 0: any, but not beyond 256 MiB
                           and 256 times its size; also bytes that come from a pipe */
  const char *format;   /* one of sley_formats(), which the file must be; default NULL: told by the file */
  int base;             /* what rows and columns of an edge list, or of triplets without a header, count from:
                           0 or 1; default -1: told by the file (sley_matrix_source_get has what and why) */
} sley_read_options;
#define SLEY_READ_OPTIONS_INIT                                                                               \
  { sizeof(sley_read_options), SLEY_F32, 0, 1, 0, NULL, -1 }

/* What a matrix was read as. Texts are static. */
typedef struct sley_matrix_source {
  const char *format;      /* one of sley_formats(); NULL: the matrix was not read from a file */
  const char *description; /* the format in words, such as "edge list" or "one column of integers" */
  int base;                /* what rows and columns were counted from, 0 or 1; -1: the format has no choice */
  const char *base_reason; /* why; NULL: the format has no choice */
  int64_t unread_lines;    /* lines of an edge list with fields after the value, which were not read */
} sley_matrix_source;

/* Makes a matrix of CSR arrays. col has index's type, val dtype's. Row pointers of 32 bits are widened, into
 * a copy whatever the ownership. Rows whose columns do not ascend are sorted (into a copy, whatever the
 * ownership). Entries that repeat stay and count as their sum. Errors: SLEY_ERR_ARG (a negative size, a NULL
 * array, two arrays of row pointers), SLEY_ERR_INPUT (rowptr descends, a column out of range: the row is
 * named), SLEY_ERR_MEMORY. */
sley_status sley_matrix_from_csr(const sley_csr *csr, sley_ownership ownership, sley_matrix **out);

/* The same of arrays in the memory of the comm's device (sley_comm_alloc, or the caller's own cudaMalloc):
 * they are copied to the host's memory, where planning reads them, after what the rank's calls have enqueued;
 * whoever fills them on another stream waits for that first. They are the caller's to free on return. On the
 * cpu, SLEY_COPY of host arrays. Waits for the device. Not collective. Errors: also those of sley_comm_copy.
 */
sley_status sley_matrix_from_csr_on(sley_comm *comm, const sley_csr *csr, sley_matrix **out);

/* Reads a file (Matrix Market, edge list, METIS, Rutherford-Boeing, scipy .npz, .sley; plain, gzip or zstd;
 * told apart by their first lines, else by the name's ending, else by all lines; "-": standard input) or runs
 * a generator ("twin:clj", "rmat:scale=17,edgefactor=8", "er:n=1000,nnz=8000"). Symmetric files are expanded
 * and repeated entries summed. options may be NULL. Errors: SLEY_ERR_INPUT (file and line), SLEY_ERR_IO,
 * SLEY_ERR_UNSUPPORTED (complex values), SLEY_ERR_MEMORY. */
sley_status sley_matrix_read(const char *name, const sley_read_options *options, sley_matrix **out);

/* Reads the matrix of a .npz whose keys begin with prefix, as data sets for graph networks have several in
 * one file: "attr_" for attr_data, attr_indices, attr_indptr and attr_shape. Else as sley_matrix_read. Errors
 * also: SLEY_ERR_INPUT (no .npz, or it has no such matrix). */
sley_status sley_matrix_read_npz(const char *path, const char *prefix, const sley_read_options *options,
                                 sley_matrix **out);

/* Writes by the path's ending: .mtx, .sley, .npz, .graph, .el, .rb; with .gz or .zst after it compressed.
 * The file appears whole or not at all. Errors: SLEY_ERR_ARG (unknown ending), SLEY_ERR_IO. */
sley_status sley_matrix_write(const sley_matrix *matrix, const char *path);

/* Whether the path's ending says a format that sley_matrix_write knows, to be asked before long work. Error:
 * SLEY_ERR_ARG. */
sley_status sley_matrix_check_ending(const char *path);

sley_status sley_matrix_info_get(const sley_matrix *matrix, sley_matrix_info *out);

/* What the matrix, or the rows of it that sley_matrix_read_rows has made, was read as. A matrix that was made
 * of another, by an order for example, has no format. Errors: SLEY_ERR_ARG. */
sley_status sley_matrix_source_get(const sley_matrix *matrix, sley_matrix_source *out);

/* The names of the formats that can be read, as sley_read_options.format takes them; NULL-terminated, static.
 */
const char *const *sley_formats(void);

/* The arrays themselves, row pointers of 64 bits; they belong to the matrix. */
sley_status sley_matrix_csr(const sley_matrix *matrix, sley_csr *out);

/* A^T as a new matrix. threads 0: all cores. Errors: SLEY_ERR_MEMORY. */
sley_status sley_matrix_transpose(const sley_matrix *matrix, int threads, sley_matrix **out);

/* P A Q^T as a new matrix: row i of A becomes row row_perm[i], column j becomes col_perm[j]; NULL leaves a
 * side as it is. The arrays are permutations of 0..rows-1 and 0..cols-1. Errors: SLEY_ERR_ARG,
 * SLEY_ERR_MEMORY. */
sley_status sley_matrix_permute(const sley_matrix *matrix, const int64_t *row_perm, const int64_t *col_perm,
                                int threads, sley_matrix **out);

/* Windows: SLEY_WINDOW_ROWS consecutive rows each, from row 0 on; the last may have fewer. A window's
 * intensity is its entries per distinct column that they stand in: rows of X that are used together are
 * loaded once. */
enum { SLEY_WINDOW_ROWS = 16, SLEY_INTENSITIES = SLEY_WINDOW_ROWS + 1 };

typedef struct sley_window_info {
  int64_t windows;
  int64_t entries; /* of all windows */
  int64_t columns; /* distinct ones of each window, added up; entries / columns is the mean intensity */
  /* Entries of the windows whose intensity is i or more and less than i + 1; the last is of those with
   * SLEY_WINDOW_ROWS or more, which only windows full of entries and repeated entries give. */
  int64_t by_intensity[SLEY_INTENSITIES];
} sley_window_info;

/* Counts the windows of a matrix. row_at (rows entries, a permutation): row i of the windows is row row_at[i]
 * of matrix, as in an order that has not been applied, for the columns' order changes no figure; NULL: row i.
 * threads 0: all cores. Errors: SLEY_ERR_ARG (a NULL matrix or out, row_at is no permutation, threads below
 * 0), SLEY_ERR_MEMORY, SLEY_ERR_INTERRUPTED. Source: Li and others, HC-SpMM, ICDE 2025 (computing intensity).
 */
sley_status sley_matrix_windows(const sley_matrix *matrix, const int64_t *row_at, int threads,
                                sley_window_info *out);

/* Rows [first, first + count) as a view; matrix must outlive it. Column numbers stay global. */
sley_status sley_matrix_row_block(const sley_matrix *matrix, int64_t first, int64_t count, sley_matrix **out);

void sley_matrix_destroy(sley_matrix *matrix);

/* Reads or makes a matrix by all ranks together, each its own rows, so that none holds all of it: what
 * sley_matrix_read gives, to the bit. row_begin (size + 1 entries) receives who owns which rows; partition:
 * "rows" (NULL too) or "nnz", as sley_partition_rows. *out: rows [row_begin[rank], row_begin[rank + 1]),
 * columns numbered over the whole matrix. *whole, which may be NULL: the numbers of the whole matrix; bytes
 * is its size were it in one place.
 *
 * A .sley cache is read by offset; of a Matrix Market file or an edge list each rank parses a share of the
 * lines, and entries go to the owners of their rows; a generator's edges are drawn in shares. A compressed
 * text is unpacked by rank 0 and dealt out. Matrices of the other formats are read by rank 0, which does hold
 * them, and dealt out. Every rank opens a plain file, which must be the same one. options->threads is not
 * looked at: the rank's threads work. Collective. Errors: those of sley_matrix_read, with its message, on all
 * ranks alike; SLEY_ERR_ARG (the ranks read different things), SLEY_ERR_PEER. */
sley_status sley_matrix_read_rows(sley_comm *comm, const char *name, const sley_read_options *options,
                                  const char *partition, int64_t *row_begin, sley_matrix_info *whole,
                                  sley_matrix **out);

/* Reads a dense array of 1 or 2 dimensions from .npy (float16/32/64, integers, bool; C or Fortran order) as
 * row-major values of dtype, rounded once. *data is freed by sley_buffer_free. Errors: SLEY_ERR_INPUT,
 * SLEY_ERR_IO. */
sley_status sley_dense_read(const char *path, sley_dtype dtype, int64_t *rows, int64_t *cols, void **data);

/* The same of some rows: row which[i] of the file becomes row i, for i below count; with which NULL row first
 * + i. Of a plain file in C order nothing else is looked at. *rows and *cols: of the file's array. Not
 * collective. Errors also: SLEY_ERR_ARG (a row that is not in it). */
sley_status sley_dense_read_rows(const char *path, sley_dtype dtype, const int64_t *which, int64_t first,
                                 int64_t count, int64_t *rows, int64_t *cols, void **data);

/* The type in which a file stores its values, where its format carries one: .sley, .npz and .npy; for whole
 * numbers SLEY_F32 up to 16 bits, SLEY_F64 beyond. *dims: 2 for a matrix, else the array's. Looks at the
 * first bytes alone. Errors: SLEY_ERR_UNSUPPORTED (texts, generators, pipes: whoever reads them decides),
 * SLEY_ERR_IO, SLEY_ERR_MEMORY.
 */
sley_status sley_stored_type(const char *path, sley_dtype *dtype, int *dims);

/* In place of the columns of an array that is written: it has one dimension, one value a row. */
#define SLEY_VECTOR INT64_C(-1)

/* Writes rows x cols values with leading dimension ld to .npy (SLEY_BF16, which NumPy has not, as float32:
 * exactly); whole or not at all. */
sley_status sley_dense_write(const char *path, sley_dtype dtype, int64_t rows, int64_t cols, const void *data,
                             int64_t ld);

/* The same by all ranks together, into one file in a folder that all see: this rank has rows first to first +
 * count - 1 of all rows, which follow one another in the order of the ranks. Each writes its rows where they
 * belong in a file aside; that gets its name once all have. After an error, or sley_interrupt, nothing of it
 * is left. A path that ends in .gz or .zst, and one that is no regular file, is written by rank 0, which gets
 * the rows piece by piece. Collective. Errors: SLEY_ERR_ARG (the ranks disagree, or their rows are not all
 * rows), SLEY_ERR_IO, SLEY_ERR_INTERRUPTED, on all ranks alike; SLEY_ERR_PEER. */
sley_status sley_dense_write_rows(sley_comm *comm, const char *path, sley_dtype dtype, int64_t rows,
                                  int64_t cols, int64_t first, int64_t count, const void *data, int64_t ld);

/* Types of values: of arrays in files, and of what collectives move. The first four are those of sley_dtype,
 * with the same numbers. */
typedef enum sley_type {
  SLEY_TYPE_F32 = 0,
  SLEY_TYPE_F64 = 1,
  SLEY_TYPE_F16 = 2,
  SLEY_TYPE_BF16 = 3,
  SLEY_TYPE_I64 = 4,
  SLEY_TYPE_I8 = 5, /* these two: SLEY_ALLGATHER alone */
  SLEY_TYPE_U8 = 6
} sley_type;

/* An array with a name, row-major. */
typedef struct sley_array {
  const char *name; /* 1 to 119 bytes, without / and \ */
  sley_type type;
  int64_t rows, cols; /* cols SLEY_VECTOR: one dimension */
  const void *data;
} sley_array;

/* Writes arrays into one .npz, which numpy.load opens (SLEY_TYPE_BF16 as float32: exactly); whole or not at
 * all. Errors: SLEY_ERR_ARG, SLEY_ERR_IO, SLEY_ERR_MEMORY, SLEY_ERR_INTERRUPTED. */
sley_status sley_arrays_write(const char *path, const sley_array *arrays, int count);

/* Reads the array of that name from a .npz: numbers of any type of NumPy's become `type`, rounded once;
 * SLEY_TYPE_I64 takes whole numbers alone. *cols is SLEY_VECTOR where it has one dimension or none. *data is
 * freed by sley_buffer_free. Errors: SLEY_ERR_INPUT (no such file or array; damaged), SLEY_ERR_UNSUPPORTED
 * (more than 2 dimensions, Fortran's order), SLEY_ERR_IO, SLEY_ERR_MEMORY. */
sley_status sley_array_read(const char *path, const char *name, sley_type type, int64_t *rows, int64_t *cols,
                            void **data);

/* --------------------------------------------------------------------------- orderings and partitions */

/* The names of the orderings, NULL-terminated; static. */
const char *const *sley_orders(void);

/* One line about an ordering; NULL if there is none of that name. */
const char *sley_order_summary(const char *name);

/* Fills perm (rows entries): row i of A goes to place perm[i]. name: one of sley_orders(). A must be square;
 * an unsymmetric pattern is taken as A + A^T. The same seed gives the same order; those of rabbit and loa
 * depend on nothing else either. threads 0: all cores. Errors: SLEY_ERR_ARG (not square, unknown name),
 * SLEY_ERR_UNSUPPORTED (library not built in), SLEY_ERR_MEMORY. Sources: rabbit: Arai et al., IPDPS 2016
 * (community aggregation); rcm: Cuthill-McKee reversed, George-Liu start; loa: Li and others, HC-SpMM, ICDE
 * 2025 (layout: windows of high intensity). */
sley_status sley_order(const sley_matrix *matrix, const char *name, uint64_t seed, int threads,
                       int64_t *perm);

/* Fills begin (ranks + 1 entries): rank r owns rows [begin[r], begin[r + 1]). name: "rows" (equal rows) or
 * "nnz" (balanced nonzeros; MGG, algorithm 1). Ranks beyond the rows own nothing. */
sley_status sley_partition_rows(const sley_matrix *matrix, const char *name, int ranks, int64_t *begin);

/* The same for a dense operand of which nothing but the number of rows is known: equal rows. */
sley_status sley_partition_equal(int64_t rows, int ranks, int64_t *begin);

#ifdef __cplusplus
}
#endif
#endif
