/* SPDX-License-Identifier: Apache-2.0 */
/* The processors that this process may use. hwloc finds cores, hardware threads, NUMA nodes, bindings and the
 * processors of a container; it does not report a container's CPU time limit (cpu.max), which is read
 * here. */
#include "base/cores.h"

#include <hwloc.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_BYTES = 4096, LINE_BYTES = 4096 };

/* ---- quota */

static bool read_line(const char *path, char *out, int room) {
  FILE *stream = fopen(path, "r");
  bool read = stream && fgets(out, room, stream);
  if (stream)
    fclose(stream);
  return read;
}

/* Returns the limit of one cgroup, in processors; 0 if there is none. second: cgroups of version 2. */
static double quota_of(const char *folder, bool second) {
  char path[PATH_BYTES + 32], text[128];
  double quota = 0, period = 0;
  if (second) {
    snprintf(path, sizeof path, "%s/cpu.max", folder);
    if (!read_line(path, text, sizeof text) || sscanf(text, "%lf %lf", &quota, &period) != 2)
      return 0; /* no limit: "max" */
  } else {
    snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", folder);
    if (!read_line(path, text, sizeof text) || sscanf(text, "%lf", &quota) != 1)
      return 0;
    snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder);
    if (!read_line(path, text, sizeof text) || sscanf(text, "%lf", &period) != 1)
      return 0;
  }
  return quota > 0 && period > 0 ? quota / period : 0;
}

/* The lowest limit of a cgroup and its parents, up to the root of its file system. */
static double least_quota(const char *root, const char *group, bool second) {
  char folder[PATH_BYTES];
  size_t top = strlen(root);
  double least = 0;
  if (snprintf(folder, sizeof folder, "%s%s", root, strcmp(group, "/") == 0 ? "" : group) >= PATH_BYTES)
    return 0;
  for (;;) {
    double quota = quota_of(folder, second);
    least = quota > 0 && (least == 0 || quota < least) ? quota : least;
    char *slash = strrchr(folder, '/');
    if (strlen(folder) <= top || !slash)
      return least;
    *slash = '\0';
  }
}

/* Returns whether a list of controllers, separated by commas, contains "cpu". */
static bool has_cpu(const char *controllers) {
  for (const char *at = controllers; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
    if (strncmp(at, "cpu", 3) == 0 && (at[3] == ',' || at[3] == '\0'))
      return true;
  return false;
}

double sl_cgroup_quota(const char *root, const char *list) {
  FILE *stream = fopen(list, "r");
  char line[LINE_BYTES], folder[PATH_BYTES];
  double least = 0;
  while (stream && fgets(line, sizeof line, stream)) {
    line[strcspn(line, "\n")] = '\0';
    char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group)
      continue;
    *group++ = '\0';
    bool second = *++controllers == '\0';
    if (!second && !has_cpu(controllers))
      continue;
    if (snprintf(folder, sizeof folder, "%s%s%s", root, second ? "" : "/", controllers) >= PATH_BYTES)
      continue;
    double quota = least_quota(folder, group, second);
    least = quota > 0 && (least == 0 || quota < least) ? quota : least;
  }
  if (stream)
    fclose(stream);
  return least;
}

/* ---- processors */

/* Counts the objects of a type that contain one of the processors in set. */
static int count_objects(hwloc_topology_t topology, hwloc_obj_type_t type, hwloc_const_cpuset_t set) {
  int count = 0;
  for (hwloc_obj_t o = NULL; (o = hwloc_get_next_obj_by_type(topology, type, o));)
    count += o->cpuset && hwloc_bitmap_intersects(o->cpuset, set);
  return count;
}

/* Fills out from hwloc. Returns false if hwloc finds no topology. */
static bool ask_hwloc(sl_processors *out) {
  hwloc_topology_t topology;
  if (hwloc_topology_init(&topology) != 0)
    return false;
  hwloc_bitmap_t set = hwloc_bitmap_alloc();
  bool told = set && hwloc_topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE) == 0 &&
              hwloc_topology_set_type_filter(topology, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL) == 0 &&
              hwloc_topology_load(topology) == 0;
  if (told) {
    if (hwloc_get_cpubind(topology, set, HWLOC_CPUBIND_THREAD) != 0)
      hwloc_bitmap_copy(set, hwloc_topology_get_allowed_cpuset(topology));
    hwloc_bitmap_and(set, set, hwloc_topology_get_allowed_cpuset(topology));
    out->hardware = count_objects(topology, HWLOC_OBJ_PU, set);
    out->physical = count_objects(topology, HWLOC_OBJ_CORE, set);
    out->numa_nodes = count_objects(topology, HWLOC_OBJ_NUMANODE, set);
  }
  hwloc_bitmap_free(set);
  hwloc_topology_destroy(topology);
  return told && out->hardware > 0;
}

static sl_processors found;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void look(void) {
  if (!ask_hwloc(&found)) /* hwloc found no topology */
    found.hardware = 1;
  if (found.physical < 1)
    found.physical = found.hardware;
  if (found.numa_nodes < 1)
    found.numa_nodes = 1;
  found.quota = sl_cgroup_quota("/sys/fs/cgroup", "/proc/self/cgroup");
  found.cores = found.physical;
  if (found.quota > 0 && found.quota < found.cores)
    found.cores = (int)ceil(found.quota);
}

const sl_processors *sl_processors_here(void) {
  pthread_once(&once, look);
  return &found;
}
