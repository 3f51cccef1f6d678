/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a mesh: two sockets a peer (and, with the neighbours in the ring, one for the pulse),
 * served together. One carries messages and the farewell, in order; a message nobody expects yet holds up
 * those behind it. The other, urgent one carries requests, their answers and notices of failure: whoever
 * reads it takes whatever comes, and what is long goes in pieces (outbox.h). */
#ifndef SLEY_SOCKET_WIRE_H
#define SLEY_SOCKET_WIRE_H

#include <poll.h>

#include "socket/header.h"
#include "socket/mesh.h"
#include "socket/outbox.h"
#include "socket/progress.h"
#include "socket/pulse.h"

enum { SL_MESH_CALL = 32 };

/* What a rank brings to a meeting of all. */
typedef struct sl_mesh_post {
  char call[SL_MESH_CALL];
  int64_t number[2];
  int64_t status;
} sl_mesh_post;

/* An answer to a request. */
typedef struct sl_wire_answer {
  sl_mesh_outgoing send;
  int64_t value; /* what it brings, if that is a word */
} sl_wire_answer;

typedef struct sl_wire_peer {
  int fd;       /* -1: none, or closed */
  bool left;    /* said that nothing more will come */
  bool deaf;    /* cannot be sent to any more */
  bool dropped; /* has broken the protocol: nothing more is read, and the connection will be closed */
  char host[SL_HOST_BYTES];
  int pid; /* of its process, where that can be looked up here; else 0 */

  sl_outbox out;
  sl_mesh_incoming *posted; /* in the order of posting */

  sl_mesh_header header; /* of the message that arrives */
  size_t header_got;
  uint64_t last_tag; /* of the mesh's own messages, the last that has come */
  bool stalled;      /* nobody has posted a receive for it yet */
  char *body;        /* where the rest of it goes; NULL: it is thrown away */
  int64_t body_left;
  sl_mesh_incoming *target;

  sl_error news; /* body of an ABORT that arrives */

  sl_mesh_outgoing notice, own_send, rest; /* this rank's own sends */
  sl_mesh_incoming own_recv;
  /* Of the urgent entry: answers to the peer's requests, by slot, and to its one request for rows; the
   * operands of the request that arrives; and this rank's requests to the peer: the answers awaited, by slot,
   * how many they are, and the requests that wait for a slot. */
  sl_wire_answer answer[SL_MESH_WINDOW];
  sl_mesh_outgoing rows;
  int64_t operand[2];
  sl_mesh_incoming *awaited[SL_SLOTS];
  int unanswered;
  sl_mesh_ask *waiting, *last_waiting;
  uint32_t *asked; /* rows of a request, within mesh->asked */
  sl_mesh_post post;
} sl_wire_peer;

struct sl_mesh {
  int rank, size, local_rank;
  double timeout;
  sl_wire_peer *peer; /* 2 size: by rank, then the urgent ones by rank; the own entry holds host and post */
  struct pollfd *pollers; /* room for all */
  int *polled;            /* index of each poller's peer */
  int pulse_fd[2];        /* sockets for the pulse, with the ranks before and after this one; -1: none */
  sl_pulse *pulse;
  sl_progress *progress;     /* NULL: messages move in calls alone */
  bool working;              /* the progress thread may serve; this rank's thread alone looks at it */
  bool helping;              /* the progress thread is serving */
  uint64_t epoch;            /* collectives so far */
  sl_mesh_outgoing *in_turn; /* all that have a turn and are not done, in its order */
  int64_t moved;             /* bytes over the sockets so far */
  sl_mesh_keeper keeper;
  bool serves;             /* there may be requests */
  int lively;              /* turns of the progress thread that are to follow closely */
  uint32_t *asked;         /* SL_MESH_ROWS_MOST a peer; NULL until sl_mesh_serve_rows */
  void (*meanwhile)(void); /* another library's turn, or NULL */
  bool leaving;
  sl_error failure; /* of the rank that failed first, the body of the ABORT this rank sends; rank -1: none */
};

/* Memory for rank `rank` of a mesh of so many, without sockets. local_rank: -1: not known yet. */
sley_status sl_wire_create(int rank, int size, int local_rank, double timeout, sl_mesh **out);
/* Ends the pulse, and closes the sockets that are open. */
void sl_wire_destroy(sl_mesh *mesh);

/* Serves the sockets: at most `milliseconds` of waiting for something to happen. */
sley_status sl_wire_turn(sl_mesh *mesh, int milliseconds);

static inline int sl_wire_urgent(const sl_mesh *mesh, int rank) {
  return mesh->size + rank;
}

/* Every call of this rank begins with it: the progress thread leaves the sockets alone. */
static inline void sl_wire_enter(sl_mesh *mesh) {
  if (mesh->working)
    sl_progress_forbid(mesh->progress);
  mesh->working = false;
}

/* Whether something is to come that this rank waits for. */
static inline bool sl_wire_expects(const sl_wire_peer *peer) {
  return peer->posted || peer->target || peer->unanswered > 0;
}

/* The verdict on a broken mesh, or SLEY_OK. */
sley_status sl_wire_broken(const sl_mesh *mesh);

/* The header of a request has arrived (request.c): says where its body goes. index: into peer. */
void sl_wire_request(sl_mesh *mesh, int index);
/* Its body has arrived. */
void sl_wire_request_done(sl_mesh *mesh, int index);
/* The answer to a request in that slot goes to data. */
void sl_wire_await(sl_mesh *mesh, int index, int slot, void *data, int64_t bytes, sl_mesh_incoming *answer);
/* The header of a piece of an answer has arrived: says where its body goes. */
void sl_wire_piece(sl_mesh *mesh, int index);
/* Its body has arrived. */
void sl_wire_piece_done(sl_mesh *mesh, int index);

/* Queues a message whose header is filled in; its bytes are at data. Whether it is the only one. */
bool sl_wire_queue(sl_mesh *mesh, int index, const void *data, sl_mesh_outgoing *send);

/* Sends what the socket takes now of what is queued. */
void sl_wire_send(sl_mesh *mesh, int index);

/* Posts a receive. */
void sl_wire_post(sl_mesh *mesh, int index, uint64_t tag, void *data, int64_t bytes, sl_mesh_incoming *recv);

/* What a rank waits for: that its message has gone to the socket, that a peer's has come, that a request is
 * answered, which a peer does even when it has left. */
typedef enum sl_wire_event { SL_WIRE_SENT, SL_WIRE_RECEIVED, SL_WIRE_ANSWERED } sl_wire_event;

/* What a rank that the mesh does not serve yet has come to: it is there; its connection has ended without a
 * word; it has said who failed first, and why. */
typedef enum sl_wire_end { SL_WIRE_THERE, SL_WIRE_GONE, SL_WIRE_SAID } sl_wire_end;
sl_wire_end sl_wire_look(const sl_mesh *mesh, int rank, sl_error *word);

/* The mesh is broken by this rank's own failure; returns status, the message stays. */
sley_status sl_wire_fail(sl_mesh *mesh, sley_status status);

/* Rank p % size has sent what no rank of this library sends: the mesh is broken by its failure, and its
 * connections are closed. */
void sl_wire_violated(sl_mesh *mesh, int p, const char *what);

/* Looks again at a message that was held up, and takes what has come. */
void sl_wire_take(sl_mesh *mesh, int index);

#endif
