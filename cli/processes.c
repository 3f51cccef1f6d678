/* SPDX-License-Identifier: Apache-2.0 */
#include "processes.h"

#include <stdio.h>
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

/* Every rank tells how it ended, but for what another rank says of itself. */
bool cli_tells(const cli_job *job, sley_status status) {
  static const char *const mute[] = {"connection was closed", "heard nothing of it", "closed the connection",
                                     "ended before the ranks met"};
  if (status != SLEY_ERR_PEER || !job->ranks.transport || !cli_launched())
    return true;
  const char *message = sley_last_error();
  int rank = -1, led = 0;
  if (sscanf(message, "rank %d failed: %n", &rank, &led) < 1 || led == 0)
    return true;
  for (size_t i = 0; i < sizeof mute / sizeof mute[0]; i++)
    if (strstr(message, mute[i]))
      return true;
  return false;
}

void *cli_share(size_t bytes) {
  void *block = mmap(NULL, bytes > 0 ? bytes : 1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return block == MAP_FAILED ? NULL : block;
}

void cli_unshare(void *block, size_t bytes) {
  if (block)
    munmap(block, bytes > 0 ? bytes : 1);
}
