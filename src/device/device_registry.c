/* SPDX-License-Identifier: Apache-2.0 */
/* The device backends: the CPU, always; others as loadable modules. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* Finds the backend if it has a device. */
static sley_status find_usable(const char *name, const sl_device_ops **out) {
  SL_TRY(sl_device_backend(name, out));
  return (*out)->count() > 0 ? SLEY_OK : sl_fail_prefix(SLEY_ERR_UNSUPPORTED, "device %s: ", name);
}

/* Reads the first line of a file; "" if it cannot be read. */
static void read_word(const char *path, char *out, int room) {
  FILE *stream = fopen(path, "r");
  if (stream && fgets(out, room, stream))
    out[strcspn(out, "\n")] = '\0';
  if (stream)
    fclose(stream);
}

/* Returns whether an NVIDIA GPU is on the PCI bus. In a container the bus may be hidden, but then the
 * driver's device file is visible. */
static bool has_gpu(void) {
  if (access("/dev/nvidiactl", F_OK) == 0 || access("/dev/dxg", F_OK) == 0)
    return true;
  DIR *bus = opendir("/sys/bus/pci/devices");
  bool found = false;
  for (struct dirent *one; bus && !found && (one = readdir(bus));) {
    char path[512], vendor[16] = "", class[16] = "";
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/vendor", one->d_name);
    read_word(path, vendor, sizeof vendor);
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/class", one->d_name);
    read_word(path, class, sizeof class);
    found = strcmp(vendor, "0x10de") == 0 && strncmp(class, "0x03", 4) == 0; /* a display controller */
  }
  if (bus)
    closedir(bus);
  return found;
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
    if (has_gpu()) /* if there is no GPU, nobody expects the module */
      sl_text_format(note, note_bytes, "%s", sley_last_error());
  }
  *out = &sl_cpu_ops;
  return SLEY_OK;
}

sley_status sl_device_choose_one(const char *name, const sl_device_ops **out, int *ordinal, char *note,
                                 size_t note_bytes) {
  const char *colon = name ? strchr(name, ':') : NULL;
  char kind[16], *end;
  if (!colon)
    return sl_device_choose(name, out, note, note_bytes);
  snprintf(kind, sizeof kind, "%.*s", (int)(colon - name), name);
  SL_TRY(sl_device_choose(kind, out, note, note_bytes));
  long number = strtol(colon + 1, &end, 10);
  if (end == colon + 1 || *end || number < 0 || number >= (*out)->count())
    return sl_fail(SLEY_ERR_ARG, "device \"%s\": %s has devices 0 to %d", name, kind, (*out)->count() - 1);
  *ordinal = (int)number;
  return SLEY_OK;
}
