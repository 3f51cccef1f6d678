/* SPDX-License-Identifier: Apache-2.0 */
/* The search for a good shape of a kernel over neighbour partitions, after MGG, section 6: first ps grows
 * until the time increases, then dist, then wpb; if wpb cannot grow, ps steps back to its second best value
 * and wpb grows again. Every shape tried is kept in a table, and none is timed twice. */
#ifndef SLEY_DEVICE_NEIGHBOUR_SEARCH_H
#define SLEY_DEVICE_NEIGHBOUR_SEARCH_H

#include "base/status.h"
#include "device/neighbour_model.h"
#include "device/rowwise_choice.h"

typedef struct sl_neighbour_trial {
  sl_neighbour_shape shape;
  sl_neighbour_model model;
  double seconds; /* INFINITY: the shape does not fit in memory */
} sl_neighbour_trial;

enum { SL_NEIGHBOUR_TRIALS = 32 };

typedef struct sl_neighbour_table {
  sl_neighbour_trial trial[SL_NEIGHBOUR_TRIALS]; /* in the order of the trials */
  int count, best;                               /* best: index of the fastest */
} sl_neighbour_table;

/* The figures of the shape that a choice fixes; 0: the figure is not fixed. */
static inline sl_neighbour_shape sl_neighbour_fixed(const sl_rowwise_choice *choice) {
  sl_neighbour_shape fixed = {choice->whole ? SL_NEIGHBOUR_WHOLE : choice->ps, choice->dist, choice->wpb};
  return fixed;
}

/* Times a shape. On input the trial has a shape, and INFINITY as seconds. Fills in the model's figures, and
 * the seconds of one product if the shape can run. */
typedef sley_status (*sl_neighbour_timer)(void *context, sl_neighbour_trial *trial);

/* Searches; figures double from one step to the next, except nonzero figures of `fixed`, which do not change.
 * Errors: errors of the timer, and SLEY_ERR_MEMORY if no shape fits. */
sley_status sl_neighbour_search(sl_neighbour_timer time, void *context, const sl_neighbour_shape *fixed,
                                sl_neighbour_table *out);

#endif
