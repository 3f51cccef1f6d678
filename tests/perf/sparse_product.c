/* SPDX-License-Identifier: Apache-2.0 */
/* The sparse product of the device's table, for bench/gpu/bench_spgemm_gpu.cu. */
#include "sparse_product.h"

#include <stdlib.h>

#include "base/team.h"
#include "device/device.h"
#include "ops/spgemm_split.h"

struct sparse_product_place {
  sl_device *device;
  sl_queue *queue;
};

sley_status sparse_product_open(int ordinal, sparse_product_place **out) {
  const sl_device_ops *ops;
  char note[256];
  sparse_product_place *place = calloc(1, sizeof *place);
  *out = place;
  if (!place)
    return sl_fail(SLEY_ERR_MEMORY, "no memory for a benchmark");
  SL_TRY(sl_device_choose("cuda", &ops, note, sizeof note));
  SL_TRY(ops->open(ordinal, 1, &place->device));
  return ops->queue_create(place->device, NULL, &place->queue);
}

void sparse_product_close(sparse_product_place *place) {
  if (place && place->queue)
    place->queue->ops->queue_destroy(place->queue);
  if (place && place->device)
    place->device->ops->close(place->device);
  free(place);
}

static sley_status make_rows(const sparse_product_place *place, sley_csr a, sley_csr b, const char *library,
                             sparse_product *out) {
  sl_spgemm_result made;
  const sl_kernel_args args = {.op = SL_OP_SPGEMM,
                               .spgemm = {.a = a, .b = b, .library = library, .out = &made}};
  *out = (sparse_product){0};
  SL_TRY(sl_kernel_run(place->queue, &args));
  *out = (sparse_product){made.rowptr, made.col, made.val, made.nnz, made.products, made.peak};
  return SLEY_OK;
}

sley_status sparse_product_make(sparse_product_place *place, const sley_csr *a, const char *library,
                                sparse_product *out) {
  return make_rows(place, *a, *a, library, out);
}

typedef struct together {
  sparse_product_place *const *place;
  const sley_csr *there;
  const int64_t *begin;
  sparse_product *out;
} together;

static sley_status make_part(void *context, int gpu, int gpus) {
  const together *t = context;
  sley_csr a = t->there[gpu];
  (void)gpus;
  a.rowptr += t->begin[gpu];
  a.rows = t->begin[gpu + 1] - t->begin[gpu];
  return make_rows(t->place[gpu], a, t->there[gpu], NULL, &t->out[gpu]);
}

sley_status sparse_product_make_together(sparse_product_place *const *place, int gpus, const sley_csr *host,
                                         const sley_csr *there, sparse_product *out) {
  enum { MOST = 16 };
  static sl_team *all, *threads; /* made once: threads for the host's work, and one for each GPU */
  int64_t begin[MOST + 1];
  if (gpus > MOST)
    return sl_fail(SLEY_ERR_ARG, "%d GPUs: %d at most", gpus, (int)MOST);
  if (!all)
    SL_TRY(sl_team_create(0, &all));
  if (!threads)
    SL_TRY(sl_team_create(gpus, &threads));
  SL_TRY(sl_spgemm_split(host, host, 0, host->rows, gpus, all, begin));
  together t = {place, there, begin, out};
  return sl_team_run(threads, make_part, &t);
}

void sparse_product_free(sparse_product_place *place, sparse_product *c) {
  place->device->ops->free(place->device, c->rowptr);
  place->device->ops->free(place->device, c->col);
  place->device->ops->free(place->device, c->val);
  *c = (sparse_product){0};
}
