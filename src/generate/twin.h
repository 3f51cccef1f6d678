/* SPDX-License-Identifier: Apache-2.0 */
/* Twins: seeded look-alikes of published graphs, in the order those have after community reordering. */
#ifndef SLEY_GENERATE_TWIN_H
#define SLEY_GENERATE_TWIN_H

#include "base/status.h"

typedef struct sl_twin {
  const char *name, *of;
  int64_t rows, nnz;
  bool mirrored;    /* every edge both ways */
  double draws;     /* entries drawn over nnz: makes up for dropped loops and repeats */
  double leaving;   /* f: share of the edges that leave their sixteenth of the rows */
  int64_t pool;     /* rows outside that a sixty-fourth's leaving edges end in */
  double open;      /* share of the rows that have leaving edges */
  int64_t partners; /* sixteenths that a sixty-fourth's pool lies in */
  double most;      /* weight that no row exceeds: bounds the degrees */
  int64_t near;     /* rows from the diagonal within which most of the other edges end */
} sl_twin;

extern const sl_twin sl_twins[];
extern const int sl_twin_count;

#endif
