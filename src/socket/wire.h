/* SPDX-License-Identifier: Apache-2.0 */
/* The internals of a mesh: two sockets per peer (and one for the pulse with each neighbour in the ring),
 * served together. One carries messages and the farewell, in order; a message that is not expected yet delays
 * the following ones. The other, urgent one carries requests, their answers and notices of failure: it is
 * always read, and long messages are sent in pieces (outbox.h). */
#ifndef SLEY_SOCKET_WIRE_H
#define SLEY_SOCKET_WIRE_H

#include <poll.h>

#include "socket/header.h"
#include "socket/mesh.h"
#include "socket/outbox.h"
#include "socket/progress.h"
#include "socket/pulse.h"

enum { SL_MESH_CALL = 32 };

/* A rank's contribution to a meeting of all ranks. */
typedef struct sl_mesh_post {
  char call[SL_MESH_CALL];
  int64_t number[2];
  int64_t status;
} sl_mesh_post;

/* An answer to a request. */
typedef struct sl_wire_answer {
  sl_mesh_outgoing send;
  int64_t value; /* the answer, if it is a single word */
} sl_wire_answer;

typedef struct sl_wire_peer {
  int fd;       /* socket; -1: none, or closed */
  bool left;    /* the peer has announced that it sends no more messages */
  bool deaf;    /* sending to the peer has failed */
  bool dropped; /* the peer has violated the protocol: nothing more is read, and the connection will be closed
                 */
  char host[SL_HOST_BYTES];
  int pid; /* process of the peer, if it is on this host; else 0 */

  sl_outbox out;
  sl_mesh_incoming *posted; /* posted receives, in the order of posting */

  sl_mesh_header header; /* header of the message that is arriving */
  size_t header_got;
  uint64_t last_tag; /* last tag of the mesh's own messages from this peer */
  bool stalled;      /* no receive is posted yet for the arriving message */
  char *body;        /* address for the rest of the body; NULL: the body is discarded */
  int64_t body_left;
  sl_mesh_incoming *target;

  sl_error news; /* body of an ABORT that is arriving */

  sl_mesh_outgoing notice, own_send, rest; /* messages that this rank itself sends to the peer */
  sl_mesh_incoming own_recv;
  /* Used only in the urgent entry. answer, rows: answers to the peer's requests, by slot, and to its only
   * request for rows. operand: operands of the arriving request. awaited: answers to this rank's requests, by
   * slot; unanswered: their number; waiting: requests that wait for a slot. */
  sl_wire_answer answer[SL_MESH_WINDOW];
  sl_mesh_outgoing rows;
  int64_t operand[2];
  sl_mesh_incoming *awaited[SL_SLOTS];
  int unanswered;
  sl_mesh_ask *waiting, *last_waiting;
  uint32_t *asked; /* row numbers of the peer's request for rows, within mesh->asked */
  sl_mesh_post post;
} sl_wire_peer;

struct sl_mesh {
  int rank, size, local_rank;
  double timeout;
  sl_wire_peer *peer;     /* 2 size entries: by rank, then the urgent entries by rank; the entry of this rank
                             holds host and post */
  struct pollfd *pollers; /* memory for one entry per socket */
  int *polled;            /* index of each poller's peer */
  int pulse_fd[2];        /* sockets of the pulse, to the ranks before and after this one; -1: none */
  sl_pulse *pulse;
  sl_progress *progress;     /* progress thread; NULL: messages move only during calls */
  bool working;              /* the progress thread may serve; only this rank's thread accesses it */
  bool helping;              /* the progress thread is serving */
  uint64_t epoch;            /* number of collectives so far */
  sl_mesh_outgoing *in_turn; /* messages with a turn that are not completed, in the order of turns */
  int64_t moved;             /* bytes moved over the sockets so far */
  sl_mesh_keeper keeper;
  bool serves;             /* this rank provides memory, so requests may come */
  int lively;              /* number of turns for which the progress thread keeps its short interval */
  uint32_t *asked;         /* SL_MESH_ROWS_MOST row numbers per peer; NULL until sl_mesh_serve_rows */
  void (*meanwhile)(void); /* function of sl_mesh_meanwhile, or NULL */
  bool leaving;
  sl_error failure; /* error of the rank that failed first, which is the body of this rank's ABORTs; rank -1:
                       none */
};

