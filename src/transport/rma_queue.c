/* SPDX-License-Identifier: Apache-2.0 */
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
  if (status == SLEY_OK)
    status = sl_marks_open(device, &q->done);
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
  sl_marks_close(&q->done);
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
  *number = q->done.set;
  if (bytes == 0)
    return SLEY_OK;
  SL_TRY(ops->copy(q->copies, SL_COPY_WITHIN, dst, src, bytes));
  return sl_marks_set(&q->done, q->copies, number);
}

sley_status sl_rma_queue_test(sl_rma_queue *q, uint64_t number, bool *done) {
  return sl_marks_test(&q->done, number, done);
}

sley_status sl_rma_queue_drain(sl_rma_queue *q) {
  if (!sl_rma_queue_busy(q))
    return SLEY_OK;
  SL_TRY(q->device->ops->queue_wait(q->copies));
  q->done.reached = q->done.set;
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
