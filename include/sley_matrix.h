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
typedef struct sley_comm sley_comm; /* the place of one rank among the ranks: sley_comm.h */

typedef enum sley_ownership {
  SLEY_COPY = 0,  /* Sley keeps its own copy of the arrays */
  SLEY_BORROW = 1 /* the caller owns the arrays, which must outlive the matrix */
} sley_ownership;

typedef struct sley_matrix_info {
  int64_t rows, cols, nnz;
  int64_t entries_stored; /* entries in the source file, before symmetry was expanded; without a file nnz */
  int64_t max_row_nnz;
  sley_dtype dtype;
  sley_index index;
  int64_t bytes; /* bytes of the CSR arrays */
} sley_matrix_info;

typedef struct sley_csr {
  int64_t rows, cols;
  const int64_t *rowptr; /* rows + 1 positions in col and val; rowptr[0] may be greater than 0; or NULL */
  const void *col;       /* int32_t or int64_t, see index; ascending within each row */
  const void *val;       /* float, double or 16 bits, see dtype */
  sley_index index;
  sley_dtype dtype;
  const int32_t *rowptr32; /* row pointers in 32 bits, in place of rowptr. One of the two is NULL */
} sley_csr;

typedef struct sley_read_options {
  size_t struct_size;
  sley_dtype dtype;     /* type of the values; default SLEY_F32 */
  int threads;          /* threads that read; 0: all cores */
  uint64_t seed;        /* seed for generators whose name states none; default 1 */
  int64_t unpack_limit; /* maximum number of bytes to which a compressed file may unpack, and that may come
                           from a pipe; default 0: for a compressed file 256 MiB or 256 times its size,
                           whichever is more */
  const char *format;   /* format that the file must have, one of sley_formats(); default NULL: detected from
                           the file */
  int base;             /* number of the first row and column in an edge list, or in triplets without a
                           header: 0 or 1; default -1: detected from the file (sley_matrix_source_get reports
                           the result and the reason) */
} sley_read_options;
#define SLEY_READ_OPTIONS_INIT                                                                               \
  { sizeof(sley_read_options), SLEY_F32, 0, 1, 0, NULL, -1 }

/* How a matrix was read. Texts are static. */
typedef struct sley_matrix_source {
  const char *format;      /* one of sley_formats(); NULL: the matrix was not read from a file */
  const char *description; /* the format in a few words, such as "edge list" or "one column of integers" */
  int base;                /* number of the first row and column, 0 or 1; -1: the format has no choice */
  const char *base_reason; /* reason for base; NULL: the format has no choice */
  int64_t unread_lines;    /* lines of an edge list that have fields after the value, which were ignored */
} sley_matrix_source;

/* Makes a matrix from CSR arrays. col has the type index, val the type dtype. 32-bit row pointers are
 * widened, into a copy whatever the ownership. Rows whose columns do not ascend are sorted (into a copy,
 * whatever the ownership). Repeated entries are kept and count as their sum. Errors: SLEY_ERR_ARG (a negative
 * size, a NULL array, two arrays of row pointers), SLEY_ERR_INPUT (rowptr descends, a column is out of range:
 * the message names the row), SLEY_ERR_MEMORY. */
sley_status sley_matrix_from_csr(const sley_csr *csr, sley_ownership ownership, sley_matrix **out);

/* Makes a matrix from CSR arrays in memory of the comm's device (sley_comm_alloc, or the caller's own
 * cudaMalloc), as sley_matrix_from_csr does. The arrays are copied to host memory, where planning reads them,
 * after the work that the rank's calls have enqueued; a caller that fills them on another stream waits for
 * that first. They may be freed on return. On the cpu: as sley_matrix_from_csr with SLEY_COPY. Waits for the
 * device. Not collective. Errors: as sley_matrix_from_csr and
 * sley_comm_copy. */
sley_status sley_matrix_from_csr_on(sley_comm *comm, const sley_csr *csr, sley_matrix **out);

/* Reads a file (Matrix Market, edge list, METIS, Rutherford-Boeing, scipy .npz, .sley; plain, gzip or zstd;
 * the format is detected from the first lines, else from the name's ending, else from all lines; "-":
 * standard input) or runs a generator ("twin:clj", "rmat:scale=17,edgefactor=8", "er:n=1000,nnz=8000").
 * Symmetric files are expanded and repeated entries summed. options may be NULL. Errors: SLEY_ERR_INPUT (file
 * and line), SLEY_ERR_IO, SLEY_ERR_UNSUPPORTED (complex values), SLEY_ERR_MEMORY. */
