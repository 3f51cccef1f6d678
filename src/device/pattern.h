/* SPDX-License-Identifier: Apache-2.0 */
/* Operands of the operations of graph networks: the positions of a matrix's entries, and dense rows in two
 * memories. All arrays are in device memory. */
#ifndef SLEY_DEVICE_PATTERN_H
#define SLEY_DEVICE_PATTERN_H

#include "base/types.h"

/* A row with more entries is long: kernels may divide the work on it. */
enum { SL_LONG_ROW = 256 };

/* Rows of entries. A pattern is one of two kinds:
 *
 *   by rows     row i of the pattern is row i of the matrix. Its entries, rowptr[i] <= j < rowptr[i + 1],
 *               have the same numbers as in arrays of values. place is NULL.
 *   by columns  the transpose of a pattern by rows: row i of the pattern is column i of the matrix, and
 *               col[j] is a row of the matrix. The entry is number place[j] in that row: in arrays of values
 *               its number is of_row[col[j]] + place[j], where of_row is the rowptr of the pattern by rows.
 *
 * By columns, col ascends within a row. By rows it need not: entries are in the order of the matrix, whose
 * columns may be numbered differently. Repeated columns are separate entries. */
typedef struct sl_pattern {
  int64_t rows, cols;
  const int64_t *rowptr; /* rows + 1 elements; the first need not be 0 */
  const int32_t *col, *place;
  const int64_t *of_row;
  int64_t mean_entries;    /* average entries of a row, over all ranks, so that all ranks divide rows in the
                            * same way; 0: not known */
  const int32_t *long_row; /* number of each long row, plus long_base; long_rows = 0: not known */
  int64_t long_rows, long_base;
  /* By rows: the rows to be worked on, ascending; NULL: all of them. With a list, long_row has only long rows
   * that are in the list, and a kernel leaves results for other rows unchanged. Only operations that say so
   * accept a list. */
  const int32_t *listed;
  int64_t listed_rows;
} sl_pattern;

/* Number of rows to be worked on; sl_pattern_work_row returns the n-th of them. */
static inline int64_t sl_pattern_work_rows(const sl_pattern *p) {
  return p->listed ? p->listed_rows : p->rows;
}
static inline int64_t sl_pattern_work_row(const sl_pattern *p, int64_t n) {
  return p->listed ? p->listed[n] : n;
}

/* Index, in arrays of values, of entry j of the pattern. */
static inline int64_t sl_pattern_entry(const sl_pattern *p, int64_t j) {
  return p->of_row ? p->of_row[p->col[j]] + p->place[j] : j;
}

/* Dense rows, row-major: row i is at near + i near_ld if i < near_rows, else at far + (i - near_rows) far_ld.
 * Leading dimensions are in values. */
typedef struct sl_split_rows {
  void *near, *far;
  int64_t near_rows, near_ld, far_ld;
} sl_split_rows;

/* Address of row i, with values of value_bytes bytes. */
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
