/* SPDX-License-Identifier: Apache-2.0 */
/* Which backends there are on this machine, and why others are not. */
#include <stdio.h>
#include <string.h>

#include "device/device.h"
#include "transport/transport_registry.h"

enum { BACKENDS = 16, DETAIL = 512 };

static _Thread_local sley_backend backends[BACKENDS];
static _Thread_local char details[BACKENDS][DETAIL];

static void fill(int at, const char *kind, const char *name, bool available, const char *detail) {
  snprintf(details[at], DETAIL, "%s", detail);
  backends[at] = (sley_backend){.kind = kind, .name = name, .available = available, .detail = details[at]};
}

static void look_up_device(int at, const char *name) {
  const sl_device_ops *ops;
  sl_device *device;
  bool available = sl_device_backend(name, &ops) == SLEY_OK && ops->open(0, 1, &device) == SLEY_OK;
  fill(at, "device", name, available, available ? ops->describe(device) : sley_last_error());
  if (available)
    ops->close(device);
}

static void look_up_transport(int at, const char *name) {
  const sl_transport_backend *backend;
  const char *text = sl_transport_backend_find(name, &backend) == SLEY_OK ? backend->describe() : NULL;
  fill(at, "transport", name, text != NULL, text ? text : sley_last_error());
}

sley_status sley_transport_found(const char *name) {
  const sl_transport_backend *backend;
  if (!name)
    return sl_fail(SLEY_ERR_ARG, "sley_transport_found: no name");
  SL_TRY(sl_transport_backend_find(name, &backend));
  return backend->describe() ? SLEY_OK : SLEY_ERR_UNSUPPORTED;
}

sley_status sley_backends(const sley_backend **out, int *count) {
  if (!out || !count)
    return sl_fail(SLEY_ERR_ARG, "sley_backends: an argument is NULL");
  int at = 0;
  for (const char *const *name = sl_device_names; *name && at < BACKENDS; name++)
    look_up_device(at++, *name);
  for (const char *const *name = sl_transport_names; *name && at < BACKENDS; name++)
    look_up_transport(at++, *name);
  *out = backends;
  *count = at;
  return SLEY_OK;
}
