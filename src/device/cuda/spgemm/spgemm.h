/* SPDX-License-Identifier: Apache-2.0 */
/* The sparse product on a GPU, for all its files: the problem, bins of rows, and the launchers of the passes.
 *
 * Rows are computed in two passes. The first counts the entries of each row of C; then C is allocated, and
 * the second computes them. Before each pass rows are sorted into bins by the method that suits them. Rows
 * with few products: sorted in registers. More products, with columns that lie close together: added in
 * place, one sum for each column of that span. Other rows: a hash table in shared memory, one warp per row.
 * Rows with many products: a bitmap of columns in shared memory, one block of threads per row. No memory
 * grows with the number of products. */
#ifndef SLEY_DEVICE_CUDA_SPGEMM_SPGEMM_H
#define SLEY_DEVICE_CUDA_SPGEMM_SPGEMM_H

#ifdef __cplusplus
extern "C" {
#endif

#include "base/anywhere.h"
#include "device/cuda/cuda.h"

/* The bins. In a short or span bin, SL_SPGEMM_WIDTH_LEAST << (bin - the first one) lanes compute a row. In a
 * hash bin, tables have SL_SPGEMM_TABLE_LEAST << (bin - SL_SPGEMM_HASH) slots. */
enum {
  SL_SPGEMM_EMPTY,                      /* no products, or no columns in the mask */
  SL_SPGEMM_SHORT,                      /* first of SL_SPGEMM_WIDTHS bins, by number of products */
  SL_SPGEMM_SPAN = SL_SPGEMM_SHORT + 3, /* first of SL_SPGEMM_WIDTHS bins, by length of B's rows */
  SL_SPGEMM_HASH = SL_SPGEMM_SPAN + 3,  /* first of SL_SPGEMM_TABLES bins */
  SL_SPGEMM_DENSE = SL_SPGEMM_HASH + 6, /* first of SL_SPGEMM_WINDOWS bins */
  SL_SPGEMM_BINS = SL_SPGEMM_DENSE + 3
};
enum {
  SL_SPGEMM_WIDTHS = SL_SPGEMM_HASH - SL_SPGEMM_SPAN,
  SL_SPGEMM_WIDTH_LEAST = 8,
  SL_SPGEMM_SHORT_MOST = 32, /* most products of a short row */
  SL_SPGEMM_SPAN_LANE = 32,  /* most columns of a span per lane */
  SL_SPGEMM_TABLES = SL_SPGEMM_DENSE - SL_SPGEMM_HASH,
  SL_SPGEMM_TABLE_LEAST = 64,
  SL_SPGEMM_WINDOWS = SL_SPGEMM_BINS - SL_SPGEMM_DENSE,
  SL_SPGEMM_WINDOW_LEAST = 2048, /* sums that a block holds at a time; the other two bins have 4 and 8 times
                                  * as many */
  SL_SPGEMM_RANGE = 1 << 18      /* most columns that a bitmap covers at a time */
};

/* Most columns that a table of `slots` slots accepts, so that it never becomes full and probing stays
 * short. */
SL_ANYWHERE int64_t sl_spgemm_table_most(int64_t slots) {
  return slots / 4 * 3;
}

/* All pointers are to GPU memory. Columns of B and of the mask have 32 bits; they are renumbered if the
 * originals do not fit. Arrays are indexed by the original row pointers, which need not begin with 0. */
typedef struct sl_cuda_spgemm {
  sley_semiring semiring;
  sl_accumulator accumulator;
  sley_dtype dtype;
  int64_t rows, cols; /* rows and columns of C; cols after renumbering */
  int64_t b_rows;
  const int64_t *a_rowptr, *b_rowptr;
  const int64_t *mask_rowptr; /* NULL: no mask */
  const void *a_col;
  sley_index a_index;
  const int32_t *b_col, *mask_col;
  const void *a_val, *b_val;
  int64_t *c_rowptr;
  void *c_col;          /* columns of type c_index */
  const int64_t *names; /* NULL, or the original numbers of renumbered columns; then c_index is SLEY_I64 */
  sley_index c_index;
  void *c_val;
  uint32_t *bound; /* number of products of each row, at most UINT32_MAX */
  int32_t *first;  /* first column of each row that has a span */
  uint32_t *span;  /* number of columns from each row's first to its last; UINT32_MAX: not determined */
  uint32_t *list;  /* rows, bin after bin */
  struct sl_spgemm_state *state;
} sl_cuda_spgemm;

/* Figures that the GPU determines and the host reads, once in each pass. */
typedef struct sl_spgemm_state {
  unsigned long long products;
  unsigned long long entries;        /* entries of C, after counting */
  unsigned long long repeats;        /* entries of B with the same column as the previous entry of their
                                      * row */
  unsigned longest;                  /* entries of the longest row in the last dense bin */
  unsigned widest[SL_SPGEMM_WIDTHS]; /* largest span in each span bin */
  unsigned rows[SL_SPGEMM_BINS];
  unsigned placed[SL_SPGEMM_BINS]; /* rows placed so far, while lists are written */
} sl_spgemm_state;

/* In bins.cu. Counts the products of each row and in total, the spans, and B's repeats; then bins the
 * rows for the first pass and lists them. */
sley_status sl_spgemm_launch_count(sl_queue *queue, const sl_cuda_spgemm *p);
/* Turns the counts in c_rowptr[1 ...] into row pointers, then bins the rows for the second pass. temporary:
 * sl_spgemm_scan_bytes(rows) bytes. */
int64_t sl_spgemm_scan_bytes(int64_t rows);
sley_status sl_spgemm_launch_place(sl_queue *queue, const sl_cuda_spgemm *p, void *temporary,
                                   int64_t temporary_bytes);

/* Streams in addition to the queue's, on which rows of different bins are computed concurrently. */
enum { SL_SPGEMM_SIDES = 3 };
typedef struct sl_spgemm_sides {
  int used; /* 0: the queue computes all rows */
  cudaStream_t stream[SL_SPGEMM_SIDES];
  cudaEvent_t begun, ended[SL_SPGEMM_SIDES];
} sl_spgemm_sides;

/* In symbolic.cu. Writes the number of entries of row i of C to c_rowptr[i + 1], for all rows in bins.
 * state: the host's copy. */
sley_status sl_spgemm_launch_symbolic(sl_queue *queue, const sl_spgemm_sides *sides, const sl_cuda_spgemm *p,
                                      const sl_spgemm_state *state);

/* Computes columns and values of C (numeric_*.cu). */
typedef sley_status sl_spgemm_numeric(sl_queue *queue, const sl_spgemm_sides *sides, const sl_cuda_spgemm *p,
                                      const sl_spgemm_state *state);
sl_spgemm_numeric sl_spgemm_launch_numeric_f32, sl_spgemm_launch_numeric_f64, sl_spgemm_launch_numeric_f16,
    sl_spgemm_launch_numeric_bf16;

/* In columns.cu. Subtracts `first` from `count` numbers; the results must fit in 32 bits.
 * sl_spgemm_launch_widen converts back. */
sley_status sl_spgemm_launch_narrow(sl_queue *queue, const int64_t *from, int64_t count, int64_t first,
                                    int32_t *out);
sley_status sl_spgemm_launch_widen(sl_queue *queue, const int32_t *from, int64_t count, int64_t *out);
/* Writes the distinct values of `count` columns, ascending, to names (which has space for count), and their
 * number to *names_count. key: space for count numbers; temporary: sl_spgemm_names_bytes(count) bytes. */
int64_t sl_spgemm_names_bytes(int64_t count);
sley_status sl_spgemm_launch_names(sl_queue *queue, const int64_t *col, int64_t count, int64_t *key,
                                   void *temporary, int64_t temporary_bytes, int64_t *names,
                                   int64_t *names_count);
/* out[e]: position of col[e], of type index, in names; INT32_MAX if it is not there. */
sley_status sl_spgemm_launch_rename(sl_queue *queue, const void *col, sley_index index, int64_t count,
                                    const int64_t *names, int64_t names_count, int32_t *out);

#ifdef __cplusplus
}
#endif
#endif
