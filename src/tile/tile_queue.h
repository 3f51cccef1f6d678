/* SPDX-License-Identifier: Apache-2.0 */
/* A queue on every rank that all ranks push to, and the buffers that what is pushed lies in.
 *
 * A buffer is memory of the rank that fills it, which others read. To push an entry, a word that names a
 * buffer, is one fetch-and-add, which reserves a place in the ring of the receiver, and one put, which fills
 * it. The receiver takes entries in the order of their places, reads the buffers when it wants to, and gives
 * each back. A rank has so many buffers, so there are never more entries than places: an entry never finds
 * its place taken.
 *
 * Source: Brock and others, sections 3.1.2 and 5.3. */
#ifndef SLEY_TILE_TILE_QUEUE_H
#define SLEY_TILE_TILE_QUEUE_H

#include "transport/transport.h"

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
} sl_tile_queue;

/* Errors: SLEY_ERR_MEMORY, SLEY_ERR_OVERFLOW. All ranks give the same numbers. Collective, agreed. */
sley_status sl_tile_queue_create(sl_comm *comm, int buffers, int64_t buffer_bytes, sl_tile_queue **out);
void sl_tile_queue_destroy(sl_tile_queue *queue); /* Accepts NULL. Collective. */

/* A free buffer of this rank, from now on in use; -1: there is none now. Errors: SLEY_ERR_PEER. */
sley_status sl_tile_queue_buffer(sl_tile_queue *queue, int *buffer);
void sl_tile_queue_put_back(sl_tile_queue *queue, int buffer); /* It was not used. */
void *sl_tile_queue_contents(const sl_tile_queue *queue, int buffer);

/* Appends an entry, not 0, to the rank's queue; what was written to this rank's buffers before can be read by
 * who takes it. Errors: SLEY_ERR_PEER. */
sley_status sl_tile_queue_push(sl_tile_queue *queue, int rank, int64_t entry);

/* The next entry of this rank's queue; 0: there is none now. Errors: SLEY_ERR_PEER. */
sley_status sl_tile_queue_take(sl_tile_queue *queue, int64_t *entry);

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

/* The first bytes of a rank's buffer: where they lie, or a copy that the next read replaces. Counts as a get.
 * Errors: SLEY_ERR_PEER. */
sley_status sl_tile_queue_read(sl_tile_queue *queue, int rank, int buffer, int64_t bytes, const void **out);

/* This rank will not read that buffer again. Errors: SLEY_ERR_PEER. */
sley_status sl_tile_queue_return(sl_tile_queue *queue, int rank, int buffer);

#endif
