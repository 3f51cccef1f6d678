/* SPDX-License-Identifier: Apache-2.0 */
/* Once ranks have met at rank 0: the connections of every two of them. */
#ifndef SLEY_BOOTSTRAP_LINES_H
#define SLEY_BOOTSTRAP_LINES_H

#include "bootstrap/hello.h"
#include "bootstrap/place.h"
#include "bootstrap/reception.h"

typedef struct sl_lines sl_lines;

/* Takes the memory for place's rank. It is taken before ranks meet, so that one that has none can say so.
 * Errors: SLEY_ERR_MEMORY. */
sley_status sl_lines_create(const sl_place *place, sl_lines **out);
/* NULL: nothing. */
void sl_lines_destroy(sl_lines *lines);

/* Connects this rank to those below it, once for messages (which it has with rank 0 already), once for what
 * is urgent and, to its neighbours in the ring of ranks, once for the pulse; and accepts those above, at
 * listener, whose port is given. All connections go on side by side, and each proves both its ends. entries:
 * where ranks are reached, by rank. guest: room for SL_GUESTS. mesh receives the sockets, and its pulse those
 * that it beats on. Errors: SLEY_ERR_PEER (a rank that is not reached or does not come within the time: it is
 * named), SLEY_ERR_INTERRUPTED, SLEY_ERR_IO. */
sley_status sl_lines_join(sl_lines *lines, const sl_entry *entries, int listener, int port, sl_guest *guest,
                          sl_mesh *mesh);

#endif
