/* SPDX-License-Identifier: Apache-2.0 */
/* One-sided building blocks for products in tiles, from which a program makes algorithms of its own: words
 * that all ranks count in and reserve work by, queues of messages, and sums of tiles that any rank adds to.
 *
 *   sley_words_create       words of every rank; sley_words_add, sley_words_swap, sley_words_reserve
 *   sley_queue_create       messages to any rank; sley_queue_send, sley_queue_receive
 *   sley_sums_create        sums of the tiles of Y; sley_sums_add, sley_sums_finish
 *
 * The rules of sley.h on errors and on collective calls hold here too. A comm without one-sided memory that
 * works while its owner computes is refused with SLEY_ERR_UNSUPPORTED. A call that is not collective and
 * fails with another error than SLEY_ERR_ARG leaves other ranks waiting: return the error from the rank's
 * main. examples/14_own_stealing.c is a whole program. */
#ifndef SLEY_REMOTE_H
#define SLEY_REMOTE_H

#include "sley_tile.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- words */

typedef struct sley_words sley_words;

/* Makes `count` words on every rank, all 0, which every rank can change; count the same on all ranks. Errors:
 * SLEY_ERR_ARG, SLEY_ERR_UNSUPPORTED, SLEY_ERR_MEMORY. Collective. */
sley_status sley_words_create(sley_comm *comm, int64_t count, sley_words **out);

/* Adds delta to word `index` of a rank, atomically; *old receives the value before, unless old is NULL. With
 * delta 0 it reads the word. Errors: SLEY_ERR_ARG (no such rank or word), SLEY_ERR_PEER. Not collective. */
sley_status sley_words_add(sley_words *words, int rank, int64_t index, int64_t delta, int64_t *old);

/* Replaces the word by desired if it equals expected, atomically; *old, not NULL, receives the value before.
 * Errors: as sley_words_add. Not collective. */
sley_status sley_words_swap(sley_words *words, int rank, int64_t index, int64_t expected, int64_t desired,
                            int64_t *old);

/* Reserves the next of `count` pieces of work that are counted in a word: *number receives 0 to count - 1,
 * each once over all ranks, then -1. The word must begin as 0 and change by this call only; count the same in
 * all calls. Errors: as sley_words_add. Not collective. */
sley_status sley_words_reserve(sley_words *words, int rank, int64_t index, int64_t count, int64_t *number);

/* Frees the words. Accepts NULL. Collective. */
void sley_words_destroy(sley_words *words);

/* ---- queues */

typedef struct sley_queue sley_queue;

/* Takes a message of `bytes` bytes from a rank; data, at a multiple of 8, is valid until it returns. Called
 * within calls of the queue, one at a time. It may not call the queue. An error is returned by that call. */
typedef sley_status (*sley_queue_taker)(void *context, int from, const void *data, int64_t bytes);

/* Makes a queue of messages for every rank. Each rank has `buffers` buffers (0: 4) of buffer_bytes bytes,
 * from which receivers read; a longer message travels in pieces. Both the same on all ranks. Errors:
 * SLEY_ERR_ARG, SLEY_ERR_UNSUPPORTED, SLEY_ERR_MEMORY, SLEY_ERR_OVERFLOW. Collective. */
sley_status sley_queue_create(sley_comm *comm, int buffers, int64_t buffer_bytes, sley_queue_taker taker,
                              void *context, sley_queue **out);

/* Sends a message to a rank, which may be this one. Messages of one rank to another arrive in order. While no
 * buffer is free it takes messages that have arrived, so ranks that send to each other cannot deadlock; a
 * rank to which others send must call the queue again and again. Errors: SLEY_ERR_ARG (no such rank, bytes
 * below 0, data NULL), SLEY_ERR_MEMORY, SLEY_ERR_PEER, the taker's. Not collective. */
sley_status sley_queue_send(sley_queue *queue, int rank, const void *data, int64_t bytes);

/* Takes all messages that have arrived; *any, unless any is NULL, receives whether some of one had. Errors:
 * SLEY_ERR_PEER, SLEY_ERR_MEMORY, the taker's. Not collective. */
sley_status sley_queue_receive(sley_queue *queue, bool *any);

/* Frees the queue. Messages that were not taken are lost. Accepts NULL. Collective. */
void sley_queue_destroy(sley_queue *queue);

/* ---- sums of tiles */

typedef struct sley_sums sley_sums;

/* Prepares sums of tiles of y, a dense matrix that outlives them. terms: for each tile of y, row by row, how
 * many terms it gets; the same on all ranks. Each rank holds sums of its tiles in float64, and terms that
 * come before their turn. buffers: as in sley_queue_create. Errors: SLEY_ERR_ARG, SLEY_ERR_MEMORY,
 * SLEY_ERR_OVERFLOW. Collective. */
sley_status sley_sums_create(sley_tiled *y, const int64_t *terms, int buffers, sley_sums **out);

/* Adds a term to tile (i, j) of any rank: its rows x cols values, in y's dtype. number: 0 to terms - 1, each
 * once over all ranks. The owner adds terms in the order of their numbers, so the sums depend on neither
 * timing nor on which rank has computed which term. values may be changed when the call returns. Takes terms
 * of others, as sley_queue_send does. Errors: SLEY_ERR_ARG (no such tile or number, values NULL, a term of
 * this rank's own tile that it has already), SLEY_ERR_MEMORY, SLEY_ERR_PEER (also: another rank has sent a
 * term twice). Not collective. */
sley_status sley_sums_add(sley_sums *sums, int64_t i, int64_t j, int64_t number, const void *values);

/* Waits for all terms of this rank's tiles, then adds the sums to y, each value rounded once, and waits for
 * all ranks. The sums are then used up. Errors: SLEY_ERR_PEER, SLEY_ERR_MEMORY, SLEY_ERR_INTERRUPTED.
 * Collective. */
sley_status sley_sums_finish(sley_sums *sums);

/* Frees the sums. Accepts NULL. Collective. */
void sley_sums_destroy(sley_sums *sums);

#ifdef __cplusplus
}
#endif

#endif
