/* SPDX-License-Identifier: Apache-2.0 */
/* Exchanges of threads whose devices signal each other through boards (device/kernel.h): device_exchange.c
 * hands their rounds to these functions. */
#ifndef SLEY_TRANSPORT_THREADS_SIGNALLED_H
#define SLEY_TRANSPORT_THREADS_SIGNALLED_H

#include "transport/threads/exchange_inside.h"

/* Makes the board if the exchange should have one and can; else device->board stays NULL. Errors:
 * SLEY_ERR_UNSUPPORTED, if the exchange must be capturable and cannot be. Not collective; the result is the
 * same on all ranks. */
sley_status sl_signalled_prepare(sl_threads_exchange *exchange);

/* The calls of a round, as in device_exchange.h. */
sley_status sl_signalled_receive(sl_threads_exchange *exchange, sl_queue *queue);
sley_status sl_signalled_map(sl_threads_exchange *exchange, sl_queue *queue);
sley_status sl_signalled_give_back(sl_threads_exchange *exchange, sl_queue *queue);
sley_status sl_signalled_reclaim(sl_threads_exchange *exchange, sl_queue *queue);

#endif
