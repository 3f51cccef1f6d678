/* SPDX-License-Identifier: Apache-2.0 */
/* Small tools for what ranks tell each other while they read: the four lists of an alltoallv, and running
 * sums over ranks. */
#ifndef SLEY_SPREAD_TRADE_H
#define SLEY_SPREAD_TRADE_H

#include "transport/transport.h"

/* size entries each, in bytes. */
typedef struct sl_trade {
  int64_t *send_at, *send_bytes, *recv_at, *recv_bytes;
} sl_trade;

sley_status sl_trade_make(int size, sl_trade *out);
void sl_trade_free(sl_trade *trade);

/* All lists become zeros. */
void sl_trade_clear(sl_trade *trade, int size);

/* The places follow one another as the bytes say. */
void sl_trade_follow(sl_trade *trade, int size);

/* The alltoallv. Collective. */
sley_status sl_trade_run(sl_comm *comm, const sl_trade *trade, const void *send, void *recv);

/* *before: the sum of the earlier ranks' numbers, *all (or NULL): of all ranks'. Collective. */
sley_status sl_trade_before(sl_comm *comm, int64_t own, int64_t *before, int64_t *all);

#endif
