/* SPDX-License-Identifier: Apache-2.0 */
/* Who has started a process, as the variables of torchrun, Open MPI, MPICH and SLURM tell, alone, together
 * and against each other. */
#include "bootstrap/launcher.h"
#include "support.h"

/* All variables that are read. */
static const char *const NAMES[] = {"RANK",
                                    "WORLD_SIZE",
                                    "LOCAL_RANK",
                                    "LOCAL_WORLD_SIZE",
                                    "OMPI_COMM_WORLD_RANK",
                                    "OMPI_COMM_WORLD_SIZE",
                                    "OMPI_COMM_WORLD_LOCAL_RANK",
                                    "OMPI_COMM_WORLD_LOCAL_SIZE",
                                    "PMI_RANK",
                                    "PMI_SIZE",
                                    "MPI_LOCALRANKID",
                                    "MPI_LOCALNRANKS",
                                    "PMIX_RANK",
                                    "SLURM_PROCID",
                                    "SLURM_LOCALID",
                                    "SLURM_STEP_NUM_TASKS",
                                    "SLURM_STEP_TASKS_PER_NODE"};

/* Sets the environment to the words "NAME=VALUE" alone. */
static void set_only(const char *words) {
  char copy[512], *rest = copy;
  for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
    unsetenv(NAMES[i]);
  snprintf(copy, sizeof copy, "%s", words);
  for (char *word; (word = strtok_r(rest, " ", &rest));) {
    char *value = strchr(word, '=');
    assert_non_null(value);
    *value = '\0';
    bool known = false;
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
      known = known || strcmp(NAMES[i], word) == 0;
    assert_true(known); /* else the next test would still see it */
    setenv(word, value + 1, 1);
  }
}

typedef struct found_case {
  const char *variables, *name;
  int rank, size, local_rank, local_size;
  const char *rank_variable;
} found_case;

