/* SPDX-License-Identifier: Apache-2.0 */
/* One rank: read (here: generate) a matrix, multiply, check.
 *
 *   cc 01_one_rank.c $(pkg-config --cflags --libs sley) && ./a.out
 */
#include <sley.h>
#include <stdio.h>

enum { K = 16 };

typedef struct product {
  const sley_matrix *matrix;
  sley_matrix_info info;
  float *x, *y;
} product;

/* Runs on the one rank, which owns every row. */
static sley_status multiply(sley_comm *comm, void *arg) {
  product *p = arg;
  const int64_t row_begin[] = {0, p->info.rows}, col_begin[] = {0, p->info.cols};
  sley_plan *plan = NULL;
  sley_status status = sley_plan_create(comm, p->matrix, row_begin, col_begin, K, NULL, &plan);
  if (status == SLEY_OK)
    status = sley_spmm(plan, 1.0, p->x, K, 0.0, p->y, K);
  sley_plan_destroy(plan);
  return status;
}

int main(void) {
  product p = {0};
  sley_matrix *matrix = NULL;
  void *x = NULL, *y = NULL;
  sley_check check = {0};

  /* The name of a file works as well. */
  sley_status status = sley_matrix_read("er:n=2000,nnz=16000,seed=7", NULL, &matrix);
  if (status == SLEY_OK)
    status = sley_matrix_info_get(matrix, &p.info);
  if (status == SLEY_OK)
    status = sley_buffer_alloc(p.info.cols * K * (int64_t)sizeof(float), &x);
  if (status == SLEY_OK)
    status = sley_buffer_alloc(p.info.rows * K * (int64_t)sizeof(float), &y);
  if (status == SLEY_OK)
    status = sley_dense_random(1, 0, p.info.cols, K, NULL, SLEY_F32, x, K);
  if (status == SLEY_OK) {
    p.matrix = matrix;
    p.x = x;
    p.y = y;
    status = sley_run_ranks(NULL, multiply, &p);
  }
  if (status == SLEY_OK)
    status = sley_check_spmm(matrix, false, K, x, K, y, K, 0, &check);

  if (status == SLEY_OK)
    printf("one rank: %s, largest error %.2g of |A||X|\n", check.ok ? "correct" : "WRONG", check.max_error);
  else
    fprintf(stderr, "%s: %s\n", sley_status_name(status), sley_last_error());
  sley_buffer_free(x);
  sley_buffer_free(y);
  sley_matrix_destroy(matrix);
  return status == SLEY_OK && check.ok ? 0 : 1;
}
