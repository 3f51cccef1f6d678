/* SPDX-License-Identifier: Apache-2.0 */
/* How dense the ranks' arrays are, before a run: a sample of them is counted, and the ranks add up what they
 * have found in one message of a few numbers. So all ranks decide alike, by numbers of this run.
 *
 * The sample is as large as a small share of the dense collective's time allows, and begins elsewhere in
 * every run. True counts of a run that was sparse go along with the next run's numbers, and overrule a sample
 * that has missed the nonzeros. After a decision against sparse, the next runs are dense without a look: 1,
 * 2, 4 runs and so on up to SL_PROBE_LONGEST.
 *
 * A sample makes the host wait for the device. A probe that `follows` takes one only after dense runs: from a
 * decision for sparse on, each run is decided by what the ranks know by then of the runs before. */
#ifndef SLEY_COLLECTIVE_PROBE_H
#define SLEY_COLLECTIVE_PROBE_H

#include "collective/choose.h"
#include "collective/sparse_spec.h"
#include "device/device.h"

/* A sample is never shorter than SL_PROBE_LEAST, where there are so many values: launches take as long
 * anyway.
 */
enum { SL_PROBE_BLOCKS = 8, SL_PROBE_LEAST = 4 * SL_TILE_VALUES, SL_PROBE_LONGEST = 16 };

typedef struct sl_probe {
  sl_comm *comm;
  sley_type type;
  int64_t limit;   /* sparse up to this density, in millionths; the same on all ranks */
  int64_t most;    /* values of the sample */
  int64_t *counts; /* of the device: SL_PROBE_BLOCKS */
  int64_t runs;
  int held, hold;           /* runs without a look: left, and after the next decision against sparse */
  bool follows;             /* set by the caller, the same on all ranks: see above */
  bool is_sparse;           /* the last decision */
  int64_t values, nonzeros; /* what this rank's last decision was by: of a sample, or of a run before */
  /* Set by the caller before a decision: what this rank has compressed in the newest run that it knows of,
   * if not of one before; else 0. */
  sl_sparse_counts known;
} sl_probe;

/* Takes its memory. seconds: what a probe may take. Ended by sl_probe_end, also on an error. Local. */
sley_status sl_probe_begin(sl_probe *probe, sl_comm *comm, sley_type type, const sl_sparse_costs *costs,
                           double seconds);
void sl_probe_end(sl_probe *probe);

/* Whether the next run is sparse, and why, the same on all ranks. src: this rank's array of so many values.
 * Where a sample is taken the host waits for the queue. Collective. */
sley_status sl_probe_decide(sl_probe *probe, const void *src, int64_t values, sl_queue *queue, bool *sparse,
                            sl_sparse_reason *why);

/* Of what this rank's last decision was by; 1 where nothing was counted. */
double sl_probe_density(const sl_probe *probe);

#endif