sley_status sley_matrix_read(const char *name, const sley_read_options *options, sley_matrix **out);

/* Reads the matrix of a .npz whose keys begin with prefix, for data sets of graph networks that store several
 * matrices in one file: "attr_" for attr_data, attr_indices, attr_indptr and attr_shape. Else as
 * sley_matrix_read. Errors also: SLEY_ERR_INPUT (not a .npz, or it has no such matrix). */
sley_status sley_matrix_read_npz(const char *path, const char *prefix, const sley_read_options *options,
                                 sley_matrix **out);

/* Writes a matrix in the format of the path's ending: .mtx, .sley, .npz, .graph, .el, .rb; with .gz or .zst
 * after it compressed. The file appears whole or not at all. Errors: SLEY_ERR_ARG (unknown ending),
 * SLEY_ERR_IO. */
sley_status sley_matrix_write(const sley_matrix *matrix, const char *path);

/* Checks, before long work, that sley_matrix_write knows the format of the path's ending. Error: SLEY_ERR_ARG
 * (unknown ending). */
sley_status sley_matrix_check_ending(const char *path);

sley_status sley_matrix_info_get(const sley_matrix *matrix, sley_matrix_info *out);

/* Reports how the matrix was read, also for the rows that sley_matrix_read_rows returns. A matrix that was
 * made from another, for example by an ordering, has no format. Errors: SLEY_ERR_ARG. */
sley_status sley_matrix_source_get(const sley_matrix *matrix, sley_matrix_source *out);

/* The names of the formats that can be read, as sley_read_options.format takes them; NULL-terminated, static.
 */
const char *const *sley_formats(void);

/* Returns the matrix's arrays in *out, with 64-bit row pointers; they belong to the matrix. */
sley_status sley_matrix_csr(const sley_matrix *matrix, sley_csr *out);

/* Makes A^T as a new matrix. threads 0: all cores. Errors: SLEY_ERR_MEMORY. */
sley_status sley_matrix_transpose(const sley_matrix *matrix, int threads, sley_matrix **out);

/* Makes the undirected graph of a square matrix as a new matrix of the same dtype: it has entries (i, j) and
 * (j, i) wherever A has one of them, without repeats. If A has both, both get the mean of their values;
 * repeated entries count as their sum. threads 0: all cores. Needs memory for A^T besides the result, unless
 * A is such a matrix already. Errors: SLEY_ERR_ARG (A is not square), SLEY_ERR_MEMORY. */
sley_status sley_matrix_undirected(const sley_matrix *matrix, int threads, sley_matrix **out);

/* Makes P A Q^T as a new matrix: row i of A becomes row row_perm[i], column j becomes col_perm[j]; NULL
 * leaves rows or columns as they are. The arrays are permutations of 0..rows-1 and 0..cols-1. Errors:
 * SLEY_ERR_ARG, SLEY_ERR_MEMORY. */
sley_status sley_matrix_permute(const sley_matrix *matrix, const int64_t *row_perm, const int64_t *col_perm,
                                int threads, sley_matrix **out);

/* Windows: SLEY_WINDOW_ROWS consecutive rows each, starting at row 0; the last window may have fewer. A
 * window's intensity is its number of entries per distinct column: a row of X that several entries of a
 * window use is loaded once. */
enum { SLEY_WINDOW_ROWS = 16, SLEY_INTENSITIES = SLEY_WINDOW_ROWS + 1 };

typedef struct sley_window_info {
  int64_t windows;
  int64_t entries; /* entries of all windows */
  int64_t columns; /* sum of the numbers of distinct columns of the windows; entries / columns is the mean
                      intensity */
  /* by_intensity[i]: entries of the windows whose intensity is at least i and less than i + 1; the last
   * element counts windows of intensity SLEY_WINDOW_ROWS or more. Only full windows and windows with repeated
   * entries reach it. */
  int64_t by_intensity[SLEY_INTENSITIES];
} sley_window_info;

/* Counts the windows of a matrix. row_at: NULL, or a permutation with rows entries: row i of the windows is
 * then row row_at[i] of matrix, as after an ordering that has not been applied; the order of columns changes
 * no figure. threads 0: all cores. Errors: SLEY_ERR_ARG (a NULL matrix or out, row_at is not a permutation,
 * threads below 0), SLEY_ERR_MEMORY, SLEY_ERR_INTERRUPTED. Source: Li and others, HC-SpMM, ICDE 2025
 * (computing intensity). */
