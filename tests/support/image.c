/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of host memory for a device, for tests of kernels. */
#include "image.h"

image image_of(sl_queue *queue, const void *host, size_t bytes, size_t skew) {
  image i = {.queue = queue, .host = (void *)host, .data = (void *)host, .bytes = (int64_t)bytes};
  if (queue->ops->host_addresses || !host)
    return i;
  const size_t least = bytes > 0 ? bytes : 1; /* so that an address of no bytes is the device's, too */
  assert_sley_ok(queue->ops->alloc(queue->device, (int64_t)(least + skew), "a test", &i.base));
  i.data = (char *)i.base + skew;
  assert_sley_ok(queue->ops->copy(queue, SL_COPY_TO_DEVICE, i.data, host, i.bytes));
  return i;
}

void image_drop(image *i) {
  if (i->base)
    i->queue->ops->free(i->queue->device, i->base);
}

void image_return(image *i) {
  if (i->base)
    assert_sley_ok(i->queue->ops->copy(i->queue, SL_COPY_TO_HOST, i->host, i->data, i->bytes));
  assert_sley_ok(i->queue->ops->queue_wait(i->queue));
  image_drop(i);
}
