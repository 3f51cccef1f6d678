/* SPDX-License-Identifier: Apache-2.0 */
/* Who has started this process as one rank of several, as its variables tell. */
#ifndef SLEY_BOOTSTRAP_LAUNCHER_H
#define SLEY_BOOTSTRAP_LAUNCHER_H

#include "base/status.h"

typedef struct sl_launcher {
  const char *name; /* "variables" (torchrun), "mpi" (mpirun, or srun where MPI knows the ranks), "srun";
                       NULL: nobody, and the rest is 0 */
  const char *rank_variable, *size_variable;
  int rank, size;
  int local_rank, local_size; /* among the ranks of this host; -1 and 0: not told */
} sl_launcher;

/* Reads RANK and WORLD_SIZE; OMPI_COMM_WORLD_RANK and _SIZE (Open MPI); PMI_RANK and PMI_SIZE (MPICH, srun);
 * and where none of these is set, SLURM_PROCID and SLURM_STEP_NUM_TASKS of a step of several tasks, for a
 * batch script, and processes that mpirun or torchrun start below srun, have SLURM's variables too. Errors:
 * SLEY_ERR_ARG (one that is missing or no number; two that disagree: both are named). */
sley_status sl_launcher_find(sl_launcher *out);

/* A whole number from a variable. Errors: SLEY_ERR_ARG (not set, no number, out of range). */
sley_status sl_variable_number(const char *name, int64_t least, int64_t most, int *out);

enum { SL_RANKS_MOST = 65536 };

#endif
