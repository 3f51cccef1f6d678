/* SPDX-License-Identifier: Apache-2.0 */
/* Four ranks as threads of this process, in two workgroups: each multiplies its own row block. */
#include <sley.h>
#include <stdio.h>

enum { RANKS = 4, K = 32 };

typedef struct product {
  const sley_matrix *matrix;
  int64_t begin[RANKS + 1]; /* rank r owns rows begin[r] .. begin[r + 1] of A, X and Y */
  float *x, *y;             /* whole operands; each rank uses its rows only */
  sley_plan_info info;      /* written by rank 0 */
  char algo[64];
} product;

static sley_status multiply(sley_comm *comm, void *arg) {
  product *p = arg;
  int rank = sley_comm_rank(comm);
  int64_t first = p->begin[rank];
  sley_matrix *block = NULL;
  sley_plan *plan = NULL;

  sley_status status = sley_matrix_row_block(p->matrix, first, p->begin[rank + 1] - first, &block);
  if (status == SLEY_OK)
    status = sley_plan_create(comm, block, p->begin, p->begin, K, NULL, &plan);
  if (status == SLEY_OK)
    status = sley_spmm(plan, 1.0, p->x + first * K, K, 0.0, p->y + first * K, K);
  if (status == SLEY_OK && rank == 0) {
    status = sley_plan_info_get(plan, &p->info);
    if (status == SLEY_OK)
      snprintf(p->algo, sizeof p->algo, "%s", p->info.algo);
  }
  sley_plan_destroy(plan);
  sley_matrix_destroy(block);
  return status;
}

int main(void) {
  product p = {0};
  sley_matrix *matrix = NULL;
  sley_matrix_info info = {0};
  void *x = NULL, *y = NULL;
  sley_check check = {0};
  sley_rank_options ranks = SLEY_RANK_OPTIONS_INIT;
  ranks.ranks = RANKS;
  ranks.workgroup = 2;

  sley_status status = sley_matrix_read("rmat:scale=11,edgefactor=8,seed=3", NULL, &matrix);
  if (status == SLEY_OK)
    status = sley_matrix_info_get(matrix, &info);
  if (status == SLEY_OK)
    status = sley_partition_rows(matrix, "nnz", RANKS, p.begin);
  if (status == SLEY_OK)
    status = sley_buffer_alloc(info.cols * K * (int64_t)sizeof(float), &x);
  if (status == SLEY_OK)
    status = sley_buffer_alloc(info.rows * K * (int64_t)sizeof(float), &y);
  if (status == SLEY_OK)
    status = sley_dense_random(1, 0, info.cols, K, NULL, SLEY_F32, x, K);
  if (status == SLEY_OK) {
    p.matrix = matrix;
    p.x = x;
    p.y = y;
    status = sley_run_ranks(&ranks, multiply, &p);
  }
  if (status == SLEY_OK)
    status = sley_check_spmm(matrix, false, K, x, K, y, K, 0, &check);

  if (status == SLEY_OK)
    printf("%d ranks by %s: %s, %lld halo rows, %lld bytes in messages\n", RANKS, p.algo,
           check.ok ? "correct" : "WRONG", (long long)p.info.halo_rows,
           (long long)p.info.predicted.message_bytes);
  else
    fprintf(stderr, "%s: %s\n", sley_status_name(status), sley_last_error());
  sley_buffer_free(x);
  sley_buffer_free(y);
  sley_matrix_destroy(matrix);
  return status == SLEY_OK && check.ok ? 0 : 1;
}
