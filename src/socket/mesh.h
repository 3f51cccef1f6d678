/* SPDX-License-Identifier: Apache-2.0 */
/* A mesh: ranks that are processes, with sockets between every two of them. It carries the collectives that
 * planning needs, messages of known size, one-sided requests, and the notice of a failure; also what a
 * transport needs to begin (identifiers, handles). sl_bootstrap_meet makes one.
 *
 * A mesh is used by one thread. Sockets are served while its rank is inside one of these calls, messages
 * and requests also between them, see sl_mesh_work. Every wait ends, with SLEY_ERR_PEER and a message that
 * names the rank, when a rank aborts, when its process ends, and when it has left while this rank still waits
 * for it; with SLEY_ERR_INTERRUPTED within 50 ms of sley_interrupt(). Either way the mesh is then broken:
 * every later call returns SLEY_ERR_PEER. */
#ifndef SLEY_SOCKET_MESH_H
#define SLEY_SOCKET_MESH_H

#include "base/status.h"

enum { SL_HOST_BYTES = 128 };

typedef struct sl_mesh sl_mesh;

/* Tells all that this rank calls nothing more, delivers what was sent, and waits until all ranks have left or
 * one has failed. */
void sl_mesh_leave(sl_mesh *mesh);

/* Leaves, unless it has, and ends. NULL: nothing. */
void sl_mesh_close(sl_mesh *mesh);

/* The place among the ranks of the same host: the launcher's LOCAL_RANK, else counted. */
int sl_mesh_local_rank(const sl_mesh *mesh);

/* What sl_host_name gave on that rank's host. */
const char *sl_mesh_host(const sl_mesh *mesh, int rank);

/* The most ranks, at most `most`, for which every block of that many consecutive ranks is on one host. */
int sl_mesh_block(const sl_mesh *mesh, int most);

/* ---- collectives. Ranks that make different calls, or disagree on sizes, all get SLEY_ERR_ARG; after that,
 * and after a sum that overflows, the mesh is as good as before. */

typedef enum sl_mesh_op { SL_MESH_SUM, SL_MESH_MIN, SL_MESH_MAX } sl_mesh_op;

/* All ranks meet in a call of that name with the same two numbers, each with a status of its own: every rank
 * gets its own error, or SLEY_ERR_PEER with the message of the first other rank that has one, or SLEY_OK. */
sley_status sl_mesh_agree(sl_mesh *mesh, const char *call, int64_t first, int64_t second, sley_status mine);

sley_status sl_mesh_barrier(sl_mesh *mesh);

/* bytes from each rank, by rank. */
sley_status sl_mesh_allgather(sl_mesh *mesh, const void *src, int64_t bytes, void *dst);

/* Rank p gets send + send_at[p] .. + send_bytes[p]; what comes from p goes to recv + recv_at[p]. */
sley_status sl_mesh_alltoallv(sl_mesh *mesh, const void *send, const int64_t *send_at,
                              const int64_t *send_bytes, void *recv, const int64_t *recv_at,
                              const int64_t *recv_bytes);

/* In place. SLEY_ERR_OVERFLOW on all ranks if a sum does not fit. */
sley_status sl_mesh_allreduce(sl_mesh *mesh, sl_mesh_op op, int64_t *values, int64_t count);

/* Rank root's bytes to all. */
sley_status sl_mesh_broadcast(sl_mesh *mesh, int root, void *data, int64_t bytes);

/* ---- failure */

/* This rank has failed with the thread's message. The first abort wins. */
void sl_mesh_abort(sl_mesh *mesh, sley_status status);

/* Whether a rank has failed, as far as is known here. */
bool sl_mesh_broken(sl_mesh *mesh);

/* Whether it was others that noticed: the rank has ended, is stopped or cut off, and takes part in nothing.
 */
bool sl_mesh_lost_rank(sl_mesh *mesh);

/* ---- messages. A tag names a message between two ranks; messages of one pair arrive in the order sent, and
 * one for which no receive is posted yet holds up those behind it. So a rank posts its receives in the order
 * in which its peer sends, and before it waits for anything the peer sends after them. */

typedef struct sl_mesh_header {
  uint32_t kind;
  uint16_t access;
  uint16_t slot; /* of a request that wants an answer, and of the answer: which one it is */
  uint64_t tag;
  int64_t bytes;      /* that follow */
  int64_t at, length; /* of an access; of an answer: where in it these bytes begin, and its bytes in all */
} sl_mesh_header;

