/* SPDX-License-Identifier: Apache-2.0 */
/* The sparse product of the device's table, for bench/gpu/bench_spgemm_gpu.cu. */
#include "sparse_product.h"

#include <stdlib.h>

#include "device/device.h"

struct sparse_product_place {
  sl_device *device;
  sl_queue *queue;
};

sley_status sparse_product_open(sparse_product_place **out) {
  const sl_device_ops *ops;
  char note[256];
  sparse_product_place *place = calloc(1, sizeof *place);
  *out = place;
  if (!place)
    return sl_fail(SLEY_ERR_MEMORY, "no memory for a benchmark");
  SL_TRY(sl_device_choose("cuda", &ops, note, sizeof note));
  SL_TRY(ops->open(0, 1, &place->device));
  return ops->queue_create(place->device, NULL, &place->queue);
}

void sparse_product_close(sparse_product_place *place) {
  if (place && place->queue)
    place->queue->ops->queue_destroy(place->queue);
  if (place && place->device)
    place->device->ops->close(place->device);
  free(place);
}

sley_status sparse_product_make(sparse_product_place *place, const sley_csr *a, const char *library,
                                sparse_product *out) {
  sl_spgemm_result made;
  const sl_kernel_args args = {.op = SL_OP_SPGEMM,
                               .spgemm = {.a = *a, .b = *a, .library = library, .out = &made}};
  *out = (sparse_product){0};
  SL_TRY(sl_kernel_run(place->queue, &args));
  *out = (sparse_product){made.rowptr, made.col, made.val, made.nnz, made.products, made.peak};
  return SLEY_OK;
}

void sparse_product_free(sparse_product_place *place, sparse_product *c) {
  place->device->ops->free(place->device, c->rowptr);
  place->device->ops->free(place->device, c->col);
  place->device->ops->free(place->device, c->val);
  *c = (sparse_product){0};
}