/* Allocates the mesh of rank `rank` of `size` ranks, without sockets. local_rank: -1: not known yet. */
sley_status sl_wire_create(int rank, int size, int local_rank, double timeout, sl_mesh **out);
/* Ends the pulse, and closes the sockets that are open. */
void sl_wire_destroy(sl_mesh *mesh);

/* Serves the sockets once; waits at most `milliseconds` for an event. */
sley_status sl_wire_turn(sl_mesh *mesh, int milliseconds);

static inline int sl_wire_urgent(const sl_mesh *mesh, int rank) {
  return mesh->size + rank;
}

/* Begins every call of this rank: prevents the progress thread from using the sockets. */
static inline void sl_wire_enter(sl_mesh *mesh) {
  if (mesh->working)
    sl_progress_forbid(mesh->progress);
  mesh->working = false;
}

/* Returns whether this rank waits for data from the peer. */
static inline bool sl_wire_expects(const sl_wire_peer *peer) {
  return peer->posted || peer->target || peer->unanswered > 0;
}

/* Returns the failure of a broken mesh as an error, or SLEY_OK. */
sley_status sl_wire_broken(const sl_mesh *mesh);

/* Called when the header of a request has arrived: decides where its body goes (request.c). index: position
 * in mesh->peer. */
void sl_wire_request(sl_mesh *mesh, int index);
/* Called when the body of a request has arrived. */
void sl_wire_request_done(sl_mesh *mesh, int index);
/* Registers data as the destination of the answer to the request in that slot. */
void sl_wire_await(sl_mesh *mesh, int index, int slot, void *data, int64_t bytes, sl_mesh_incoming *answer);
/* Called when the header of a piece of an answer has arrived: decides where its body goes. */
void sl_wire_piece(sl_mesh *mesh, int index);
/* Called when the body of a piece has arrived. */
void sl_wire_piece_done(sl_mesh *mesh, int index);

/* Appends a message (header already set, payload at data) to the peer's queue. Returns true if the queue was
 * empty. */
bool sl_wire_queue(sl_mesh *mesh, int index, const void *data, sl_mesh_outgoing *send);

/* Sends as much of the queue as the socket accepts now. */
void sl_wire_send(sl_mesh *mesh, int index);

/* Posts a receive. */
void sl_wire_post(sl_mesh *mesh, int index, uint64_t tag, void *data, int64_t bytes, sl_mesh_incoming *recv);

/* The event for which a rank waits: its message was passed to the socket; a message of a peer has come; a
 * request is answered, which a peer still does after it has left. */
typedef enum sl_wire_event { SL_WIRE_SENT, SL_WIRE_RECEIVED, SL_WIRE_ANSWERED } sl_wire_event;

/* The state of a rank before the mesh serves it: present; its connection has ended; or it has sent a notice
 * of failure, which is stored in *word. */
typedef enum sl_wire_end { SL_WIRE_THERE, SL_WIRE_GONE, SL_WIRE_SAID } sl_wire_end;
sl_wire_end sl_wire_look(const sl_mesh *mesh, int rank, sl_error *word);

/* Breaks the mesh because this rank has failed. Returns status, and keeps the thread's message. */
sley_status sl_wire_fail(sl_mesh *mesh, sley_status status);

/* Breaks the mesh because rank p % size has sent data that no rank of this library sends, and closes its
 * connections. */
void sl_wire_violated(sl_mesh *mesh, int p, const char *what);

/* Retries a delayed message, and reads the bytes that have arrived. */
void sl_wire_take(sl_mesh *mesh, int index);

#endif
