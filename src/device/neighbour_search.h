/* SPDX-License-Identifier: Apache-2.0 */
/* The search for a good shape of a kernel over neighbour partitions, after MGG, section 6: first ps grows
 * until that costs time, then dist, then wpb; where wpb cannot grow, ps steps back to its second best value
 * and wpb grows again. Every shape tried is kept in a table, and none is timed twice. */
#ifndef SLEY_DEVICE_NEIGHBOUR_SEARCH_H
#define SLEY_DEVICE_NEIGHBOUR_SEARCH_H

#include "base/status.h"

typedef struct sl_neighbour_shape {
  int ps;   /* entries of a partition, 1 .. 32 */
  int dist; /* pairs of partitions of a warp, 1 .. 16 */
  int wpb;  /* warps of a block, 1 .. 16 */
} sl_neighbour_shape;

typedef struct sl_neighbour_trial {
  sl_neighbour_shape shape;
  double seconds; /* INFINITY: it does not fit in memory */
} sl_neighbour_trial;

enum { SL_NEIGHBOUR_TRIALS = 32 };

typedef struct sl_neighbour_table {
  sl_neighbour_trial trial[SL_NEIGHBOUR_TRIALS]; /* in the order tried */
  int count, best;                               /* best: the fastest's place */
} sl_neighbour_table;

/* Seconds of one product in a shape; INFINITY if it cannot be had. */
typedef sley_status (*sl_neighbour_timer)(void *context, const sl_neighbour_shape *shape, double *seconds);

/* Values double from one step to the next. Errors: those of time, and SLEY_ERR_MEMORY if no shape fits. */
sley_status sl_neighbour_search(sl_neighbour_timer time, void *context, sl_neighbour_table *out);

#endif
