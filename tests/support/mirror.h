/* SPDX-License-Identifier: Apache-2.0 */
/* Tests on any device: operands in host memory get a mirror in the device's. */
#ifndef SLEY_TESTS_MIRROR_H
#define SLEY_TESTS_MIRROR_H

#include "support.h"
#include "chosen_device.h"

/* Whether the comm says that all one-sided access is to be had. */
bool test_one_sided(const sley_comm *comm);

/* On the cpu `here` is the host's memory itself. */
typedef struct mirror {
  sley_comm *comm;
  void *host, *here;
  int64_t bytes;
} mirror;

/* A mirror with the host memory's contents. After an error it may be closed all the same. */
sley_status mirror_open(sley_comm *comm, const void *host, int64_t bytes, mirror *out);

/* The host's memory to the mirror, and back; the latter waits for the comm's queue. */
sley_status mirror_send(const mirror *m);
sley_status mirror_fetch(const mirror *m);

void mirror_close(mirror *m);

#endif
