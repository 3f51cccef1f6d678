/* SPDX-License-Identifier: Apache-2.0 */
/* How ranks that are processes meet, and what they tell each other from then on: sockets between every two of
 * them, the collectives that planning needs, messages of known size, and abort. It is separate from the
 * transport that moves rows, and carries what such a transport needs to begin (identifiers, handles).
 *
 * A bootstrap is used by one thread. Sockets are served while its rank is inside one of these calls, messages
 * also between them, see sl_bootstrap_work. Every wait ends, with SLEY_ERR_PEER and a message that names the
 * rank, when a rank aborts, when its process ends, and when it has left while this rank still waits for it;
 * with SLEY_ERR_INTERRUPTED within 50 ms of sley_interrupt(). Either way the bootstrap is then broken: every
 * later call returns SLEY_ERR_PEER. */
#ifndef SLEY_BOOTSTRAP_BOOTSTRAP_H
#define SLEY_BOOTSTRAP_BOOTSTRAP_H

#include "bootstrap/place.h"

typedef struct sl_bootstrap sl_bootstrap;

/* ---- meeting */

/* All ranks of a place's size meet. A rank that cannot take part (mine is not SLEY_OK, with the thread's
 * message) says so to all: then every rank gets an error. Errors: SLEY_ERR_PEER (a rank did not come within
 * the time limit, or failed: it is named), SLEY_ERR_ARG (ranks disagree on the number of ranks, or two have
 * the same rank), SLEY_ERR_IO, SLEY_ERR_MEMORY, SLEY_ERR_INTERRUPTED. place->listener is closed in any case.
 */
sley_status sl_bootstrap_meet(const sl_place *place, sley_status mine, sl_bootstrap **out);

/* Tells all that this rank calls nothing more, delivers what was sent, and waits until all ranks have left or
 * one has failed. */
void sl_bootstrap_leave(sl_bootstrap *boot);

/* Leaves, unless it has, and ends. NULL: nothing. */
void sl_bootstrap_close(sl_bootstrap *boot);

int sl_bootstrap_rank(const sl_bootstrap *boot);
int sl_bootstrap_size(const sl_bootstrap *boot);

/* The place among the ranks of the same host: the launcher's LOCAL_RANK, else counted. */
int sl_bootstrap_local_rank(const sl_bootstrap *boot);

/* What sl_host_name gave on that rank's host. */
const char *sl_bootstrap_host(const sl_bootstrap *boot, int rank);

/* The most ranks, at most `most`, for which every block of that many consecutive ranks is on one host. */
int sl_bootstrap_block(const sl_bootstrap *boot, int most);

/* ---- collectives. Ranks that make different calls, or disagree on sizes, all get SLEY_ERR_ARG; after that,
 * and after a sum that overflows, the bootstrap is as good as before. */

typedef enum sl_boot_op { SL_BOOT_SUM, SL_BOOT_MIN, SL_BOOT_MAX } sl_boot_op;

/* All ranks meet in a call of that name with the same two numbers, each with a status of its own: every rank
 * gets its own error, or SLEY_ERR_PEER with the message of the first other rank that has one, or SLEY_OK. */
sley_status sl_bootstrap_agree(sl_bootstrap *boot, const char *call, int64_t first, int64_t second,
                               sley_status mine);

sley_status sl_bootstrap_barrier(sl_bootstrap *boot);

/* bytes from each rank, by rank. */
sley_status sl_bootstrap_allgather(sl_bootstrap *boot, const void *src, int64_t bytes, void *dst);

/* Rank p gets send + send_at[p] .. + send_bytes[p]; what comes from p goes to recv + recv_at[p]. */
sley_status sl_bootstrap_alltoallv(sl_bootstrap *boot, const void *send, const int64_t *send_at,
                                   const int64_t *send_bytes, void *recv, const int64_t *recv_at,
                                   const int64_t *recv_bytes);

/* In place. SLEY_ERR_OVERFLOW on all ranks if a sum does not fit. */
sley_status sl_bootstrap_allreduce(sl_bootstrap *boot, sl_boot_op op, int64_t *values, int64_t count);

/* Rank root's bytes to all. */
sley_status sl_bootstrap_broadcast(sl_bootstrap *boot, int root, void *data, int64_t bytes);

/* ---- failure */

/* This rank has failed with the thread's message. The first abort wins. */
void sl_bootstrap_abort(sl_bootstrap *boot, sley_status status);

/* Whether a rank has failed, as far as is known here. */
bool sl_bootstrap_broken(sl_bootstrap *boot);

/* ---- messages. A tag names a message between two ranks; messages of one pair arrive in the order sent, and
 * one for which no receive is posted yet holds up those behind it. So a rank posts its receives in the order
 * in which its peer sends, and before it waits for anything the peer sends after them. */

typedef struct sl_boot_header {
  uint32_t kind, access;
  uint64_t tag;
  int64_t bytes;      /* that follow */
  int64_t at, length; /* of an access */
} sl_boot_header;