sley_status sley_matrix_windows(const sley_matrix *matrix, const int64_t *row_at, int threads,
                                sley_window_info *out);

/* Makes a view of rows [first, first + count); matrix must outlive it. Column numbers stay global. */
sley_status sley_matrix_row_block(const sley_matrix *matrix, int64_t first, int64_t count, sley_matrix **out);

void sley_matrix_destroy(sley_matrix *matrix);

/* Reads or generates a matrix by all ranks together, each its own rows, so that no rank holds the whole
 * matrix; the result has the same bits as with sley_matrix_read. row_begin (size + 1 entries) receives the
 * division of the rows; partition: "rows" (also NULL) or "nnz", as for sley_partition_rows. *out: rows
 * [row_begin[rank], row_begin[rank + 1]), columns numbered over the whole matrix. *whole, which may be NULL:
 * the figures of the whole matrix; bytes is its size if it were in one place.
 *
 * A .sley cache is read by offset. Of a Matrix Market file or an edge list each rank parses a share of the
 * lines, and entries go to the owners of their rows. A generator's edges are drawn in shares. A compressed
 * text is unpacked by rank 0 and distributed. Matrices of the other formats are read by rank 0, which does
 * hold them, and distributed. Every rank opens a plain file, which must be the same file for all.
 * options->threads is ignored: the rank's own threads work. Collective. Errors: as sley_matrix_read,
 * with the same message on all ranks; SLEY_ERR_ARG (the ranks read different things), SLEY_ERR_PEER. */
sley_status sley_matrix_read_rows(sley_comm *comm, const char *name, const sley_read_options *options,
                                  const char *partition, int64_t *row_begin, sley_matrix_info *whole,
                                  sley_matrix **out);

/* Reads a dense array of 1 or 2 dimensions from .npy (float16/32/64, integers, bool; C or Fortran order) as
 * row-major values of dtype, rounded once. *data is freed by sley_buffer_free. Errors: SLEY_ERR_INPUT,
 * SLEY_ERR_IO. */
sley_status sley_dense_read(const char *path, sley_dtype dtype, int64_t *rows, int64_t *cols, void **data);

/* Reads rows of a dense array, as sley_dense_read does: row which[i] of the file becomes row i, for i below
 * count; if which is NULL, row first + i. From a plain file in C order only these rows are read. *rows and
 * *cols: the size of the file's array. Not collective. Errors also: SLEY_ERR_ARG (a row that the file does
 * not have). */
sley_status sley_dense_read_rows(const char *path, sley_dtype dtype, const int64_t *which, int64_t first,
                                 int64_t count, int64_t *rows, int64_t *cols, void **data);

/* Finds the type in which a file stores its values, for formats that state one: .sley, .npz and .npy; for
 * whole numbers SLEY_F32 up to 16 bits, else SLEY_F64. *dims: 2 for a matrix, else the array's number of
 * dimensions. Reads only the first bytes. Errors: SLEY_ERR_UNSUPPORTED (texts, generators and pipes, whose
 * reader chooses the type), SLEY_ERR_IO, SLEY_ERR_MEMORY. */
sley_status sley_stored_type(const char *path, sley_dtype *dtype, int *dims);

/* Number of columns that stands for an array of one dimension, with one value per row. */
#define SLEY_VECTOR INT64_C(-1)

/* Writes rows x cols values with leading dimension ld to .npy (SLEY_BF16, which NumPy does not have, as
 * float32: exactly). The file appears whole or not at all. */
sley_status sley_dense_write(const char *path, sley_dtype dtype, int64_t rows, int64_t cols, const void *data,
                             int64_t ld);

/* Writes one .npy by all ranks together, as sley_dense_write does, in a folder that all ranks see: this rank
 * has rows first to first + count - 1; the ranks' rows follow one another in the order of the ranks. Each
 * rank writes its rows at their place in a temporary file, which is renamed once all have finished. After an
 * error, or sley_interrupt, nothing of it remains. A path that ends in .gz or .zst, or that is not a regular
 * file, is written by rank 0, which receives the rows piece by piece. Collective. Errors: SLEY_ERR_ARG (the
 * ranks disagree, or their rows are not all rows), SLEY_ERR_IO, SLEY_ERR_INTERRUPTED, on all ranks alike;
 * SLEY_ERR_PEER. */
