/* SPDX-License-Identifier: Apache-2.0 */
/* The meeting of ranks that are processes. */
#ifndef SLEY_BOOTSTRAP_MEET_H
#define SLEY_BOOTSTRAP_MEET_H

#include "bootstrap/place.h"
#include "socket/mesh.h"

/* Makes all ranks of a place meet. A rank that cannot take part (mine is not SLEY_OK, with the thread's
 * message) reports it to all: then every rank gets an error. Errors: SLEY_ERR_PEER (a rank did not come
 * within the time limit, or failed: it is named), SLEY_ERR_ARG (ranks disagree on the number of ranks, or two
 * have the same rank), SLEY_ERR_IO, SLEY_ERR_MEMORY, SLEY_ERR_INTERRUPTED. place->listener is closed in any
 * case. */
sley_status sl_bootstrap_meet(const sl_place *place, sley_status mine, sl_mesh **out);

#endif
