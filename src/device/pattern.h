/* SPDX-License-Identifier: Apache-2.0 */
/* What the operations of graph networks work on: where a matrix has entries, and dense rows that lie in two
 * memories. All arrays lie in the device's memory. */
#ifndef SLEY_DEVICE_PATTERN_H
#define SLEY_DEVICE_PATTERN_H

#include "base/types.h"

/* A row with more entries is long: kernels may divide the work on it. */
enum { SL_LONG_ROW = 256 };

/* Rows of entries. A pattern is one of two kinds:
 *
 *   by rows     row i of the pattern is row i of the matrix. Its entries, rowptr[i] <= j < rowptr[i + 1], are
 *               numbered as arrays of values are. place is NULL.
 *   by columns  the transpose of one by rows: row i of the pattern is column i of the matrix, and col[j] a
 * row of it. The entry is the place[j]-th of that row: in arrays of values number of_row[col[j]] + place[j],
 * where of_row is the rowptr of the pattern by rows.
 *
 * By columns, col ascends within a row; by rows it need not: entries are in the order of the matrix, whose
 * columns may be numbered otherwise. Columns that repeat are entries of their own. */
typedef struct sl_pattern {
  int64_t rows, cols;
  const int64_t *rowptr; /* rows + 1; the first need not be 0 */
  const int32_t *col, *place;
  const int64_t *of_row;
  int64_t mean_entries; /* of a row, over the rows of all ranks, so that they cut rows alike; 0: not known */
  const int32_t *long_row; /* long_base + the numbers of the long rows; none: not known */
  int64_t long_rows, long_base;
  /* By rows: the rows to be worked on, ascending; NULL: all of them. With a list long_row has those of the
   * long rows that are in it, and a kernel leaves what its results have for other rows alone. Only operations
   * that say so take a list. */
  const int32_t *listed;
  int64_t listed_rows;
} sl_pattern;

/* How many rows are worked on, and which is the n-th of them. */
static inline int64_t sl_pattern_work_rows(const sl_pattern *p) {
  return p->listed ? p->listed_rows : p->rows;
}
static inline int64_t sl_pattern_work_row(const sl_pattern *p, int64_t n) {
  return p->listed ? p->listed[n] : n;
}

/* Where arrays of values have what entry j of the pattern stands for. */
static inline int64_t sl_pattern_entry(const sl_pattern *p, int64_t j) {
  return p->of_row ? p->of_row[p->col[j]] + p->place[j] : j;
}

/* Dense rows, row-major: row i lies at near + i near_ld if i < near_rows, else at
 * far + (i - near_rows) far_ld. Leading dimensions in values. */
typedef struct sl_split_rows {
  void *near, *far;
  int64_t near_rows, near_ld, far_ld;
} sl_split_rows;

/* Row i, of values that have so many bytes. */
static inline char *sl_split_row(const sl_split_rows *s, int64_t i, int64_t value_bytes) {
  return i < s->near_rows ? (char *)s->near + i * s->near_ld * value_bytes
                          : (char *)s->far + (i - s->near_rows) * s->far_ld * value_bytes;
}

/* The features of a row: heads blocks of width values each; feature h width + c is value c of head h. */
typedef struct sl_heads {
  int64_t heads, width;
} sl_heads;

static inline int64_t sl_features(const sl_heads *h) {
  return h->heads * h->width;
}

#endif
