/* SPDX-License-Identifier: Apache-2.0 */
/* The processors that this process may use. */
#ifndef SLEY_BASE_CORES_H
#define SLEY_BASE_CORES_H

typedef struct sl_processors {
  int cores;      /* cores that this process may use at once, at least 1: physical cores, limited by the
                     quota */
  int physical;   /* physical cores that it may run on, by its binding and its cgroup */
  int hardware;   /* hardware threads of these cores that it may run on */
  int numa_nodes; /* number of NUMA nodes to which these cores belong */
  double quota;   /* processor seconds per second that its cgroup may use; 0: no limit */
} sl_processors;

/* Returns the processors of this process, looked up once, by hwloc. */
const sl_processors *sl_processors_here(void);

/* Returns the CPU limit of the process's cgroups, in processors; 0: no limit. root: mount point of the cgroup
 * file systems, /sys/fs/cgroup; list: file with the cgroups of the process, /proc/self/cgroup. Handles
 * versions 1 and 2. */
double sl_cgroup_quota(const char *root, const char *list);

#endif