/* Both belong to the caller, with their data, until done or the mesh is broken. */
typedef struct sl_mesh_outgoing {
  sl_mesh_header header;
  const void *data;
  const uint32_t *rows; /* NULL, or numbers of the rows at data that are sent one after another */
  int64_t row_bytes;    /* of each */
  int64_t sent;         /* of header and data of the piece at hand (outbox.h) */
  int64_t from, left;   /* bytes of data before that piece, and after it */
  bool done, has_rows; /* has_rows: it is not control traffic (sent.h) */
  uint64_t turn;       /* 0: goes when it can; else see sl_mesh_send_in_turn */
  struct sl_mesh_outgoing *next, *next_turn;
} sl_mesh_outgoing;

typedef struct sl_mesh_incoming {
  uint64_t tag;
  void *data;
  int64_t bytes; /* exactly; of sl_mesh_recv_up_to: at most, and once it has come, how many there are */
  int64_t got;   /* of an answer, which may come in pieces: bytes so far */
  bool done, up_to;
  struct sl_mesh_incoming *next;
} sl_mesh_incoming;

/* Tags below 2^56 are the caller's. To the rank itself nothing may be sent. What sl_mesh_send sends counts as
 * control traffic; what sl_mesh_send_in_turn sends, unless it is empty, as rows. */
void sl_mesh_send(sl_mesh *mesh, int peer, uint64_t tag, const void *data, int64_t bytes,
                  sl_mesh_outgoing *send);
/* Of messages with a turn those of a lower one are sent first, whoever they are for, so that what is needed
 * first does not share the link. turn: 0: none, it goes when it can; else ascending from call to call. Every rank posts its receives of a
 * turn without waiting for a message of a later one. */
void sl_mesh_send_in_turn(sl_mesh *mesh, uint64_t turn, int peer, uint64_t tag, const void *data,
                          int64_t bytes, sl_mesh_outgoing *send);
void sl_mesh_recv(sl_mesh *mesh, int peer, uint64_t tag, void *data, int64_t bytes, sl_mesh_incoming *recv);
/* The same for a message of at most so many bytes; recv->bytes tells how many have come. A longer one breaks
 * the mesh, and nothing of it is stored. */
void sl_mesh_recv_up_to(sl_mesh *mesh, int peer, uint64_t tag, void *data, int64_t most,
                        sl_mesh_incoming *recv);
sley_status sl_mesh_wait_sent(sl_mesh *mesh, int peer, sl_mesh_outgoing *send);
sley_status sl_mesh_wait_received(sl_mesh *mesh, int peer, sl_mesh_incoming *recv);

/* Moves what can be moved, and looks for news, without waiting: SLEY_OK, or why this rank should stop. */
sley_status sl_mesh_progress(sl_mesh *mesh);

/* Starts a thread that moves messages while the rank computes. Errors: SLEY_ERR_MEMORY, SLEY_ERR_IO. */
sley_status sl_mesh_start_progress(sl_mesh *mesh);

/* The rank goes to work: until its next call of this mesh, that thread, if there is one, moves the
 * messages that are in flight, and so uses their memory, and serves the requests of others. */
void sl_mesh_work(sl_mesh *mesh);

/* turn is called whenever this rank waits or looks for news, every 50 ms at least, so that another library
 * can move its messages meanwhile; NULL: nothing. */
void sl_mesh_meanwhile(sl_mesh *mesh, void (*turn)(void));

/* ---- requests: one-sided access to memory that a rank keeps for the others. Served whenever the keeper is
 * inside a call, and by the progress thread while it works, see sl_mesh_work: in the order in which a peer
 * has asked. Answers come in any order. */

typedef enum sl_mesh_access_kind {
  SL_MESH_GET = 1,
  SL_MESH_PUT,
  SL_MESH_ADD,
  SL_MESH_FLUSH,
  SL_MESH_FREE,
  SL_MESH_ROWS,
  SL_MESH_COMPARE_SWAP
} sl_mesh_access_kind;

enum {
  SL_MESH_ROWS_MOST = 2048,   /* rows that one request asks for */
  SL_MESH_WINDOW = 8,         /* requests of a peer that may be unanswered; more wait at the asking rank */
  SL_MESH_STAGE = 128 * 1024, /* bytes of memory that the host cannot address that one request asks for */
  /* Of staging memory, for each rank: for the answers, and for what is being put. */
  SL_MESH_STAGING = (SL_MESH_WINDOW + 1) * SL_MESH_STAGE
};

