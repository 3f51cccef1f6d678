/* SPDX-License-Identifier: Apache-2.0 */
/* The sparse product on a GPU as its files see it: the problem, bins of rows, and the launchers of the
 * passes.
 *
 * Rows are made in two passes. First the entries of each row of C are counted, then, with C allocated, they
 * are computed. Before each pass rows are binned by what they need: few products are sorted in registers;
 * more, whose columns lie close together, are added in place, a sum for each column of that span; others go
 * through a hash table in shared memory, a warp for a row; many through a bitmap of columns in shared memory,
 * a block of threads for a row. Nothing grows with the products. */
#ifndef SLEY_DEVICE_CUDA_SPGEMM_SPGEMM_H
#define SLEY_DEVICE_CUDA_SPGEMM_SPGEMM_H

#ifdef __cplusplus
extern "C" {
#endif

#include "base/anywhere.h"
#include "device/cuda/cuda.h"

/* The bins. In a short or span bin, SL_SPGEMM_WIDTH_LEAST << (bin - the first) lanes make a row. Of a hash
 * bin, tables have SL_SPGEMM_TABLE_LEAST << (bin - SL_SPGEMM_HASH) slots. */
enum {
  SL_SPGEMM_EMPTY,                      /* no products, or no columns that the mask has */
  SL_SPGEMM_SHORT,                      /* the first of SL_SPGEMM_WIDTHS, by products */
  SL_SPGEMM_SPAN = SL_SPGEMM_SHORT + 3, /* the first of SL_SPGEMM_WIDTHS, by the length of B's rows */
  SL_SPGEMM_HASH = SL_SPGEMM_SPAN + 3,  /* the first of SL_SPGEMM_TABLES */
  SL_SPGEMM_DENSE = SL_SPGEMM_HASH + 6, /* the first of SL_SPGEMM_WINDOWS */
  SL_SPGEMM_BINS = SL_SPGEMM_DENSE + 3
};
enum {
  SL_SPGEMM_WIDTHS = SL_SPGEMM_HASH - SL_SPGEMM_SPAN,
  SL_SPGEMM_WIDTH_LEAST = 8,
  SL_SPGEMM_SHORT_MOST = 32, /* products of a short row */
  SL_SPGEMM_SPAN_LANE = 32,  /* columns that a span may have for each lane */
  SL_SPGEMM_TABLES = SL_SPGEMM_DENSE - SL_SPGEMM_HASH,
  SL_SPGEMM_TABLE_LEAST = 64,
  SL_SPGEMM_WINDOWS = SL_SPGEMM_BINS - SL_SPGEMM_DENSE,
  SL_SPGEMM_WINDOW_LEAST = 2048, /* sums that a block holds at a time: times 4 and 8 in the other two bins */
  SL_SPGEMM_RANGE = 1 << 18      /* columns that a bitmap covers at a time, at most */
};

/* Most columns that a table of so many slots takes: it never gets full, and probing stays short. */
SL_ANYWHERE int64_t sl_spgemm_table_most(int64_t slots) {
  return slots / 4 * 3;
}

/* All pointers are to the GPU's memory. Columns of B and of the mask have 32 bits, renumbered where theirs do
 * not fit; entries are counted as the row pointers do, which need not begin with 0. */
typedef struct sl_cuda_spgemm {
  sley_semiring semiring;
  sl_accumulator accumulator;
  sley_dtype dtype;
  int64_t rows, cols; /* of C; cols after renumbering */
  int64_t b_rows;
  const int64_t *a_rowptr, *b_rowptr;
  const int64_t *mask_rowptr; /* NULL: no mask */
  const void *a_col;
  sley_index a_index;
  const int32_t *b_col, *mask_col;
  const void *a_val, *b_val;
  int64_t *c_rowptr;
  void *c_col;          /* of c_index */
  const int64_t *names; /* NULL, or the columns that renumbered ones stand for; then c_index is SLEY_I64 */
  sley_index c_index;
  void *c_val;
  uint32_t *bound; /* of each row: products, at most UINT32_MAX */
  int32_t *first;  /* of each row with a span: its first column */
  uint32_t *span;  /* of each row: columns from its first to its last; UINT32_MAX: not looked at */
  uint32_t *list;  /* rows by bin */
  struct sl_spgemm_state *state;
} sl_cuda_spgemm;

/* What is found out on the GPU and told to the host, once in each pass. */
typedef struct sl_spgemm_state {
  unsigned long long products;
  unsigned long long entries;        /* of C, after counting */
  unsigned long long repeats;        /* entries of B whose column the entry before has, in the same row */
  unsigned longest;                  /* entries of the longest row in the last dense bin */
  unsigned widest[SL_SPGEMM_WIDTHS]; /* the largest span in each span bin */
  unsigned rows[SL_SPGEMM_BINS];
  unsigned placed[SL_SPGEMM_BINS]; /* of rows, while lists are made */
} sl_spgemm_state;

/* bins.cu. Products of each row and of all, spans, B's repeats; then the bins, lists included, of the
 * first pass. */
sley_status sl_spgemm_launch_count(sl_queue *queue, const sl_cuda_spgemm *p);
/* Counts in c_rowptr[1 ...] become row pointers; then the bins of the second pass. temporary: of
 * sl_spgemm_scan_bytes(rows) bytes. */
int64_t sl_spgemm_scan_bytes(int64_t rows);
sley_status sl_spgemm_launch_place(sl_queue *queue, const sl_cuda_spgemm *p, void *temporary,
                                   int64_t temporary_bytes);

/* Streams beside the queue's, by which rows of different bins are made side by side. */
enum { SL_SPGEMM_SIDES = 3 };
typedef struct sl_spgemm_sides {
  int used; /* 0: all rows are made by the queue */
  cudaStream_t stream[SL_SPGEMM_SIDES];
  cudaEvent_t begun, ended[SL_SPGEMM_SIDES];
} sl_spgemm_sides;

/* symbolic.cu. Entries of row i of C to c_rowptr[i + 1], of all rows in bins; state: the host's copy.
 */
sley_status sl_spgemm_launch_symbolic(sl_queue *queue, const sl_spgemm_sides *sides, const sl_cuda_spgemm *p,
                                      const sl_spgemm_state *state);

/* spgemm_numeric_*.cu. Columns and values of C. */
typedef sley_status sl_spgemm_numeric(sl_queue *queue, const sl_spgemm_sides *sides, const sl_cuda_spgemm *p,
                                      const sl_spgemm_state *state);
sl_spgemm_numeric sl_spgemm_launch_numeric_f32, sl_spgemm_launch_numeric_f64, sl_spgemm_launch_numeric_f16,
    sl_spgemm_launch_numeric_bf16;

/* columns.cu. `count` numbers less `first`, which fit 32 bits; and back. */
sley_status sl_spgemm_launch_narrow(sl_queue *queue, const int64_t *from, int64_t count, int64_t first,
                                    int32_t *out);
sley_status sl_spgemm_launch_widen(sl_queue *queue, const int32_t *from, int64_t count, int64_t *out);
/* The distinct of `count` columns, ascending, to names (room for count), how many to *names_count. key: room
 * for count; temporary: of sl_spgemm_names_bytes(count) bytes. */
int64_t sl_spgemm_names_bytes(int64_t count);
sley_status sl_spgemm_launch_names(sl_queue *queue, const int64_t *col, int64_t count, int64_t *key,
                                   void *temporary, int64_t temporary_bytes, int64_t *names,
                                   int64_t *names_count);
/* out[e]: the number of col[e], of type index, among the names; INT32_MAX where it is none of them. */
sley_status sl_spgemm_launch_rename(sl_queue *queue, const void *col, sley_index index, int64_t count,
                                    const int64_t *names, int64_t names_count, int32_t *out);

#ifdef __cplusplus
}
#endif
#endif
