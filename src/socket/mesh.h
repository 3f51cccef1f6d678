/* SPDX-License-Identifier: Apache-2.0 */
/* A mesh: ranks that are processes, with sockets between every two of them. It carries the collectives of
 * planning, messages of known size, one-sided requests, and notices of failure, and also the data with which
 * transports start (identifiers, handles). sl_bootstrap_meet makes one.
 *
 * A mesh is used by one thread. Sockets are served while its rank is inside one of these calls, messages and
 * requests also between calls, see sl_mesh_work. Every wait ends with SLEY_ERR_PEER, and a message that names
 * the rank, when a rank aborts, when its process ends, or when it has left while this rank still waits for
 * it; with SLEY_ERR_INTERRUPTED within 50 ms of sley_interrupt(). In either case the mesh is then broken:
 * every later call returns SLEY_ERR_PEER. */
#ifndef SLEY_SOCKET_MESH_H
#define SLEY_SOCKET_MESH_H

#include "base/status.h"

enum { SL_HOST_BYTES = 128 };

typedef struct sl_mesh sl_mesh;

/* Announces that this rank makes no more calls, delivers queued messages, and waits until all ranks have left
 * or one has failed. */
void sl_mesh_leave(sl_mesh *mesh);

/* Leaves, unless the rank has left already, and frees the mesh. NULL: does nothing. */
void sl_mesh_close(sl_mesh *mesh);

/* This rank's number among the ranks of the same host: the launcher's LOCAL_RANK, else counted. */
int sl_mesh_local_rank(const sl_mesh *mesh);

/* The result of sl_host_name on that rank's host. */
const char *sl_mesh_host(const sl_mesh *mesh, int rank);

/* The largest block size, at most `most`, such that every block of that many consecutive ranks is on one
 * host. */
int sl_mesh_block(const sl_mesh *mesh, int most);

/* ---- collectives. If ranks make different calls, or disagree on sizes, all of them get SLEY_ERR_ARG; after
 * that, and after a sum that overflows, the mesh can still be used. */

typedef enum sl_mesh_op { SL_MESH_SUM, SL_MESH_MIN, SL_MESH_MAX } sl_mesh_op;

/* All ranks call this with the same call name and the same two numbers, each with its own status. A rank with
 * an error gets its own error, else SLEY_ERR_PEER with the message of the first rank that has one, else
 * SLEY_OK. */
sley_status sl_mesh_agree(sl_mesh *mesh, const char *call, int64_t first, int64_t second, sley_status mine);

sley_status sl_mesh_barrier(sl_mesh *mesh);

/* Gathers bytes from each rank into dst, in the order of the ranks. */
sley_status sl_mesh_allgather(sl_mesh *mesh, const void *src, int64_t bytes, void *dst);

/* Sends send_bytes[p] bytes at send + send_at[p] to rank p, and stores recv_bytes[p] bytes from rank p at
 * recv + recv_at[p], for all p. */
sley_status sl_mesh_alltoallv(sl_mesh *mesh, const void *send, const int64_t *send_at,
                              const int64_t *send_bytes, void *recv, const int64_t *recv_at,
                              const int64_t *recv_bytes);

/* Reduces values over all ranks, in place. SLEY_ERR_OVERFLOW on all ranks if a sum does not fit. */
sley_status sl_mesh_allreduce(sl_mesh *mesh, sl_mesh_op op, int64_t *values, int64_t count);

/* Sends bytes of rank root to all ranks. */
sley_status sl_mesh_broadcast(sl_mesh *mesh, int root, void *data, int64_t bytes);

/* ---- failure */

/* Declares that this rank has failed with status and the thread's message. The first abort counts. */
void sl_mesh_abort(sl_mesh *mesh, sley_status status);

/* Returns whether a rank has failed, as far as this rank knows. */
bool sl_mesh_broken(sl_mesh *mesh);

/* Returns whether other ranks noticed the failure: the failed rank has ended, or is stopped or cut off, and
 * makes no calls. */
bool sl_mesh_lost_rank(sl_mesh *mesh);

/* ---- messages. A tag identifies a message between two ranks. Messages between two ranks arrive in the order
 * sent, and a message for which no receive is posted yet delays the following ones. So a rank posts its
 * receives in the order in which its peer sends, and before it waits for a later message of the peer. */

typedef struct sl_mesh_header {
  uint32_t kind;
  uint16_t access;
  uint16_t slot; /* in a request that needs an answer, and in the answer: slot of the request */
  uint64_t tag;
  int64_t bytes;      /* bytes of the body, which follows */
  int64_t at, length; /* range of an access; in an answer: position of the body in the answer, and bytes of
                         the whole answer */
} sl_mesh_header;

