/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of an exchange's lists that all transports share. */
#ifndef SLEY_TRANSPORT_LISTS_H
#define SLEY_TRANSPORT_LISTS_H

#include "transport/transport.h"

/* Checks a spec by itself, for the ranks of comm, whose team checks long lists. Not collective. Errors:
 * SLEY_ERR_ARG. */
sley_status sl_lists_check(const sl_exchange_spec *spec, const sl_comm *comm);

/* One side's description of the rows that travel between a pair of ranks. */
typedef struct sl_list_facts {
  int64_t present; /* 0: this side has no list for the other rank */
  int64_t count, bytes, grain, add, dtype;
} sl_list_facts;

/* The facts of the list for peer in lists. */
sl_list_facts sl_list_facts_of(const sl_exchange_spec *spec, const sl_row_list *lists, int count, int peer);

/* Checks that the rows that rank `from` sends match the rows that rank `to` receives. Errors: SLEY_ERR_ARG.
 */
sley_status sl_list_facts_match(const char *name, int from, int to, const sl_list_facts *sent,
                                const sl_list_facts *taken);

/* The slot sl_transport_ops.exchange_memory of transports that pack all rows that leave and reach the rank,
 * and keep the row lists on the device. */
int64_t sl_lists_memory(sl_comm *comm, const sl_exchange_spec *spec);

#endif
