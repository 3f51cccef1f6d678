/* SPDX-License-Identifier: Apache-2.0 */
/* Orderings by a library that divides a graph: what costs an SpMM is the halo of blocks of consecutive rows,
 * so the rows are divided into SL_PARTS parts of equal size and few cut edges, and numbered part by part.
 * Parts that come from recursive bisection are siblings of their neighbours in number, so the blocks of 2, 4,
 * 8 or more ranks are unions of whole parts. Nested dissection, which serves sparse factorisation, puts the
 * separators last, where a block of separator rows would need halos from everywhere. */
#ifndef SLEY_ORDER_DIVIDED_H
#define SLEY_ORDER_DIVIDED_H

#include "order/undirected.h"

enum { SL_PARTS = 256 };

/* A library. Its calls take turns. */
typedef struct sl_divider {
  const char *name;    /* in messages */
  size_t number_bytes; /* of its vertex numbers: 4 or 8 */
  /* A graph without loops and repeats: neighbour[begin[v] .. begin[v + 1] - 1], its numbers of number_bytes
   * each, like those of part, which it fills: the part of each vertex, from 0 to parts - 1. parts: 2 to
   * SL_PARTS. */
  sley_status (*divide)(int64_t count, void *begin, void *neighbour, int64_t parts, uint64_t seed,
                        void *part);
} sl_divider;

/* perm as an ordering's run gives it. Errors: SLEY_ERR_UNSUPPORTED (more entries than the library's numbers
 * reach), SLEY_ERR_MEMORY, the library's. */
sley_status sl_order_divided(const sley_matrix *matrix, const sl_divider *divider, uint64_t seed,
                             sl_team *team, int64_t *perm);

#endif
