/* SPDX-License-Identifier: Apache-2.0 */
/* A pool of a GPU's memory that no other GPU or process reaches. The GPU is current in every call. */
#ifndef SLEY_DEVICE_CUDA_RUNTIME_POOL_H
#define SLEY_DEVICE_CUDA_RUNTIME_POOL_H

#include "device/cuda/cuda.h"

/* *out is NULL where the GPU has no pools. */
sley_status sl_cuda_pool_create(int ordinal, sl_cuda_pool **out);

/* Blocks that are still in use stay so. */
void sl_cuda_pool_destroy(sl_cuda_pool *pool);

/* A block of bytes > 0 that every stream may use at once. *error: what the runtime says, where the status is
 * SLEY_OK. */
sley_status sl_cuda_pool_take(sl_cuda_pool *pool, int64_t bytes, void **out, cudaError_t *error);

/* Whether the block is of the pool (NULL: none is); if so waits for all work of the GPU, then gives it back.
 */
bool sl_cuda_pool_give_back(sl_cuda_pool *pool, void *block);

/* Gives the device all memory that no block uses. NULL: does nothing. */
void sl_cuda_pool_trim(sl_cuda_pool *pool);

/* Bytes that the pool holds and no block uses. */
int64_t sl_cuda_pool_unused(const sl_cuda_pool *pool);

#endif
