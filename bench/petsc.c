/* SPDX-License-Identifier: Apache-2.0 */
/* A product by PETSc and by Sley: under mpirun every rank has its rows of one matrix as PETSc's MPIAIJ and as
 * Sley's row block, and the same X. MatMatMult with a product made before (MAT_REUSE_MATRIX) and sley_spmm
 * with a plan made before run in turn. A time is the slowest rank's, from a barrier on. Both results are
 * compared with a product in float64. Rank 0 prints one line of JSON. Usage: mpirun -n P bench_petsc MATRIX K
 * REPEATS ALGORITHM [TRANSPORT [ADDRESS]]. TRANSPORT: Sley's, default mpi. ADDRESS: where rank 0 is reached
 * (tcp on several hosts). One thread per rank, f64. */
#define _POSIX_C_SOURCE 200809L /* for setenv */
#include <petscmat.h>
#include <sley.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WARMUP = 2, RANKS_MOST = 256 };

typedef struct job {
  const char *spec, *algo, *asked; /* asked: the transport */
  int64_t k;
  int repeats, rank, ranks;
  sley_matrix *matrix, *block;
  sley_matrix_info info;
  int64_t begin[RANKS_MOST + 1], first, rows;
  double *x, *y;  /* this rank's rows, row-major; y: Sley's result */
  double *rivals; /* PETSc's y, row-major */
  Mat a, b, c;
  double *petsc_ms, *sley_ms;
  double petsc_setup_ms, sley_setup_ms;
  char ran[64], transport[32];
  sley_traffic traffic;
  sley_check of_petsc, of_sley;
} job;

static double now_ms(void) {
  return MPI_Wtime() * 1e3;
}

/* The slowest rank's time since begin. */
static double slowest(double begin) {
  double mine = now_ms() - begin, most = mine;
  MPI_Allreduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD);
  return most;
}

static double start(void) {
  MPI_Barrier(PETSC_COMM_WORLD);
  return now_ms();
}

static PetscErrorCode make_matrix(job *j) {
  sley_csr csr;
  PetscInt *at = NULL, *col = NULL;
  PetscFunctionBeginUser;
  PetscCheck(sley_matrix_csr(j->block, &csr) == SLEY_OK, PETSC_COMM_SELF, PETSC_ERR_LIB, "%s",
             sley_last_error());
  int64_t first = csr.rowptr[0], count = csr.rowptr[csr.rows] - first;
  PetscCall(PetscMalloc2(csr.rows + 1, &at, count, &col));
  for (int64_t r = 0; r <= csr.rows; r++)
    at[r] = (PetscInt)(csr.rowptr[r] - first);
  for (int64_t e = 0; e < count; e++)
    col[e] = (PetscInt)(csr.index == SLEY_I32 ? ((const int32_t *)csr.col)[first + e]
                                              : ((const int64_t *)csr.col)[first + e]);
  PetscCall(MatCreateMPIAIJWithArrays(PETSC_COMM_WORLD, (PetscInt)j->rows, (PetscInt)j->rows,
                                      (PetscInt)j->info.rows, (PetscInt)j->info.cols, at, col,
                                      (const double *)csr.val + first, &j->a));
  PetscCall(PetscFree2(at, col));
  PetscFunctionReturn(0);
}

