/* SPDX-License-Identifier: Apache-2.0 */
/* What goes over the sockets between ranks, counted where the system takes it: each call of send or sendmsg
 * and each byte, rows of X and Y apart from everything else. Processes that are forked after sl_sent_share
 * count together with the one that forked them. */
#ifndef SLEY_SOCKET_SENT_H
#define SLEY_SOCKET_SENT_H

#include "base/status.h"

/* From here on this process and those that it forks count into the same memory. Errors: SLEY_ERR_MEMORY. */
sley_status sl_sent_share(void);

/* One call that took part of a message with rows: so many bytes of its header and of its rows, perhaps none;
 * ends: the message is complete. */
void sl_sent_rows(int64_t header_bytes, int64_t row_bytes, bool ends);

/* One call for anything else; bytes: what the call has returned, an error counts as none. */
void sl_sent_control(int64_t bytes);

#endif
