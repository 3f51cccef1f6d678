/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers the cost model works with: what links and memory of a machine do. */
#ifndef SLEY_PLAN_MACHINE_H
#define SLEY_PLAN_MACHINE_H

#include "device/device.h"

typedef struct sl_machine {
  const char *name;
  double direct_bandwidth;  /* bytes/s that one rank loads from peers' memory, random rows */
  double message_bandwidth; /* bytes/s of one rank's messages, packing and unpacking included */
  double message_latency;   /* s a message */
  double exchange_latency;  /* s an exchange: the ranks wait for each other */
  double spmm_bandwidth; /* bytes/s at which one thread (or GPU) takes entries and the rows of X they name */
  double stream_bandwidth; /* bytes/s at which one thread (or GPU) reads and writes rows of Y in order */
  bool overlaps;           /* rows move while parts are summed; else the rank's threads do both in turn */
} sl_machine;

/* A server's cores with ranks as threads. Typical figures, not tuned to a machine: they rank algorithms. */
extern const sl_machine sl_machine_threads;

/* GPUs that load each other's memory, between workgroups messages over sockets. Measured on a host with four
 * NVIDIA H200, NVLink between every pair: all four gathering random rows of their peers at once, products
 * with matrices that have communities, copies. The latencies are estimates. */
extern const sl_machine sl_machine_h200;

/* The one that stands for a rank's device. */
const sl_machine *sl_machine_of(const sl_device *device);

#endif
