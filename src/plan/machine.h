/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers the cost model works with: what links and memory of a machine do. */
#ifndef SLEY_PLAN_MACHINE_H
#define SLEY_PLAN_MACHINE_H

typedef struct sl_machine {
  const char *name;
  double direct_bandwidth;  /* bytes/s that one rank loads from peers' memory, random rows */
  double message_bandwidth; /* bytes/s of one rank's messages, packing and unpacking included */
  double message_latency;   /* s a message */
  double exchange_latency;  /* s an exchange: the ranks wait for each other */
  double spmm_bandwidth;    /* bytes/s at which one thread takes entries and the rows of X they name */
  double stream_bandwidth;  /* bytes/s at which one thread reads and writes rows of Y in order */
} sl_machine;

/* A server's cores with ranks as threads. Typical figures, not tuned to a machine: they rank algorithms. */
extern const sl_machine sl_machine_threads;

#endif
