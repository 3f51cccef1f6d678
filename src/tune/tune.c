/* SPDX-License-Identifier: Apache-2.0 */
/* Measures a machine: runs the ranks, and combines the measured figures. */
#include "tune/tune.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "bootstrap/launcher.h"
#include "transport/transport_registry.h"
#include "tune/tune_inside.h"

/* SLOTS: about the number of figures that are measured. ROUNDS: rounds of measurements, if there is time: a
 * temporary disturbance then affects only one of them. */
enum { MOST_CORES = 8, SLOTS = 135, ROUNDS = 3 };

/* GPU_BYTES_A_SECOND, CORE_BYTES_A_SECOND: largest size measured, per second of the time limit, because for
 * larger products most of the time is spent on making their matrices. ALL_SECONDS: with at least this limit,
 * cores are measured with all sizes. */
enum { GPU_BYTES_A_SECOND = 1 << 24, CORE_BYTES_A_SECOND = 1 << 22, ALL_SECONDS = 8 };

/* Returns whether another round would end in time if it takes as long as the earlier rounds. */
static bool is_time_left(const sl_tuning *tune, int rounds, double spent) {
  return rounds < ROUNDS && spent + spent / rounds <= 1.1 * tune->seconds;
}

static void begin_round(sl_tuning *tune, int round) {
  tune->machine = tune->bare;
  tune->figures = 0;
  tune->repeats = round > 0;
}

/* Measurements by ranks of one workgroup. */
static sley_status tune_inside(sl_comm *comm, void *arg) {
  SL_TRY(sl_tune_link(comm, arg, SL_LINK_SELF));
  if (comm->workgroup > 1)
    SL_TRY(sl_tune_link(comm, arg, SL_LINK_DIRECT));
  SL_TRY(sl_tune_gather(comm, arg));
  SL_TRY(sl_tune_launch(comm, arg));
  SL_TRY(sl_tune_compress(comm, arg));
  return sl_tune_kernels(comm, arg);
}

static sley_status tune_message(sl_comm *comm, void *arg) {
  return sl_tune_link(comm, arg, SL_LINK_MESSAGE);
}

static sley_status tune_launched_once(sl_comm *comm, void *arg, int round) {
  sl_tuning *tune = arg;
  sl_machine *m = &tune->machine;
  bool several = sl_workgroups(comm) > 1, together = comm->workgroup > 1;
  tune->hosts = several;
  begin_round(tune, round);
  if (together)
    SL_TRY(tune_inside(comm, arg));
  if (several)
    SL_TRY(tune_message(comm, arg));
  if (several)
    SL_TRY(sl_tune_node(comm, arg));
  if (!together) /* products come after the time of a meeting is measured */
    SL_TRY(tune_inside(comm, arg));
  if (several && !together)
    m->link[SL_LINK_DIRECT] = m->link[SL_LINK_MESSAGE];
  if (together && !several)
    m->link[SL_LINK_MESSAGE] = m->link[SL_LINK_DIRECT];
  return SLEY_OK;
}

/* Measurements by ranks that a launcher has started, perhaps on several hosts. */
static sley_status tune_launched(sl_comm *comm, void *arg) {
  if (comm->size > SL_TUNE_RANKS)
    return sl_fail(SLEY_ERR_ARG, "%d ranks are measured at most, not %d", SL_TUNE_RANKS, comm->size);
  double begin = sl_now(), spent = 0;
  for (int round = 0; round == 0 || is_time_left(arg, round, spent); round++) {
    SL_TRY(tune_launched_once(comm, arg, round));
    int64_t longest = (int64_t)((sl_now() - begin) * 1e9);
    SL_TRY(comm->ops->allreduce(comm, SL_MAX, &longest, 1));
    spent = (double)longest * 1e-9;
  }
  return sl_tune_windows(comm, arg);
}

static sley_status tune_crowded(sl_comm *comm, void *arg) {
  return sl_tune_crowded(comm, arg);
}

static bool is_gpu(const sl_tuning *tune) {
  return strcmp(tune->bare.device, "cuda") == 0;
}

static sley_status run_once(const sl_transport_backend *backend, sl_launch launch, sl_tuning *shared,
                            int round) {
  begin_round(shared, round);
  SL_TRY(backend->run(&launch, tune_inside, shared));
  if (launch.ranks == 1)
    return SLEY_OK;
  launch.workgroup = 1;
  SL_TRY(backend->run(&launch, tune_message, shared));
  if (is_gpu(shared))
    return SLEY_OK;
  launch.ranks = launch.workgroup = 2 * launch.ranks;
  return backend->run(&launch, tune_crowded, shared);
}

