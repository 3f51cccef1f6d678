/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the launcher that started this process, from its environment variables. */
#include "bootstrap/launcher.h"

#include <errno.h>
#include <stdlib.h>

/* The variables that one kind of launcher sets. */
typedef struct source {
  const char *name, *rank, *size, *local_rank, *local_size;
} source;

static const source sources[] = {{"variables", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"},
                                 {"mpi", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                                  "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
                                 {"mpi", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"}};
static const source srun = {"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", NULL};

sley_status sl_variable_number(const char *name, int64_t least, int64_t most, int *out) {
  const char *text = getenv(name);
  if (!text || !*text)
    return sl_fail(
        SLEY_ERR_ARG,
        "the variable %s is not set: a launcher sets RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT", name);
  char *end;
  errno = 0;
  long long value = strtoll(text, &end, 10);
  if (errno || *end || value < least || value > most)
    return sl_fail(SLEY_ERR_ARG, "the variable %s is \"%s\": it must be a whole number from %lld to %lld",
                   name, text, (long long)least, (long long)most);
  *out = (int)value;
  return SLEY_OK;
}

static sley_status read_source(const source *s, sl_launcher *out) {
  *out = (sl_launcher){.name = s->name, .rank_variable = s->rank, .size_variable = s->size, .local_rank = -1};
  SL_TRY(sl_variable_number(s->size, 1, SL_RANKS_MOST, &out->size));
  SL_TRY(sl_variable_number(s->rank, 0, SL_RANKS_MOST, &out->rank));
  if (out->rank >= out->size)
    return sl_fail(SLEY_ERR_ARG, "%s is %d, but %s is %d: ranks are numbered from 0 to %s - 1", s->rank,
                   out->rank, s->size, out->size, s->size);
  if (getenv(s->local_rank)) {
    SL_TRY(sl_variable_number(s->local_rank, 0, SL_RANKS_MOST, &out->local_rank));
    if (out->local_rank > out->rank)
      return sl_fail(SLEY_ERR_ARG, "%s is %d, but %s is %d: a local rank cannot be greater than the rank",
                     s->local_rank, out->local_rank, s->rank, out->rank);
  }
  if (s->local_size && getenv(s->local_size))
    SL_TRY(sl_variable_number(s->local_size, 1, SL_RANKS_MOST, &out->local_size));
  return SLEY_OK;
}

static sley_status compare(const char *a, int of_a, const char *b, int of_b) {
  if (of_a == of_b)
    return SLEY_OK;
  return sl_fail(SLEY_ERR_ARG, "%s is %d, but %s is %d: two launchers disagree; unset the variables of one",
                 a, of_a, b, of_b);
}

/* The number of ranks of a SLURM step on this host: the first number of SLURM_STEP_TASKS_PER_NODE, as in
 * "4(x2),1". */
static int tasks_here(int size) {
  const char *text = getenv("SLURM_STEP_TASKS_PER_NODE");
  int count = text ? atoi(text) : 0;
  return count >= 1 && count <= size ? count : 0;
}

static sley_status find_srun(sl_launcher *out) {
  const char *tasks = getenv(srun.size);
  if (!tasks || atoi(tasks) < 2 || !getenv(srun.rank))
    return SLEY_OK;
  SL_TRY(read_source(&srun, out));
  out->local_size = tasks_here(out->size);
  if (getenv("PMIX_RANK"))
    out->name = "mpi";
  return SLEY_OK;
}

sley_status sl_launcher_find(sl_launcher *out) {
  *out = (sl_launcher){.local_rank = -1};
  for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
    const source *s = &sources[i];
    bool rank = getenv(s->rank) != NULL, size = getenv(s->size) != NULL;
    if (i == 0 ? !rank && !size : !rank || !size)
      continue;
    sl_launcher found;
    SL_TRY(read_source(s, &found));
    if (!out->name) {
      *out = found;
      continue;
    }
    SL_TRY(compare(out->rank_variable, out->rank, s->rank, found.rank));
    SL_TRY(compare(out->size_variable, out->size, s->size, found.size));
  }
  return out->name ? SLEY_OK : find_srun(out);
}
