/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel lookup and uploads, the same for every device. */
#include "device/device.h"

#include <string.h>

#include "device/asked_kernel.h"
#include "device/cpu/cpu.h"

/* Refuses an operation without a suitable kernel. Messages call the operation by the name of the CPU's kernel
   for it, up to the first hyphen. */
static sley_status refuse(const sl_device *device, sl_op op) {
  const char *name = "operation";
  for (const sl_kernel *const *each = sl_cpu_kernels; *each; each++)
    if ((*each)->op == op)
      name = (*each)->name;
  return sl_fail(SLEY_ERR_UNSUPPORTED, "device %s has no kernel for this %.*s", device->ops->name,
                 (int)strcspn(name, "-"), name);
}

/* Returns whether a kernel belongs to the library that the arguments name, or to Sley. */
static bool serves(const sl_kernel *kernel, const char *library) {
  return kernel->library && library ? strcmp(kernel->library, library) == 0 : kernel->library == library;
}

static const char *library_of(const sl_kernel_args *args) {
  return args->op == SL_OP_SPMM     ? args->spmm.problem->library
         : args->op == SL_OP_SPGEMM ? args->spgemm.library
                                    : NULL;
}

/* Returns the cheapest kernel that supports the arguments, or NULL. */
static const sl_kernel *cheapest(const sl_device *device, const sl_kernel_args *args) {
  const sl_kernel *found = NULL;
  const char *library = library_of(args);
  double least = 0;
  for (const sl_kernel *const *each = device->ops->kernels; *each; each++) {
    const sl_kernel *kernel = *each;
    if (kernel->op != args->op || !serves(kernel, library) || !kernel->ok(args))
      continue;
    double cost = kernel->cost(&device->figures, args);
    if (!found || cost < least) {
      found = kernel;
      least = cost;
    }
  }
  return found;
}

bool sl_kernel_serves(const sl_device *device, const sl_kernel_args *args) {
  return cheapest(device, args) != NULL;
}

sley_status sl_kernel_find(const sl_device *device, const sl_kernel_args *args, const sl_kernel **out) {
  const char *library = library_of(args);
  const sl_kernel *asked = args->op == SL_OP_SPMM ? args->spmm.problem->kernel : NULL;
  *out = asked ? (asked->ok(args) ? asked : NULL) : cheapest(device, args);
  if (!*out && asked)
    return sl_kernel_refuse(device->ops->name, asked, args->spmm.problem);
  if (!*out && library)
    return sl_fail(SLEY_ERR_UNSUPPORTED,
                   "device %s has no kernel of %s for this product: leave out \"local\" to use Sley's own",
                   device->ops->name, library);
  return *out ? SLEY_OK : refuse(device, args->op);
}

sley_status sl_kernel_run(sl_queue *queue, const sl_kernel_args *args) {
  const sl_kernel *kernel;
  SL_TRY(sl_kernel_find(queue->device, args, &kernel));
  return kernel->run(queue, args);
}

sley_status sl_prepare_nothing(sl_device *device, sl_queue *queue, const sl_kernel_args *args,
                               void **prepared) {
  (void)device;
  (void)queue;
  (void)args;
  *prepared = NULL;
  return SLEY_OK;
}

sley_status sl_refill_nothing(sl_device *device, sl_queue *queue, const sl_kernel_args *args, const void *val,
                              sl_values_in where, void *prepared) {
  (void)device;
  (void)queue;
  (void)args;
  (void)val;
  (void)where;
  (void)prepared;
  return SLEY_OK;
}

int64_t sl_memory_nothing(const sl_kernel_args *args, int64_t *passing) {
  (void)args;
  *passing = 0;
  return 0;
}

void sl_release_nothing(sl_device *device, void *prepared) {
  (void)device;
  (void)prepared;
}

/* Fills a block that was allocated with status `taken`. */
static sley_status fill_block(sl_queue *queue, sley_status taken, const void *host, int64_t bytes,
                              void **out) {
  SL_TRY(taken);
  sley_status status = queue->ops->copy(queue, SL_COPY_TO_DEVICE, *out, host, bytes);
  if (status != SLEY_OK) {
    queue->ops->free(queue->device, *out);
    *out = NULL;
  }
  return status;
}

sley_status sl_device_upload(sl_queue *queue, const void *host, int64_t bytes, const char *what, void **out) {
  *out = NULL;
  return fill_block(queue, queue->ops->alloc(queue->device, bytes, what, out), host, bytes, out);
}

sley_status sl_device_upload_private(sl_queue *queue, const void *host, int64_t bytes, const char *what,
                                     void **out) {
  *out = NULL;
  return fill_block(queue, queue->ops->alloc_private(queue->device, bytes, what, out), host, bytes, out);
}

sley_status sl_device_copy_values(sl_queue *queue, const sl_spmm_matrix *a, const void *val,
                                  sl_values_in where, void *kept) {
  int64_t bytes = (int64_t)sley_dtype_bytes(a->dtype), entries = sl_spmm_entries(a);
  sl_copy_kind kind = where == SL_VALUES_IN_HOST ? SL_COPY_TO_DEVICE : SL_COPY_WITHIN;
  const char *from = (const char *)val + a->rowptr[0] * bytes;
  if (entries == 0 || from == kept) /* they may be there already */
    return SLEY_OK;
  return queue->ops->copy(queue, kind, kept, from, entries * bytes);
}
