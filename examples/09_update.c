/* SPDX-License-Identifier: Apache-2.0 */
/* A layer of a graph network, Z = (A X) W, on one rank: sums neighbours' features and multiplies them by a
 * dense W in one call. The plan reports whether A X is kept in a cache or stored as a whole first. */
#include <stdio.h>

#include "sley.h"

enum { K = 64, N = 16 };

static int fail(const char *what) {
  fprintf(stderr, "%s: %s\n", what, sley_last_error());
  return 1;
}

static sley_status layer(sley_comm *comm, void *argument) {
  const sley_matrix *matrix = argument;
  sley_matrix_info info;
  sley_status status = sley_matrix_info_get(matrix, &info);
  int64_t row_begin[] = {0, info.rows}, col_begin[] = {0, info.cols};
  void *x = NULL, *w = NULL, *z = NULL;
  sley_plan *plan = NULL;
  sley_plan_info made;
  sley_check check;
  sley_plan_options options = SLEY_PLAN_OPTIONS_INIT;
  options.update = SLEY_UPDATE_FUSED;
  if (status == SLEY_OK)
    status = sley_buffer_alloc(info.cols * K * (int64_t)sizeof(float), &x);
  if (status == SLEY_OK)
    status = sley_buffer_alloc(K * N * (int64_t)sizeof(float), &w);
  if (status == SLEY_OK)
    status = sley_buffer_alloc(info.rows * N * (int64_t)sizeof(float), &z);
  if (status == SLEY_OK)
    status = sley_dense_random(1, 0, info.cols, K, NULL, SLEY_F32, x, K);
  if (status == SLEY_OK)
    status = sley_dense_random(2, 0, K, N, NULL, SLEY_F32, w, N);
  if (status == SLEY_OK)
    status = sley_plan_create(comm, matrix, row_begin, col_begin, K, &options, &plan);
  if (status == SLEY_OK)
    status = sley_plan_info_get(plan, &made);

  sley_update update = SLEY_UPDATE_INIT; /* alpha 1, beta 0 */
  update.w = w;
  update.n = update.ldw = N;
  if (status == SLEY_OK)
    status = sley_spmm_update(plan, x, K, &update, z, N);
  if (status == SLEY_OK)
    status = sley_check_update(matrix, false, K, x, K, &update, NULL, N, z, N, 0, NULL, &check);
  if (status == SLEY_OK)
    printf("Z is %lld x %d, %s, %s\n", (long long)info.rows, N, made.update_fused ? "fused" : "not fused",
           check.ok ? "right" : "wrong");
  if (status == SLEY_OK && !check.ok)
    status = SLEY_ERR_INTERNAL;
  sley_plan_destroy(plan);
  sley_buffer_free(z);
  sley_buffer_free(w);
  sley_buffer_free(x);
  return status;
}

int main(int argc, char **argv) {
  sley_matrix *matrix;
  if (sley_matrix_read(argc > 1 ? argv[1] : "rmat:scale=10,edgefactor=8", NULL, &matrix) != SLEY_OK)
    return fail("reading the matrix");
  sley_rank_options ranks = SLEY_RANK_OPTIONS_INIT;
  ranks.ranks = 1;
  sley_status status = sley_run_ranks(&ranks, layer, matrix);
  sley_matrix_destroy(matrix);
  return status == SLEY_OK ? 0 : fail("the layer");
}
