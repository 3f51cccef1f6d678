/* SPDX-License-Identifier: Apache-2.0 */
/* An MPI program whose processes are the ranks: it uses its own communicator and its own rows of A.
 *
 * The processes split into two groups, each with a problem and a comm of its own. A is the second difference,
 * (A x)[i] = x[i-1] - 2 x[i] + x[i+1], and column j of X contains (j + 1) i^2, so that away from both ends Y
 * is exactly 2 (j + 1). Each rank makes its rows as CSR arrays with 32-bit row pointers.
 *
 *   mpirun -n 4 example_06_mpi_program
 */
#include <mpi.h>
#include <sley.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 1000, K = 4, RANKS_MOST = 1024 };

/* One rank's rows of A, X and Y. */
typedef struct rows {
  int64_t first, count;
  int32_t rowptr[N + 1], col[3 * N];
  double val[3 * N], x[N * K], y[N * K];
} rows;

static void fill(rows *own, int n) {
  int32_t at = 0;
  for (int64_t r = 0; r < own->count; r++) {
    int64_t i = own->first + r;
    own->rowptr[r] = at;
    for (int64_t j = i - 1; j <= i + 1; j++) {
      if (j < 0 || j >= n)
        continue;
      own->col[at] = (int32_t)j;
      own->val[at++] = i == j ? -2.0 : 1.0;
    }
    for (int j = 0; j < K; j++)
      own->x[r * K + j] = (double)(j + 1) * (double)(i * i);
  }
  own->rowptr[own->count] = at;
}

static int wrong_entries(const rows *own, int n) {
  int wrong = 0;
  for (int64_t r = 0; r < own->count; r++)
    for (int j = 0; j < K && own->first + r > 0 && own->first + r < n - 1; j++)
      wrong += own->y[r * K + j] != 2.0 * (j + 1);
  return wrong;
}

static sley_status multiply(sley_comm *comm, rows *own, int n) {
  static int64_t begin[RANKS_MOST + 1];
  sley_matrix *block = NULL;
  sley_plan *plan = NULL;
  sley_status status = sley_partition_equal(n, sley_comm_size(comm), begin);
  if (status != SLEY_OK)
    return status;
  own->first = begin[sley_comm_rank(comm)];
  own->count = begin[sley_comm_rank(comm) + 1] - own->first;
  fill(own, n);
  sley_csr csr = {.rows = own->count,
                  .cols = n,
                  .rowptr32 = own->rowptr,
                  .col = own->col,
                  .val = own->val,
                  .index = SLEY_I32,
                  .dtype = SLEY_F64};
  status = sley_matrix_from_csr(&csr, SLEY_BORROW, &block);
  if (status == SLEY_OK)
    status = sley_plan_create(comm, block, begin, begin, K, NULL, &plan);
  if (status == SLEY_OK)
    status = sley_spmm(plan, 1.0, own->x, K, 0.0, own->y, K);
  sley_plan_destroy(plan);
  sley_matrix_destroy(block);
  return status;
}

int main(int argc, char **argv) {
  int rank, ranks, level, wrong = 0;
  MPI_Comm group;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks > RANKS_MOST)
    MPI_Abort(MPI_COMM_WORLD, 2);
  int n = rank % 2 == 0 ? N : N / 2;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &group);

  sley_comm_options options = SLEY_COMM_OPTIONS_INIT;
  options.mpi_comm = &group;
  sley_comm *comm = NULL;
  rows *own = calloc(1, sizeof *own);
  sley_status status = own ? sley_comm_open(&options, &comm) : SLEY_ERR_MEMORY;
  if (status == SLEY_OK) {
    status = multiply(comm, own, n);
    wrong = status == SLEY_OK ? wrong_entries(own, n) : 0;
    sley_status closed = sley_comm_close(comm);
    status = status == SLEY_OK ? closed : status;
  }
  if (status != SLEY_OK)
    fprintf(stderr, "rank %d: %s: %s\n", rank, sley_status_name(status), sley_last_error());
  int bad = status != SLEY_OK || wrong != 0, any = 0;
  MPI_Allreduce(&bad, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (rank == 0)
    printf("an MPI program's ranks: %s\n", any ? "wrong" : "every entry is right");
  free(own);
  MPI_Comm_free(&group);
  MPI_Finalize();
  return any;
}
