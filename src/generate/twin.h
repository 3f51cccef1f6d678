/* SPDX-License-Identifier: Apache-2.0 */
/* Twins: seeded imitations of published graphs, in the row order that these have after community
 * reordering. */
#ifndef SLEY_GENERATE_TWIN_H
#define SLEY_GENERATE_TWIN_H

#include "base/status.h"

typedef struct sl_twin {
  const char *name, *of;
  int64_t rows, nnz;
  bool mirrored;  /* every edge in both directions */
  double draws;   /* number of entries drawn, relative to nnz, to compensate for dropped loops and repeats */
  double leaving; /* f: share of the edges that leave their sixteenth of the rows */
  int64_t pool;   /* number of rows outside in which the leaving edges of a sixty-fourth of the rows end */
  double open;    /* share of the rows that have leaving edges */
  int64_t partners; /* number of sixteenths over which a sixty-fourth's pool is spread */
  double most;      /* largest weight of a row, which bounds the degrees */
  int64_t near;     /* distance in rows from the diagonal within which most of the other edges end */
} sl_twin;

extern const sl_twin sl_twins[];
extern const int sl_twin_count;

#endif
