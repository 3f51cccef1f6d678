/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the operation that operation.patch adds, through the table of kernels. */
#include <stdio.h>

#include "device/device.h"

int main(void) {
  enum { COUNT = 10007 };
  static float x[COUNT], y[COUNT];
  const sl_device_ops *ops;
  sl_device *device;
  sl_queue *queue;
  for (int i = 0; i < COUNT; i++)
    x[i] = (float)(i % 101 - 50);
  if (sl_device_backend("cpu", &ops) != SLEY_OK || ops->open(0, 2, &device) != SLEY_OK ||
      ops->queue_create(device, NULL, &queue) != SLEY_OK)
    return 1;
  sley_status status = sl_kernel_run(
      queue, &(sl_kernel_args){.op = SL_OP_NEGATE, .negate = {.count = COUNT, .x = x, .y = y}});
  if (status == SLEY_OK)
    status = ops->queue_wait(queue);
  ops->queue_destroy(queue);
  ops->close(device);
  for (int i = 0; i < COUNT && status == SLEY_OK; i++)
    if (y[i] != -x[i])
      status = SLEY_ERR_INTERNAL;
  printf("%s\n", status == SLEY_OK ? "negated" : sley_last_error());
  return status != SLEY_OK;
}