static void test_found(void **state) {
  (void)state;
  static const found_case cases[] = {
      {"", NULL, 0, 0, -1, 0, NULL},
      {"RANK=3 WORLD_SIZE=4", "variables", 3, 4, -1, 0, "RANK"},
      {"RANK=3 WORLD_SIZE=4 LOCAL_RANK=1 LOCAL_WORLD_SIZE=2", "variables", 3, 4, 1, 2, "RANK"},
      {"OMPI_COMM_WORLD_RANK=5 OMPI_COMM_WORLD_SIZE=8 OMPI_COMM_WORLD_LOCAL_RANK=1 "
       "OMPI_COMM_WORLD_LOCAL_SIZE=4",
       "mpi", 5, 8, 1, 4, "OMPI_COMM_WORLD_RANK"},
      {"PMI_RANK=2 PMI_SIZE=3 MPI_LOCALRANKID=0 MPI_LOCALNRANKS=1", "mpi", 2, 3, 0, 1, "PMI_RANK"},
      {"PMI_RANK=2 PMI_SIZE=3", "mpi", 2, 3, -1, 0, "PMI_RANK"},
      {"PMI_RANK=2", NULL, 0, 0, -1, 0, NULL}, /* half of a pair that MPI alone would set is not a launcher */
      /* A step of SLURM, with what its hosts have. */
      {"SLURM_PROCID=6 SLURM_STEP_NUM_TASKS=9 SLURM_LOCALID=2 SLURM_STEP_TASKS_PER_NODE=4(x2),1", "srun", 6,
       9, 2, 4, "SLURM_PROCID"},
      {"SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=2 PMIX_RANK=0", "mpi", 0, 2, -1, 0, "SLURM_PROCID"},
      /* A batch script, and the only task of a step, are nobody's ranks. */
      {"SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=1", NULL, 0, 0, -1, 0, NULL},
      {"SLURM_PROCID=0", NULL, 0, 0, -1, 0, NULL},
      /* Two that agree: the first of the list names it. */
      {"RANK=1 WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2", "variables", 1, 2, -1, 0, "RANK"},
      {"OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 PMI_RANK=1 PMI_SIZE=2", "mpi", 1, 2, -1, 0,
       "OMPI_COMM_WORLD_RANK"},
      /* mpirun and torchrun below srun: SLURM counts its own tasks. */
      {"OMPI_COMM_WORLD_RANK=7 OMPI_COMM_WORLD_SIZE=8 SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=2", "mpi", 7, 8, -1,
       0, "OMPI_COMM_WORLD_RANK"},
      {"RANK=3 WORLD_SIZE=4 SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=2", "variables", 3, 4, -1, 0, "RANK"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const found_case *c = &cases[i];
    sl_launcher found;
    set_only(c->variables);
    if (sl_launcher_find(&found) != SLEY_OK)
      fail_msg("%s: %s", c->variables, sley_last_error());
    bool same = (c->name ? found.name && strcmp(found.name, c->name) == 0 : !found.name) &&
                found.rank == c->rank && found.size == c->size && found.local_rank == c->local_rank &&
                found.local_size == c->local_size;
    if (!same)
      fail_msg("%s: %s, rank %d of %d, local %d of %d", c->variables, found.name ? found.name : "nobody",
               found.rank, found.size, found.local_rank, found.local_size);
    if (c->rank_variable)
      assert_string_equal(found.rank_variable, c->rank_variable);
  }
}

static void test_refused(void **state) {
  (void)state;
  static const char *const cases[][2] = {
      /* Two sources that disagree are both named. */
      {"RANK=1 WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2",
       "RANK is 1, but OMPI_COMM_WORLD_RANK is 0: two launchers disagree"},
      {"RANK=1 WORLD_SIZE=2 PMI_RANK=1 PMI_SIZE=4",
       "WORLD_SIZE is 2, but PMI_SIZE is 4: two launchers disagree"},
      {"OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 PMI_RANK=0 PMI_SIZE=2",
       "OMPI_COMM_WORLD_RANK is 1, but PMI_RANK is 0: two launchers disagree"},
      /* The third with the first. */
      {"RANK=1 WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 PMI_RANK=0 PMI_SIZE=2",
       "RANK is 1, but PMI_RANK is 0: two launchers disagree"},
      /* Halves, and what are no numbers. */
      {"RANK=1", "WORLD_SIZE is not set"},
      {"WORLD_SIZE=2", "RANK is not set"},
      {"OMPI_COMM_WORLD_RANK=2 OMPI_COMM_WORLD_SIZE=2",
       "OMPI_COMM_WORLD_RANK is 2, but OMPI_COMM_WORLD_SIZE"},
      {"PMI_RANK=one PMI_SIZE=2", "PMI_RANK is \"one\""},
      {"PMI_RANK=0 PMI_SIZE=0", "PMI_SIZE is \"0\""},
      {"PMI_RANK=0 PMI_SIZE=99999999999999999999", "PMI_SIZE is \"99999999999999999999\""},
      {"RANK=1 WORLD_SIZE=2 LOCAL_RANK=2", "LOCAL_RANK is 2, but RANK is 1"},
      {"RANK=1 WORLD_SIZE=2 LOCAL_WORLD_SIZE=0", "LOCAL_WORLD_SIZE is \"0\""},
      {"SLURM_PROCID=2 SLURM_STEP_NUM_TASKS=2", "SLURM_PROCID is 2, but SLURM_STEP_NUM_TASKS is 2"},
      {"SLURM_PROCID=-1 SLURM_STEP_NUM_TASKS=2", "SLURM_PROCID is \"-1\""},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    sl_launcher found;
    set_only(cases[i][0]);
    assert_int_equal(sl_launcher_find(&found), SLEY_ERR_ARG);
    if (!strstr(sley_last_error(), cases[i][1]))
      fail_msg("%s: \"%s\" does not say \"%s\"", cases[i][0], sley_last_error(), cases[i][1]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_found), cmocka_unit_test(test_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
