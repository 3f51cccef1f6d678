/* SPDX-License-Identifier: Apache-2.0 */
/* The launcher's variables, the time limit, and the host's name. */
#include "bootstrap/place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bootstrap/launcher.h"

enum { PORT_MOST = 65535, TIMEOUT_DEFAULT = 60 };

/* The range of ports used if no port is given: below the range from which systems assign ports. */
enum { PORT_OWN = 20000, PORTS_OWN = 12000 };

bool sl_place_launched(void) {
  sl_launcher launcher;
  return sl_launcher_find(&launcher) != SLEY_OK || launcher.name;
}

/* Returns the FNV-1a hash of text, continued from hash. */
static uint64_t mix(uint64_t hash, const char *text) {
  for (; text && *text; text++)
    hash = (hash ^ (unsigned char)*text) * UINT64_C(1099511628211);
  return hash;
}

static sley_status read_address(sl_place *out) {
  SL_TRY(sl_variable_number("MASTER_PORT", 1, PORT_MOST, &out->port));
  const char *address = getenv("MASTER_ADDR");
  if (!address || !*address || strlen(address) >= sizeof out->address)
    return sl_fail(SLEY_ERR_ARG, "the variable MASTER_ADDR is %s: it must name the host of rank 0",
                   address && *address ? "too long" : "not set");
  snprintf(out->address, sizeof out->address, "%s", address);
  return SLEY_OK;
}

/* The first name in SLURM's list of hosts: node07-a for "node[07-09,12]-a,gpu1". */
static bool first_host(const char *list, char *out, size_t room) {
  size_t used = 0;
  for (bool inside = false, skip = false; list && *list && (inside || *list != ','); list++) {
    if (*list == '[')
      inside = true;
    else if (*list == ']')
      inside = skip = false;
    else if (inside && (*list == '-' || *list == ','))
      skip = true;
    else if (!skip && used + 1 < room)
      out[used++] = *list;
  }
  out[used] = '\0';
  return used > 0 && used + 1 < room;
}

/* Derives rank 0's address and port if no variable states them: all ranks know the job, and so derive the
 * same port. */
static sley_status guess_address(const sl_launcher *launcher, sl_place *out) {
  static const char *const jobs[] = {"PMIX_NAMESPACE", "PMI_JOBID", "SLURM_JOB_ID", "SLURM_STEP_ID"};
  char parent[32] = "";
  for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++)
    out->key = mix(out->key, getenv(jobs[i]));
  if (!getenv(jobs[0]) && !getenv(jobs[1]) && !getenv(jobs[3]))
    snprintf(parent, sizeof parent, "%ld", (long)getppid());
  out->key = mix(out->key, parent);
  out->port = PORT_OWN + (int)(out->key % PORTS_OWN);
  const char *hosts = getenv("SLURM_STEP_NODELIST");
  out->local = launcher->local_size == launcher->size;
  if (out->local)
    snprintf(out->address, sizeof out->address, "127.0.0.1");
  else if (*parent || !first_host(hosts, out->address, sizeof out->address))
    return sl_fail(SLEY_ERR_ARG,
                   "the ranks are on several hosts, and the host of rank 0 is unknown: set MASTER_ADDR to "
                   "its host and MASTER_PORT to a free port, for all ranks, or choose transport mpi");
  return SLEY_OK;
}

sley_status sl_place_from_variables(sl_place *out) {
  sl_launcher launcher;
  *out = (sl_place){.local_rank = -1, .listener = -1, .key = UINT64_C(14695981039346656037)};
  SL_TRY(sl_launcher_find(&launcher));
  if (!launcher.name)
    return sl_fail(SLEY_ERR_ARG, "no launcher has set RANK and WORLD_SIZE");
  out->rank = launcher.rank;
  out->size = launcher.size;
  out->local_rank = launcher.local_rank;
  if (out->size > 1)
    SL_TRY(sl_secret_from_environment(&out->secret));
  bool told = strcmp(launcher.name, "variables") == 0 || getenv("MASTER_ADDR") || getenv("MASTER_PORT");
  if (out->size > 1 && !told)
    return guess_address(&launcher, out);
  if (out->size > 1)
    SL_TRY(read_address(out));
  /* only this host can reach a loopback address; ranks then use the address itself */
  out->local = launcher.local_size == launcher.size || strncmp(out->address, "127.", 4) == 0 ||
               strcmp(out->address, "localhost") == 0 || strcmp(out->address, "::1") == 0;
  if (out->local)
    snprintf(out->address, sizeof out->address, "127.0.0.1");
  out->key = mix(out->key, getenv("TORCHELASTIC_RUN_ID")) ^ (uint64_t)out->port;
  return SLEY_OK;
}

sley_status sl_place_ranks(int asked, int *out) {
  sl_launcher launcher;
  *out = asked;
  SL_TRY(sl_launcher_find(&launcher));
  if (!launcher.name)
    return SLEY_OK;
  if (asked != 1 && asked != launcher.size)
    return sl_fail(SLEY_ERR_ARG, "%d ranks were requested, but %s is %d: give the same number, or none",
                   asked, launcher.size_variable, launcher.size);
  *out = launcher.size;
  return SLEY_OK;
}

int sl_place_neighbours(int ranks) {
  sl_launcher launcher;
  if (sl_launcher_find(&launcher) != SLEY_OK || launcher.local_size < 1 || launcher.local_size > ranks)
    return ranks;
  return launcher.local_size;
}

sley_status sl_timeout(double seconds, double *out) {
  if (!(seconds >= 0))
    return sl_fail(SLEY_ERR_ARG, "the time limit is %g s: it must not be negative", seconds);
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
  char host[64] = "", mesh[40] = "";
  if (gethostname(host, sizeof host - 1) != 0)
    host[0] = '\0';
  FILE *stream = fopen("/proc/sys/kernel/random/boot_id", "r");
  if (stream) {
    if (!fgets(mesh, sizeof mesh, stream))
      mesh[0] = '\0';
    fclose(stream);
  }
  mesh[strcspn(mesh, "\n")] = '\0';
  struct stat network = {.st_ino = 0};
  (void)stat("/proc/self/ns/net", &network);
  snprintf(out, SL_HOST_BYTES, "%s %s %llu", host, mesh, (unsigned long long)network.st_ino);
}
