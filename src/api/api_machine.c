/* SPDX-License-Identifier: Apache-2.0 */
/* Machines of the public interface: argument checks. */
#include <string.h>

#include "base/memory.h"
#include "tune/tune.h"
#include "machine/machine.h"

sley_status sley_machine_read(const char *path, sley_machine **out) {
  if (!path || !out)
    return sl_fail(SLEY_ERR_ARG, "sley_machine_read: path or out is NULL");
  SL_TRY(SL_NEW(*out, 1, "a machine"));
  sley_status status = sl_machine_read(path, *out);
  if (status != SLEY_OK) {
    sl_free(*out);
    *out = NULL;
  }
  return status;
}

/* Returns whether name is a device; NULL stands for the cpu. */
static bool is_device(const char *name) {
  return !name || strcmp(name, "cpu") == 0 || strcmp(name, "cuda") == 0;
}

sley_status sley_machine_find(const char *device, sley_machine **out) {
  if (!out || !is_device(device))
    return sl_fail(SLEY_ERR_ARG, "sley_machine_find: out is NULL, or the device is neither cpu nor cuda");
  const sl_machine *found;
  SL_TRY(sl_machine_find(sl_machine_built_in(device ? device : "cpu"), &found));
  SL_TRY(SL_NEW(*out, 1, "a machine"));
  **out = *found;
  return SLEY_OK;
}

sley_status sley_machine_tune(const char *device, const char *transport, double seconds, sley_machine **out) {
  if (!out || !is_device(device) || !(seconds >= 0))
    return sl_fail(
        SLEY_ERR_ARG,
        "sley_machine_tune: out is NULL, the device is neither cpu nor cuda, or seconds is negative");
  bool first = true;
  SL_TRY(SL_NEW(*out, 1, "a machine"));
  sley_status status = sl_tune(device ? device : "cpu", transport ? transport : "threads",
                               seconds > 0 ? seconds : 30, *out, &first);
  if (status != SLEY_OK || !first) {
    sl_free(*out);
    *out = NULL;
  }
  return status;
}

sley_status sley_machine_write(const sley_machine *machine, const char *path, char **written) {
  char place[SL_MACHINE_SOURCE];
  bool named;
  if (!machine)
    return sl_fail(SLEY_ERR_ARG, "sley_machine_write: machine is NULL");
  if (!path && !sl_machine_path(machine->device, place, sizeof place, &named))
    return sl_fail(SLEY_ERR_ARG, "there is no default path for the machine's description: SLEY_MACHINE is "
                                 "\"builtin\", or neither XDG_CACHE_HOME nor HOME is set");
  SL_TRY(sl_machine_write(machine, path ? path : place));
  if (written && !(*written = sl_strdup(path ? path : place)))
    return SLEY_ERR_MEMORY;
  return SLEY_OK;
}

sley_status sley_machine_info_get(const sley_machine *machine, sley_machine_info *out) {
  if (!machine || !out)
    return sl_fail(SLEY_ERR_ARG, "sley_machine_info_get: machine or out is NULL");
  *out = (sley_machine_info){.name = machine->name,
                             .source = machine->source,
                             .device = machine->device,
                             .nodes = machine->nodes,
                             .ranks_per_node = machine->ranks_per_node,
                             .threads = machine->threads};
  return SLEY_OK;
}

void sley_machine_destroy(sley_machine *machine) {
  sl_free(machine);
}
