/* SPDX-License-Identifier: Apache-2.0 */
/* Finds and opens loadable modules. */
#define _GNU_SOURCE
#include "base/module.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 4096, PLACES_BYTES = 700 };

/* State of the search: the file once found, else the folders searched so far, as text for the message. */
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

/* Searches the folder sley beside this library, for an installed library, and the library's own folder, for a
 * build. */
static void look_beside_library(search *s) {
  Dl_info info;
  if (!dladdr((const void *)(uintptr_t)sl_module_load, &info) || !info.dli_fname)
    return;
  const char *slash = strrchr(info.dli_fname, '/');
  char folder[PATH_BYTES];
  if (!slash)
    return;
  int bytes = (int)(slash - info.dli_fname);
  int written = snprintf(folder, sizeof folder, "%.*s/sley", bytes, info.dli_fname);
  if (written > 0 && (size_t)written < sizeof folder)
    look_in(s, folder, (size_t)written);
  look_in(s, info.dli_fname, (size_t)bytes);
}

static void look(search *s) {
  look_in_list(s, getenv("SLEY_MODULE_PATH"));
  look_beside_library(s);
}

bool sl_module_installed(const char *name) {
  search s = {.name = name};
  look(&s);
  return s.found;
}

/* Passes to the module the functions of this library that it uses. Ranks that are threads may load a module
 * at the same time; the first sets it up while the others wait. */
static void hand_over(void *module) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  sl_module_taker take = (sl_module_taker)(uintptr_t)dlsym(module, "sl_module_take");
  pthread_mutex_lock(&lock);
  if (take)
    take(sl_module_table);
  pthread_mutex_unlock(&lock);
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
  const void *table = NULL;
  if (entry)
    (void)entry(0, &built_for);
  if (built_for == SL_MODULE_ABI) { /* a module for other interfaces might read beyond the table */
    hand_over(module);
    table = entry(SL_MODULE_ABI, &built_for);
  }
  if (table) {
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
