/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of the operations of graph networks share: random patterns, dense rows in two memories, operands
 * as a device sees them, and arithmetic on single values in the type of sums. */
#ifndef SLEY_TESTS_GRAPH_CASE_H
#define SLEY_TESTS_GRAPH_CASE_H

#include "device/pattern.h"
#include "kernels.h"

/* A pattern by rows, and the one by columns that is its transpose. */
typedef struct graph_case {
  int64_t rows, cols, entries;
  block rowptr, col;        /* by rows */
  block colptr, row, place; /* by columns */
  int64_t mean_entries;     /* that patterns say, by which kernels cut rows; any number is right */
  block long_row, long_col; /* the long rows of both; without memory: patterns do not list them */
  block listed; /* rows that the pattern by rows lists; without memory: none, which is all of them */
} graph_case;

/* At times without rows or columns, at times large, so that threads have pieces of narrow operands too; most
 * rows are short, some empty, one may be long; columns repeat. */
graph_case graph_draw(void);
/* So many heads, but one of a large pattern. */
static inline int64_t graph_some(const graph_case *g, int64_t heads) {
  return g->entries > 10000 ? 1 : heads;
}
void graph_free(graph_case *g);
/* The same graph with a drawn list of rows, and of the long ones among them. It shares all else with g. Freed
 * by the second. */
graph_case graph_listed(const graph_case *g);
void graph_listed_free(graph_case *listed);
static inline const int64_t *graph_rowptr(const graph_case *g, bool by_columns) {
  return (const int64_t *)(by_columns ? g->colptr : g->rowptr).data;
}
static inline const int32_t *graph_col(const graph_case *g, bool by_columns) {
  return (const int32_t *)(by_columns ? g->row : g->col).data;
}
static inline int64_t graph_count(const graph_case *g, bool by_columns) {
  return by_columns ? g->cols : g->rows;
}
/* Where arrays of values have entry j. */
int64_t graph_entry(const graph_case *g, bool by_columns, int64_t j);

/* What arrays are filled with: reals in [-1, 1); the same with zeros of both signs, infinities and NaN among
 * them; few different values, so that many are equal, with NaN among them. */
typedef enum graph_values { GRAPH_REALS, GRAPH_SPECIAL, GRAPH_FEW } graph_values;

/* An array, off a malloc's alignment by 0 to 2 values. */
block graph_array(int64_t count, sley_dtype dtype, graph_values values);
/* Integers from least to less than limit. */
block graph_integers(int64_t count, int64_t least, int64_t limit);

/* Rows of so many values, in two memories. */
typedef struct graph_dense {
  int64_t rows, width;
  sley_dtype dtype;
  block near, far;
  sl_split_rows at; /* in the host's memory */
} graph_dense;

graph_dense graph_dense_draw(int64_t rows, int64_t width, sley_dtype dtype, graph_values values);
graph_dense graph_dense_copy(const graph_dense *from);
void graph_dense_free(graph_dense *d);
void graph_dense_copy_row(graph_dense *to, const graph_dense *from, int64_t i);
double graph_dense_get(const graph_dense *d, int64_t i, int64_t f);
void graph_dense_set(graph_dense *d, int64_t i, int64_t f, double value);

/* Operands as a queue's device sees them. */
typedef struct graph_images {
  sl_queue *queue;
  image list[24];
  int count;
} graph_images;

/* NULL of NULL, or of a block without memory. */
void *graph_image(graph_images *images, const block *b);
sl_pattern graph_pattern(graph_images *images, const graph_case *g, bool by_columns);
sl_split_rows graph_dense_image(graph_images *images, const graph_dense *d);
/* The host's memory gets what the device has made of the operands, which are dropped. */
void graph_images_return(graph_images *images);

/* One operation in the type of sums of dtype, rounded once. */
double sum_fma(sley_dtype dtype, double a, double b, double c);
double sum_mul(sley_dtype dtype, double a, double b);
double sum_add(sley_dtype dtype, double a, double b);
double sum_div(sley_dtype dtype, double a, double b);

#endif
