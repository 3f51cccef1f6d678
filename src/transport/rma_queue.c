/* SPDX-License-Identifier: Apache-2.0 */
/* Copies complete in the order of their queue, so an event recorded after a later copy speaks for an earlier
 * one too: a ring of events serves any number of copies in flight, and none is ever taken for complete too
 * early. */
#include "transport/rma_queue.h"

#include "base/memory.h"

sley_status sl_rma_queue_create(sl_device *device, sl_rma_queue **out) {
  const sl_device_ops *ops = device->ops;
  sl_rma_queue *q;
  void *word = NULL;
  *out = NULL;
  SL_TRY(SL_NEW_ZERO(q, 1, "a queue for one-sided access"));
  q->device = device;
  sley_status status = ops->queue_create_urgent(device, &q->copies);
  if (status == SLEY_OK)
    status = ops->queue_create_urgent(device, &q->words);
  if (status == SLEY_OK)
    status = ops->host_alloc(device, sizeof *q->word, "a word", &word);
  q->word = word;
  if (status == SLEY_OK)
    status = ops->event_create(device, &q->joined);
  for (int i = 0; i < SL_RMA_EVENTS && status == SLEY_OK; i++)
    status = ops->event_create(device, &q->reached[i]);
  if (status != SLEY_OK) {
    sl_rma_queue_destroy(q);
    return status;
  }
  *out = q;
  return SLEY_OK;
}

void sl_rma_queue_destroy(sl_rma_queue *q) {
  if (!q)
    return;
  const sl_device_ops *ops = q->device->ops;
  if (q->copies)
    (void)ops->queue_wait(q->copies);
  for (int i = 0; i < SL_RMA_EVENTS; i++)
    if (q->reached[i])
      ops->event_destroy(q->reached[i]);
  if (q->joined)
    ops->event_destroy(q->joined);
  if (q->word)
    ops->host_free(q->device, q->word);
  if (q->words)
    ops->queue_destroy(q->words);
  if (q->copies)
    ops->queue_destroy(q->copies);
  sl_free(q);
}

sley_status sl_rma_queue_after(sl_rma_queue *q, sl_queue *queue) {
  const sl_device_ops *ops = q->device->ops;
  SL_TRY(ops->event_record(queue, q->joined));
  return ops->event_wait(q->copies, q->joined);
}

sley_status sl_rma_queue_copy(sl_rma_queue *q, void *dst, const void *src, int64_t bytes, uint64_t *number) {
  const sl_device_ops *ops = q->device->ops;
  *number = q->begun;
  if (bytes == 0)
    return SLEY_OK;
  SL_TRY(ops->copy(q->copies, SL_COPY_WITHIN, dst, src, bytes));
  SL_TRY(ops->event_record(q->copies, q->reached[(q->begun + 1) % SL_RMA_EVENTS]));
  *number = ++q->begun;
  return SLEY_OK;
}

sley_status sl_rma_queue_test(sl_rma_queue *q, uint64_t number, bool *done) {
  *done = number <= q->complete;
  if (*done)
    return SLEY_OK;
  SL_TRY(q->device->ops->event_query(q->reached[number % SL_RMA_EVENTS], done));
  if (*done) { /* the event speaks for the last copy that recorded it */
    uint64_t last = q->begun - (q->begun - number) % SL_RMA_EVENTS;
    q->complete = last > q->complete ? last : q->complete;
  }
  return SLEY_OK;
}

sley_status sl_rma_queue_drain(sl_rma_queue *q) {
  if (q->complete == q->begun)
    return SLEY_OK;
  SL_TRY(q->device->ops->queue_wait(q->copies));
  q->complete = q->begun;
  return SLEY_OK;
}

sley_status sl_rma_queue_atomic(sl_rma_queue *q, sl_atomic_op op, int64_t *word, int64_t value,
                                int64_t expected, int64_t *old) {
  const sl_device_ops *ops = q->device->ops;
  SL_TRY(ops->atomic(q->words, &(sl_atomic){op, word, value, expected, q->word}));
  SL_TRY(ops->queue_wait(q->words));
  *old = *q->word;
  return SLEY_OK;
}
