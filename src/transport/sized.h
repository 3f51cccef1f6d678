/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of a sized exchange (transport.h) that all transports share. */
#ifndef SLEY_TRANSPORT_SIZED_H
#define SLEY_TRANSPORT_SIZED_H

#include "transport/lists.h"

/* Converts a spec to the spec of an exchange with rows of one byte, as many as the capacity, so that its
 * lists can be checked and matched in the same way. out->send and out->recv lie in one block, *rows, which
 * the caller frees by sl_free, also on an error; out->name is spec's. Errors: SLEY_ERR_ARG,
 * SLEY_ERR_MEMORY. */
sley_status sl_sized_as_rows(const sl_sized_spec *spec, const sl_comm *comm, sl_exchange_spec *out,
                             sl_row_list **rows);

/* Checks that each length is within the capacity of its list. Errors: SLEY_ERR_ARG. */
sley_status sl_sized_check_lengths(const char *name, const sl_row_list *send, int sends,
                                   const int64_t *send_bytes);

#endif
