/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/tune.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "bootstrap/launcher.h"
#include "ops/tune_inside.h"
#include "transport/registry.h"

/* About as many figures are measured, each in several rounds if there is time: what disturbs the machine for
 * a while disturbs it in one of them. */
enum { MOST_CORES = 8, SLOTS = 120, ROUNDS = 3 };

/* Whether the next round ends about in time, if it takes as long as those before. */
static bool is_time_left(const sl_tuning *tune, int rounds, double spent) {
  return rounds < ROUNDS && spent + spent / rounds <= 1.1 * tune->seconds;
}

static void begin_round(sl_tuning *tune) {
  tune->machine = tune->bare;
  tune->figures = 0;
}

static sley_status tune_direct(sl_comm *comm, void *arg) {
  SL_TRY(sl_tune_link(comm, arg, SL_LINK_SELF));
  SL_TRY(sl_tune_link(comm, arg, SL_LINK_DIRECT));
  SL_TRY(sl_tune_gather(comm, arg));
  return sl_tune_kernels(comm, arg);
}

static sley_status tune_message(sl_comm *comm, void *arg) {
  return sl_tune_link(comm, arg, SL_LINK_MESSAGE);
}

static sley_status tune_launched_once(sl_comm *comm, void *arg) {
  sl_tuning *tune = arg;
  sl_machine *m = &tune->machine;
  bool several = sl_workgroups(comm) > 1;
  tune->hosts = several;
  begin_round(tune);
  if (comm->workgroup > 1)
    SL_TRY(tune_direct(comm, arg));
  if (several)
    SL_TRY(tune_message(comm, arg));
  if (several)
    SL_TRY(sl_tune_node(comm, arg));
  if (comm->workgroup == 1) {
    SL_TRY(sl_tune_link(comm, arg, SL_LINK_SELF));
    SL_TRY(sl_tune_gather(comm, arg));
    SL_TRY(sl_tune_kernels(comm, arg));
    m->link[SL_LINK_DIRECT] = m->link[SL_LINK_MESSAGE];
  } else if (!several) {
    m->link[SL_LINK_MESSAGE] = m->link[SL_LINK_DIRECT];
  }
  return SLEY_OK;
}

/* Ranks that a launcher has started, perhaps on several hosts. */
static sley_status tune_launched(sl_comm *comm, void *arg) {
  if (comm->size > SL_TUNE_RANKS)
    return sl_fail(SLEY_ERR_ARG, "%d ranks are measured at most, not %d", SL_TUNE_RANKS, comm->size);
  double begin = sl_now(), spent = 0;
  for (int round = 0; round == 0 || is_time_left(arg, round, spent); round++) {
    SL_TRY(tune_launched_once(comm, arg));
    int64_t longest = (int64_t)((sl_now() - begin) * 1e9);
    SL_TRY(comm->ops->allreduce(comm, SL_MAX, &longest, 1));
    spent = (double)longest * 1e-9;
  }
  return SLEY_OK;
}

static sley_status tune_crowded(sl_comm *comm, void *arg) {
  return sl_tune_crowded(comm, arg);
}

static sley_status run_once(const sl_transport_backend *backend, int cores, sl_tuning *shared) {
  int ranks = cores < 2 ? 2 : cores > MOST_CORES ? MOST_CORES : cores;
  sl_launch launch = {.ranks = ranks, .workgroup = ranks, .threads = 1, .device = "cpu"};
  begin_round(shared);
  SL_TRY(backend->run(&launch, tune_direct, shared));
  launch.workgroup = 1;
  SL_TRY(backend->run(&launch, tune_message, shared));
  launch.ranks = launch.workgroup = 2 * ranks;
  return backend->run(&launch, tune_crowded, shared);
}

static sley_status run(const sl_transport_backend *backend, int cores, sl_tuning *shared) {
  double begin = sl_now();
  for (int round = 0; round == 0 || is_time_left(shared, round, sl_now() - begin); round++)
    SL_TRY(run_once(backend, cores, shared));
  return SLEY_OK;
}

sley_status sl_tune(const char *transport, double seconds, sl_machine *out, bool *first) {
  const sl_transport_backend *backend;
  sl_launcher launcher = {0};
  char host[64] = "host";
  int cores = sl_cores();
  SL_TRY(sl_transport_backend_find(transport, &backend));
  if (strcmp(transport, "threads") != 0)
    SL_TRY(sl_launcher_find(&launcher));
  *first = launcher.rank == 0;
  /* Ranks may be processes forked from this one. */
  sl_tuning *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED)
    return sl_fail(SLEY_ERR_MEMORY, "out of memory for a machine's figures");
  gethostname(host, sizeof host - 1);
  *shared = (sl_tuning){
      .seconds = seconds, .slot = seconds / (SLOTS * ROUNDS), .moves = strcmp(transport, "tcp") == 0};
  shared->bare = (sl_machine){.device = "cpu", .source = "measured now", .cores = cores};
  snprintf(shared->bare.name, sizeof shared->bare.name, "%s, %d cores, %.8s", host, cores, transport);
  sl_launch launch = {.ranks = launcher.size, .workgroup = launcher.size, .threads = 1, .device = "cpu"};
  sley_status status =
      launcher.name ? backend->run(&launch, tune_launched, shared) : run(backend, cores, shared);
  if (status == SLEY_OK)
    *out = shared->machine;
  munmap(shared, sizeof *shared);
  return status;
}
