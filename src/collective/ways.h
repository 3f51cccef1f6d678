/* SPDX-License-Identifier: Apache-2.0 */
/* The table of the ways of sparse collectives. */
#ifndef SLEY_COLLECTIVE_WAYS_H
#define SLEY_COLLECTIVE_WAYS_H

#include "collective/route.h"

/* Returns the row of a way; NULL if there is none. */
const sl_way *sl_way_of(sley_collective_way way);

/* Returns the functions of a way: its own, or those of its form for ranks that read each other's memory. */
const sl_sparse_route_ops *sl_way_route(const sl_way *way, const sl_comm *comm);

/* The same as sley_collective_ways. */
const char *const *sl_way_names(void);

#endif
