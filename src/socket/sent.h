/* SPDX-License-Identifier: Apache-2.0 */
/* Traffic over the sockets between ranks, counted where the system accepts it: each call of send or sendmsg
 * and each byte, with rows of X and Y apart from all other traffic. Processes that are forked after
 * sl_sent_share add to the counts of the process that forked them. */
#ifndef SLEY_SOCKET_SENT_H
#define SLEY_SOCKET_SENT_H

#include "base/status.h"

/* Makes this process, and the processes that it forks later, count in the same memory. Errors:
 * SLEY_ERR_MEMORY. */
sley_status sl_sent_share(void);

/* Counts one call that sent part of a message with rows: bytes of its header and of its rows, possibly 0;
 * ends: the message is complete. */
void sl_sent_rows(int64_t header_bytes, int64_t row_bytes, bool ends);

/* Counts one call for other traffic; bytes: the result of the call, where an error counts as 0. */
void sl_sent_control(int64_t bytes);

#endif
