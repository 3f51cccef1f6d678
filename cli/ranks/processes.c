/* SPDX-License-Identifier: Apache-2.0 */
/* Runs whose ranks are processes, and the shared memory through which these return results. */
#include "ranks/processes.h"

#include <string.h>
#include <sys/mman.h>

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

bool cli_reports(const cli_job *job) {
  return !job->ranks.transport || !cli_launched() || cli_is_first();
}

/* Every rank prints its own error, but not the error of another rank, which that rank prints itself. */
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
