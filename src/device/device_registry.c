/* SPDX-License-Identifier: Apache-2.0 */
/* Which device backends there are: the CPU, always; others as loadable modules. */
#include <stdio.h>
#include <string.h>

#include "base/module.h"
#include "device/cpu/cpu.h"
#include "device/device.h"

const char *const sl_device_names[] = {"cpu", "cuda", NULL};

sley_status sl_device_backend(const char *name, const sl_device_ops **out) {
  *out = NULL;
  bool known = false;
  for (const char *const *each = sl_device_names; *each; each++)
    known = known || strcmp(*each, name) == 0;
  if (!known)
    return sl_fail(SLEY_ERR_ARG, "there is no device called \"%s\": cpu and cuda are known", name);
  if (strcmp(name, sl_cpu_ops.name) == 0) {
    *out = &sl_cpu_ops;
    return SLEY_OK;
  }
  const void *table;
  SL_TRY(sl_module_load(name, "sl_device_module", &table));
  *out = table;
  return SLEY_OK;
}

/* The backend, if it has a device. */
static sley_status find_usable(const char *name, const sl_device_ops **out) {
  SL_TRY(sl_device_backend(name, out));
  return (*out)->count() > 0 ? SLEY_OK : sl_fail_prefix(SLEY_ERR_UNSUPPORTED, "device %s: ", name);
}

sley_status sl_device_choose(const char *name, const sl_device_ops **out, char *note, size_t note_bytes) {
  snprintf(note, note_bytes, "%s", "");
  if (!name)
    name = sl_cpu_ops.name;
  if (strcmp(name, "auto") != 0)
    return find_usable(name, out);
  if (sl_module_installed("cuda")) {
    if (find_usable("cuda", out) == SLEY_OK)
      return SLEY_OK;
    sl_text_format(note, note_bytes, "%s", sley_last_error());
  }
  *out = &sl_cpu_ops;
  return SLEY_OK;
}
