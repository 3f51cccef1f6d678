/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of sley_machine_tune. */
#ifndef SLEY_TUNE_TUNE_INSIDE_H
#define SLEY_TUNE_TUNE_INSIDE_H

#include "machine/machine.h"

enum { SL_TUNE_RANKS = 64, SL_TUNE_FIGURES = 256, SL_TUNE_WIDTHS = 4 }; /* upper bounds */

/* Shared by the ranks; rank 0 writes to machine. */
typedef struct sl_tuning {
  sl_machine machine, bare; /* bare: the machine as it is before a round */
  double begin, seconds;    /* start time by sl_now; time limit of everything */
  double slot;              /* seconds for one figure */
  double most_bytes;        /* maximum number of bytes of device memory for one measurement; more would take
                               too long */
  double size; /* size of matrices to be multiplied, at most 1, relative to the full size; the smallest are
                * always measured */
  bool hosts;  /* messages are sent between hosts, whose ranks share their links */
  bool moves;  /* messages are sent while ranks compute */
  /* Best times of earlier rounds, measured by rank 0; number of figures of this round. */
  double best[SL_TUNE_FIGURES];
  int figures;
  bool repeats;              /* this is not the first round: it measures the same figures as the first */
  int sizes[SL_TUNE_WIDTHS]; /* number of product sizes for each width, in the first round */
} sl_tuning;

/* A measurement. */
typedef struct sl_timed {
  sley_status (*run)(void *context);
  void *context;
  bool alone; /* times single runs, even if ranks enqueue, from the first call until the host sees the end */
} sl_timed;

/* Returns whether the rank only enqueues work, which its device then does. */
static inline bool sl_tune_enqueues(const sl_comm *comm) {
  return !comm->device->ops->host_addresses;
}

/* Returns in *late, the same on all ranks, whether the time limit has passed: the remaining figures are then
 * measured once, and larger sizes are left out. Collective. */
sley_status sl_tune_is_late(sl_comm *comm, const sl_tuning *tune, bool *late);

/* Allocates memory of the rank's device, filled with varying values; *out is NULL after an error. */
sley_status sl_tune_alloc(sl_comm *comm, int64_t bytes, const char *what, void **out);

/* Measures the slowest rank's seconds. All ranks start each run together; the result is the fastest tenth of
 * the runs, because other work on the machine can only make them longer. Before each run the cores' own
 * caches are filled with other data, as in a product, which reads much else between two uses of a row. If
 * ranks enqueue, many runs follow each other directly, so that the time is the device's and not its host's.
 * The first run does not count. On rank 0 the result is the time of an earlier round if that was faster.
 * Aborts the comm on an error. Collective. */
sley_status sl_tune_measure(sl_comm *comm, sl_tuning *tune, const sl_timed *what, double *seconds);

/* Measures messages by size over a link class (self: gathering), the meeting, and one-sided rows. Collective,
 * like all of these. */
sley_status sl_tune_link(sl_comm *comm, sl_tuning *tune, sl_link link);
/* Measures the link of a host, which its ranks share. */
sley_status sl_tune_node(sl_comm *comm, sl_tuning *tune);
/* Measures the copying of single rows. */
sley_status sl_tune_gather(sl_comm *comm, sl_tuning *tune);
/* Measures a meeting of more ranks than cores. */
sley_status sl_tune_crowded(sl_comm *comm, sl_tuning *tune);
/* Measures products; if ranks enqueue, also the time of a product beyond its sums, as the meeting. */
sley_status sl_tune_kernels(sl_comm *comm, sl_tuning *tune);
/* Measures a launch. */
sley_status sl_tune_launch(sl_comm *comm, sl_tuning *tune);
/* Measures the passes of compressed collectives, if the device has kernels for them. */
sley_status sl_tune_compress(sl_comm *comm, sl_tuning *tune);
/* Measures row windows on Tensor cores and as streams, if the device has kernels for both. arg: the
 * tuning. */
sley_status sl_tune_windows(sl_comm *comm, void *arg);

#endif
