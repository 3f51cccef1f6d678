/* SPDX-License-Identifier: Apache-2.0 */
/* The processors that this process may use. */
#ifndef SLEY_BASE_CORES_H
#define SLEY_BASE_CORES_H

typedef struct sl_processors {
  int cores;    /* that this process may use at once, at least 1: physical ones, and no more than the quota */
  int physical; /* physical cores that it may run on, by its binding and its cgroup */
  int hardware; /* hardware threads of those, that it may run on */
  int numa_nodes; /* that those belong to */
  double quota;   /* processors' time a second that its cgroup may take; 0: no limit */
} sl_processors;

/* Looked up once in a process, by hwloc. */
const sl_processors *sl_processors_here(void);

/* What the cgroup's limits leave, in processors; 0: no limit. root: where the file systems of cgroups lie,
 * /sys/fs/cgroup; list: the cgroups of the process, /proc/self/cgroup. Versions 1 and 2. */
double sl_cgroup_quota(const char *root, const char *list);

#endif
