/* SPDX-License-Identifier: Apache-2.0 */
/* Moving vertices between parts so that the covers of the entries between parts get smaller. */
#ifndef SLEY_ORDER_COVER_MOVES_H
#define SLEY_ORDER_COVER_MOVES_H

#include "order/cover_parts.h"

/* Moves vertices, then makes every part have target[p] vertices. A vertex moves only among the `siblings`
 * consecutive parts that its own part belongs to: parts 0 .. siblings - 1, siblings .. 2 siblings - 1, and so
 * on; the targets of siblings sum to their vertices. At the end the covers are minimum. The result depends
 * only on the arguments. Errors: SLEY_ERR_MEMORY, SLEY_ERR_OVERFLOW, SLEY_ERR_INTERRUPTED. */
sley_status sl_cover_refine(sl_cover_parts *parts, int siblings, const int64_t *target, uint64_t seed);

#endif
