/* SPDX-License-Identifier: Apache-2.0 */
/* Starts the ranks of transport mpi: this command line again, under mpirun. */
#include "ranks/mpirun.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "ranks/processes.h"

static char **words;
static int word_count;

void cli_keep_words(int count, char **all) {
  words = all;
  word_count = count;
}

char **cli_kept_words(int *count) {
  *count = word_count;
  return words;
}

const char *cli_this_program(void) {
  static char self[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  self[length > 0 ? length : 0] = '\0';
  return length > 0 ? self : words[0];
}

bool cli_wants_mpirun(const char *transport) {
  return transport && strcmp(transport, "mpi") == 0 && !cli_launched();
}

/* Makes mpirun allow more ranks than there are cores, and not bind them to cores, so that they share the
 * cores of a host as forked ranks do. */
static void set_habits(void) {
  static const char *const habits[][2] = {{"OMPI_MCA_rmaps_base_oversubscribe", "1"},
                                          {"OMPI_MCA_hwloc_base_binding_policy", "none"},
                                          {"PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"},
                                          {"PRTE_MCA_hwloc_default_binding_policy", "none"}};
  for (size_t i = 0; i < sizeof habits / sizeof *habits; i++)
    setenv(habits[i][0], habits[i][1], 0);
}

int cli_run_mpirun(int64_t ranks) {
  char number[32];
  sley_status status = sley_transport_found("mpi");
  if (status != SLEY_OK)
    return cli_finish(status);
  const char **line = malloc(((size_t)word_count + 4) * sizeof *line);
  if (!line)
    return cli_refuse(SLEY_ERR_MEMORY, "out of memory");
  snprintf(number, sizeof number, "%lld", (long long)ranks);
  line[0] = "mpirun";
  line[1] = "-n";
  line[2] = number;
  line[3] = cli_this_program();
  for (int i = 1; i < word_count; i++)
    line[3 + i] = words[i];
  line[3 + word_count] = NULL;
  set_habits();
  execvp(line[0], (char **)line);
  int reason = errno;
  free(line);
  if (reason == ENOENT)
    return cli_refuse(SLEY_ERR_UNSUPPORTED, "transport mpi starts its ranks by mpirun, which is not on PATH: "
                                            "install it, or choose --transport tcp");
  return cli_refuse(SLEY_ERR_IO, "mpirun cannot be started: %s", strerror(reason));
}
