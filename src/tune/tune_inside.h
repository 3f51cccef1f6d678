/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of sley_machine_tune share. */
#ifndef SLEY_TUNE_TUNE_INSIDE_H
#define SLEY_TUNE_TUNE_INSIDE_H

#include "machine/machine.h"

enum { SL_TUNE_RANKS = 64, SL_TUNE_FIGURES = 256, SL_TUNE_WIDTHS = 4 }; /* at most */

/* Shared by the ranks; rank 0 writes to machine. */
typedef struct sl_tuning {
  sl_machine machine, bare; /* bare: as it is before a round */
  double begin, seconds;    /* when it began, by sl_now; for all */
  double slot;              /* for one figure */
  double most_bytes; /* of what a device holds of one thing that is measured: more would take too long */
  double size; /* of matrices that are made to be multiplied, beside those that there is always time for: 1 at
                  most */
  bool hosts;  /* messages travel between hosts, whose ranks share their links */
  bool moves;  /* and do so while ranks compute */
  /* Of earlier rounds, as rank 0 measured them; how many there are of this round. */
  double best[SL_TUNE_FIGURES];
  int figures;
  bool repeats;              /* this is not the first round: it measures what the first has */
  int sizes[SL_TUNE_WIDTHS]; /* of products of each width, in the first round */
} sl_tuning;

/* What is measured. */
typedef struct sl_timed {
  sley_status (*run)(void *context);
  void *context;
  bool alone; /* also where ranks enqueue: one run from its first call until its end is seen */
} sl_timed;

/* Whether the rank enqueues what its device then does by itself. */
static inline bool sl_tune_enqueues(const sl_comm *comm) {
  return !comm->device->ops->host_addresses;
}

/* Whether the seconds that there are for all are over, the same on all ranks: what is left is then measured
 * once, and larger things are left out. Collective. */
sley_status sl_tune_is_late(sl_comm *comm, const sl_tuning *tune, bool *late);

/* Memory of the rank's device, filled with values that are not all the same; *out is NULL on an error. */
sley_status sl_tune_alloc(sl_comm *comm, int64_t bytes, const char *what, void **out);

/* The slowest rank's seconds, each run begun together, the fastest tenth of the runs: whatever else the
 * machine does makes them longer only. Before each the cores' own caches are filled with other things, as in
 * a product, which goes through all else between two uses of a row. Where ranks enqueue, a run is one of many
 * that follow each other at once, so that it takes what the device takes, not its host. The first run does
 * not count. On rank 0, where an earlier round was faster, its time. Aborts the comm on an error. Collective.
 */
sley_status sl_tune_measure(sl_comm *comm, sl_tuning *tune, const sl_timed *what, double *seconds);

/* Messages by size over a link class (self: gathering), and the meeting; one-sided rows. Collective, as all.
 */
sley_status sl_tune_link(sl_comm *comm, sl_tuning *tune, sl_link link);
/* The link of a host, which its ranks share. */
sley_status sl_tune_node(sl_comm *comm, sl_tuning *tune);
/* Rows copied one by one. */
sley_status sl_tune_gather(sl_comm *comm, sl_tuning *tune);
/* A meeting; of more ranks than cores. */
sley_status sl_tune_crowded(sl_comm *comm, sl_tuning *tune);
/* Products; where ranks enqueue, also what one takes beyond its sums, as the meeting. */
sley_status sl_tune_kernels(sl_comm *comm, sl_tuning *tune);
/* Passes of compressed collectives, where the device has kernels for them. */
sley_status sl_tune_compress(sl_comm *comm, sl_tuning *tune);
/* Row windows on Tensor cores and as streams, where the device has kernels for both. arg: the tuning. */
sley_status sl_tune_windows(sl_comm *comm, void *arg);

#endif
