/* SPDX-License-Identifier: Apache-2.0 */
/* The queue of messages to be sent over a connection, and their order.
 *
 * Over the connection for messages: in the order of adding, each message whole.
 *
 * The urgent connection has three lanes: requests, answers of at most a piece, and longer answers. Each is in
 * order. A long answer is sent in pieces of SL_OUTBOX_PIECE bytes, each with a header. A long put is also
 * sent in pieces, each of which is a put. The lane may change before each piece and each message: a lane that
 * has sent a piece's bytes gives way to the next lane that is not empty (round robin by bytes; see Shreedhar
 * and Varghese, Efficient fair queuing using deficit round robin, SIGCOMM 1995). So a request waits for less
 * than two pieces of each other lane, however long the answers are, and no lane can block another forever.
 *
 * A piece is half of the unsent bytes that a socket may hold (socket.c), so a message waits longer in the
 * socket than for a piece. Its header is 0.06 % of its bytes. */
#ifndef SLEY_SOCKET_OUTBOX_H
#define SLEY_SOCKET_OUTBOX_H

#include <sys/uio.h>

#include "socket/mesh.h"

enum { SL_OUTBOX_PIECE = 64 * 1024, SL_OUTBOX_PARTS = 128 };

typedef enum sl_lane {
  SL_LANE_REQUESTS, /* requests, and all other messages except answers */
  SL_LANE_ANSWERS,
  SL_LANE_LONG_ANSWERS,
  SL_LANES
} sl_lane;

/* A queue; if all bytes are zero, it is empty. */
typedef struct sl_outbox {
  struct {
    sl_mesh_outgoing *first, *last;
  } lane[SL_LANES];
  int turn;      /* lane that is sending */
  int64_t spent; /* number of bytes that this lane has sent in its turn */
} sl_outbox;

/* Adds a message whose header and data are set. From here on its header describes the current piece. */
void sl_outbox_add(sl_outbox *box, bool urgent, sl_mesh_outgoing *send);

bool sl_outbox_empty(const sl_outbox *box);

/* Returns the message to be sent now; NULL if there is none. */
sl_mesh_outgoing *sl_outbox_next(sl_outbox *box);

/* Fills parts with the next bytes of the message, from one piece and in at most SL_OUTBOX_PARTS parts;
 * returns their number. */
int sl_outbox_parts(const sl_mesh_outgoing *out, struct iovec parts[SL_OUTBOX_PARTS]);

/* Records that some bytes of sl_outbox_next, all of one piece, have been sent. If they complete the message,
 * removes and returns it; else returns NULL. */
sl_mesh_outgoing *sl_outbox_sent(sl_outbox *box, int64_t bytes);

/* Removes and returns an unsent message; NULL: there is none. */
sl_mesh_outgoing *sl_outbox_take(sl_outbox *box);

/* Removes all messages. A piece that has been sent in part is completed by *rest, which sends zeros and does
 * not refer to any caller's memory. */
void sl_outbox_forget(sl_outbox *box, sl_mesh_outgoing *rest);

#endif
