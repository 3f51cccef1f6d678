/* SPDX-License-Identifier: Apache-2.0 */
/* Mirrors of host memory in device memory, for tests on any device. */
#ifndef SLEY_TESTS_MIRROR_H
#define SLEY_TESTS_MIRROR_H

#include "support.h"
#include "chosen_device.h"

/* Whether the comm supports all one-sided operations. */
bool test_one_sided(const sley_comm *comm);

/* On the CPU `here` is the host memory itself. */
typedef struct mirror {
  sley_comm *comm;
  void *host, *here;
  int64_t bytes;
} mirror;

/* Opens a mirror with the contents of host memory. After an error it may still be closed. */
sley_status mirror_open(sley_comm *comm, const void *host, int64_t bytes, mirror *out);

/* Copy host memory to the mirror, and back. mirror_fetch waits for the comm's queue. */
sley_status mirror_send(const mirror *m);
sley_status mirror_fetch(const mirror *m);

void mirror_close(mirror *m);

#endif
