/* SPDX-License-Identifier: Apache-2.0 */
/* The search of a rank for rank 0. */
#ifndef SLEY_BOOTSTRAP_FIND_H
#define SLEY_BOOTSTRAP_FIND_H

#include "bootstrap/hello.h"
#include "bootstrap/place.h"

/* Connects to rank 0 and sends it *who. Rank 0 listens at one of SL_PORTS ports; other programs may use the
 * other ports and send anything. All ports are visited at the same time, repeatedly, until one listener
 * proves that it is rank 0. *rank_0 receives its address and port, *fd the connection. Allocates nothing.
 * Errors: SLEY_ERR_PEER (not reached by the deadline, a time of sl_now(); or it has ended), SLEY_ERR_ARG (no
 * such host), SLEY_ERR_INTERRUPTED, SLEY_ERR_INTERNAL. */
sley_status sl_find_rank_0(const sl_place *place, const sl_hello *who, double deadline, sl_entry *rank_0,
                           int *fd);

#endif
