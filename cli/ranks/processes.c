/* SPDX-License-Identifier: Apache-2.0 */
/* Runs whose ranks are processes, and the shared memory through which these return results. */
#include "ranks/processes.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "command.h"

static char **words;
static int word_count;

void cli_keep_words(int count, char **all) {
  words = all;
  word_count = count;
}

bool cli_launched(void) {
  const char *name;
  int rank, ranks;
  return sley_launcher(&name, &rank, &ranks) == SLEY_OK && name;
}

static const char *transport_of(const char *launcher, const char *device) {
  if (strcmp(device, "cuda") == 0)
    return "nccl";
  return strcmp(launcher, "mpi") == 0 && sley_transport_found("mpi") == SLEY_OK ? "mpi" : "tcp";
}

sley_status cli_transport(const char *asked, const char *device, const char **out) {
  const char *launcher;
  int rank, ranks;
  *out = asked && strcmp(asked, "threads") != 0 ? asked : NULL;
  sley_status status = sley_launcher(&launcher, &rank, &ranks);
  if (status == SLEY_OK && launcher && !asked)
    *out = transport_of(launcher, device);
  return status;
}

int64_t cli_ranks(int64_t ranks, const char *transport) {
  const char *launcher;
  int rank, launched;
  if (cli_given("ranks") || !transport || sley_launcher(&launcher, &rank, &launched) != SLEY_OK || !launcher)
    return ranks;
  return launched;
}

bool cli_is_first(void) {
  const char *launcher;
  int rank, ranks;
  return sley_launcher(&launcher, &rank, &ranks) == SLEY_OK && rank == 0;
}

bool cli_wants_mpirun(const char *transport) {
  return transport && strcmp(transport, "mpi") == 0 && !cli_launched();
}

/* Lets mpirun start more ranks than there are cores, and does not bind them to cores, so that they share the
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
  char self[PATH_MAX], number[32];
  sley_status status = sley_transport_found("mpi");
  if (status != SLEY_OK)
    return cli_finish(status);
  ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  const char **line = malloc(((size_t)word_count + 4) * sizeof *line);
  if (!line)
    return cli_refuse(SLEY_ERR_MEMORY, "out of memory");
  self[length > 0 ? length : 0] = '\0';
  snprintf(number, sizeof number, "%lld", (long long)ranks);
  line[0] = "mpirun";
  line[1] = "-n";
  line[2] = number;
  line[3] = length > 0 ? self : words[0];
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

bool cli_reports(const cli_job *job) {
  return !job->ranks.transport || !cli_launched() || cli_is_first();
}

/* Every rank prints its error, except an error of another rank that that rank prints itself. */
bool cli_tells(const cli_job *job, sley_status status) {
  if (status != SLEY_ERR_PEER || !job->ranks.transport || !cli_launched())
    return true;
  return sley_last_error_rank() < 0 || sley_last_error_noticed();
}

void *cli_share(size_t bytes) {
  void *block = mmap(NULL, bytes > 0 ? bytes : 1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return block == MAP_FAILED ? NULL : block;
}

void cli_unshare(void *block, size_t bytes) {
  if (block)
    munmap(block, bytes > 0 ? bytes : 1);
}
