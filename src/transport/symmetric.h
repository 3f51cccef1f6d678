/* SPDX-License-Identifier: Apache-2.0 */
/* One-sided memory: a block on every rank that all ranks read, write and count in without a call of its
 * owner. The rules are those of the MPI standard for passive target communication under one lock of all ranks
 * (MPI 4.0, chapter 12), in the words of this library.
 *
 * Operations. get and put move any bytes; fetch_add and compare_swap work on an int64_t at a multiple of 8.
 * This rank's side of an operation (dst, src) may be memory of the host or of the rank's device.
 *
 * Completion. get_begin and put_begin return at once, with a handle in the caller's sl_rma. (Where the block
 * is a device's and this rank's side memory of the host that is not pinned, they wait for the copy.) The
 * operation is complete at the origin when test says so or wait returns: dst of a get then holds the data,
 * src of a put may be changed. Until then neither may be touched, and the sl_rma stays where it is. A put is
 * complete at the target, visible to the owner and to every rank, after a later flush of that rank,
 * flush_all, or a barrier of the comm that this rank has returned from. The atomics return complete on both
 * sides.
 *
 * Order. Operations between their begin and their completion are in no order, not even those of one rank on
 * one word: to order two, complete the first before the second begins (a put: at the target). Where a block
 * lies in a device's memory, an operation also is in no order with the work of the device's queues: what a
 * queue has been given before `after` (below) precedes the operations begun later; an operation that is
 * complete precedes whatever a queue is given later.
 *
 * Atomicity. fetch_add and compare_swap are atomic with each other, whichever ranks make them. In memory of
 * the host so is a get or put of 8 bytes at a multiple of 8, and each atomic of 8 bytes by the address of
 * peer_ptr. In memory of a device a get or put is atomic with nothing: flags there are set and read by
 * fetch_add. Of two operations in flight that touch the same bytes otherwise, one of which is not a get, the
 * result is undefined.
 *
 * Progress. comm->one_sided says what the comm offers, see sl_one_sided. With SL_ONE_SIDED_PASSIVE every
 * operation completes while the owner computes and calls nothing; without it only while the owner is inside a
 * call of the comm. Every call here also serves the others.
 *
 * Failure. When a rank has failed, begin, test, wait, flush and the atomics return SLEY_ERR_PEER with its
 * name; after an interrupt SLEY_ERR_INTERRUPTED. The handle is then free, and nothing touches dst or src any
 * more. Arguments out of bounds are SLEY_ERR_ARG at the caller alone; nothing has moved, and the comm is as
 * good as before.
 *
 * Counters. A get or put counts its bytes and one message (none of no bytes) when it is begun. Atomics count
 * nothing. */
#ifndef SLEY_TRANSPORT_SYMMETRIC_H
#define SLEY_TRANSPORT_SYMMETRIC_H

#include "base/status.h"
#include "device/device.h"

typedef struct sley_comm sl_comm;
typedef struct sl_symm sl_symm;
struct sl_row_list;

/* Capabilities of a comm, the same on all its ranks. */
typedef enum sl_one_sided {
  SL_ONE_SIDED_GET = 1,     /* get and put, with handles, reach the memory of every rank */
  SL_ONE_SIDED_ATOMICS = 2, /* so do fetch_add and compare_swap */
  SL_ONE_SIDED_PASSIVE = 4, /* all of them complete while the owner computes */
  SL_ONE_SIDED_DEVICE = 8   /* the memory is the devices', which the host cannot address */
} sl_one_sided;

struct sl_symm {
  sl_comm *comm;
};

enum { SL_RMA_BYTES = 320 };

/* The handle of an operation. The caller's, uninitialised before begin; between begin and the end of wait (or
 * a test that is done) it belongs to the comm. One that begin has refused is not in flight. */
typedef struct sl_rma {
  sl_comm *comm; /* that test and wait go to */
  sl_symm *symm;
  _Alignas(16) unsigned char room[SL_RMA_BYTES]; /* the transport's */
} sl_rma;

