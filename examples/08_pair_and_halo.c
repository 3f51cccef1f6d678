/* SPDX-License-Identifier: Apache-2.0 */
/* A layer of a graph network, forward and backward: Y = A X, and dX = A^T dY, the gradient with respect to X
 * from the gradient dY, by a pair of plans that share one inspection. Then the halo by itself: a rank gathers
 * the rows of X that it needs, and adds values back to their owners' rows. */
#include <sley.h>
#include <stdio.h>

enum { RANKS = 3, K = 4 };

typedef struct layer {
  const sley_matrix *matrix;
  int64_t rows, begin[RANKS + 1];
  double *x, *y, *dy, *dx, *counts; /* whole arrays; each rank uses its rows */
} layer;

/* Computes both products for this rank's rows. */
static sley_status forward_and_backward(const layer *l, int64_t first, sley_plan *plan,
                                        sley_plan *transposed) {
  int64_t at = first * K;
  sley_status status = sley_spmm(plan, 1.0, l->x + at, K, 0.0, l->y + at, K);
  if (status == SLEY_OK)
    status = sley_spmm(transposed, 1.0, l->dy + at, K, 0.0, l->dx + at, K);
  return status;
}

/* Each rank adds 1 to every remote row that its rows of A name, by a buffer of ones in place of the gathered
 * rows. counts must be zero before. */
static sley_status count_readers(const layer *l, int64_t first, const sley_plan *plan) {
  sley_halo *halo = NULL;
  sley_halo_info info;
  void *buffer = NULL;
  sley_status status = sley_plan_halo(plan, &halo);
  if (status == SLEY_OK)
    status = sley_halo_info_get(halo, &info);
  if (status == SLEY_OK)
    status = sley_buffer_alloc(info.rows * K * (int64_t)sizeof(double), &buffer);
  if (status == SLEY_OK)
    status = sley_halo_gather(halo, l->x + first * K, K, buffer, K);
  for (int64_t i = 0; status == SLEY_OK && i < info.rows * K; i++) { /* the rows of X that have arrived */
    if (((double *)buffer)[i] != l->x[info.row[i / K] * K + i % K])
      status = SLEY_ERR_INTERNAL;
    ((double *)buffer)[i] = 1;
  }
  if (status == SLEY_OK)
    status = sley_halo_scatter_add(halo, buffer, K, l->counts + first * K, K);
  sley_halo_destroy(halo);
  sley_buffer_free(buffer);
  return status;
}

static sley_status run_layer(sley_comm *comm, void *arg) {
  const layer *l = arg;
  int rank = sley_comm_rank(comm);
  int64_t first = l->begin[rank], count = l->begin[rank + 1] - first;
  sley_matrix *block = NULL;
  sley_plan *plan = NULL, *transposed = NULL;
  sley_status status = sley_matrix_row_block(l->matrix, first, count, &block);
  if (status == SLEY_OK)
    status = sley_plan_create_pair(comm, block, l->begin, l->begin, K, NULL, &plan, &transposed);
  if (status == SLEY_OK)
    status = forward_and_backward(l, first, plan, transposed);
  if (status == SLEY_OK)
    status = count_readers(l, first, plan);
  sley_plan_destroy(transposed);
  sley_plan_destroy(plan);
  sley_matrix_destroy(block);
  return status;
}

/* Number of ranks, other than the owner, that have an entry in column col. */
static double readers_of(const layer *l, const sley_csr *a, int64_t col) {
  double readers = 0;
  for (int p = 0; p < RANKS; p++) {
    int found = 0;
    for (int64_t e = a->rowptr[l->begin[p]]; e < a->rowptr[l->begin[p + 1]] && !found; e++)
      found = ((const int32_t *)a->col)[e] == col;
    readers += found && (col < l->begin[p] || col >= l->begin[p + 1]);
  }
  return readers;
}

/* Compares both products with float64 ones, and checks the counts. */
static sley_status check(const layer *l, int *wrong) {
  sley_check forward, backward;
  sley_csr a;
  sley_status status = sley_check_spmm(l->matrix, false, K, l->x, K, l->y, K, 1, &forward);
  if (status == SLEY_OK)
    status = sley_check_spmm(l->matrix, true, K, l->dy, K, l->dx, K, 1, &backward);
  if (status == SLEY_OK)
    status = sley_matrix_csr(l->matrix, &a);
  if (status != SLEY_OK)
    return status;
  *wrong = !forward.ok + !backward.ok;
  for (int64_t row = 0; row < l->rows; row++)
    *wrong +=
        l->counts[row * K] != readers_of(l, &a, row) || l->counts[row * K + K - 1] != l->counts[row * K];
  printf("pair: Y = A X off by %.1e, dX = A^T dY off by %.1e of the sums of magnitudes\n", forward.max_error,
         backward.max_error);
  return SLEY_OK;
}

int main(void) {
  layer l = {0};
  sley_matrix *matrix = NULL;
  sley_matrix_info info = {0};
  void *memory = NULL;
  int wrong = 1;
  sley_read_options read = SLEY_READ_OPTIONS_INIT;
  read.dtype = SLEY_F64;
  sley_rank_options ranks = SLEY_RANK_OPTIONS_INIT;
  ranks.ranks = RANKS;

  sley_status status = sley_matrix_read("er:n=600,nnz=3000,seed=7", &read, &matrix);
  if (status == SLEY_OK)
    status = sley_matrix_info_get(matrix, &info);
  if (status == SLEY_OK)
    status = sley_partition_rows(matrix, "nnz", RANKS, l.begin);
  if (status == SLEY_OK)
    status = sley_buffer_alloc(5 * info.rows * K * (int64_t)sizeof(double), &memory);
  if (status == SLEY_OK) {
    int64_t values = info.rows * K;
    l.matrix = matrix;
    l.rows = info.rows;
    l.x = memory;
    l.y = l.x + values;
    l.dy = l.y + values;
    l.dx = l.dy + values;
    l.counts = l.dx + values;
    for (int64_t i = 0; i < values; i++)
      l.counts[i] = 0;
    status = sley_dense_random(1, 0, info.rows, K, NULL, SLEY_F64, l.x, K);
  }
  if (status == SLEY_OK)
    status = sley_dense_random(2, 0, info.rows, K, NULL, SLEY_F64, l.dy, K);
  if (status == SLEY_OK)
    status = sley_run_ranks(&ranks, run_layer, &l);
  if (status == SLEY_OK)
    status = check(&l, &wrong);
  if (status != SLEY_OK)
    fprintf(stderr, "%s: %s\n", sley_status_name(status), sley_last_error());
  else if (wrong)
    fprintf(stderr, "%d results are wrong\n", wrong);
  sley_buffer_free(memory);
  sley_matrix_destroy(matrix);
  return status == SLEY_OK && !wrong ? 0 : 1;
}
