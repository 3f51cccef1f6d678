/* SPDX-License-Identifier: Apache-2.0 */
/* Which transports there are: ranks as threads, and as processes over TCP, always; others as loadable
 * modules. */
#include "transport/registry.h"

#include <stdio.h>
#include <string.h>

#include "base/module.h"
#include "transport/tcp/tcp.h"
#include "transport/threads/threads.h"

const char *const sl_transport_names[] = {"threads", "tcp", "mpi", "nccl", "nvshmem", NULL};

static bool is_known(const char *name) {
  for (const char *const *known = sl_transport_names; *known; known++)
    if (strcmp(*known, name) == 0)
      return true;
  return false;
}

/* A name that can be part of a file's name, so that a module of somebody else's is found too. */
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
                                      : sl_fail(SLEY_ERR_ARG, "not a name of a module");
  if (status == SLEY_OK)
    *out = table;
  else if (!is_known(name))
    return sl_fail(SLEY_ERR_ARG,
                   "there is no transport called \"%s\" (threads, tcp, mpi, nccl and nvshmem are known): %s",
                   name, sley_last_error());
  return status;
}

/* ---- in place of modules that are not to be had */

static _Thread_local char absence[1024];

static sley_status refuse_start(sl_process_comm *comm) {
  (void)comm;
  return sl_fail(SLEY_ERR_UNSUPPORTED, "%s", absence);
}

static void stop_nothing(sl_process_comm *comm) {
  (void)comm;
}

static const sl_process_backend no_nccl = {.name = "nccl",
                                           .carrier = &sl_no_messages,
                                           .sized = &sl_no_messages,
                                           .comm_bytes = sizeof(sl_process_comm),
                                           .start = refuse_start,
                                           .stop = stop_nothing,
                                           .abandon = stop_nothing,
                                           .next = "tcp"};
static const sl_process_backend no_nvshmem = {.name = "nvshmem",
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
