/* SPDX-License-Identifier: Apache-2.0 */
/* The launcher's variables, the time limit, and the host's name. */
#include "bootstrap/place.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RANKS_MOST = 65536, PORT_MOST = 65535, TIMEOUT_DEFAULT = 60 };

bool sl_place_launched(void) {
  return getenv("RANK") || getenv("WORLD_SIZE");
}

static sley_status read_number(const char *name, int64_t least, int64_t most, int *out) {
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

/* FNV-1a over text, continuing from hash. */
static uint64_t mix(uint64_t hash, const char *text) {
  for (; text && *text; text++)
    hash = (hash ^ (unsigned char)*text) * UINT64_C(1099511628211);
  return hash;
}

sley_status sl_place_from_variables(sl_place *out) {
  *out = (sl_place){.local_rank = -1, .listener = -1};
  SL_TRY(read_number("WORLD_SIZE", 1, RANKS_MOST, &out->size));
  SL_TRY(read_number("RANK", 0, RANKS_MOST, &out->rank));
  if (out->rank >= out->size)
    return sl_fail(SLEY_ERR_ARG, "RANK is %d, but WORLD_SIZE is %d: ranks count from 0 to WORLD_SIZE - 1",
                   out->rank, out->size);
  if (getenv("LOCAL_RANK")) {
    SL_TRY(read_number("LOCAL_RANK", 0, RANKS_MOST, &out->local_rank));
    if (out->local_rank > out->rank)
      return sl_fail(SLEY_ERR_ARG, "LOCAL_RANK is %d, but RANK is %d: a local rank is at most the rank",
                     out->local_rank, out->rank);
  }
  if (out->size > 1) {
    SL_TRY(read_number("MASTER_PORT", 1, PORT_MOST, &out->port));
    const char *address = getenv("MASTER_ADDR");
    if (!address || !*address || strlen(address) >= sizeof out->address)
      return sl_fail(SLEY_ERR_ARG, "the variable MASTER_ADDR is %s: it must name the host of rank 0",
                     address && *address ? "too long" : "not set");
    snprintf(out->address, sizeof out->address, "%s", address);
  }
  out->key = mix(UINT64_C(14695981039346656037), getenv("TORCHELASTIC_RUN_ID")) ^ (uint64_t)out->port;
  return SLEY_OK;
}

sley_status sl_place_ranks(int asked, int *out) {
  sl_place place;
  *out = asked;
  if (!sl_place_launched())
    return SLEY_OK;
  SL_TRY(sl_place_from_variables(&place));
  if (asked != 1 && asked != place.size)
    return sl_fail(SLEY_ERR_ARG,
                   "%d ranks were asked for, but WORLD_SIZE is %d: give the same number, or none", asked,
                   place.size);
  *out = place.size;
  return SLEY_OK;
}

int sl_place_neighbours(int ranks) {
  const char *text = sl_place_launched() ? getenv("LOCAL_WORLD_SIZE") : NULL;
  int count = text ? atoi(text) : 0;
  return count >= 1 && count <= ranks ? count : ranks;
}

sley_status sl_timeout(double seconds, double *out) {
  if (!(seconds >= 0))
    return sl_fail(SLEY_ERR_ARG, "a time limit of %g s: it must not be negative", seconds);
  *out = seconds > 0 ? seconds : TIMEOUT_DEFAULT;
  const char *text = getenv("SLEY_TIMEOUT");
  if (seconds > 0 || !text)
    return SLEY_OK;
  char *end;
  *out = strtod(text, &end);
  if (end == text || *end || !(*out > 0))
    return sl_fail(SLEY_ERR_ARG, "the variable SLEY_TIMEOUT is \"%s\": it must be a number of seconds", text);
  return SLEY_OK;
}

void sl_host_name(char out[SL_HOST_BYTES]) {
  const char *given = getenv("NCCL_HOSTID");
  if (given && *given) {
    snprintf(out, SL_HOST_BYTES, "%s", given);
    return;
  }
  char host[64] = "", boot[40] = "";
  if (gethostname(host, sizeof host - 1) != 0)
    host[0] = '\0';
  FILE *stream = fopen("/proc/sys/kernel/random/boot_id", "r");
  if (stream) {
    if (!fgets(boot, sizeof boot, stream))
      boot[0] = '\0';
    fclose(stream);
  }
  boot[strcspn(boot, "\n")] = '\0';
  struct stat network = {.st_ino = 0};
  (void)stat("/proc/self/ns/net", &network);
  snprintf(out, SL_HOST_BYTES, "%s %s %llu", host, boot, (unsigned long long)network.st_ino);
}
