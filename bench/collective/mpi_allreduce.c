/* SPDX-License-Identifier: Apache-2.0 */
/* An all-reduce of Sley and MPI_Allreduce: under mpirun the ranks sum f32 arrays, in which a share of the
 * values is zero, by both in turn. A time is the slowest rank's, from a barrier on. Values are small
 * integers, so that both results must be equal. Rank 0 prints one line of JSON. Usage: mpirun -n P
 * bench_mpi_allreduce BYTES ZEROS REPEATS SEED [ADDRESS]. ADDRESS: where rank 0 is reached, on several hosts.
 * One thread for each rank. */
#define _POSIX_C_SOURCE 200809L /* for setenv */
#include <mpi.h>
#include <sley.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WARMUP = 2, LARGEST = 8 };

typedef struct job {
  int64_t count, repeats, seed;
  double zeros;
  int rank, ranks;
  float *src, *sum, *rivals; /* sum: Sley's result; rivals: MPI's */
  double *sley_ms, *mpi_ms;
  int64_t numbers[3]; /* totals over all ranks: bytes sent, bytes that a dense all-reduce sends, values that
                       * differ */
  char path[64], reason[128], transport[32];
} job;

/* ---- arrays */

/* The function of Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014. */
static uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
  return x ^ (x >> 31);
}

static void draw(const job *j) {
  const uint64_t start = mix((uint64_t)j->seed * 4096 + (uint64_t)j->rank + 1);
  for (int64_t i = 0; i < j->count; i++) {
    const uint64_t bits = mix(start + (uint64_t)i * UINT64_C(0x9e3779b97f4a7c15));
    const int value = (int)(bits & (LARGEST - 1)) + 1;
    const double chance = (double)(bits >> 11) * 0x1p-53;
    j->src[i] = chance < j->zeros ? 0 : (float)(bits >> 3 & 1 ? value : -value);
  }
}

static sley_status take(job *j) {
  const size_t bytes = (size_t)j->count * sizeof(float);
  j->src = malloc(bytes);
  j->sum = malloc(bytes);
  j->rivals = malloc(bytes);
  j->sley_ms = calloc((size_t)j->repeats, sizeof *j->sley_ms);
  j->mpi_ms = calloc((size_t)j->repeats, sizeof *j->mpi_ms);
  if (!j->src || !j->sum || !j->rivals || !j->sley_ms || !j->mpi_ms)
    return SLEY_ERR_MEMORY;
  draw(j);
  return SLEY_OK;
}

static void give(job *j) {
  free(j->src);
  free(j->sum);
  free(j->rivals);
  free(j->sley_ms);
  free(j->mpi_ms);
}

/* ---- the run */

static double start(void) {
  MPI_Barrier(MPI_COMM_WORLD);
  return MPI_Wtime();
}

/* The slowest rank's milliseconds since begin. */
static double slowest(double begin) {
  double mine = (MPI_Wtime() - begin) * 1e3, most = mine;
  MPI_Allreduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return most;
}

