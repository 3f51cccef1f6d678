/* SPDX-License-Identifier: Apache-2.0 */
/* One-sided memory: a block on every rank that all ranks read, write and count in without a call of its
 * owner. The rules follow the MPI standard for passive target communication under one lock of all ranks
 * (MPI 4.0, chapter 12), in the terms of this library.
 *
 * Operations. get and put move any bytes; fetch_add and compare_swap work on an int64_t at a multiple of 8.
 * This rank's side of an operation (dst, src) may be memory of the host or of the rank's device.
 *
 * Completion. get_begin and put_begin return at once, with a handle in the caller's sl_rma. (If the block is
 * on a device and this rank's side is host memory that is not pinned, they wait for the copy.) The operation
 * is complete at the origin when wait returns: dst of a get then holds the data, src of a
 * put may be changed. Until then neither may be touched, and the sl_rma must not move. A put is complete at
 * the target, visible to the owner and to every rank, after a later flush of that rank, flush_all, or a
 * barrier of the comm from which this rank has returned. The atomics return when they are complete on both
 * sides.
 *
 * Order. Operations between their begin and their completion are not ordered, not even two operations of one
 * rank on one word: to order two, complete the first before the second begins (a put: at the target). If a
 * block lies in device memory, an operation is not ordered with the work of the device's queues either: work
 * that a queue has before `after` (below) precedes the operations that begin later; a complete operation
 * precedes work that a queue receives later.
 *
 * Atomicity. fetch_add and compare_swap are atomic with each other, whichever ranks make them. In host memory
 * a get or put of 8 bytes at a multiple of 8 is also atomic with them, and so is each 8-byte atomic through
 * an address of peer_ptr. In device memory a get or put is atomic with nothing: set and read flags there by
 * fetch_add. If two other operations in flight touch the same bytes, and one of them is not a get, the result
 * is undefined.
 *
 * Progress. comm->one_sided states the comm's capabilities, see sl_one_sided. With SL_ONE_SIDED_PASSIVE every
 * operation completes while the owner computes and makes no calls; without it only while the owner is inside
 * a call of the comm. Every call here also serves the other ranks.
 *
 * Failure. When a rank has failed, begin, test, wait, flush and the atomics return SLEY_ERR_PEER with its
 * name; after an interrupt SLEY_ERR_INTERRUPTED. The handle is then free, and nothing accesses dst or src any
 * more. Arguments out of bounds are SLEY_ERR_ARG at the caller only; nothing has moved, and the comm can
 * still be used.
 *
 * Counters. A get or put counts its bytes and one message (none if it has no bytes) when it begins. Atomics
 * count nothing. */
#ifndef SLEY_TRANSPORT_SYMMETRIC_H
#define SLEY_TRANSPORT_SYMMETRIC_H

#include "base/status.h"
#include "device/atomic.h"
#include "device/device.h"

typedef struct sley_comm sl_comm;
typedef struct sl_symm sl_symm;
struct sl_row_list;

/* Capabilities of a comm, the same on all its ranks. */
typedef enum sl_one_sided {
  SL_ONE_SIDED_GET = 1,     /* get and put, with handles, reach the memory of every rank */
  SL_ONE_SIDED_ATOMICS = 2, /* fetch_add and compare_swap reach the memory of every rank */
  SL_ONE_SIDED_PASSIVE = 4, /* all operations complete while the owner computes */
  SL_ONE_SIDED_DEVICE = 8   /* the memory is on the devices, and the host cannot address it */
} sl_one_sided;

struct sl_symm {
  sl_comm *comm;
};

enum { SL_RMA_BYTES = 320 };

/* The handle of an operation. It is the caller's memory, uninitialised before begin; from begin to the end of
 * wait it belongs to the comm. An operation that begin has refused is not in flight. */
typedef struct sl_rma {
  sl_comm *comm; /* comm of the operation, for wait */
  sl_symm *symm;
  _Alignas(16) unsigned char room[SL_RMA_BYTES]; /* memory for the transport */
} sl_rma;

