/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks as processes that exchange rows over their sockets: for any device, on any machines, without other
 * libraries. It is not fast, and serves as the baseline for the other transports between processes. */
#ifndef SLEY_TRANSPORT_TCP_TCP_H
#define SLEY_TRANSPORT_TCP_TCP_H

#include "transport/process/process_exchange.h"

extern const sl_transport_backend sl_tcp_backend;

extern const sl_carrier sl_tcp_messages;

#endif
