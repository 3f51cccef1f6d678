/* SPDX-License-Identifier: Apache-2.0 */
/* How many cores a process may use: its binding, and what its cgroup may take. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cores.h"
#include "base/team.h"
#include "support.h"

static void counts_what_there_is(void **state) {
  (void)state;
  const sl_processors *p = sl_processors_here();
  cpu_set_t set;
  assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
  assert_int_equal(p->hardware, CPU_COUNT(&set));
  assert_in_range(p->physical, 1, p->hardware);
  assert_in_range(p->cores, 1, p->physical);
  assert_in_range(p->numa_nodes, 1, p->physical);
  assert_int_equal(sl_cores(), p->cores);
}

/* A process bound to one processor has one core. */
static void a_binding_counts(void **state) {
  (void)state;
  pid_t child = fork();
  if (child == 0) {
    char *words[] = {"test_cores", "bound", NULL};
    cpu_set_t set, one;
    sched_getaffinity(0, sizeof set, &set);
    CPU_ZERO(&one);
    for (int c = CPU_SETSIZE - 1; c >= 0 && CPU_COUNT(&one) == 0; c--)
      if (CPU_ISSET(c, &set))
        CPU_SET(c, &one);
    sched_setaffinity(0, sizeof one, &one);
    execv("/proc/self/exe", words);
    _exit(99);
  }
  int ended = 0;
  assert_int_equal(waitpid(child, &ended, 0), child);
  assert_true(WIFEXITED(ended));
  assert_int_equal(WEXITSTATUS(ended), 1); /* cores */
}

static void put(const char *root, const char *path, const char *text) {
  char whole[512];
  snprintf(whole, sizeof whole, "%s/%s", root, path);
  for (char *c = whole + strlen(root) + 1; (c = strchr(c, '/')); *c++ = '/') {
    *c = '\0';
    mkdir(whole, 0777);
  }
  FILE *stream = fopen(whole, "w");
  assert_non_null(stream);
  fputs(text, stream);
  fclose(stream);
}

static void quotas_of_cgroups_count(void **state) {
  (void)state;
  char root[] = "/tmp/sley-cgroup-XXXXXX", list[64], command[128];
  assert_non_null(mkdtemp(root));
  snprintf(list, sizeof list, "%s/list", root);
  assert_true(sl_cgroup_quota(root, list) == 0); /* none at all */
  put(root, "list", "0::/a/b\n");
  put(root, "a/b/cpu.max", "max 100000\n");
  assert_true(sl_cgroup_quota(root, list) == 0);
  put(root, "a/cpu.max", "250000 100000\n"); /* the group around it */
  assert_true(sl_cgroup_quota(root, list) == 2.5);
  put(root, "a/b/cpu.max", "50000 100000\n");
  assert_true(sl_cgroup_quota(root, list) == 0.5);
  put(root, "list", "0::/\n"); /* inside a container */
  put(root, "cpu.max", "300000 100000\n");
  assert_true(sl_cgroup_quota(root, list) == 3);
  put(root, "list", "7:memory:/m\n4:cpu,cpuacct:/job\n1:cpuset:/s\n"); /* version 1 */
  put(root, "cpu,cpuacct/job/cpu.cfs_quota_us", "-1\n");
  put(root, "cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
  assert_true(sl_cgroup_quota(root, list) == 0);
  put(root, "cpu,cpuacct/job/cpu.cfs_quota_us", "150000\n");
  assert_true(sl_cgroup_quota(root, list) == 1.5);
  put(root, "list", "nonsense\n:\n");
  assert_true(sl_cgroup_quota(root, list) == 0);
  snprintf(command, sizeof command, "rm -r %s", root);
  assert_int_equal(system(command), 0);
}

int main(int words, char **word) {
  (void)word;
  if (words > 1)
    return sl_cores();
  const struct CMUnitTest tests[] = {cmocka_unit_test(counts_what_there_is),
                                     cmocka_unit_test(a_binding_counts),
                                     cmocka_unit_test(quotas_of_cgroups_count)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