sley_status sley_dense_write_rows(sley_comm *comm, const char *path, sley_dtype dtype, int64_t rows,
                                  int64_t cols, int64_t first, int64_t count, const void *data, int64_t ld);

/* Types of values: in files of arrays, and in collectives. The first four are the types of sley_dtype, with
 * the same numbers. */
typedef enum sley_type {
  SLEY_TYPE_F32 = 0,
  SLEY_TYPE_F64 = 1,
  SLEY_TYPE_F16 = 2,
  SLEY_TYPE_BF16 = 3,
  SLEY_TYPE_I64 = 4,
  SLEY_TYPE_I8 = 5, /* for this type and the next, the only collective is SLEY_ALLGATHER */
  SLEY_TYPE_U8 = 6
} sley_type;

/* An array with a name, row-major. */
typedef struct sley_array {
  const char *name; /* 1 to 119 bytes, without / and \ */
  sley_type type;
  int64_t rows, cols; /* numbers of rows and columns; cols is SLEY_VECTOR for an array of one dimension */
  const void *data;
} sley_array;

/* Writes arrays into one .npz, which numpy.load opens (SLEY_TYPE_BF16 as float32: exactly). The file appears
 * whole or not at all. Errors: SLEY_ERR_ARG, SLEY_ERR_IO, SLEY_ERR_MEMORY, SLEY_ERR_INTERRUPTED. */
sley_status sley_arrays_write(const char *path, const sley_array *arrays, int count);

/* Reads the array of that name from a .npz: numbers of any NumPy type become `type`, rounded once;
 * SLEY_TYPE_I64 accepts whole numbers only. *cols is SLEY_VECTOR if the array has one dimension or none.
 * *data is freed by sley_buffer_free. Errors: SLEY_ERR_INPUT (no such file or array; damaged),
 * SLEY_ERR_UNSUPPORTED (more than 2 dimensions, Fortran order), SLEY_ERR_IO, SLEY_ERR_MEMORY. */
sley_status sley_array_read(const char *path, const char *name, sley_type type, int64_t *rows, int64_t *cols,
                            void **data);

/* --------------------------------------------------------------------------- orderings and partitions */

/* The names of the orderings, NULL-terminated; static. */
const char *const *sley_orders(void);

/* Names of orderings that may make products on `ranks` ranks faster at little cost, for a choice among them
 * by predicted times (sley_plan_options.dry): the first is "none". A build may lack one of them
 * (SLEY_ERR_UNSUPPORTED). NULL-terminated, static. */
const char *const *sley_order_candidates(int ranks);

/* Returns one line that describes an ordering; NULL if no ordering has that name. */
const char *sley_order_summary(const char *name);

/* Computes an ordering. Fills perm (rows entries): row i of A goes to place perm[i]. name: one of
 * sley_orders(). A must be square; an unsymmetric pattern is treated as A + A^T. The same seed produces the
 * same order, with any number of threads; rabbit and loa ignore the seed. threads 0: all cores. Errors:
 * SLEY_ERR_ARG (not square, unknown name), SLEY_ERR_UNSUPPORTED (library not built in), SLEY_ERR_MEMORY.
 * loa-parts is loa inside each of the parts of metis, or, where METIS is missing or its numbers are too small,
 * of blocks in the order rabbit; its windows are dense, and equal row blocks need few rows from each other.
 * cover is for the algorithm cover on equal row blocks, and refines those of 16 and of 128 ranks.
 * Sources: rabbit: Arai et al., IPDPS 2016 (community aggregation); rcm: Cuthill-McKee reversed, George-Liu
 * start; loa: Li and others, HC-SpMM, ICDE 2025 (layout: windows of high intensity); cover: simulated
 * annealing, Kirkpatrick et al., Science 1983. */
sley_status sley_order(const sley_matrix *matrix, const char *name, uint64_t seed, int threads,
                       int64_t *perm);

/* Divides rows among ranks. Fills begin (ranks + 1 entries): rank r owns rows [begin[r], begin[r + 1]). name:
 * "rows" (equal rows) or "nnz" (balanced nonzeros; MGG, algorithm 1). If there are more ranks than rows, some
 * ranks own no rows. */
sley_status sley_partition_rows(const sley_matrix *matrix, const char *name, int ranks, int64_t *begin);

/* Divides the rows of a dense operand equally among ranks, as sley_partition_rows does with "rows". */
sley_status sley_partition_equal(int64_t rows, int ranks, int64_t *begin);

#ifdef __cplusplus
}
#endif
#endif
