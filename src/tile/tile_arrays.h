/* SPDX-License-Identifier: Apache-2.0 */
/* The arrays of sparse tiles that are being made, where columns and values lie in a device's memory, and row
 * pointers, which are few and tell the sizes of what follows, in the host's. On the cpu that is the same
 * memory. */
#ifndef SLEY_TILE_TILE_ARRAYS_H
#define SLEY_TILE_TILE_ARRAYS_H

#include "device/device.h"
#include "tile/sparse_tile.h"

/* Below, arrays are CSR of all rows of a tile: rowptr (rows + 1, from 0) from sl_alloc, col and val from the
 * alloc of the queue's device. None of these calls is collective. */

/* Frees the three arrays, which may be NULL, and sets them NULL. */
void sl_tile_arrays_free(sl_device *device, sl_csr_arrays *arrays);

/* Row pointers of all rows (rows + 1, to the host's memory) of a tile in the device's memory. Waits for the
 * queue. Errors: SLEY_ERR_MEMORY, those of the device. */
sley_status sl_tile_arrays_rowptr(sl_queue *queue, const sl_tile *tile, int64_t *rowptr);

/* The arrays of a sparse product of so many rows, which are taken over, also on an error. Waits for the
 * queue. Errors: SLEY_ERR_MEMORY, those of the device; then *out is NULLs. */
sley_status sl_tile_arrays_adopt(sl_queue *queue, int64_t rows, const sl_spgemm_result *made,
                                 sl_csr_arrays *out);

/* Copies of the arrays of a tile in the host's memory. Waits for the queue. Errors: SLEY_ERR_MEMORY, those of
 * the device; then *out is NULLs. */
sley_status sl_tile_arrays_upload(sl_queue *queue, const sl_tile *tile, sley_index index, sley_dtype dtype,
                                  sl_csr_arrays *out);

/* Writes a tile of that shape, whose dtype is that of the arrays, to the host's memory `at`. Waits for the
 * queue. Errors: those of the device. */
sley_status sl_tile_arrays_download(sl_queue *queue, const sl_tile_shape *shape, const sl_csr_arrays *arrays,
                                    char *at);

/* Writes a tile of that shape to `at`, in the device's memory, which is zeros; from: the dtype of the arrays.
 * In the queue's order. Errors: SLEY_ERR_MEMORY, those of the device. */
sley_status sl_tile_arrays_store(sl_queue *queue, const sl_tile_shape *shape, const sl_csr_arrays *arrays,
                                 sley_dtype from, char *at);

/* Converts count values within the device's memory, as SL_OP_CONVERT does. In the queue's order. */
sley_status sl_tile_arrays_convert(sl_queue *queue, sley_dtype from, const void *src, sley_dtype to,
                                   void *dst, int64_t count);

#endif
