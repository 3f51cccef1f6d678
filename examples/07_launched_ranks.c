/* SPDX-License-Identifier: Apache-2.0 */
/* A program whose processes are the ranks, started by torchrun or any other program that sets RANK,
 * WORLD_SIZE, MASTER_ADDR and MASTER_PORT; mpirun and srun work as well. Started alone it is one rank.
 *
 * Each rank generates its own rows of a random graph, and X is all ones, so that each row of Y is the sum of
 * A's row.
 *
 *   torchrun --no-python --nproc-per-node 3 example_07_launched_ranks
 */
#include <math.h>
#include <sley.h>
#include <stdio.h>
#include <stdlib.h>

enum { K = 8, RANKS_MOST = 1024 };

/* Computes Y = A X on the rank's device; *right: whether every row of Y is the sum of A's row. */
static sley_status multiply(sley_comm *comm, const sley_matrix *block, const int64_t *begin, bool *right) {
  int rank = sley_comm_rank(comm);
  int64_t rows = begin[rank + 1] - begin[rank], bytes = rows * K * (int64_t)sizeof(float);
  float *host = malloc((size_t)bytes + 1);
  void *x = NULL, *y = NULL;
  sley_plan *plan = NULL;
  sley_csr csr;
  sley_status status = host ? sley_matrix_csr(block, &csr) : SLEY_ERR_MEMORY;
  for (int64_t i = 0; i < rows * K && status == SLEY_OK; i++)
    host[i] = 1;
  if (status == SLEY_OK)
    status = sley_comm_alloc(comm, bytes, &x);
  if (status == SLEY_OK)
    status = sley_comm_alloc(comm, bytes, &y);
  if (status == SLEY_OK)
    status = sley_comm_copy(comm, x, host, bytes, SLEY_TO_DEVICE);
  if (status == SLEY_OK)
    status = sley_plan_create(comm, block, begin, begin, K, NULL, &plan);
  if (status == SLEY_OK)
    status = sley_spmm(plan, 1.0, x, K, 0.0, y, K);
  if (status == SLEY_OK)
    status = sley_comm_copy(comm, host, y, bytes, SLEY_TO_HOST);
  if (status == SLEY_OK)
    status = sley_comm_wait(comm);
  for (int64_t i = 0; i < rows && status == SLEY_OK; i++) {
    double sum = 0, size = 0;
    for (int64_t e = csr.rowptr[i]; e < csr.rowptr[i + 1]; e++) {
      sum += ((const float *)csr.val)[e];
      size += fabs((double)((const float *)csr.val)[e]);
    }
    for (int j = 0; j < K; j++)
      *right = *right && fabs((double)host[i * K + j] - sum) <= 1e-5 * size;
  }
  sley_plan_destroy(plan);
  sley_comm_free(comm, y);
  sley_comm_free(comm, x);
  free(host);
  return status;
}

int main(void) {
  static int64_t begin[RANKS_MOST + 1];
  sley_comm_options options = SLEY_COMM_OPTIONS_INIT;
  sley_comm *comm = NULL;
  sley_matrix *block = NULL;
  bool right = true;
  options.device = "auto";
  sley_status status = sley_comm_open(&options, &comm);
  if (status == SLEY_OK) {
    printf("rank %d of %d, over %s on %s\n", sley_comm_rank(comm), sley_comm_size(comm),
           sley_comm_transport(comm), sley_comm_device(comm));
    if (sley_comm_size(comm) <= RANKS_MOST)
      status = sley_matrix_read_rows(comm, "rmat:scale=12,edgefactor=8", NULL, NULL, begin, NULL, &block);
    if (status == SLEY_OK && block)
      status = multiply(comm, block, begin, &right);
    sley_matrix_destroy(block);
    sley_status closed = sley_comm_close(comm);
    status = status == SLEY_OK ? closed : status;
  }
  if (status != SLEY_OK)
    fprintf(stderr, "%s: %s\n", sley_status_name(status), sley_last_error());
  else if (!right)
    fprintf(stderr, "Y is wrong\n");
  return status != SLEY_OK || !right;
}
