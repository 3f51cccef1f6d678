/* SPDX-License-Identifier: Apache-2.0 */
/* What waits to be sent over a connection, and in which order it goes.
 *
 * Over the connection for messages: in the order in which it was added, each message whole.
 *
 * Over the urgent one there are three lanes: requests, answers of at most a piece, and longer answers. Each
 * is in order. A long answer goes in pieces of SL_OUTBOX_PIECE bytes with a header each; so does a long put,
 * whose pieces are puts. Before each piece and each message the lanes may change: one that has sent a piece's
 * bytes gives way to the next one in which something waits (round robin by bytes; see Shreedhar and Varghese,
 * Efficient fair queuing using deficit round robin, SIGCOMM 1995). So a request waits for less than two
 * pieces of each other lane, however long the answers are, and no lane keeps another one waiting for good.
 *
 * A piece is half of what a socket holds unsent (socket.c): what waits for it would wait longer in the
 * socket. Its header is 0.06 % of its bytes. */
#ifndef SLEY_SOCKET_OUTBOX_H
#define SLEY_SOCKET_OUTBOX_H

#include <sys/uio.h>

#include "socket/mesh.h"

enum { SL_OUTBOX_PIECE = 64 * 1024, SL_OUTBOX_PARTS = 128 };

typedef enum sl_lane {
  SL_LANE_REQUESTS, /* and whatever is no answer */
  SL_LANE_ANSWERS,
  SL_LANE_LONG_ANSWERS,
  SL_LANES
} sl_lane;

/* Empty: all zero. */
typedef struct sl_outbox {
  struct {
    sl_mesh_outgoing *first, *last;
  } lane[SL_LANES];
  int turn;      /* the lane that sends */
  int64_t spent; /* bytes that it has sent in its turn */
} sl_outbox;

/* Adds a message whose header and data are filled in. From here on its header is that of the piece at hand.
 */
void sl_outbox_add(sl_outbox *box, bool urgent, sl_mesh_outgoing *send);

bool sl_outbox_empty(const sl_outbox *box);

/* What is to be sent now; NULL: nothing. */
sl_mesh_outgoing *sl_outbox_next(sl_outbox *box);

/* The next bytes of it, of one piece and in at most SL_OUTBOX_PARTS parts; returns how many. */
int sl_outbox_parts(const sl_mesh_outgoing *out, struct iovec parts[SL_OUTBOX_PARTS]);

/* So many bytes of sl_outbox_next have been sent, all of one piece. Returns it if that was its end, and has
 * taken it out; else NULL. */
sl_mesh_outgoing *sl_outbox_sent(sl_outbox *box, int64_t bytes);

/* Takes one out unsent; NULL: there is none. */
sl_mesh_outgoing *sl_outbox_take(sl_outbox *box);

/* Takes all out. A piece that has been sent in part goes on as *rest, which refers to nobody's memory: zeros.
 */
void sl_outbox_forget(sl_outbox *box, sl_mesh_outgoing *rest);

#endif
