/* SPDX-License-Identifier: Apache-2.0 */
/* A queue on every rank that all ranks push to, and the buffers that what is pushed lies in.
 *
 * A buffer is memory of the rank that fills it, which others read. To push an entry, a word that names a
 * buffer, is two fetch-and-adds: one reserves a place in the ring of the receiver, the other fills it. (The
 * paper fills it with a put, which in a device's memory would be atomic with nothing.) The receiver takes
 * entries in the order of their places, reads the buffers when it wants to, and gives each back. A rank has
 * so many buffers, so there are never more entries than places: an entry never finds its place taken.
 *
 * Buffers and words lie in symmetric memory, of the host or of the ranks' devices. Devices fill and read
 * buffers in the order of the comm's queue, for which the host does not wait: what is pushed and given back
 * is noted behind a mark in that queue, and sent by the next call here that finds the mark reached.
 *
 * Source: Brock and others, sections 3.1.2 and 5.3. */
#ifndef SLEY_TILE_TILE_QUEUE_H
#define SLEY_TILE_TILE_QUEUE_H

#include "device/marks.h"
#include "transport/transport.h"

/* A word for another rank that is sent once a mark is reached. */
typedef struct sl_late_word {
  uint64_t mark;
  int rank;
  bool gives_back;
  int64_t value; /* the entry, or the buffer */
} sl_late_word;

typedef struct sl_tile_queue {
  sl_comm *comm;
  sl_symm *symm;
  char **blocks;             /* of all ranks; NULL: this rank cannot load that one's memory */
  int buffers;               /* of each rank */
  int64_t buffer_bytes;      /* a multiple of 64 */
  int64_t places;            /* of the ring */
  int64_t returns, contents; /* offsets of the words that give buffers back, and of the buffers */
  int64_t taken;             /* entries so far */
  bool *in_use;              /* of this rank's buffers */
  char *room;                /* for a buffer that is read; NULL: this rank can load all of them */
  sl_marks marks;            /* of the comm's queue */
  sl_late_word *late;        /* a ring: at most one for each place and each buffer of this rank; NULL: words
                              * are sent at once */
  int64_t late_first, late_count, late_most;
} sl_tile_queue;

/* Errors: SLEY_ERR_MEMORY, SLEY_ERR_OVERFLOW. All ranks give the same numbers. Collective, agreed. */
sley_status sl_tile_queue_create(sl_comm *comm, int buffers, int64_t buffer_bytes, sl_tile_queue **out);
void sl_tile_queue_destroy(sl_tile_queue *queue); /* Accepts NULL. Collective. */

/* A free buffer of this rank, from now on in use; -1: there is none now. Errors: SLEY_ERR_PEER. */
sley_status sl_tile_queue_buffer(sl_tile_queue *queue, int *buffer);
void sl_tile_queue_put_back(sl_tile_queue *queue, int buffer); /* It was not used. */
void *sl_tile_queue_contents(const sl_tile_queue *queue, int buffer);

/* Appends an entry, not 0, to the rank's queue, once the comm's queue has done what it has been given so far:
 * what that writes to this rank's buffers can be read by who takes the entry. On the host that is now, else
 * at a later call. Counts as a put of a word. Errors: SLEY_ERR_PEER. */
sley_status sl_tile_queue_push(sl_tile_queue *queue, int rank, int64_t entry);

/* What is done with an entry that has come. */
typedef sley_status (*sl_tile_queue_taker)(void *context, int64_t entry);

/* Takes all entries that have come. *any, which may be NULL: whether any had. Errors: SLEY_ERR_PEER, those of
 * the taker. */
sley_status sl_tile_queue_drain(sl_tile_queue *queue, sl_tile_queue_taker taker, void *context, bool *any);

/* A free buffer of this rank, once there is one. Meanwhile this rank takes what comes: others may wait for
 * buffers, too. Errors: those of drain. */
sley_status sl_tile_queue_await(sl_tile_queue *queue, sl_tile_queue_taker taker, void *context, int *buffer);

/* Waits a moment, where nothing has come and this rank has nothing else to do: others may want the core. */
void sl_tile_queue_nap(void);

/* The first bytes of a rank's buffer: where they lie, or a copy that the next read replaces, in the memory of
 * the comm's device; to be read by the comm's queue. Counts as a get. Errors: SLEY_ERR_PEER. */
sley_status sl_tile_queue_read(sl_tile_queue *queue, int rank, int buffer, int64_t bytes, const void **out);

/* This rank will not read that buffer again, once the comm's queue has done what it has been given so far.
 * Errors: SLEY_ERR_PEER. */
sley_status sl_tile_queue_return(sl_tile_queue *queue, int rank, int buffer);

/* All that has been pushed and given back is sent; waits for the comm's queue if need be. Errors:
 * SLEY_ERR_PEER. */
sley_status sl_tile_queue_settle(sl_tile_queue *queue);

#endif