/* How a rank keeps memory. Its functions are called by whichever thread serves, one at a time, and call
 * nothing of the mesh. What load, store and atomic return that is not SLEY_OK breaks the mesh. */
typedef struct sl_mesh_keeper {
  void *owner;
  /* Where memory `id` lies: base and its bytes, and whether the host may address it. NULL: not known. */
  void *(*find)(void *owner, uint64_t id, int64_t *bytes, bool *on_host);
  /* Rank `rank` will not ask for it any more; what is not known, or freed by it before, is ignored. Whether
   * anything is kept still. */
  bool (*freed)(void *owner, uint64_t id, int rank);
  /* For memory that the host cannot address; all return when done. Where there is none: NULL. at: an address
   * of it. atomic: of an ADD or COMPARE_SWAP; *old: what the word was. */
  sley_status (*load)(void *owner, void *dst, const char *at, int64_t bytes);
  sley_status (*store)(void *owner, char *at, const void *src, int64_t bytes);
  sley_status (*atomic)(void *owner, sl_mesh_access_kind kind, char *at, int64_t value, int64_t expected,
                        int64_t *old);
  char *staging; /* SL_MESH_STAGING bytes of each rank, for load and store; NULL with them */
} sl_mesh_keeper;

/* From now on the rank serves with keeper, which is copied. NULL: nothing is kept now. keeper->owner must
 * live until the mesh is closed: others may ask until they have left too. */
void sl_mesh_serve(sl_mesh *mesh, const sl_mesh_keeper *keeper);

/* A request under way: the caller's, with its data, until it is done or the mesh is broken. */
typedef struct sl_mesh_ask {
  sl_mesh_outgoing request;
  sl_mesh_incoming answer;
  int64_t operand[2];
  bool answers; /* there will be an answer */
  int peer;
  struct sl_mesh_ask *next; /* waits for answers to those before it */
} sl_mesh_ask;

/* Asks rank peer for an access to bytes at `at` of its memory id. GET: data is filled. PUT: data is sent;
 * done means that it may change, and a FLUSH that is done afterwards that it has arrived. ADD: *data (an
 * int64_t) is added to the 8 bytes there, and becomes what they were. COMPARE_SWAP: data[0] is what is
 * expected there and becomes what was there, data[1] what replaces it. FLUSH: all puts have arrived. FREE: no
 * request for it follows. The caller has checked the bounds. Any number may be under way. Where the mesh is
 * broken, nothing. */
void sl_mesh_ask_access(sl_mesh *mesh, int peer, sl_mesh_access_kind access, uint64_t id, int64_t at,
                        void *data, int64_t bytes, sl_mesh_ask *ask);
/* Whether it is done, without a look at the sockets; what has come since is seen after sl_mesh_progress. */
static inline bool sl_mesh_ask_done(const sl_mesh_ask *ask) {
  return ask->request.done && (ask->answer.done || !ask->answers);
}
/* Serves the sockets once; *done: whether it is done. Errors as those of a wait. */
sley_status sl_mesh_test_ask(sl_mesh *mesh, const sl_mesh_ask *ask, bool *done);
sley_status sl_mesh_wait_ask(sl_mesh *mesh, const sl_mesh_ask *ask);

/* Asks, and waits until it is done. */
sley_status sl_mesh_access(sl_mesh *mesh, int peer, sl_mesh_access_kind access, uint64_t id, int64_t at,
                           void *data, int64_t bytes);

/* Rows that are on their way from a rank. */
typedef struct sl_mesh_rows {
  sl_mesh_outgoing request;
  sl_mesh_incoming answer;
  uint32_t row[SL_MESH_ROWS_MOST];
} sl_mesh_rows;

/* Takes the memory in which requests for rows are kept until they are answered. Errors: SLEY_ERR_MEMORY. */
sley_status sl_mesh_serve_rows(sl_mesh *mesh);

/* Asks rank peer for ask->row[0 .. count - 1] of its memory id, each of bytes; they go to dst one after
 * another, and are there when wait_rows returns. A rank may ask several peers at once, and each for one thing
 * at a time. The caller has checked the bounds. */
void sl_mesh_ask_rows(sl_mesh *mesh, int peer, uint64_t id, int64_t bytes, int64_t count, void *dst,
                      sl_mesh_rows *ask);
sley_status sl_mesh_wait_rows(sl_mesh *mesh, int peer, sl_mesh_rows *ask);

#endif
