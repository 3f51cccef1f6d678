/* SPDX-License-Identifier: Apache-2.0 */
#include "tile/products/sparse_sum.h"

#include "base/memory.h"

sley_status sl_sparse_sum_open(sl_sparse_sum *sum, int64_t count) {
  sum->count = sum->missing = count;
  SL_TRY(SL_NEW_ZERO(sum->came, count, "matrices to add"));
  return SL_NEW_ZERO(sum->node, 2 * count, "matrices to add");
}

sley_status sl_sparse_sum_put(sl_sparse_sum *sum, int64_t number, sl_csr_arrays arrays) {
  sl_csr_arrays *node = sum->node;
  sum->came[number] = true;
  sum->missing--;
  for (int64_t width = sum->count;; node += width, width /= 2, number /= 2) {
    const int64_t other = number ^ 1;
    if (other >= width || !node[other].rowptr)
      break;
    sl_csr_arrays neighbour = node[other];
    node[other] = (sl_csr_arrays){0};
    sl_csr_arrays *left = other < number ? &neighbour : &arrays,
                  *right = other < number ? &arrays : &neighbour;
    SL_TRY(sl_sparse_add(sum->adder, sum->rows, sum->cols, left, right));
    arrays = *left;
  }
  node[number] = arrays;
  return SLEY_OK;
}

sley_status sl_sparse_sum_take(sl_sparse_sum *sum, sl_csr_arrays *out) {
  sl_csr_arrays *node = sum->node;
  sl_csr_arrays later = {0}; /* sum of the odd nodes so far, which contain later matrices */
  *out = later;
  for (int64_t width = sum->count; width > 0; node += width, width /= 2) {
    if (width % 2 == 0)
      continue;
    sl_csr_arrays *earlier = &node[width - 1];
    if (later.rowptr)
      SL_TRY(sl_sparse_add(sum->adder, sum->rows, sum->cols, earlier, &later));
    later = *earlier;
    *earlier = (sl_csr_arrays){0};
  }
  *out = later;
  return SLEY_OK;
}

void sl_sparse_sum_close(sl_sparse_sum *sum) {
  for (int64_t n = 0; sum->node && n < 2 * sum->count; n++)
    sl_tile_arrays_free(sum->adder->queue->device, &sum->node[n]);
  sl_free(sum->node);
  sl_free(sum->came);
  sum->node = NULL;
  sum->came = NULL;
}
