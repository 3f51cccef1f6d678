/* SPDX-License-Identifier: Apache-2.0 */
/* Time of a get of a tile from another workgroup of this host, beside a loop of MPI_Rget and MPI_Win_flush on
 * a window of MPI_Win_create that has the same kind of memory, and the time of a get while its owner
 * computes. The two loops alternate. Run on 2 ranks; by hand, because it measures times.
 *
 *   mpirun -n 2 get_rate [BYTES] */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "sley.h"
#include "transport/transport.h"

enum { ROUNDS = 41, GETS = 50, SLOW_GETS = 200 };
static const double COMPUTES = 3; /* seconds */

static void check(sley_status status) {
  if (status == SLEY_OK)
    return;
  fprintf(stderr, "get_rate: %s\n", sley_last_error());
  exit(1);
}

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double quantile(double *values, int count, double part) {
  qsort(values, (size_t)count, sizeof *values, compare);
  return values[(int)(part * (count - 1))];
}

static double by_sley(sl_symm *symm, char *dst, int64_t bytes) {
  double begin = sl_now();
  for (int i = 0; i < GETS; i++)
    check(sl_get(symm, 1, 0, dst, bytes));
  return (sl_now() - begin) / GETS;
}

static double by_mpi(MPI_Win win, char *dst, int64_t bytes) {
  double begin = sl_now();
  for (int i = 0; i < GETS; i++) {
    MPI_Get(dst, (int)bytes, MPI_BYTE, 1, 0, (int)bytes, MPI_BYTE, win);
    MPI_Win_flush(1, win);
  }
  return (sl_now() - begin) / GETS;
}

/* Rank 0 gets from rank 1, which waits in a barrier of the comm meanwhile. */
static void compare_rates(sl_comm *comm, sl_symm *symm, MPI_Win win, char *dst, int64_t bytes) {
  double sley[ROUNDS], mpi[ROUNDS], ratio[ROUNDS];
  for (int i = 0; i < ROUNDS && comm->rank == 0; i++) {
    sley[i] = by_sley(symm, dst, bytes);
    mpi[i] = by_mpi(win, dst, bytes);
    ratio[i] = mpi[i] / sley[i];
  }
  check(comm->ops->barrier(comm));
  if (comm->rank == 0)
    printf(
        "get of %lld bytes: %.1f us, MPI_Get and MPI_Win_flush %.1f us (medians of %d x %d); median ratio of "
        "rates %.2f\n",
        (long long)bytes, 1e6 * quantile(sley, ROUNDS, 0.5), 1e6 * quantile(mpi, ROUNDS, 0.5), ROUNDS, GETS,
        quantile(ratio, ROUNDS, 0.5));
}

/* Rank 0 gets from rank 1, which makes no call meanwhile. */
static void get_from_worker(sl_comm *comm, sl_symm *symm, char *dst, int64_t bytes) {
  double took[SLOW_GETS], begin = sl_now();
  int count = 0;
  if (comm->rank == 1)
    while (sl_now() - begin < COMPUTES)
      continue;
  while (comm->rank == 0 && count < SLOW_GETS && sl_now() - begin < COMPUTES / 2) {
    double from = sl_now();
    check(sl_get(symm, 1, 0, dst, bytes));
    took[count++] = sl_now() - from;
  }
  check(comm->ops->barrier(comm));
  if (comm->rank == 0)
    printf("get from a rank that computes: median %.1f us, 90 %% below %.1f us, of %d\n",
           1e6 * quantile(took, count, 0.5), 1e6 * quantile(took, count, 0.9), count);
}

int main(int argc, char **argv) {
  int64_t bytes = argc > 1 ? atoll(argv[1]) : 256 * 1024;
  const char *name = argc > 2 ? argv[2] : "mpi";
  sl_comm *comm;
  sl_symm *symm;
  char *dst = malloc((size_t)bytes);
  void *own = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  MPI_Win win = MPI_WIN_NULL;
  if (!dst || own == MAP_FAILED)
    return 1;
  sley_comm_options options = SLEY_COMM_OPTIONS_INIT;
  options.transport = name;
  options.workgroup = options.threads = 1;
  check(sley_comm_open(&options, &comm));
  if (comm->size != 2) {
    fprintf(stderr, "get_rate: runs on 2 ranks\n");
    return 1;
  }
  check(sl_symm_alloc(comm, bytes, &symm));
  memset(sl_peer_ptr(symm, comm->rank), comm->rank, (size_t)bytes);
  memset(own, comm->rank, (size_t)bytes);
  memset(dst, 2, (size_t)bytes);
  if (strcmp(name, "mpi") == 0) {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (MPI_Win_create(own, (MPI_Aint)bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win) == MPI_SUCCESS)
      MPI_Win_lock_all(0, win);
    else
      win = MPI_WIN_NULL; /* on every rank */
  }
  check(comm->ops->barrier(comm));
  if (win != MPI_WIN_NULL)
    compare_rates(comm, symm, win, dst, bytes);
  get_from_worker(comm, symm, dst, bytes);
  if (comm->rank == 0 && dst[bytes - 1] != 1)
    printf("WRONG: the value is %d\n", dst[bytes - 1]);
  if (comm->rank == 0 && *sley_comm_device_note(comm))
    printf("note: %s\n", sley_comm_device_note(comm));
  if (win != MPI_WIN_NULL) {
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
  }
  sl_symm_free(symm);
  check(sley_comm_close(comm));
  munmap(own, (size_t)bytes);
  free(dst);
  return 0;
}
