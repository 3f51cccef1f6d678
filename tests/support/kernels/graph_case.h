/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers for tests of the operations of graph networks: random patterns, dense rows in two memories,
 * operands in device memory, and arithmetic on single values in the type of sums. */
#ifndef SLEY_TESTS_GRAPH_CASE_H
#define SLEY_TESTS_GRAPH_CASE_H

#include "device/pattern.h"
#include "kernels.h"

/* A pattern by rows, and the one by columns that is its transpose. */
typedef struct graph_case {
  int64_t rows, cols, entries;
  block rowptr, col;        /* by rows */
  block colptr, row, place; /* by columns */
  int64_t mean_entries;     /* mean of sl_pattern, by which kernels divide rows; any value is valid */
  block long_row, long_col; /* long rows of both patterns; without memory: the patterns do not list them */
  block listed; /* rows that the pattern by rows lists; without memory: no list, which means all rows */
} graph_case;

/* A random graph, sometimes without rows or columns, sometimes so large that threads share even narrow
 * operands. Most rows are short, some are empty, one may be long; columns repeat. */
graph_case graph_draw(void);
/* The number of heads to test: `heads`, or 1 for a large pattern. */
static inline int64_t graph_some(const graph_case *g, int64_t heads) {
  return g->entries > 10000 ? 1 : heads;
}
void graph_free(graph_case *g);
/* The same graph with a random list of rows, and of the long rows among them. It shares all other arrays with
 * g. Freed by graph_listed_free. */
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
/* Index of entry j in arrays of values. */
int64_t graph_entry(const graph_case *g, bool by_columns, int64_t j);

/* Values of arrays: reals in [-1, 1); reals mixed with zeros of both signs, infinities and NaN; few different
 * values, so that many are equal, mixed with NaN. */
typedef enum graph_values { GRAPH_REALS, GRAPH_SPECIAL, GRAPH_FEW } graph_values;

/* An array whose address is 0 to 2 values past malloc's alignment. */
block graph_array(int64_t count, sley_dtype dtype, graph_values values);
/* An array of integers in [least, limit). */
block graph_integers(int64_t count, int64_t least, int64_t limit);

/* Rows of `width` values, in two memories. */
typedef struct graph_dense {
  int64_t rows, width;
  sley_dtype dtype;
  block near, far;
  sl_split_rows at; /* addresses in host memory */
} graph_dense;

graph_dense graph_dense_draw(int64_t rows, int64_t width, sley_dtype dtype, graph_values values);
graph_dense graph_dense_copy(const graph_dense *from);
void graph_dense_free(graph_dense *d);
void graph_dense_copy_row(graph_dense *to, const graph_dense *from, int64_t i);
double graph_dense_get(const graph_dense *d, int64_t i, int64_t f);
void graph_dense_set(graph_dense *d, int64_t i, int64_t f, double value);

/* Operands in memory of a queue's device. */
typedef struct graph_images {
  sl_queue *queue;
  image list[24];
  int count;
} graph_images;

/* The device address of a block; NULL if b is NULL or has no memory. */
void *graph_image(graph_images *images, const block *b);
sl_pattern graph_pattern(graph_images *images, const graph_case *g, bool by_columns);
sl_split_rows graph_dense_image(graph_images *images, const graph_dense *d);
/* Copies all operands from the device back to host memory, and frees the device's copies. */
void graph_images_return(graph_images *images);

/* One operation in the type of sums for dtype, rounded once. */
double sum_fma(sley_dtype dtype, double a, double b, double c);
double sum_mul(sley_dtype dtype, double a, double b);
double sum_add(sley_dtype dtype, double a, double b);
double sum_div(sley_dtype dtype, double a, double b);

#endif