/* The operations of a transport. Every slot is set. */
typedef struct sl_symm_ops {
  /* Allocates bytes of zeroed memory on every rank (sizes may differ). Waits for the device. Collective. */
  sley_status (*alloc)(sl_comm *comm, int64_t bytes, sl_symm **out);
  /* Frees a block. No operation of this rank on it may be in flight. Collective, but ranks do not wait for
   * each other: the block lives until all have called it, or have failed. */
  void (*free)(sl_symm *symm);
  /* Returns the address of the rank's memory for loads and stores by this rank's device (or the host, if that
   * is the device), or NULL if the device cannot reach it. Never NULL for the calling rank itself. */
  void *(*peer_ptr)(sl_symm *symm, int rank);
  /* Begin operations; offset + bytes must lie within the target's memory, else SLEY_ERR_ARG. */
  sley_status (*get_begin)(sl_symm *symm, int rank, int64_t offset, void *dst, int64_t bytes, sl_rma *rma);
  sley_status (*put_begin)(sl_symm *symm, int rank, int64_t offset, const void *src, int64_t bytes,
                           sl_rma *rma);
  /* Waits until the operation is complete at the origin; an error also ends it. */
  sley_status (*wait)(sl_rma *rma);
  /* Makes operations that begin later follow the work that queue has so far. Does not wait. On devices with
   * host addresses a queue's work is done when the call that enqueues it returns: there this does nothing. */
  sley_status (*after)(sl_symm *symm, sl_queue *queue);
  /* Gets single rows in one call. For each list (ascending peers, each at most once): row rows[i] of the
   * peer's memory, which holds contiguous rows of list->bytes, is copied to row first + i of dst, with rows
   * of the same length. dst is host memory. Returns when the rows have arrived. */
  sley_status (*get_rows)(sl_symm *symm, int lists, const struct sl_row_list *list, void *dst);
  /* sl_fetch_add and sl_compare_swap; call is the function's name for messages. Returns when the operation is
   * complete on both sides. */
  sley_status (*atomic)(sl_symm *symm, const char *call, int rank, int64_t offset, sl_atomic_op op,
                        int64_t value, int64_t expected, int64_t *old);
  /* Waits until all puts to the rank's memory that this rank has begun, in any block, are complete at the
   * target. Their handles must still be waited for. rank SL_ALL_RANKS: puts to all ranks. */
  sley_status (*flush)(sl_symm *symm, int rank);
} sl_symm_ops;

enum { SL_ALL_RANKS = -1 };

/* ---- the calls, for a comm of any transport */

sley_status sl_symm_alloc(sl_comm *comm, int64_t bytes, sl_symm **out);
void sl_symm_free(sl_symm *symm);
void *sl_peer_ptr(sl_symm *symm, int rank);
sley_status sl_get_begin(sl_symm *symm, int rank, int64_t offset, void *dst, int64_t bytes, sl_rma *rma);
sley_status sl_put_begin(sl_symm *symm, int rank, int64_t offset, const void *src, int64_t bytes,
                         sl_rma *rma);
sley_status sl_rma_wait(sl_rma *rma);
sley_status sl_rma_after(sl_symm *symm, sl_queue *queue);
sley_status sl_get_rows(sl_symm *symm, int lists, const struct sl_row_list *list, void *dst);
/* Adds delta to the word; *old receives the previous value, unless old is NULL. */
sley_status sl_fetch_add(sl_symm *symm, int rank, int64_t offset, int64_t delta, int64_t *old);
/* Replaces the word by desired if it equals expected; *old receives the previous value, so the swap took
 * place if *old equals expected. */
sley_status sl_compare_swap(sl_symm *symm, int rank, int64_t offset, int64_t expected, int64_t desired,
                            int64_t *old);
sley_status sl_flush(sl_symm *symm, int rank);
sley_status sl_flush_all(sl_symm *symm);

/* Call get_begin or put_begin, then wait. */
sley_status sl_get(sl_symm *symm, int rank, int64_t offset, void *dst, int64_t bytes);
sley_status sl_put(sl_symm *symm, int rank, int64_t offset, const void *src, int64_t bytes);

/* ---- for transports */

/* Gets the rows one by one, several in flight at a time. The slot get_rows of transports that have no faster
 * method. */
sley_status sl_get_rows_singly(sl_symm *symm, int lists, const struct sl_row_list *list, void *dst);

/* Checks that bytes at offset lie within a block of block_bytes, and that rank is below size. Errors:
 * SLEY_ERR_ARG. */
sley_status sl_symm_check(const char *call, int rank, int size, int64_t offset, int64_t bytes,
                          int64_t block_bytes);

/* Checks that the offset of an atomic is a multiple of 8. Errors: SLEY_ERR_ARG. */
sley_status sl_symm_check_word(const char *call, int64_t offset);

/* Returns whether the bytes are one aligned word, which is moved by an atomic operation. */
static inline bool sl_is_word(int64_t offset, int64_t bytes) {
  return bytes == (int64_t)sizeof(int64_t) && offset % (int64_t)sizeof(int64_t) == 0;
}

/* Copy bytes between a block that the host can address and host memory; an aligned word by an atomic
   operation. */
void sl_symm_load(void *dst, const char *block, int64_t offset, int64_t bytes);
void sl_symm_store(char *block, int64_t offset, const void *src, int64_t bytes);

#endif