/* A message to send; the next struct is a message to receive. The caller provides the struct and the data,
 * and keeps them until done is set or the mesh is broken. */
typedef struct sl_mesh_outgoing {
  sl_mesh_header header;
  const void *data;
  const uint32_t *rows; /* NULL, or the numbers of the rows at data that are sent one after another */
  int64_t row_bytes;    /* bytes of each of these rows */
  int64_t sent;         /* bytes sent of the current piece's header and data (outbox.h) */
  int64_t from, left;   /* numbers of bytes of data before the current piece, and after it */
  bool done, has_rows;  /* has_rows: counted as rows, not as control traffic (sent.h) */
  uint64_t turn;        /* 0: sent as soon as possible; else see sl_mesh_send_in_turn */
  struct sl_mesh_outgoing *next, *next_turn;
} sl_mesh_outgoing;

typedef struct sl_mesh_incoming {
  uint64_t tag;
  void *data;
  int64_t bytes; /* bytes of the message; for sl_mesh_recv_up_to: maximum number of bytes, and after the
                    arrival the actual number */
  int64_t got;   /* bytes received so far of an answer, which may come in pieces */
  bool done, up_to;
  struct sl_mesh_incoming *next;
} sl_mesh_incoming;

/* Begins to send a message. Tags below 2^56 are for callers. A rank must not send to itself. A message of
 * sl_mesh_send counts as control traffic; a message of sl_mesh_send_in_turn, unless it is empty, as rows. */
void sl_mesh_send(sl_mesh *mesh, int peer, uint64_t tag, const void *data, int64_t bytes,
                  sl_mesh_outgoing *send);
/* Begins to send a message in turn: messages with a lower turn are sent first, whatever their receivers, so
 * that data needed first does not share the link. turn: ascending from call to call; 0: no turn, sent as soon
 * as possible. Every rank posts its receives of a turn without waiting for a message of a later turn. */
void sl_mesh_send_in_turn(sl_mesh *mesh, uint64_t turn, int peer, uint64_t tag, const void *data,
                          int64_t bytes, sl_mesh_outgoing *send);
void sl_mesh_recv(sl_mesh *mesh, int peer, uint64_t tag, void *data, int64_t bytes, sl_mesh_incoming *recv);
/* Posts a receive of at most `most` bytes; recv->bytes receives the actual number. A longer message breaks
 * the mesh, and nothing of it is stored. */
void sl_mesh_recv_up_to(sl_mesh *mesh, int peer, uint64_t tag, void *data, int64_t most,
                        sl_mesh_incoming *recv);
sley_status sl_mesh_wait_sent(sl_mesh *mesh, int peer, sl_mesh_outgoing *send);
sley_status sl_mesh_wait_received(sl_mesh *mesh, int peer, sl_mesh_incoming *recv);

/* Moves messages as far as possible without waiting, and checks for failures. Returns SLEY_OK, or the error
 * for which this rank should stop. */
sley_status sl_mesh_progress(sl_mesh *mesh);

/* Starts a thread that moves messages while the rank computes. Errors: SLEY_ERR_MEMORY, SLEY_ERR_IO. */
sley_status sl_mesh_start_progress(sl_mesh *mesh);

/* Announces that the rank computes: until its next call of this mesh, the thread of sl_mesh_start_progress,
 * if there is one, moves the messages in flight, and therefore accesses their memory, and serves the requests
 * of other ranks. */
void sl_mesh_work(sl_mesh *mesh);

/* Sets a function that is called whenever this rank waits or moves messages, at least every 50 ms, so that
 * another library can move its own messages; NULL: none. */
void sl_mesh_meanwhile(sl_mesh *mesh, void (*turn)(void));

/* ---- requests: one-sided access to memory that a rank, the keeper, provides to the others. The keeper
 * serves requests whenever it is inside a call, and by the progress thread while it computes, see
 * sl_mesh_work; requests of a peer are served in the order in which they were made. Answers come in any
 * order. */

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
  SL_MESH_ROWS_MOST = 2048,   /* most rows of one request */
  SL_MESH_WINDOW = 8,         /* maximum number of unanswered requests of a peer; further requests wait at the
                                 rank that makes them */
  SL_MESH_STAGE = 128 * 1024, /* most bytes of one request to memory that the host cannot address */
  /* Bytes of staging memory for each rank: for the answers, and for one put. */
  SL_MESH_STAGING = (SL_MESH_WINDOW + 1) * SL_MESH_STAGE
};

