/* SPDX-License-Identifier: Apache-2.0 */
/* A queue on every rank to which all ranks push, and the buffers that contain the pushed data.
 *
 * A buffer is memory of the rank that fills it; other ranks read it. An entry is a word that names a buffer.
 * Pushing it takes two fetch-and-adds: one reserves a place in the receiver's ring, the other fills it. (The
 * paper fills it with a put, which in device memory would not be atomic with other accesses.) The receiver
 * takes entries in the order of their places, reads the buffers when it is ready, and returns each. The ring
 * has a place for every buffer of every rank, so a place is always free when an entry is pushed.
 *
 * Buffers and words are in symmetric memory, of the host or of the ranks' devices. Devices fill and read
 * buffers in the order of the comm's queue, for which the host does not wait. A word to be sent is recorded
 * behind a mark in that queue; the next call that finds the mark reached sends it.
 *
 * Source: Brock and others, sections 3.1.2 and 5.3. */
#ifndef SLEY_TILE_TILE_QUEUE_H
#define SLEY_TILE_TILE_QUEUE_H

#include "device/marks.h"
#include "transport/transport.h"

/* A word for another rank that is sent when a mark is reached. */
typedef struct sl_late_word {
  uint64_t mark;
  int rank;
  bool gives_back;
  int64_t value; /* an entry, or the number of a buffer */
} sl_late_word;

typedef struct sl_tile_queue {
  sl_comm *comm;
  sl_symm *symm;
  char **blocks;             /* address of each rank's block; NULL: this rank cannot load that memory */
  int buffers;               /* buffers per rank */
  int64_t buffer_bytes;      /* a multiple of 64 */
  int64_t places;            /* places of the ring */
  int64_t returns, contents; /* offsets of the words that return buffers, and of the buffers */
  int64_t taken;             /* number of entries taken */
  bool *in_use;              /* for each buffer of this rank, whether it is in use */
  char *room;                /* memory for a copy of a buffer; NULL: this rank can load all buffers */
  sl_marks marks;            /* marks of the comm's queue */
  /* late: ring of words that are still to be sent, with memory for one per place and per buffer of this rank;
   * NULL: words are sent at once. */
  sl_late_word *late;
  int64_t late_first, late_count, late_most;
} sl_tile_queue;

/* Creates a queue on every rank. All ranks pass the same numbers. Errors: SLEY_ERR_MEMORY, SLEY_ERR_OVERFLOW.
   Collective, agreed. */
sley_status sl_tile_queue_create(sl_comm *comm, int buffers, int64_t buffer_bytes, sl_tile_queue **out);
void sl_tile_queue_destroy(sl_tile_queue *queue); /* Accepts NULL. Collective. */

/* Reserves a free buffer of this rank; *buffer = -1 if there is none at present. Errors: SLEY_ERR_PEER. */
sley_status sl_tile_queue_buffer(sl_tile_queue *queue, int *buffer);
void sl_tile_queue_put_back(sl_tile_queue *queue, int buffer); /* Releases a reserved buffer that was not
                                                                * used. */
void *sl_tile_queue_contents(const sl_tile_queue *queue, int buffer);

/* Appends an entry, not 0, to the rank's queue, once the comm's queue has done the work enqueued so far. Data
 * that this work writes to this rank's buffers is visible to the rank that takes the entry. On the host the
 * entry is sent at once, on devices possibly by a later call. The traffic counts as a put of a word. Errors:
 * SLEY_ERR_PEER. */
sley_status sl_tile_queue_push(sl_tile_queue *queue, int rank, int64_t entry);

/* Processes an entry that has arrived. */
typedef sley_status (*sl_tile_queue_taker)(void *context, int64_t entry);

/* Takes all entries that have arrived. Sets *any to whether an entry had arrived, unless any is NULL. Errors:
 * SLEY_ERR_PEER, errors of the taker. */
sley_status sl_tile_queue_drain(sl_tile_queue *queue, sl_tile_queue_taker taker, void *context, bool *any);

/* Waits for a free buffer of this rank and reserves it. Meanwhile takes entries that arrive, because others
 * may be waiting for buffers, too. Errors: as sl_tile_queue_drain. */
sley_status sl_tile_queue_await(sl_tile_queue *queue, sl_tile_queue_taker taker, void *context, int *buffer);

/* Sleeps for a moment, for a rank that has nothing else to do while nothing arrives: others may need the
 * core. */
void sl_tile_queue_nap(void);

/* Sets *out to the address of the first bytes of a rank's buffer, in place or as a copy that the next read
 * replaces, in the memory of the comm's device. Only the comm's queue may read them. The traffic counts as a
 * get. Errors: SLEY_ERR_PEER. */
sley_status sl_tile_queue_read(sl_tile_queue *queue, int rank, int buffer, int64_t bytes, const void **out);

/* Returns a buffer to its rank, once the comm's queue has done the work enqueued so far; this rank must not
 * read it again. Errors: SLEY_ERR_PEER. */
sley_status sl_tile_queue_return(sl_tile_queue *queue, int rank, int buffer);

/* Sends all pushed entries and returned buffers; waits for the comm's queue if necessary. Errors:
 * SLEY_ERR_PEER. */
sley_status sl_tile_queue_settle(sl_tile_queue *queue);

#endif
