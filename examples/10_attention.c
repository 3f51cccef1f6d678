/* SPDX-License-Identifier: Apache-2.0 */
/* An attention layer of a graph network (GAT) on two ranks, forward and backward: each rank has some rows of
 * the graph, fetches the other ranks' rows that it needs, and sends their gradients back. A small step along
 * the gradient verifies it. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sley.h"

enum { RANKS = 2, HEADS = 4, WIDTH = 8, K = HEADS * WIDTH, SOURCE = K + HEADS };

typedef struct arrays {
  double *query, *source, *y, *dy, *dquery, *dsource;
  void *saved;
} arrays;

static int fail(const char *what) {
  fprintf(stderr, "%s: %s\n", what, sley_last_error());
  return 1;
}

static sley_status take(double **out, int64_t rows, int64_t width) {
  void *memory;
  sley_status status = sley_buffer_alloc(rows * width * (int64_t)sizeof **out, &memory);
  *out = status == SLEY_OK ? memory : NULL;
  return status;
}

static sley_status take_all(sley_attention *attention, int64_t rows, arrays *a) {
  sley_attention_info info;
  sley_status status = sley_attention_info_get(attention, &info);
  if (status == SLEY_OK)
    status = take(&a->query, rows, HEADS);
  if (status == SLEY_OK)
    status = take(&a->source, rows, SOURCE);
  if (status == SLEY_OK)
    status = take(&a->y, rows, K);
  if (status == SLEY_OK)
    status = take(&a->dy, rows, K);
  if (status == SLEY_OK)
    status = take(&a->dquery, rows, HEADS);
  if (status == SLEY_OK)
    status = take(&a->dsource, rows, SOURCE);
  if (status == SLEY_OK)
    status = sley_buffer_alloc(info.saved_bytes, &a->saved);
  return status;
}

static void give_all(arrays *a) {
  sley_buffer_free(a->saved);
  sley_buffer_free(a->dsource);
  sley_buffer_free(a->dquery);
  sley_buffer_free(a->dy);
  sley_buffer_free(a->y);
  sley_buffer_free(a->source);
  sley_buffer_free(a->query);
}

/* This rank's part of the loss, which is half the sum of squares of Y over all ranks. So dY is Y. */
static double loss_of(const double *y, int64_t count) {
  double loss = 0;
  for (int64_t i = 0; i < count; i++)
    loss += y[i] * y[i] / 2;
  return loss;
}

/* x += step g. Returns the change of the loss, to first order. */
static double move(double *x, const double *g, int64_t count, double step) {
  double change = 0;
  for (int64_t i = 0; i < count; i++) {
    x[i] += step * g[i];
    change += step * g[i] * g[i];
  }
  return change;
}

static sley_status step(sley_attention *attention, int64_t rows, arrays *a, double *change,
                        double *expected) {
  sley_attention_operands operands = SLEY_ATTENTION_OPERANDS_INIT;
  sley_attention_gradients gradients = SLEY_ATTENTION_GRADIENTS_INIT;
  operands.query = a->query;
  operands.ldq = HEADS;
  operands.source = a->source; /* in each row K values, and then a key for each head */
  operands.lds = SOURCE;
  operands.y = a->y;
  operands.ldy = K;
  operands.saved = a->saved;
  sley_status status = sley_attention_forward(attention, &operands);
  if (status != SLEY_OK)
    return status;
  const double before = loss_of(a->y, rows * K);
  memcpy(a->dy, a->y, (size_t)(rows * K) * sizeof *a->dy);
  gradients.dy = a->dy;
  gradients.lddy = K;
  gradients.dquery = a->dquery;
  gradients.lddq = HEADS;
  gradients.dsource = a->dsource;
  gradients.ldds = SOURCE;
  status = sley_attention_backward(attention, &operands, &gradients);
  if (status != SLEY_OK)
    return status;
  *expected =
      move(a->query, a->dquery, rows * HEADS, -1e-6) + move(a->source, a->dsource, rows * SOURCE, -1e-6);
  operands.saved = NULL; /* no gradients for this call */
  status = sley_attention_forward(attention, &operands);
  *change = loss_of(a->y, rows * K) - before;
  return status;
}

/* Adds the ranks' values. *out is the sum on rank 0; on other ranks it has no meaning. */
static sley_status sum_up(sley_comm *comm, double value, double *out) {
  double parts[RANKS] = {0};
  const int64_t bytes[RANKS] = {sizeof value, sizeof value};
  sley_status status = sley_comm_gather(comm, 0, &value, bytes, parts);
  *out = parts[0] + parts[1];
  return status;
}

static sley_status report(sley_comm *comm, double change, double expected) {
  double all, all_expected;
  sley_status status = sum_up(comm, change, &all);
  if (status == SLEY_OK)
    status = sum_up(comm, expected, &all_expected);
  if (status != SLEY_OK || sley_comm_rank(comm) > 0)
    return status;
  const bool right = fabs(all - all_expected) <= 1e-3 * fabs(all_expected);
  printf("a step changes the loss by %.6g, the gradient says %.6g: %s\n", all, all_expected,
         right ? "right" : "wrong");
  return right ? SLEY_OK : SLEY_ERR_INTERNAL;
}

static sley_status layer(sley_comm *comm, void *argument) {
  const sley_matrix *matrix = argument;
  const int rank = sley_comm_rank(comm);
  int64_t begin[RANKS + 1];
  sley_matrix *block = NULL;
  sley_graph *graph = NULL;
  sley_attention *attention = NULL;
  sley_attention_options options = SLEY_ATTENTION_OPTIONS_INIT;
  arrays a = {0};
  double change = 0, expected = 0;
  options.kind = SLEY_ATTENTION_GAT;
  options.heads = HEADS;
  options.width = WIDTH;
  options.dtype = SLEY_F64;
  sley_status status = sley_partition_rows(matrix, "nnz", RANKS, begin);
  const int64_t rows = begin[rank + 1] - begin[rank];
  if (status == SLEY_OK)
    status = sley_matrix_row_block(matrix, begin[rank], rows, &block);
  if (status == SLEY_OK)
    status = sley_graph_create(comm, (const sley_matrix *const *)&block, begin, begin, NULL, &graph);
  if (status == SLEY_OK)
    status = sley_attention_create(graph, &options, &attention);
  if (status == SLEY_OK)
    status = take_all(attention, rows, &a);
  if (status == SLEY_OK)
    status = sley_dense_random(1, begin[rank], rows, HEADS, NULL, SLEY_F64, a.query, HEADS);
  if (status == SLEY_OK)
    status = sley_dense_random(2, begin[rank], rows, SOURCE, NULL, SLEY_F64, a.source, SOURCE);
  if (status == SLEY_OK)
    status = step(attention, rows, &a, &change, &expected);
  if (status == SLEY_OK)
    status = report(comm, change, expected);
  give_all(&a);
  sley_attention_destroy(attention);
  sley_graph_destroy(graph);
  sley_matrix_destroy(block);
  return status;
}

int main(int argc, char **argv) {
  sley_matrix *matrix;
  if (sley_matrix_read(argc > 1 ? argv[1] : "rmat:scale=10,edgefactor=8", NULL, &matrix) != SLEY_OK)
    return fail("reading the graph");
  sley_rank_options ranks = SLEY_RANK_OPTIONS_INIT;
  ranks.ranks = RANKS;
  sley_status status = sley_run_ranks(&ranks, layer, matrix);
  sley_matrix_destroy(matrix);
  return status == SLEY_OK ? 0 : fail("the layer");
}
