/* SPDX-License-Identifier: Apache-2.0 */
/* One plan, many products: inspection is done once, and every X after the first only needs a product. */
#include <sley.h>
#include <stdio.h>

enum { RANKS = 2, K = 8, PRODUCTS = 5 };

typedef struct products {
  const sley_matrix *matrix;
  int64_t begin[RANKS + 1];
  double *x, *y;
  int correct; /* counted by rank 0 */
} products;

/* Every rank fills its rows of a new X and multiplies; rank 0 then checks all of Y. */
static sley_status one_product(sley_comm *comm, sley_plan *plan, products *p, uint64_t seed) {
  int rank = sley_comm_rank(comm);
  int64_t first = p->begin[rank], count = p->begin[rank + 1] - first;
  double *x = p->x + first * K, *y = p->y + first * K;
  sley_check check;
  sley_status status = sley_dense_random(seed, first, count, K, NULL, SLEY_F64, x, K);
  if (status == SLEY_OK)
    status = sley_spmm(plan, 1.0, x, K, 0.0, y, K);
  if (status == SLEY_OK)
    status = sley_comm_barrier(comm); /* all of Y is complete */
  if (status == SLEY_OK && rank == 0) {
    status = sley_check_spmm(p->matrix, false, K, p->x, K, p->y, K, 1, &check);
    p->correct += status == SLEY_OK && check.ok;
  }
  if (status == SLEY_OK)
    status = sley_comm_barrier(comm); /* after this X may change again */
  return status;
}

static sley_status multiply(sley_comm *comm, void *arg) {
  products *p = arg;
  int rank = sley_comm_rank(comm);
  sley_matrix *block = NULL;
  sley_plan *plan = NULL;
  sley_status status =
      sley_matrix_row_block(p->matrix, p->begin[rank], p->begin[rank + 1] - p->begin[rank], &block);
  if (status == SLEY_OK)
    status = sley_plan_create(comm, block, p->begin, p->begin, K, NULL, &plan);
  for (uint64_t seed = 1; status == SLEY_OK && seed <= PRODUCTS; seed++)
    status = one_product(comm, plan, p, seed);
  sley_plan_destroy(plan);
  sley_matrix_destroy(block);
  return status;
}

int main(void) {
  products p = {0};
  sley_matrix *matrix = NULL;
  sley_matrix_info info = {0};
  void *x = NULL, *y = NULL;
  sley_read_options read = SLEY_READ_OPTIONS_INIT;
  read.dtype = SLEY_F64;
  sley_rank_options ranks = SLEY_RANK_OPTIONS_INIT;
  ranks.ranks = RANKS;

  sley_status status = sley_matrix_read("er:n=3000,nnz=30000,seed=5", &read, &matrix);
  if (status == SLEY_OK)
    status = sley_matrix_info_get(matrix, &info);
  if (status == SLEY_OK)
    status = sley_partition_rows(matrix, "rows", RANKS, p.begin);
  if (status == SLEY_OK)
    status = sley_buffer_alloc(info.cols * K * (int64_t)sizeof(double), &x);
  if (status == SLEY_OK)
    status = sley_buffer_alloc(info.rows * K * (int64_t)sizeof(double), &y);
  if (status == SLEY_OK) {
    p.matrix = matrix;
    p.x = x;
    p.y = y;
    status = sley_run_ranks(&ranks, multiply, &p);
  }
  if (status == SLEY_OK)
    printf("reused plan: %d of %d products correct\n", p.correct, PRODUCTS);
  else
    fprintf(stderr, "%s: %s\n", sley_status_name(status), sley_last_error());
  sley_buffer_free(x);
  sley_buffer_free(y);
  sley_matrix_destroy(matrix);
  return status == SLEY_OK && p.correct == PRODUCTS ? 0 : 1;
}
