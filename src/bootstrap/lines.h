/* SPDX-License-Identifier: Apache-2.0 */
/* The connections between every two ranks, made after the ranks have met at rank 0. */
#ifndef SLEY_BOOTSTRAP_LINES_H
#define SLEY_BOOTSTRAP_LINES_H

#include "bootstrap/hello.h"
#include "bootstrap/place.h"
#include "bootstrap/reception.h"

typedef struct sl_lines sl_lines;

/* Allocates the memory for place's rank. Called before ranks meet, so that a rank without memory can report
 * it. Errors: SLEY_ERR_MEMORY. */
sley_status sl_lines_create(const sl_place *place, sl_lines **out);
/* NULL: does nothing. */
void sl_lines_destroy(sl_lines *lines);

/* Connects this rank to the lower ranks: once for messages (to rank 0 this connection exists already), once
 * for urgent messages and, to its neighbours in the ring of ranks, once for the pulse; and accepts
 * connections from the higher ranks at listener, whose port is `port`. All connections are made at the same
 * time, and both ends of each are proven. entries: the addresses of the ranks, by rank. guest: room for
 * SL_GUESTS. mesh receives the sockets, and its pulse the sockets on which it beats. Errors: SLEY_ERR_PEER (a
 * rank cannot be reached or does not come in time: it is named), SLEY_ERR_INTERRUPTED, SLEY_ERR_IO. */
sley_status sl_lines_join(sl_lines *lines, const sl_entry *entries, int listener, int port, sl_guest *guest,
                          sl_mesh *mesh);

#endif
