/* SPDX-License-Identifier: Apache-2.0 */
/* Finds and opens loadable modules. */
#define _GNU_SOURCE
#include "base/module.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 4096, PLACES_BYTES = 700 };

/* The search so far: the file once found, else the folders without it, as text for the message. */
typedef struct search {
  const char *name;
  char file[PATH_BYTES];
  char places[PLACES_BYTES];
  bool found;
} search;

static void look_in(search *s, const char *folder, size_t bytes) {
  if (s->found || bytes == 0)
    return;
  int written = snprintf(s->file, sizeof s->file, "%.*s/libsley_%s.so", (int)bytes, folder, s->name);
  if (written > 0 && (size_t)written < sizeof s->file && access(s->file, F_OK) == 0) {
    s->found = true;
    return;
  }
  size_t used = strlen(s->places);
  snprintf(s->places + used, sizeof s->places - used, "%s%.*s", used ? ", " : "", (int)bytes, folder);
}

static void look_in_list(search *s, const char *list) {
  while (list && *list) {
    size_t bytes = strcspn(list, ":");
    look_in(s, list, bytes);
    list += bytes + (list[bytes] == ':');
  }
}

static void look_beside_library(search *s) {
  Dl_info info;
  if (!dladdr((const void *)(uintptr_t)sl_module_load, &info) || !info.dli_fname)
    return;
  const char *slash = strrchr(info.dli_fname, '/');
  if (slash)
    look_in(s, info.dli_fname, (size_t)(slash - info.dli_fname));
}

static void look(search *s) {
  look_in_list(s, getenv("SLEY_MODULE_PATH"));
  look_in(s, SLEY_MODULE_DIR, strlen(SLEY_MODULE_DIR));
  look_beside_library(s);
}

bool sl_module_installed(const char *name) {
  search s = {.name = name};
  look(&s);
  return s.found;
}

sley_status sl_module_load(const char *name, const char *symbol, const void **out) {
  *out = NULL;
  search s = {.name = name};
  look(&s);
  if (!s.found)
    return sl_fail(SLEY_ERR_UNSUPPORTED,
                   "libsley_%s.so is not installed (looked in %s): install it or set SLEY_MODULE_PATH", name,
                   s.places);

  void *module = dlopen(s.file, RTLD_NOW | RTLD_LOCAL);
  if (!module) {
    const char *why = dlerror();
    return sl_fail(SLEY_ERR_UNSUPPORTED, "%s cannot be loaded: %s", s.file, why ? why : "no reason given");
  }
  sl_module_entry entry = (sl_module_entry)(uintptr_t)dlsym(module, symbol);
  int built_for = 0;
  const void *table = entry ? entry(SL_MODULE_ABI, &built_for) : NULL;
  if (table && built_for == SL_MODULE_ABI) {
    *out = table;
    return SLEY_OK;
  }
  dlclose(module);
  if (!entry)
    return sl_fail(SLEY_ERR_UNSUPPORTED, "%s is no module of this kind: it does not export %s", s.file,
                   symbol);
  return sl_fail(
      SLEY_ERR_UNSUPPORTED,
      "%s was built for interface %07x of Sley, this library has %07x: build both from the same sources, or "
      "install the module of the same version",
      s.file, (unsigned)built_for, (unsigned)SL_MODULE_ABI);
}
