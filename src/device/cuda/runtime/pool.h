/* SPDX-License-Identifier: Apache-2.0 */
/* A pool of a GPU's memory that no other GPU or process accesses. The GPU must be current in every call. */
#ifndef SLEY_DEVICE_CUDA_RUNTIME_POOL_H
#define SLEY_DEVICE_CUDA_RUNTIME_POOL_H

#include "device/cuda/cuda.h"

/* Creates a pool. *out is NULL if the GPU has no pools. */
sley_status sl_cuda_pool_create(int ordinal, sl_cuda_pool **out);

/* Destroys the pool. Blocks still in use remain valid. */
void sl_cuda_pool_destroy(sl_cuda_pool *pool);

/* Allocates a block of bytes > 0 that every stream may use at once. If the status is SLEY_OK, *error is the
 * runtime's error. */
sley_status sl_cuda_pool_take(sl_cuda_pool *pool, int64_t bytes, void **out, cudaError_t *error);

/* Returns whether the block belongs to the pool; false for the pool NULL. If it does, waits for all work of
 * the GPU and frees the block. */
bool sl_cuda_pool_give_back(sl_cuda_pool *pool, void *block);

/* Returns all unused memory to the device. NULL: does nothing. */
void sl_cuda_pool_trim(sl_cuda_pool *pool);

/* Bytes that the pool holds and no block uses. */
int64_t sl_cuda_pool_unused(const sl_cuda_pool *pool);

#endif
