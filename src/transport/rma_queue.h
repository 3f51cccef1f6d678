/* SPDX-License-Identifier: Apache-2.0 */
/* One rank's one-sided operations on memory that its device reaches and the host does not: copies in a queue
 * beside the rank's own, which know when they are complete, and atomics. */
#ifndef SLEY_TRANSPORT_RMA_QUEUE_H
#define SLEY_TRANSPORT_RMA_QUEUE_H

#include "device/marks.h"

/* Used by one thread at a time. */
typedef struct sl_rma_queue {
  sl_device *device;
  sl_queue *copies; /* in order */
  sl_queue *words;  /* atomics, which wait for no copy */
  int64_t *word;    /* what an atomic has found; of the host, for the device to write */
  sl_event *joined; /* for after */
  sl_marks done;    /* a mark after each copy */
} sl_rma_queue;

/* Errors: those of the device. */
sley_status sl_rma_queue_create(sl_device *device, sl_rma_queue **out);
/* Waits for what is in flight. NULL: nothing. */
void sl_rma_queue_destroy(sl_rma_queue *q);

/* Copies begun from here on follow what queue has been given so far. */
sley_status sl_rma_queue_after(sl_rma_queue *q, sl_queue *queue);

/* A copy, wherever both sides lie; *number names it. */
sley_status sl_rma_queue_copy(sl_rma_queue *q, void *dst, const void *src, int64_t bytes, uint64_t *number);

/* Whether copy `number` and all before it are complete. Does not wait. */
sley_status sl_rma_queue_test(sl_rma_queue *q, uint64_t number, bool *done);

/* Whether a copy is not known to be complete. */
static inline bool sl_rma_queue_busy(const sl_rma_queue *q) {
  return q->done.reached < q->done.set;
}

/* Returns when all copies are complete. */
sley_status sl_rma_queue_drain(sl_rma_queue *q);

/* Returns with what the word was. */
sley_status sl_rma_queue_atomic(sl_rma_queue *q, sl_atomic_op op, int64_t *word, int64_t value,
                                int64_t expected, int64_t *old);

#endif
