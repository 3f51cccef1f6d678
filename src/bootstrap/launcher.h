/* SPDX-License-Identifier: Apache-2.0 */
/* The launcher that started this process as one rank of several, from its environment variables. */
#ifndef SLEY_BOOTSTRAP_LAUNCHER_H
#define SLEY_BOOTSTRAP_LAUNCHER_H

#include "base/status.h"

typedef struct sl_launcher {
  const char *name; /* "variables" (torchrun), "mpi" (mpirun, or srun if MPI knows the ranks), "srun"; NULL:
                       no launcher, and the other fields are 0 */
  const char *rank_variable, *size_variable;
  int rank, size;
  int local_rank, local_size; /* rank among the ranks of this host, and their number; -1 and 0: not known */
} sl_launcher;

/* Reads RANK and WORLD_SIZE; OMPI_COMM_WORLD_RANK and _SIZE (Open MPI); PMI_RANK and PMI_SIZE (MPICH, srun).
 * If none of these is set: SLURM_PROCID and SLURM_STEP_NUM_TASKS of a step of several tasks only, because a
 * batch script, and processes that mpirun or torchrun start below srun, have SLURM's variables too. Errors:
 * SLEY_ERR_ARG (a variable is missing or not a number; two disagree: both are named). */
sley_status sl_launcher_find(sl_launcher *out);

/* Reads a whole number from an environment variable. Errors: SLEY_ERR_ARG (not set, not a number, out of
 * range). */
sley_status sl_variable_number(const char *name, int64_t least, int64_t most, int *out);

enum { SL_RANKS_MOST = 65536 };

#endif