/* Runs ranks of this process, or forked from it. */
static sley_status run(const sl_transport_backend *backend, const sl_launch *launch, sl_tuning *shared) {
  double begin = sl_now();
  for (int round = 0; round == 0 || is_time_left(shared, round, sl_now() - begin); round++)
    SL_TRY(run_once(backend, *launch, shared, round));
  return is_gpu(shared) ? backend->run(launch, sl_tune_windows, shared) : SLEY_OK;
}

/* Determines how many ranks to start, and with how many threads each. */
static sley_status find_ranks(const char *device, const char *transport, sl_launch *launch) {
  const sl_device_ops *ops;
  char note[SLEY_ERROR_BYTES];
  int cores = sl_cores();
  launch->ranks = cores < 2 ? 2 : cores > MOST_CORES ? MOST_CORES : cores;
  if (strcmp(device, "cuda") == 0) {
    if (strcmp(transport, "threads") != 0) /* GPUs must not be counted before ranks are forked */
      return sl_fail(SLEY_ERR_UNSUPPORTED,
                     "GPUs are measured by ranks that are threads, or over %s by those that a launcher has "
                     "started: leave --transport out, or use torchrun",
                     transport);
    SL_TRY(sl_device_choose(device, &ops, note, sizeof note));
    int gpus = ops->count();
    launch->ranks = gpus < SL_TUNE_RANKS ? gpus : SL_TUNE_RANKS;
    launch->threads = cores > launch->ranks ? cores / launch->ranks : 1;
  }
  launch->workgroup = launch->ranks;
  return SLEY_OK;
}

/* Fills in the figures that are known before measuring. Links that do not exist keep the built-in figures. */
static void describe(const sl_launch *launch, const char *transport, double seconds, sl_tuning *out) {
  const sl_machine *built_in = sl_machine_built_in(launch->device);
  char host[64] = "host";
  int cores = sl_cores();
  gethostname(host, sizeof host - 1);
  *out =
      (sl_tuning){.begin = sl_now(),
                  .seconds = seconds,
                  .slot = seconds / (SLOTS * ROUNDS),
                  .most_bytes = seconds < ALL_SECONDS ? fmax(seconds, 0.5) * CORE_BYTES_A_SECOND : INFINITY,
                  .size = fmin(fmax(seconds, 0.5) / ALL_SECONDS, 1),
                  .moves = strcmp(transport, "tcp") == 0};
  sl_machine *bare = &out->bare;
  *bare = (sl_machine){.source = "measured now", .overlaps = built_in->overlaps};
  snprintf(bare->device, sizeof bare->device, "%s", launch->device);
  memcpy(bare->link, built_in->link, sizeof bare->link);
  if (is_gpu(out)) {
    out->most_bytes = fmax(seconds, 0.5) * GPU_BYTES_A_SECOND;
    snprintf(bare->name, sizeof bare->name, "%s, %d GPU%s, %.8s", host, launch->ranks,
             launch->ranks == 1 ? "" : "s", transport);
  } else {
    bare->cores = cores;
    snprintf(bare->name, sizeof bare->name, "%s, %d cores, %.8s", host, cores, transport);
  }
}

sley_status sl_tune(const char *device, const char *transport, double seconds, sl_machine *out, bool *first) {
  const sl_transport_backend *backend;
  sl_launcher launcher = {0};
  SL_TRY(sl_transport_backend_find(transport, &backend));
  if (strcmp(transport, "threads") != 0)
    SL_TRY(sl_launcher_find(&launcher));
  *first = launcher.rank == 0;
  sl_launch launch = {.ranks = launcher.size, .workgroup = launcher.size, .threads = 1, .device = device};
  if (!launcher.name)
    SL_TRY(find_ranks(device, transport, &launch));
  /* Ranks may be processes forked from this one. */
  sl_tuning *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED)
    return sl_fail(SLEY_ERR_MEMORY, "out of memory for a machine's figures");
  describe(&launch, transport, seconds, shared);
  sley_status status =
      launcher.name ? backend->run(&launch, tune_launched, shared) : run(backend, &launch, shared);
  if (shared->machine.meeting == 0) /* a single rank has no meetings */
    shared->machine.meeting = sl_machine_built_in(device)->meeting;
  if (status == SLEY_OK)
    *out = shared->machine;
  munmap(shared, sizeof *shared);
  return status;
}
