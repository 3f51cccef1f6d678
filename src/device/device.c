/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel lookup, the same for every device. */
#include "device/device.h"

static const char *const op_names[SL_OP_COUNT] = {"spmm", "rows", "pull", "scale"};

sley_status sl_kernel_find(const sl_device *device, const sl_kernel_args *args, const sl_kernel **out) {
  *out = NULL;
  double least = 0;
  for (const sl_kernel *const *each = device->ops->kernels; *each; each++) {
    const sl_kernel *kernel = *each;
    if (kernel->op != args->op || !kernel->ok(args))
      continue;
    double cost = kernel->cost(args);
    if (!*out || cost < least) {
      *out = kernel;
      least = cost;
    }
  }
  if (!*out)
    return sl_fail(SLEY_ERR_UNSUPPORTED, "device %s has no kernel for this %s", device->ops->name,
                   (unsigned)args->op < SL_OP_COUNT ? op_names[args->op] : "operation");
  return SLEY_OK;
}

sley_status sl_kernel_run(sl_queue *queue, const sl_kernel_args *args) {
  const sl_kernel *kernel;
  SL_TRY(sl_kernel_find(queue->device, args, &kernel));
  return kernel->run(queue, args);
}
