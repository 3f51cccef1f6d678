/* SPDX-License-Identifier: Apache-2.0 */
/* What every transport checks of a sized exchange (transport.h). */
#ifndef SLEY_TRANSPORT_SIZED_H
#define SLEY_TRANSPORT_SIZED_H

#include "transport/lists.h"

/* The spec as that of an exchange of rows of one byte, as many as the capacity: so lists are checked and
 * matched alike. out->send and out->recv lie in one block, *rows, which is the caller's to sl_free, also on
 * an error; out->name is spec's. Errors: SLEY_ERR_ARG, SLEY_ERR_MEMORY. */
sley_status sl_sized_as_rows(const sl_sized_spec *spec, const sl_comm *comm, sl_exchange_spec *out,
                             sl_row_list **rows);

/* Whether each length is within the capacity of its list. Errors: SLEY_ERR_ARG. */
sley_status sl_sized_check_lengths(const char *name, const sl_row_list *send, int sends,
                                   const int64_t *send_bytes);

#endif
