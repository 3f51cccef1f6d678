/* SPDX-License-Identifier: Apache-2.0 */
/* The monotonic clock. */
#ifndef SLEY_BASE_CLOCK_H
#define SLEY_BASE_CLOCK_H

#include <time.h>

/* Returns the seconds of the monotonic clock. */
static inline double sl_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

#endif
