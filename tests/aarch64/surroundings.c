/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernels have around them in these programs, where it is not the library: cores are counted without
 * hwloc (src/base/cores.c), and no module gets the table of what it may call, for none is loaded. */
#include <pthread.h>
#include <unistd.h>

#include "base/cores.h"
#include "base/module.h"

static sl_processors found;

static void find(void) {
  int count = (int)sysconf(_SC_NPROCESSORS_ONLN);
  count = count > 0 ? count : 1;
  found = (sl_processors){.cores = count, .physical = count, .hardware = count, .numa_nodes = 1};
}

const sl_processors *sl_processors_here(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, find);
  return &found;
}

const void *const sl_module_table[] = {NULL};
