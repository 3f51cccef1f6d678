/* SPDX-License-Identifier: Apache-2.0 */
/* Entries of A that go to other ranks when a plan is made. */
#ifndef SLEY_PLAN_REDISTRIBUTE_H
#define SLEY_PLAN_REDISTRIBUTE_H

#include "plan/inspect.h"

/* An entry of A on its way between ranks. */
typedef struct sl_item {
  int64_t row, col; /* global */
  double value;
} sl_item;

/* Sends every entry e of the block to rank target(context, row, col) (-1: nowhere), keeping the order.
 * *items, from sl_alloc, come from ranks in ascending order, hence sorted by row and column. Collective,
 * agreed. */
sley_status sl_redistribute(const sl_inspection *ins,
                            int (*target)(const void *context, int64_t row, int64_t col), const void *context,
                            sl_item **items, int64_t *count);

#endif
