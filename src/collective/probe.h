/* SPDX-License-Identifier: Apache-2.0 */
/* Estimates the density of the ranks' arrays before a run: nonzeros of a sample are counted, and the ranks
 * add up their counts in one message of a few numbers. So all ranks decide alike, by numbers of this run.
 *
 * The size of the sample takes a small share of the dense collective's time, and it begins at another
 * position in every run. Exact counts of a run that was sparse are sent with the next run's numbers, and
 * overrule a sample that has missed the nonzeros. After a decision against sparse, the next runs are dense
 * without a sample: 1, 2, 4 runs and so on up to SL_PROBE_LONGEST.
 *
 * A sample makes the host wait for the device. A probe that `follows` takes a sample only after dense runs:
 * after a decision for sparse, each run is decided by what the ranks know about the runs before. */
#ifndef SLEY_COLLECTIVE_PROBE_H
#define SLEY_COLLECTIVE_PROBE_H

#include "collective/choose.h"
#include "collective/sparse_spec.h"
#include "device/device.h"

/* A sample has at least SL_PROBE_LEAST values, or all values of a shorter array, because smaller samples take
   as long. */
enum { SL_PROBE_BLOCKS = 8, SL_PROBE_LEAST = 4 * SL_TILE_VALUES, SL_PROBE_LONGEST = 16 };

typedef struct sl_probe {
  sl_comm *comm;
  sley_type type;
  int64_t limit;   /* sparse up to this density, in millionths; the same on all ranks */
  int64_t most;    /* number of values of the sample */
  int64_t *counts; /* SL_PROBE_BLOCKS counts, in device memory */
  int64_t runs;
  int held, hold;           /* held: number of the next runs without a sample; hold: value of held after the
                               next decision against sparse */
  bool follows;             /* decisions follow the counts of earlier runs, see above; set by the caller, the
                               same on all ranks */
  bool is_sparse;           /* the last decision */
  int64_t values, nonzeros; /* counts of this rank's last decision: of a sample, or of an earlier run */
  /* Set by the caller before a decision: counts of the arrays that this rank compressed in the newest run
   * whose counts it knows, if no decision has used that run before; else 0. */
  sl_sparse_counts known;
} sl_probe;

/* Allocates the probe's memory. seconds: maximum time of a probe. Ended by sl_probe_end, also on an error.
 * Not collective. */
sley_status sl_probe_begin(sl_probe *probe, sl_comm *comm, sley_type type, const sl_sparse_costs *costs,
                           double seconds);
void sl_probe_end(sl_probe *probe);

/* Decides whether the next run is sparse, and why, the same on all ranks. src: this rank's array of that many
 * values. If a sample is taken, the host waits for the queue. Collective. */
sley_status sl_probe_decide(sl_probe *probe, const void *src, int64_t values, sl_queue *queue, bool *sparse,
                            sl_sparse_reason *why);

/* Counts a sample of src without the other ranks, unless the probe follows and knows the counts of an earlier
 * run. If a sample is taken, the host waits for the queue. Not collective. */
sley_status sl_probe_estimate(sl_probe *probe, const void *src, int64_t values, sl_queue *queue);

/* The density in the counts of this rank's last decision; 1 if nothing was counted. */
double sl_probe_density(const sl_probe *probe);

#endif
