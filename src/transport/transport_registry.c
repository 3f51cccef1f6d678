/* SPDX-License-Identifier: Apache-2.0 */
/* The table of transports. Ranks as threads, and as processes over TCP, are always built in; other transports
 * are loadable modules. */
#include "transport/transport_registry.h"

#include <stdio.h>
#include <string.h>

#include "base/module.h"
#include "bootstrap/launcher.h"
#include "bootstrap/place.h"
#include "transport/tcp/tcp.h"
#include "transport/threads/threads.h"

const char *const sl_transport_names[] = {"threads", "tcp", "mpi", "nccl", "nvshmem", NULL};

static bool is_known(const char *name) {
  for (const char *const *known = sl_transport_names; *known; known++)
    if (strcmp(*known, name) == 0)
      return true;
  return false;
}

/* Reports a name that is neither known nor a module's; the last error has the reason. */
static sley_status refuse_name(const char *name) {
  char names[256] = "";
  size_t length = 0;
  for (const char *const *known = sl_transport_names; *known && length < sizeof names; known++)
    length += (size_t)snprintf(names + length, sizeof names - length, "%s%s", length ? ", " : "", *known);
  return sl_fail(SLEY_ERR_ARG, "there is no transport \"%s\" (known are %s): %s", name, names,
                 sley_last_error());
}

/* Returns whether a name can be part of a file name, because other modules are found by their file names. */
static bool is_plain(const char *name) {
  return *name && strlen(name) < 32 && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") == strlen(name);
}

sley_status sl_transport_backend_find(const char *name, const sl_transport_backend **out) {
  *out = NULL;
  static const sl_transport_backend *const built_in[] = {&sl_threads_backend, &sl_tcp_backend};
  for (size_t i = 0; i < sizeof built_in / sizeof *built_in; i++)
    if (strcmp(name, built_in[i]->name) == 0) {
      *out = built_in[i];
      return SLEY_OK;
    }
  const void *table = NULL;
  sley_status status = is_plain(name) ? sl_module_load(name, "sl_transport_module", &table)
                                      : sl_fail(SLEY_ERR_ARG, "this is not the name of a module");
  if (status == SLEY_OK)
    *out = table;
  else if (!is_known(name))
    return refuse_name(name);
  return status;
}

/* ---- one rank, for programs whose processes are the ranks */

/* Sets workgroup and threads; ranks of one host share its cores. */
static void complete(sl_launch *launch) {
  int here = sl_place_neighbours(launch->ranks);
  if (launch->workgroup == 0 || launch->workgroup > launch->ranks)
    launch->workgroup = launch->ranks;
  if (launch->threads == 0)
    launch->threads = sl_cores() / here > 1 ? sl_cores() / here : 1;
}

sley_status sl_comm_start(const sl_transport_backend *backend, const sl_launch *launch, sl_comm **out) {
  sl_launch complete_launch = *launch;
  sl_place place;
  sl_process_comm *comm;
  bool launched;
  *out = NULL;
  if (backend->process) {
    SL_TRY(sl_process_place(backend->process, launch, &place, &launched));
    complete_launch.ranks = place.size;
    complete(&complete_launch);
    SL_TRY(sl_process_open(backend->process, &complete_launch, &place, &comm));
    *out = &comm->base;
    return SLEY_OK;
  }
  sl_launcher launcher;
  SL_TRY(sl_launcher_find(&launcher));
  if (backend != &sl_threads_backend || launch->mpi_comm || (launcher.size > 1 && !launch->alone))
    return sl_fail(SLEY_ERR_UNSUPPORTED,
                   "the ranks of transport %s cannot be processes: choose a transport such as tcp or mpi",
                   backend->name);
  complete_launch.ranks = 1;
  complete(&complete_launch);
  return sl_threads_open(&complete_launch, out);
}

void sl_comm_end(sl_comm *comm) {
  if (comm && comm->processes)
    sl_process_end((sl_process_comm *)comm, SLEY_OK);
  else if (comm)
    sl_threads_close(comm);
}

/* ---- substitutes for missing modules */

static _Thread_local char absence[SLEY_ERROR_BYTES];

static sley_status refuse_start(sl_process_comm *comm) {
  (void)comm;
  return sl_fail(SLEY_ERR_UNSUPPORTED, "%s", absence);
}

static void stop_nothing(sl_process_comm *comm) {
  (void)comm;
}

static const sl_process_backend no_nccl = {.name = "nccl",
                                           .dense_native = sl_dense_no_native,
                                           .carrier = &sl_no_messages,
                                           .sized = &sl_no_messages,
                                           .comm_bytes = sizeof(sl_process_comm),
                                           .start = refuse_start,
                                           .stop = stop_nothing,
                                           .abandon = stop_nothing,
                                           .next = "tcp"};
static const sl_process_backend no_nvshmem = {.name = "nvshmem",
                                              .dense_native = sl_dense_no_native,
                                              .carrier = &sl_no_messages,
                                              .sized = &sl_no_messages,
                                              .comm_bytes = sizeof(sl_process_comm),
                                              .start = refuse_start,
                                              .stop = stop_nothing,
                                              .abandon = stop_nothing,
                                              .next = "nccl"};

static sley_status run_no_nccl(const sl_launch *launch, sl_rank_main main, void *arg) {
  return sl_process_run(&no_nccl, launch, main, arg);
}

static sley_status run_no_nvshmem(const sl_launch *launch, sl_rank_main main, void *arg) {
  return sl_process_run(&no_nvshmem, launch, main, arg);
}

static const char *describe_absent(void) {
  sl_fail(SLEY_ERR_UNSUPPORTED, "%s", absence);
  return NULL;
}

sley_status sl_transport_backend_choose(const char *name, const sl_transport_backend **out) {
  static const sl_transport_backend absent[] = {
      {.name = "nccl", .run = run_no_nccl, .describe = describe_absent, .process = &no_nccl},
      {.name = "nvshmem", .run = run_no_nvshmem, .describe = describe_absent, .process = &no_nvshmem}};
  sley_status status = sl_transport_backend_find(name, out);
  for (size_t i = 0; i < sizeof absent / sizeof *absent && status == SLEY_ERR_UNSUPPORTED; i++)
    if (strcmp(name, absent[i].name) == 0) {
      snprintf(absence, sizeof absence, "%s", sley_last_error());
      *out = &absent[i];
      return SLEY_OK;
    }
  return status;
}