/* Every slot is filled. */
typedef struct sl_symm_ops {
  /* bytes of zeroed memory on every rank (sizes may differ). Waits for the device. Collective. */
  sley_status (*alloc)(sl_comm *comm, int64_t bytes, sl_symm **out);
  /* Nothing of this rank's may be in flight on it. Collective, but ranks do not wait for each other: a block
   * lives until all have called it, or have failed. */
  void (*free)(sl_symm *symm);
  /* Address of the rank's memory for loads and stores of this rank's device (the host, where that is one), or
   * NULL if there is none. Own rank: always. */
  void *(*peer_ptr)(sl_symm *symm, int rank);
  /* offset + bytes within the target's memory, else SLEY_ERR_ARG. */
  sley_status (*get_begin)(sl_symm *symm, int rank, int64_t offset, void *dst, int64_t bytes, sl_rma *rma);
  sley_status (*put_begin)(sl_symm *symm, int rank, int64_t offset, const void *src, int64_t bytes,
                           sl_rma *rma);
  /* Whether the operation is complete at the origin, without waiting; an error also ends it. */
  sley_status (*test)(sl_rma *rma, bool *done);
  sley_status (*wait)(sl_rma *rma);
  /* Operations begun from here on follow all that queue has been given so far. Waits for nothing. On devices
   * with host addresses queues are done when the call that fills them returns: there is nothing to do. */
  sley_status (*after)(sl_symm *symm, sl_queue *queue);
  /* Gets of single rows, asked for together: of each list (ascending peers, each at most once) rows rows[i]
   * of the peer's memory, where rows of list->bytes lie side by side, go to rows first + i of dst, whose rows
   * are as long. dst is memory of the host. Returns with the data. */
  sley_status (*get_rows)(sl_symm *symm, int lists, const struct sl_row_list *list, void *dst);
  /* *old (NULL: not wanted) becomes what was there. */
  sley_status (*fetch_add)(sl_symm *symm, int rank, int64_t offset, int64_t delta, int64_t *old);
  /* The word becomes desired if it is expected; *old is what was there, so the swap took place where that is
   * expected. */
  sley_status (*compare_swap)(sl_symm *symm, int rank, int64_t offset, int64_t expected, int64_t desired,
                              int64_t *old);
  /* All puts to the rank's memory that this rank has begun are complete at the target, of whatever symmetric
   * memory. Their handles are yet to be waited for. rank SL_ALL_RANKS: to every rank's. */
  sley_status (*flush)(sl_symm *symm, int rank);
} sl_symm_ops;

enum { SL_ALL_RANKS = -1 };

/* ---- the calls, of a comm with whatever transport */

sley_status sl_symm_alloc(sl_comm *comm, int64_t bytes, sl_symm **out);
void sl_symm_free(sl_symm *symm);
void *sl_peer_ptr(sl_symm *symm, int rank);
sley_status sl_get_begin(sl_symm *symm, int rank, int64_t offset, void *dst, int64_t bytes, sl_rma *rma);
sley_status sl_put_begin(sl_symm *symm, int rank, int64_t offset, const void *src, int64_t bytes,
                         sl_rma *rma);
sley_status sl_rma_test(sl_rma *rma, bool *done);
sley_status sl_rma_wait(sl_rma *rma);
sley_status sl_rma_after(sl_symm *symm, sl_queue *queue);
sley_status sl_get_rows(sl_symm *symm, int lists, const struct sl_row_list *list, void *dst);
sley_status sl_fetch_add(sl_symm *symm, int rank, int64_t offset, int64_t delta, int64_t *old);
sley_status sl_compare_swap(sl_symm *symm, int rank, int64_t offset, int64_t expected, int64_t desired,
                            int64_t *old);
sley_status sl_flush(sl_symm *symm, int rank);
sley_status sl_flush_all(sl_symm *symm);

/* begin and wait in one. */
sley_status sl_get(sl_symm *symm, int rank, int64_t offset, void *dst, int64_t bytes);
sley_status sl_put(sl_symm *symm, int rank, int64_t offset, const void *src, int64_t bytes);

/* ---- for transports */

/* Gets the rows one by one, some of them in flight at a time: the slot get_rows of those that know no better.
 */
sley_status sl_get_rows_singly(sl_symm *symm, int lists, const struct sl_row_list *list, void *dst);

/* Whether bytes at offset lie within a block of block_bytes, of rank `rank` of size. Errors: SLEY_ERR_ARG. */
sley_status sl_symm_check(const char *call, int rank, int size, int64_t offset, int64_t bytes,
                          int64_t block_bytes);

/* Whether offset, of an atomic, is a multiple of 8. Errors: SLEY_ERR_ARG. */
sley_status sl_symm_check_word(const char *call, int64_t offset);

/* Whether one aligned word moves, which then does so as an atomic. */
static inline bool sl_is_word(int64_t offset, int64_t bytes) {
  return bytes == (int64_t)sizeof(int64_t) && offset % (int64_t)sizeof(int64_t) == 0;
}

/* Moves bytes between a block that the host can address and memory of the host; a word as an atomic. */
void sl_symm_load(void *dst, const char *block, int64_t offset, int64_t bytes);
void sl_symm_store(char *block, int64_t offset, const void *src, int64_t bytes);

#endif
