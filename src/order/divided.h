/* SPDX-License-Identifier: Apache-2.0 */
/* Orderings by a library that divides a graph. The cost of an SpMM depends on the halo of blocks of
 * consecutive rows, so the rows are divided into SL_PARTS parts of equal size with few cut edges, and
 * numbered part by part. Parts from recursive bisection are siblings of the parts with neighbouring numbers,
 * so the blocks of 2, 4, 8 or more ranks are unions of whole parts. Nested dissection, which serves sparse
 * factorisation, puts the separators last, so a block of separator rows would need a halo from everywhere. */
#ifndef SLEY_ORDER_DIVIDED_H
#define SLEY_ORDER_DIVIDED_H

#include "order/undirected.h"

enum { SL_PARTS = 256 };

/* A library that divides graphs. One thread calls it at a time. */
typedef struct sl_divider {
  const char *name;    /* name in messages */
  size_t number_bytes; /* bytes of its vertex numbers: 4 or 8 */
  /* Divides a graph without loops and repeats: vertex v has neighbours neighbour[begin[v] .. begin[v + 1] -
   * 1], and weight, unless it is NULL, the weight of each entry of neighbour. Fills part: the part of each
   * vertex, from 0 to parts - 1. All arrays hold numbers of number_bytes. parts: 2 to SL_PARTS. */
  sley_status (*divide)(int64_t count, void *begin, void *neighbour, void *weight, int64_t parts,
                        uint64_t seed, void *part);
} sl_divider;

/* Fills perm with the places of the vertices, part by part; vertices of a part keep their order. */
void sl_number_parts(const int32_t *part, int64_t count, int64_t *perm);

/* Fills perm as sl_ordering's run does. weighted: the more edges a vertex has, the less each of them weighs.
 * Errors: SLEY_ERR_UNSUPPORTED (more entries than the library's numbers can count), SLEY_ERR_MEMORY, errors
 * of the library. */
sley_status sl_order_divided(const sley_matrix *matrix, const sl_divider *divider, bool weighted,
                             uint64_t seed, sl_team *team, int64_t *perm);

#endif
