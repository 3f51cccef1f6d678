/* SPDX-License-Identifier: Apache-2.0 */
#include "processes.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { RANKS_DEFAULT = 4 };

bool cli_launched(void) {
  return getenv("RANK") && getenv("WORLD_SIZE");
}

const char *cli_transport(const char *asked, const char *device) {
  if (asked || !cli_launched())
    return asked && strcmp(asked, "threads") != 0 ? asked : NULL;
  return device && strcmp(device, "cuda") == 0 ? "nccl" : "tcp";
}

int64_t cli_ranks(int64_t asked, const char *transport) {
  if (asked > 0)
    return asked;
  long given = transport && cli_launched() ? strtol(getenv("WORLD_SIZE"), NULL, 10) : 0;
  return given > 0 ? given : RANKS_DEFAULT;
}

static bool is_first(void) {
  return strtol(getenv("RANK"), NULL, 10) == 0;
}

bool cli_reports(const cli_job *job) {
  return !job->ranks.transport || !cli_launched() || is_first();
}

/* Rank 0 tells what others cannot: that a rank was killed or did not come. */
bool cli_tells(const cli_job *job, sley_status status) {
  if (status == SLEY_OK || !job->ranks.transport || !cli_launched() || status != SLEY_ERR_PEER)
    return true;
  const char *message = sley_last_error();
  return is_first() && (strstr(message, "connection was closed") || strstr(message, "did not come"));
}

void *cli_share(size_t bytes) {
  void *block = mmap(NULL, bytes > 0 ? bytes : 1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return block == MAP_FAILED ? NULL : block;
}

void cli_unshare(void *block, size_t bytes) {
  if (block)
    munmap(block, bytes > 0 ? bytes : 1);
}
