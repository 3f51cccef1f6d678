/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of host memory for a device, for tests of kernels. */
#ifndef SLEY_TESTS_IMAGE_H
#define SLEY_TESTS_IMAGE_H

#include "device/device.h"
#include "support.h"

/* The host memory itself if the device can address it, otherwise a copy in device memory. */
typedef struct image {
  sl_queue *queue;
  void *host, *base, *data;
  int64_t bytes;
} image;

/* The image of host memory; NULL for NULL. skew: offset in bytes of a copy from the device's alignment.
 * Errors fail the test. */
image image_of(sl_queue *queue, const void *host, size_t bytes, size_t skew);

/* Copies the image back to host memory, and frees a copy. */
void image_return(image *i);

void image_drop(image *i);

#endif