/* Makes X in PETSc's order, column after column. */
static PetscErrorCode make_dense(job *j) {
  PetscScalar *values;
  PetscInt ld;
  PetscFunctionBeginUser;
  PetscCall(MatCreateDense(PETSC_COMM_WORLD, (PetscInt)j->rows, PETSC_DECIDE, (PetscInt)j->info.cols,
                           (PetscInt)j->k, NULL, &j->b));
  PetscCall(MatDenseGetLDA(j->b, &ld));
  PetscCall(MatDenseGetArrayWrite(j->b, &values));
  for (int64_t r = 0; r < j->rows; r++)
    for (int64_t c = 0; c < j->k; c++)
      values[c * ld + r] = j->x[r * j->k + c];
  PetscCall(MatDenseRestoreArrayWrite(j->b, &values));
  PetscCall(MatAssemblyBegin(j->b, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(j->b, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

static PetscErrorCode take_result(job *j) {
  const PetscScalar *values;
  PetscInt ld;
  PetscFunctionBeginUser;
  PetscCall(MatDenseGetLDA(j->c, &ld));
  PetscCall(MatDenseGetArrayRead(j->c, &values));
  for (int64_t r = 0; r < j->rows; r++)
    for (int64_t c = 0; c < j->k; c++)
      j->rivals[r * j->k + c] = values[c * ld + r];
  PetscCall(MatDenseRestoreArrayRead(j->c, &values));
  PetscFunctionReturn(0);
}

static sley_status petsc_status(PetscErrorCode code) {
  return code ? SLEY_ERR_INTERNAL : SLEY_OK;
}

/* Compares all rows of both results on rank 0, which makes X again. */
static sley_status check(sley_comm *comm, job *j) {
  int64_t bytes[RANKS_MOST];
  void *x = NULL, *y = NULL;
  sley_status status = SLEY_OK;
  for (int r = 0; r < j->ranks; r++)
    bytes[r] = (j->begin[r + 1] - j->begin[r]) * j->k * (int64_t)sizeof(double);
  if (j->rank == 0)
    status = sley_buffer_alloc(j->info.rows * j->k * (int64_t)sizeof(double), &y);
  if (status == SLEY_OK && j->rank == 0)
    status = sley_buffer_alloc(j->info.cols * j->k * (int64_t)sizeof(double), &x);
  if (status == SLEY_OK && j->rank == 0)
    status = sley_dense_random(1, 0, j->info.cols, j->k, NULL, SLEY_F64, x, j->k);
  double *const results[] = {j->y, j->rivals};
  sley_check *const checks[] = {&j->of_sley, &j->of_petsc};
  for (int i = 0; i < 2 && status == SLEY_OK; i++) {
    status = sley_comm_gather(comm, 0, results[i], bytes, y);
    if (status == SLEY_OK && j->rank == 0)
      status = sley_check_spmm(j->matrix, false, j->k, x, j->k, y, j->k, 1, checks[i]);
  }
  sley_buffer_free(x);
  sley_buffer_free(y);
  return status;
}

/* Runs as one rank, with the same MPI as PETSc's rank. */
static sley_status compare(sley_comm *comm, void *arg) {
  job *j = arg;
  sley_plan *plan = NULL;
  sley_plan_info info;
  sley_plan_options options = SLEY_PLAN_OPTIONS_INIT;
  options.algo = j->algo;
  double begin = start();
  sley_status status = sley_plan_create(comm, j->block, j->begin, j->begin, j->k, &options, &plan);
  if (status != SLEY_OK)
    return status;
  j->sley_setup_ms = slowest(begin);
  status = sley_plan_info_get(plan, &info);
  snprintf(j->ran, sizeof j->ran, "%s", status == SLEY_OK ? info.algo : "");
  snprintf(j->transport, sizeof j->transport, "%s", sley_comm_transport(comm));
  begin = start();
  if (status == SLEY_OK)
    status = petsc_status(MatMatMult(j->a, j->b, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &j->c));
  j->petsc_setup_ms = slowest(begin);
  for (int i = -WARMUP; i < j->repeats && status == SLEY_OK; i++) {
    begin = start();
    status = petsc_status(MatMatMult(j->a, j->b, MAT_REUSE_MATRIX, PETSC_DEFAULT, &j->c));
    double ms = slowest(begin);
    if (i >= 0)
      j->petsc_ms[i] = ms;
    begin = start();
    if (status == SLEY_OK)
      status = sley_spmm(plan, 1, j->x, j->k, 0, j->y, j->k);
    ms = slowest(begin);
    if (i >= 0)
      j->sley_ms[i] = ms;
  }
  if (status == SLEY_OK)
    status = sley_plan_counted(plan, &j->traffic);
  if (status == SLEY_OK)
    status = petsc_status(take_result(j));
  if (status == SLEY_OK)
    status = check(comm, j);
  sley_plan_destroy(plan);
  return status;
}

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void print_times(const char *name, double *ms, int count, double setup, const sley_check *checked) {
  qsort(ms, (size_t)count, sizeof *ms, by_size);
  printf(
      "\"%s\": {\"median_ms\": %.4f, \"min_ms\": %.4f, \"setup_ms\": %.3f, \"max_error\": %.3g, \"ok\": %s}",
      name, ms[count / 2], ms[0], setup, checked->max_error, checked->ok ? "true" : "false");
}

static void print_job(job *j) {
  char version[256];
  PetscGetVersion(version, sizeof version);
  version[strcspn(version, ",\"\n")] = '\0';
  printf("{\"matrix\": \"%s\", \"rows\": %lld, \"nnz\": %lld, \"k\": %lld, \"ranks\": %d, \"algo\": \"%s\", "
         "\"transport\": "
         "\"%s\", \"message_bytes\": %lld, \"direct_bytes\": %lld, \"version\": \"%s\", ",
         j->spec, (long long)j->info.rows, (long long)j->info.nnz, (long long)j->k, j->ranks, j->ran,
         j->transport, (long long)j->traffic.message_bytes, (long long)j->traffic.direct_bytes, version);
  print_times("petsc", j->petsc_ms, j->repeats, j->petsc_setup_ms, &j->of_petsc);
  printf(", ");
  print_times("sley", j->sley_ms, j->repeats, j->sley_setup_ms, &j->of_sley);
  printf("}\n");
}

/* Loads matrix, row block and operands. */
static sley_status load(job *j) {
  sley_read_options options = SLEY_READ_OPTIONS_INIT;
  options.dtype = SLEY_F64;
  options.threads = 1;
  sley_status status = sley_matrix_read(j->spec, &options, &j->matrix);
  if (status == SLEY_OK)
    status = sley_matrix_info_get(j->matrix, &j->info);
  if (status == SLEY_OK)
    status = sley_partition_rows(j->matrix, "rows", j->ranks, j->begin);
  if (status != SLEY_OK)
    return status;
  j->first = j->begin[j->rank];
  j->rows = j->begin[j->rank + 1] - j->first;
  j->x = calloc((size_t)(j->rows * j->k) + 1, sizeof *j->x);
  j->y = calloc((size_t)(j->rows * j->k) + 1, sizeof *j->y);
  j->rivals = calloc((size_t)(j->rows * j->k) + 1, sizeof *j->rivals);
  j->petsc_ms = calloc((size_t)j->repeats, sizeof *j->petsc_ms);
  j->sley_ms = calloc((size_t)j->repeats, sizeof *j->sley_ms);
  if (!j->x || !j->y || !j->rivals || !j->petsc_ms || !j->sley_ms)
    return SLEY_ERR_MEMORY;
  status = sley_matrix_row_block(j->matrix, j->first, j->rows, &j->block);
  if (status == SLEY_OK)
    status = sley_dense_random(1, j->first, j->rows, j->k, NULL, SLEY_F64, j->x, j->k);
  return status;
}

static PetscErrorCode run(job *j, sley_status *status) {
  PetscFunctionBeginUser;
  MPI_Comm_rank(PETSC_COMM_WORLD, &j->rank);
  MPI_Comm_size(PETSC_COMM_WORLD, &j->ranks);
  PetscCheck(j->ranks <= RANKS_MOST, PETSC_COMM_WORLD, PETSC_ERR_SUP, "at most %d ranks", RANKS_MOST);
  *status = load(j);
  PetscCheck(*status == SLEY_OK, PETSC_COMM_SELF, PETSC_ERR_LIB, "%s", sley_last_error());
  PetscCall(make_matrix(j));
  PetscCall(make_dense(j));
  sley_rank_options options = SLEY_RANK_OPTIONS_INIT;
  options.ranks = j->ranks;
  options.threads = 1;
  options.transport = j->asked;
  *status = sley_run_ranks(&options, compare, j);
  if (*status != SLEY_OK)
    fprintf(stderr, "rank %d: %s: %s\n", j->rank, sley_status_name(*status), sley_last_error());
  else if (j->rank == 0)
    print_job(j);
  PetscCall(MatDestroy(&j->a));
  PetscCall(MatDestroy(&j->b));
  PetscCall(MatDestroy(&j->c));
  PetscFunctionReturn(0);
}

static void release(job *j) {
  sley_matrix_destroy(j->block);
  sley_matrix_destroy(j->matrix);
  free(j->x);
  free(j->y);
  free(j->rivals);
  free(j->petsc_ms);
  free(j->sley_ms);
}

int main(int argc, char **argv) {
  job j = {.spec = argc > 1 ? argv[1] : NULL};
  sley_status status = SLEY_ERR_ARG;
  if (argc < 5 || argc > 7 || (j.k = atoll(argv[2])) < 1 || (j.repeats = atoi(argv[3])) < 1) {
    fprintf(stderr, "usage: mpirun -n P bench_petsc MATRIX K REPEATS ALGORITHM [TRANSPORT [ADDRESS]]\n");
    return 2;
  }
  j.algo = argv[4];
  j.asked = argc > 5 ? argv[5] : "mpi";
  if (argc > 6) {
    setenv("MASTER_ADDR", argv[6], 1);
    setenv("MASTER_PORT", "29411", 1);
  }
  int words = 1; /* hides the words from PETSc */
  PetscErrorCode code = PetscInitialize(&words, &argv, NULL, NULL);
  if (!code)
    code = run(&j, &status);
  release(&j);
  if (code || status != SLEY_OK) {
    MPI_Abort(MPI_COMM_WORLD, 1);
    return 1;
  }
  return PetscFinalize() ? 1 : j.rank == 0 && !(j.of_petsc.ok && j.of_sley.ok);
}
