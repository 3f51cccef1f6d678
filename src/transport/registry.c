/* SPDX-License-Identifier: Apache-2.0 */
/* Which transports there are: ranks as threads, and as processes over TCP, always; others as loadable
 * modules. */
#include "transport/registry.h"

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
