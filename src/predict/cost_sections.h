/* SPDX-License-Identifier: Apache-2.0 */
/* The cost model's part about the order of sums: which of them ranks do between waiting for each other. */
#ifndef SLEY_PREDICT_COST_SECTIONS_H
#define SLEY_PREDICT_COST_SECTIONS_H

#include "predict/cost_moves.h"

/* Seconds of a rank's sums. */
typedef struct sl_sums {
  double pack;
  double local;          /* entries whose rows of X it owns */
  double remote;         /* entries whose rows of X come, and what else is done to Y after the local ones */
  double partial;        /* entries of others' rows of Y */
  double remote_entries; /* of remote: its entries alone */
} sl_sums;

enum { SL_SECTIONS = 64 };

/* Divides them among sections, which end where all ranks wait for each other: seconds[0 .. result - 1]. One
 * section where ranks do not: an exchange then ends for a sender before its rows are taken. Of more than
 * SL_SECTIONS the last holds the rest. The same number on all ranks. */
int sl_cost_sections(const sl_prediction *p, const sl_sums *sums, double *seconds);

#endif
