/* SPDX-License-Identifier: Apache-2.0 */
#include "tile/products/sparse_add.h"

void sl_sparse_adder_close(sl_sparse_adder *s) {
  void *arrays[] = {s->rowptr, s->col, s->val};
  for (int i = 0; i < 3; i++)
    if (arrays[i])
      s->queue->ops->free(s->queue->device, arrays[i]);
  s->rowptr = s->col = s->val = NULL;
}

/* If one matrix has no entries, the other is the sum. */
static sley_status add(sl_sparse_adder *s, int64_t rows, int64_t cols, sl_csr_arrays *a, sl_csr_arrays *b,
                       sl_csr_arrays *out) {
  if (a->rowptr[rows] == 0 || b->rowptr[rows] == 0) {
    sl_csr_arrays *whole = b->rowptr[rows] == 0 ? a : b;
    *out = *whole;
    *whole = (sl_csr_arrays){0};
    return SLEY_OK;
  }
  return s->queue->ops->host_addresses ? sl_sparse_add_on_host(s, rows, a, b, out)
                                       : sl_sparse_add_on_device(s, rows, cols, a, b, out);
}

sley_status sl_sparse_add(sl_sparse_adder *s, int64_t rows, int64_t cols, sl_csr_arrays *a,
                          sl_csr_arrays *b) {
  sl_csr_arrays out = {0};
  const sley_status status = add(s, rows, cols, a, b, &out);
  sl_tile_arrays_free(s->queue->device, a);
  sl_tile_arrays_free(s->queue->device, b);
  *a = out;
  return status;
}
