/* SPDX-License-Identifier: Apache-2.0 */
/* CSR arrays that the program made itself, used without a copy.
 *
 * A is the second difference, (A x)[i] = x[i-1] - 2 x[i] + x[i+1], and column j of X contains (j + 1) i^2, so
 * that away from both ends Y is exactly 2 (j + 1). */
#include <sley.h>
#include <stdio.h>

enum { N = 1000, K = 4, RANKS = 3, MOST = 3 * N };

static int64_t rowptr[N + 1];
static int32_t col[MOST];
static double val[MOST];
static double x[N * K], y[N * K];

static void fill(void) {
  int64_t at = 0;
  for (int i = 0; i < N; i++) {
    rowptr[i] = at;
    for (int j = i - 1; j <= i + 1; j++) {
      if (j < 0 || j >= N)
        continue;
      col[at] = j;
      val[at++] = i == j ? -2.0 : 1.0;
    }
    for (int j = 0; j < K; j++)
      x[i * K + j] = (double)(j + 1) * i * i;
  }
  rowptr[N] = at;
}

static sley_status multiply(sley_comm *comm, void *arg) {
  const sley_matrix *matrix = arg;
  int64_t begin[RANKS + 1];
  int rank = sley_comm_rank(comm);
  sley_matrix *block = NULL;
  sley_plan *plan = NULL;
  sley_status status = sley_partition_equal(N, RANKS, begin);
  int64_t first = status == SLEY_OK ? begin[rank] : 0;
  if (status == SLEY_OK)
    status = sley_matrix_row_block(matrix, first, begin[rank + 1] - first, &block);
  if (status == SLEY_OK)
    status = sley_plan_create(comm, block, begin, begin, K, NULL, &plan);
  if (status == SLEY_OK)
    status = sley_spmm(plan, 1.0, x + first * K, K, 0.0, y + first * K, K);
  sley_plan_destroy(plan);
  sley_matrix_destroy(block);
  return status;
}

int main(void) {
  fill();
  sley_csr csr = {
      .rows = N, .cols = N, .rowptr = rowptr, .col = col, .val = val, .index = SLEY_I32, .dtype = SLEY_F64};
  sley_matrix *matrix = NULL;
  sley_rank_options ranks = SLEY_RANK_OPTIONS_INIT;
  ranks.ranks = RANKS;
  sley_status status = sley_matrix_from_csr(&csr, SLEY_BORROW, &matrix);
  if (status == SLEY_OK)
    status = sley_run_ranks(&ranks, multiply, matrix);
  sley_matrix_destroy(matrix);
  if (status != SLEY_OK) {
    fprintf(stderr, "%s: %s\n", sley_status_name(status), sley_last_error());
    return 1;
  }
  int wrong = 0;
  for (int i = 1; i < N - 1; i++)
    for (int j = 0; j < K; j++)
      wrong += y[i * K + j] != 2.0 * (j + 1);
  printf("own arrays: %d of %d entries wrong\n", wrong, (N - 2) * K);
  return wrong != 0;
}
