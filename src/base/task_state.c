/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the state of a task from /proc. */
#include "base/task_state.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

char sl_task_state(int process, int thread) {
  char name[64], line[256];
  if (thread > 0)
    snprintf(name, sizeof name, "/proc/%d/task/%d/stat", process, thread);
  else
    snprintf(name, sizeof name, "/proc/%d/stat", process);
  int fd = process > 0 ? open(name, O_RDONLY | O_CLOEXEC) : -1;
  ssize_t got = fd >= 0 ? read(fd, line, sizeof line - 1) : 0;
  if (fd >= 0)
    close(fd);
  line[got > 0 ? got : 0] = '\0';
  const char *name_end = strrchr(line, ')'); /* the state follows the name in parentheses */
  return (char)(name_end && name_end[1] == ' ' ? name_end[2] : '\0');
}
