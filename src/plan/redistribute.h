/* SPDX-License-Identifier: Apache-2.0 */
/* Moves entries of A to other ranks while a plan is made. */
#ifndef SLEY_PLAN_REDISTRIBUTE_H
#define SLEY_PLAN_REDISTRIBUTE_H

#include "plan/inspect.h"

/* An entry of A that moves between ranks. */
typedef struct sl_item {
  int64_t row, col; /* global numbers */
  double value;
} sl_item;

/* Sends every entry of the block to rank target(context, row, col), in the order of the block; if that is -1,
 * the entry is not sent. *items, allocated by sl_alloc, has the entries received, by ascending sender, and
 * therefore sorted by row and column. Collective, agreed. */
sley_status sl_redistribute(const sl_inspection *ins,
                            int (*target)(const void *context, int64_t row, int64_t col), const void *context,
                            sl_item **items, int64_t *count);

#endif