/* Both belong to the caller, with their data, until done or the bootstrap is broken. */
typedef struct sl_boot_send {
  sl_boot_header header;
  const void *data;
  const uint32_t *rows; /* NULL, or numbers of the rows at data that are sent one after another */
  int64_t row_bytes;    /* of each */
  int64_t sent;         /* of header and data */
  bool done;
  uint64_t turn; /* 0: goes when it can; else see sl_bootstrap_send_in_turn */
  struct sl_boot_send *next, *next_turn;
} sl_boot_send;

typedef struct sl_boot_recv {
  uint64_t tag;
  void *data;
  int64_t bytes; /* exactly */
  bool done;
  struct sl_boot_recv *next;
} sl_boot_recv;

/* Tags below 2^56 are the caller's. To the rank itself nothing may be sent. */
void sl_bootstrap_send(sl_bootstrap *boot, int peer, uint64_t tag, const void *data, int64_t bytes,
                       sl_boot_send *send);
/* Of messages with a turn those of a lower one are sent first, whoever they are for, so that what is needed
 * first does not share the link. turn: not 0, ascending from call to call. Every rank posts its receives of a
 * turn without waiting for a message of a later one. */
void sl_bootstrap_send_in_turn(sl_bootstrap *boot, uint64_t turn, int peer, uint64_t tag, const void *data,
                               int64_t bytes, sl_boot_send *send);
void sl_bootstrap_recv(sl_bootstrap *boot, int peer, uint64_t tag, void *data, int64_t bytes,
                       sl_boot_recv *recv);
sley_status sl_bootstrap_wait_sent(sl_bootstrap *boot, int peer, sl_boot_send *send);
sley_status sl_bootstrap_wait_received(sl_bootstrap *boot, int peer, sl_boot_recv *recv);

/* Moves what can be moved, and looks for news, without waiting: SLEY_OK, or why this rank should stop. */
sley_status sl_bootstrap_progress(sl_bootstrap *boot);

/* Starts a thread that moves messages while the rank computes. Errors: SLEY_ERR_MEMORY, SLEY_ERR_IO. */
sley_status sl_bootstrap_start_progress(sl_bootstrap *boot);

/* The rank goes to work: until its next call of this bootstrap, that thread, if there is one, moves the
 * messages that are in flight, and so uses their memory. */
void sl_bootstrap_work(sl_bootstrap *boot);

/* turn is called whenever this rank waits or looks for news, every 50 ms at least, so that another library
 * can move its messages meanwhile; NULL: nothing. */
void sl_bootstrap_meanwhile(sl_bootstrap *boot, void (*turn)(void));

/* ---- requests: one-sided access to memory that a rank keeps for the others. Served whenever the keeper is
 * inside a call. */

typedef enum sl_boot_access {
  SL_BOOT_GET = 1,
  SL_BOOT_PUT,
  SL_BOOT_ADD,
  SL_BOOT_FLUSH,
  SL_BOOT_FREE,
  SL_BOOT_ROWS
} sl_boot_access;

enum { SL_BOOT_ROWS_MOST = 2048 }; /* rows that one request asks for */

/* Where memory `id` lies: base and its bytes; NULL: not known. freed: a peer will not ask for it any more. */
typedef void *(*sl_boot_memory)(void *owner, uint64_t id, int64_t *bytes);
typedef void (*sl_boot_freed)(void *owner, uint64_t id);
/* owner must live until the bootstrap is closed: others may ask until they have left too. */
void sl_bootstrap_serve(sl_bootstrap *boot, sl_boot_memory find, sl_boot_freed freed, void *owner);

/* Asks rank peer for an access to bytes at `at` of its memory id, and waits for the answer if there is one.
 * GET: data is filled. PUT: data is written. ADD: *(int64_t *)data is added to the 8 bytes there, and becomes
 * what they were. FLUSH: all puts have arrived. FREE: no request for it follows. The caller has checked the
 * bounds. */
sley_status sl_bootstrap_access(sl_bootstrap *boot, int peer, sl_boot_access access, uint64_t id, int64_t at,
                                void *data, int64_t bytes);

/* Rows that are on their way from a rank. */
typedef struct sl_boot_rows {
  sl_boot_send request;
  sl_boot_recv answer;
  uint32_t row[SL_BOOT_ROWS_MOST];
} sl_boot_rows;

/* Takes the memory in which requests for rows are kept until they are answered. Errors: SLEY_ERR_MEMORY. */
sley_status sl_bootstrap_serve_rows(sl_bootstrap *boot);

/* Asks rank peer for ask->row[0 .. count - 1] of its memory id, each of bytes; they go to dst one after
 * another, and are there when wait_rows returns. A rank may ask several peers at once, and each for one thing
 * at a time. The caller has checked the bounds. */
void sl_bootstrap_ask_rows(sl_bootstrap *boot, int peer, uint64_t id, int64_t bytes, int64_t count, void *dst,
                           sl_boot_rows *ask);
sley_status sl_bootstrap_wait_rows(sl_bootstrap *boot, int peer, sl_boot_rows *ask);

#endif
