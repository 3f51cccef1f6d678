/* SPDX-License-Identifier: Apache-2.0 */
/* The collective of the public interface: dense or sparse, according to its compress. */
#ifndef SLEY_COLLECTIVE_HANDLE_H
#define SLEY_COLLECTIVE_HANDLE_H

#include "transport/dense_collective.h"

/* See sley_collective_create. o: all options, of which compress and way are valid values of their types; this
 * function checks that they are the same on all ranks. spec: the collective that they describe. Collective.
 */
sley_status sl_collective_create(sl_comm *comm, const sl_dense_spec *spec, const sley_collective_options *o,
                                 sley_collective **out);

/* Does the work of sley_collective_run, enqueued on the comm's queue. Collective. */
sley_status sl_collective_run(sley_collective *collective, const void *src, void *dst);

/* Does the work of sley_collective_info_get. Not collective. */
sley_status sl_collective_info(const sley_collective *collective, sley_collective_info *out);

/* Destroys the collective. NULL on all ranks: does nothing. Collective. */
void sl_collective_destroy(sley_collective *collective);

#endif