/* Access to the memory that a rank provides. Its functions are called by whichever thread serves, one at a
 * time, and must not call the mesh. An error from load, store or atomic breaks the mesh. */
typedef struct sl_mesh_keeper {
  void *owner;
  /* Returns the base of memory `id`, its bytes, and whether the host may address it. NULL: unknown id. */
  void *(*find)(void *owner, uint64_t id, int64_t *bytes, bool *on_host);
  /* Called when rank `rank` will not access memory `id` any more; an id that is unknown, or that the rank has
   * freed before, is ignored. Returns whether any memory is still provided. */
  bool (*freed)(void *owner, uint64_t id, int rank);
  /* Access to memory that the host cannot address; each function returns when the access is complete. NULL if
   * there is no such memory. at: an address in that memory. atomic: performs an ADD or COMPARE_SWAP; *old
   * receives the previous word. */
  sley_status (*load)(void *owner, void *dst, const char *at, int64_t bytes);
  sley_status (*store)(void *owner, char *at, const void *src, int64_t bytes);
  sley_status (*atomic)(void *owner, sl_mesh_access_kind kind, char *at, int64_t value, int64_t expected,
                        int64_t *old);
  char
      *staging; /* SL_MESH_STAGING bytes for each rank, for load and store; NULL if load and store are NULL */
} sl_mesh_keeper;

/* Sets the keeper (copied) with which this rank serves requests from now on. NULL: the rank provides no
 * memory now. keeper->owner must live until the mesh is closed, because others may send requests until they
 * have left too. */
void sl_mesh_serve(sl_mesh *mesh, const sl_mesh_keeper *keeper);

/* A request in flight. The caller keeps it and its data until it is done or the mesh is broken. */
typedef struct sl_mesh_ask {
  sl_mesh_outgoing request;
  sl_mesh_incoming answer;
  int64_t operand[2];
  bool answers; /* an answer is expected */
  int peer;
  struct sl_mesh_ask *next; /* next request that waits until earlier ones are answered */
} sl_mesh_ask;

/* Begins an access to bytes at `at` of memory id of rank peer. GET: fills data. PUT: sends data; once done,
 * data may be changed, and once a later FLUSH is done, the data has arrived. ADD: adds *data (an int64_t) to
 * the 8 bytes there; *data becomes the previous value. COMPARE_SWAP: data[0] is the expected value and
 * becomes the previous value, data[1] is the new value. FLUSH: waits until all puts have arrived. FREE: no
 * further request for this memory follows. The caller has checked the bounds. Any number of requests may be
 * in flight. On a broken mesh it does nothing. */
void sl_mesh_ask_access(sl_mesh *mesh, int peer, sl_mesh_access_kind access, uint64_t id, int64_t at,
                        void *data, int64_t bytes, sl_mesh_ask *ask);
/* Returns whether the request is done, without reading the sockets; sl_mesh_progress reads them. */
static inline bool sl_mesh_ask_done(const sl_mesh_ask *ask) {
  return ask->request.done && (ask->answer.done || !ask->answers);
}
/* Serves the sockets until the request is done. Errors: SLEY_ERR_PEER, SLEY_ERR_INTERRUPTED. */
sley_status sl_mesh_wait_ask(sl_mesh *mesh, const sl_mesh_ask *ask);

/* Makes an access and waits until it is done. */
sley_status sl_mesh_access(sl_mesh *mesh, int peer, sl_mesh_access_kind access, uint64_t id, int64_t at,
                           void *data, int64_t bytes);

/* A request for rows, and the state of their arrival. */
typedef struct sl_mesh_rows {
  sl_mesh_outgoing request;
  sl_mesh_incoming answer;
  uint32_t row[SL_MESH_ROWS_MOST];
} sl_mesh_rows;

/* Allocates the memory that holds the peers' requests for rows until they are answered. Errors:
 * SLEY_ERR_MEMORY. */
sley_status sl_mesh_serve_rows(sl_mesh *mesh);

/* Begins to fetch rows ask->row[0 .. count - 1], of bytes each, from memory id of rank peer; they are stored
 * at dst one after another, and have arrived when sl_mesh_wait_rows returns. A rank may have one such request
 * to each of several peers at a time. The caller has checked the bounds. */
void sl_mesh_ask_rows(sl_mesh *mesh, int peer, uint64_t id, int64_t bytes, int64_t count, void *dst,
                      sl_mesh_rows *ask);
sley_status sl_mesh_wait_rows(sl_mesh *mesh, int peer, sl_mesh_rows *ask);

#endif
