/* SPDX-License-Identifier: Apache-2.0 */
/* One-sided operations of a rank on memory that its device reaches and the host does not: copies in a queue
 * beside the rank's own, whose completion can be tested, and atomics. */
#ifndef SLEY_TRANSPORT_RMA_QUEUE_H
#define SLEY_TRANSPORT_RMA_QUEUE_H

#include "device/marks.h"

/* The queues of such operations. For use by one thread at a time. */
typedef struct sl_rma_queue {
  sl_device *device;
  sl_queue *copies; /* queue of copies, in order */
  sl_queue *words;  /* queue of atomics, which do not wait for copies */
  int64_t *word;    /* previous value of an atomic's word, in host memory that the device writes */
  sl_event *joined; /* event of sl_rma_queue_after */
  sl_marks done;    /* a mark after each copy */
} sl_rma_queue;

/* Creates the queues. Errors: errors of the device. */
sley_status sl_rma_queue_create(sl_device *device, sl_rma_queue **out);
/* Waits for operations in flight, and frees the queue. NULL: does nothing. */
void sl_rma_queue_destroy(sl_rma_queue *q);

/* Makes copies that begin later wait for the work that queue has so far. */
sley_status sl_rma_queue_after(sl_rma_queue *q, sl_queue *queue);

/* Begins a copy; either side may be in host or device memory. *number identifies it. */
sley_status sl_rma_queue_copy(sl_rma_queue *q, void *dst, const void *src, int64_t bytes, uint64_t *number);

/* Sets *done to whether copy `number` and all earlier copies are complete. Does not wait. */
sley_status sl_rma_queue_test(sl_rma_queue *q, uint64_t number, bool *done);

/* Returns whether a copy may still be in flight. */
static inline bool sl_rma_queue_busy(const sl_rma_queue *q) {
  return q->done.reached < q->done.set;
}

/* Waits until all copies are complete. */
sley_status sl_rma_queue_drain(sl_rma_queue *q);

/* Performs an atomic operation; *old receives the previous value of the word. */
sley_status sl_rma_queue_atomic(sl_rma_queue *q, sl_atomic_op op, int64_t *word, int64_t value,
                                int64_t expected, int64_t *old);

#endif
