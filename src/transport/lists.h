/* SPDX-License-Identifier: Apache-2.0 */
/* What every transport checks of an exchange before it makes one. */
#ifndef SLEY_TRANSPORT_LISTS_H
#define SLEY_TRANSPORT_LISTS_H

#include "transport/transport.h"

/* Whether a spec is right in itself, for the ranks of comm. Its team looks through long lists. Local. Errors:
 * SLEY_ERR_ARG. */
sley_status sl_lists_check(const sl_exchange_spec *spec, const sl_comm *comm);

/* What one side of a pair of ranks has to say about rows from one to the other. */
typedef struct sl_list_facts {
  int64_t present; /* 0: it has no list for the other */
  int64_t count, bytes, grain, add, dtype;
} sl_list_facts;

/* The facts of the list for peer among lists. */
sl_list_facts sl_list_facts_of(const sl_exchange_spec *spec, const sl_row_list *lists, int count, int peer);

/* Whether what rank from sends is what rank to takes. Errors: SLEY_ERR_ARG. */
sley_status sl_list_facts_match(const char *name, int from, int to, const sl_list_facts *sent,
                                const sl_list_facts *taken);

/* sl_transport_ops.exchange_memory of transports that pack all that leaves the rank and all that comes, and
 * keep the row lists on the device. */
int64_t sl_lists_memory(sl_comm *comm, const sl_exchange_spec *spec);

#endif
