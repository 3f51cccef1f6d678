/* SPDX-License-Identifier: Apache-2.0 */
/* Host memory as a device sees it, for tests of kernels. */
#ifndef SLEY_TESTS_IMAGE_H
#define SLEY_TESTS_IMAGE_H

#include "device/device.h"
#include "support.h"

/* The host's memory itself where the device can address it; else a copy. */
typedef struct image {
  sl_queue *queue;
  void *host, *base, *data;
  int64_t bytes;
} image;

/* skew: bytes by which a copy is off the device's alignment. Of NULL: NULL. Failures fail the test. */
image image_of(sl_queue *queue, const void *host, size_t bytes, size_t skew);

/* The host's memory gets what the device has made of it; the copy is freed. */
void image_return(image *i);

void image_drop(image *i);

#endif