static sley_status by_mpi(const job *j, double *ms) {
  const double begin = start();
  const int code = MPI_Allreduce(j->src, j->rivals, (int)j->count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  *ms = slowest(begin);
  return code == MPI_SUCCESS ? SLEY_OK : SLEY_ERR_PEER;
}

static sley_status by_sley(const job *j, sley_collective *collective, double *ms) {
  const double begin = start();
  const sley_status status = sley_collective_run(collective, j->src, j->sum);
  *ms = slowest(begin);
  return status;
}

/* Runs both in turn; each is first equally often. */
static sley_status time_both(const job *j, sley_collective *collective) {
  sley_status status = SLEY_OK;
  for (int64_t i = -WARMUP; i < j->repeats && status == SLEY_OK; i++) {
    double sley_ms = 0, mpi_ms = 0;
    if (i % 2 == 0)
      status = by_mpi(j, &mpi_ms);
    if (status == SLEY_OK)
      status = by_sley(j, collective, &sley_ms);
    if (status == SLEY_OK && i % 2 != 0)
      status = by_mpi(j, &mpi_ms);
    if (i >= 0) {
      j->sley_ms[i] = sley_ms;
      j->mpi_ms[i] = mpi_ms;
    }
  }
  return status;
}

static sley_status note(job *j, const sley_collective *collective) {
  sley_collective_info info;
  const sley_status status = sley_collective_info_get(collective, &info);
  if (status != SLEY_OK)
    return status;
  snprintf(j->path, sizeof j->path, "%s", info.path);
  snprintf(j->reason, sizeof j->reason, "%s", info.reason);
  int64_t mine[3] = {info.sent, info.dense_sent, 0};
  for (int64_t i = 0; i < j->count; i++)
    mine[2] += j->sum[i] != j->rivals[i];
  MPI_Allreduce(mine, j->numbers, 3, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  return SLEY_OK;
}

/* Runs as one rank, on MPI's ranks. */
static sley_status compare(sley_comm *comm, void *arg) {
  job *j = arg;
  sley_collective *collective = NULL;
  sley_collective_options options = SLEY_COLLECTIVE_OPTIONS_INIT;
  options.count = j->count;
  options.compress = SLEY_COMPRESS_AUTO;
  snprintf(j->transport, sizeof j->transport, "%s", sley_comm_transport(comm));
  sley_status status = sley_collective_create(comm, &options, &collective);
  if (status != SLEY_OK)
    return status;
  status = time_both(j, collective);
  if (status == SLEY_OK)
    status = note(j, collective);
  sley_collective_destroy(collective);
  return status;
}

/* ---- output */

static void print_times(const char *name, const double *ms, int64_t count) {
  printf("\"%s\": [", name);
  for (int64_t i = 0; i < count; i++)
    printf("%s%.4f", i > 0 ? ", " : "", ms[i]);
  printf("], ");
}

static void print_job(const job *j) {
  char version[MPI_MAX_LIBRARY_VERSION_STRING + 1] = "";
  int length;
  MPI_Get_library_version(version, &length);
  version[strcspn(version, ",\"\n")] = '\0';
  printf("{\"size\": %lld, \"zeros\": %.9g, \"ranks\": %d, \"seed\": %lld, \"transport\": \"%s\", "
         "\"path\": \"%s\", \"reason\": \"%s\", \"version\": \"%s\", ",
         (long long)(j->count * (int64_t)sizeof(float)), j->zeros, j->ranks, (long long)j->seed, j->transport,
         j->path, j->reason, version);
  print_times("sley_ms", j->sley_ms, j->repeats);
  print_times("mpi_ms", j->mpi_ms, j->repeats);
  printf("\"wire_bytes\": %lld, \"dense_wire_bytes\": %lld, \"wrong\": %lld}\n", (long long)j->numbers[0],
         (long long)j->numbers[1], (long long)j->numbers[2]);
}

static sley_status run(job *j) {
  sley_rank_options options = SLEY_RANK_OPTIONS_INIT;
  options.ranks = j->ranks;
  options.threads = 1;
  options.device = "cpu";
  options.transport = "mpi";
  sley_status status = take(j);
  if (status != SLEY_OK) {
    fprintf(stderr, "bench_mpi_allreduce: rank %d: out of memory\n", j->rank);
    return status;
  }
  status = sley_run_ranks(&options, compare, j);
  if (status != SLEY_OK)
    fprintf(stderr, "bench_mpi_allreduce: rank %d: %s\n", j->rank, sley_last_error());
  else if (j->rank == 0)
    print_job(j);
  return status;
}

/* Reads the command line; returns whether it is valid. */
static bool read_words(int argc, char **argv, job *j) {
  if (argc < 5 || argc > 6)
    return false;
  j->count = atoll(argv[1]) / (int64_t)sizeof(float);
  j->zeros = atof(argv[2]);
  j->repeats = atoll(argv[3]);
  j->seed = atoll(argv[4]);
  return j->count >= 1 && j->count <= INT32_MAX && j->zeros >= 0 && j->zeros <= 1 && j->repeats >= 1 &&
         j->repeats <= 1000000;
}

int main(int argc, char **argv) {
  job j = {0};
  int level;
  if (!read_words(argc, argv, &j)) {
    fprintf(stderr, "usage: mpirun -n P bench_mpi_allreduce BYTES ZEROS REPEATS SEED [ADDRESS]\n");
    return 2;
  }
  if (argc > 5) {
    setenv("MASTER_ADDR", argv[5], 1);
    setenv("MASTER_PORT", "29411", 1);
  }
  if (MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level) != MPI_SUCCESS)
    return 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &j.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &j.ranks);
  const sley_status status = run(&j);
  give(&j);
  if (status != SLEY_OK)
    MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Finalize();
  return status != SLEY_OK || (j.rank == 0 && j.numbers[2] > 0);
}
