/* SPDX-License-Identifier: Apache-2.0 */
/* The part of the cost model about the order of sums: which sums ranks compute between their waits for each
 * other. */
#ifndef SLEY_PREDICT_COST_SECTIONS_H
#define SLEY_PREDICT_COST_SECTIONS_H

#include "predict/cost_moves.h"

/* Seconds of a rank's sums. */
typedef struct sl_sums {
  double pack;
  double local;          /* seconds for entries whose rows of X the rank owns */
  double remote;         /* seconds for entries whose rows of X arrive, and for other work on Y after the
                            local entries */
  double partial;        /* seconds for partial sums, which are entries of other ranks' rows of Y */
  double remote_entries; /* the part of remote that entries alone take */
} sl_sums;

enum { SL_SECTIONS = 64 };

/* Divides the sums into sections, which end where all ranks wait for each other: seconds[0 .. result - 1].
 * There is one section if ranks do not wait: an exchange then ends for a sender before its rows are taken. If
 * there would be more than SL_SECTIONS, the last holds the rest. Returns the same number on all ranks. */
int sl_cost_sections(const sl_prediction *p, const sl_sums *sums, double *seconds);

#endif
