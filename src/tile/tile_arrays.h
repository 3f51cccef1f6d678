/* SPDX-License-Identifier: Apache-2.0 */
/* The arrays of sparse tiles under construction. Columns and values are in device memory; row pointers, which
 * are few and determine the sizes of the rest, are in host memory. On the cpu both are the same memory. */
#ifndef SLEY_TILE_TILE_ARRAYS_H
#define SLEY_TILE_TILE_ARRAYS_H

#include "device/device.h"
#include "tile/sparse_tile.h"

/* Below, arrays are CSR of all rows of a tile: rowptr (rows + 1, from 0) from sl_alloc, col and val from the
 * alloc of the queue's device. None of these calls is collective. */

/* Frees the three arrays, which may be NULL, and sets them to NULL. */
void sl_tile_arrays_free(sl_device *device, sl_csr_arrays *arrays);

/* Computes row pointers of all rows (rows + 1, in host memory) of a tile in device memory. Waits for the
 * queue. Errors: SLEY_ERR_MEMORY, errors of the device. */
sley_status sl_tile_arrays_rowptr(sl_queue *queue, const sl_tile *tile, int64_t *rowptr);

/* Takes ownership of the arrays of a sparse product of `rows` rows, also after an error. Waits for the queue.
 * Errors: SLEY_ERR_MEMORY, errors of the device; then *out has NULL arrays. */
sley_status sl_tile_arrays_adopt(sl_queue *queue, int64_t rows, const sl_spgemm_result *made,
                                 sl_csr_arrays *out);

/* Copies the arrays of a tile from host memory. Waits for the queue. Errors: SLEY_ERR_MEMORY, errors of the
 * device; then *out has NULL arrays. */
sley_status sl_tile_arrays_upload(sl_queue *queue, const sl_tile *tile, sley_index index, sley_dtype dtype,
                                  sl_csr_arrays *out);

/* Writes a tile of that shape, which has the arrays' dtype, to host memory at `at`. Waits for the queue.
 * Errors: errors of the device. */
sley_status sl_tile_arrays_download(sl_queue *queue, const sl_tile_shape *shape, const sl_csr_arrays *arrays,
                                    char *at);

/* Writes a tile of that shape to device memory at `at`, which must be zeroed; from: dtype of the arrays. In
 * the queue's order. Errors: SLEY_ERR_MEMORY, errors of the device. */
sley_status sl_tile_arrays_store(sl_queue *queue, const sl_tile_shape *shape, const sl_csr_arrays *arrays,
                                 sley_dtype from, char *at);

/* Converts count values within device memory, like SL_OP_CONVERT. In the queue's order. */
sley_status sl_tile_arrays_convert(sl_queue *queue, sley_dtype from, const void *src, sley_dtype to,
                                   void *dst, int64_t count);

#endif
