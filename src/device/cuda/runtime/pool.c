/* SPDX-License-Identifier: Apache-2.0 */
/* Private memory of a GPU, from one of the runtime's memory pools. cudaMalloc and cudaFree take 50 to 110 us,
 * more for large blocks, and run one at a time; a plan allocates and frees some fifty arrays. A pool reuses
 * freed memory in a microsecond or two. */
#include "device/cuda/runtime/pool.h"

#include <pthread.h>

#include "base/memory.h"

/* Unused bytes that the pool keeps; if there are more, they are returned to the device. */
static const uint64_t kept_bytes = UINT64_C(64) << 20;

struct sl_cuda_pool {
  pthread_mutex_t lock; /* protects the list of blocks */
  cudaMemPool_t pool;
  cudaStream_t stream; /* stream of all allocations and frees */
  int64_t count, room;
  void **block; /* blocks in use */
};

static sley_status make_pool(sl_cuda_pool *pool, int ordinal) {
  struct cudaMemPoolProps wanted = {.allocType = cudaMemAllocationTypePinned,
                                    .handleTypes = cudaMemHandleTypeNone,
                                    .location = {.type = cudaMemLocationTypeDevice, .id = ordinal}};
  uint64_t threshold = kept_bytes;
  SL_TRY(sl_cuda_check(cudaMemPoolCreate(&pool->pool, &wanted), "making a pool of memory"));
  SL_TRY(sl_cuda_check(cudaMemPoolSetAttribute(pool->pool, cudaMemPoolAttrReleaseThreshold, &threshold),
                       "making a pool of memory"));
  return sl_cuda_check(cudaStreamCreateWithFlags(&pool->stream, cudaStreamNonBlocking), "making a stream");
}

sley_status sl_cuda_pool_create(int ordinal, sl_cuda_pool **out) {
  int has_pools = 0;
  *out = NULL;
  SL_TRY(sl_cuda_check(cudaDeviceGetAttribute(&has_pools, cudaDevAttrMemoryPoolsSupported, ordinal),
                       "asking for the GPU's properties"));
  if (!has_pools)
    return SLEY_OK;
  sl_cuda_pool *pool;
  SL_TRY(SL_NEW_ZERO(pool, 1, "a pool of memory"));
  pthread_mutex_init(&pool->lock, NULL);
  sley_status status = make_pool(pool, ordinal);
  if (status != SLEY_OK) {
    sl_cuda_pool_destroy(pool);
    return status;
  }
  *out = pool;
  return SLEY_OK;
}

void sl_cuda_pool_destroy(sl_cuda_pool *pool) {
  if (!pool)
    return;
  if (pool->stream)
    (void)cudaStreamDestroy(pool->stream);
  if (pool->pool)
    (void)cudaMemPoolDestroy(pool->pool);
  pthread_mutex_destroy(&pool->lock);
  sl_free(pool->block);
  sl_free(pool);
}

static sley_status make_room(sl_cuda_pool *pool) {
  if (pool->count < pool->room)
    return SLEY_OK;
  int64_t room = 2 * pool->room + 64;
  void **larger = sl_realloc(pool->block, room, sizeof *larger, "a pool of memory");
  if (!larger)
    return SLEY_ERR_MEMORY;
  pool->block = larger;
  pool->room = room;
  return SLEY_OK;
}

sley_status sl_cuda_pool_take(sl_cuda_pool *pool, int64_t bytes, void **out, cudaError_t *error) {
  *error = cudaMallocFromPoolAsync(out, (size_t)bytes, pool->pool, pool->stream);
  if (*error == cudaSuccess)
    *error = cudaStreamSynchronize(pool->stream); /* afterwards every stream may use it */
  if (*error != cudaSuccess)
    return SLEY_OK;
  pthread_mutex_lock(&pool->lock);
  sley_status status = make_room(pool);
  if (status == SLEY_OK)
    pool->block[pool->count++] = *out;
  pthread_mutex_unlock(&pool->lock);
  if (status != SLEY_OK)
    (void)cudaFreeAsync(*out, pool->stream);
  return status;
}

/* Removes the block from the list. The most recent blocks are usually freed first. */
static bool forget(sl_cuda_pool *pool, const void *block) {
  pthread_mutex_lock(&pool->lock);
  int64_t i = pool->count - 1;
  while (i >= 0 && pool->block[i] != block)
    i--;
  if (i >= 0)
    pool->block[i] = pool->block[--pool->count];
  pthread_mutex_unlock(&pool->lock);
  return i >= 0;
}

bool sl_cuda_pool_give_back(sl_cuda_pool *pool, void *block) {
  if (!pool || !forget(pool, block))
    return false;
  (void)cudaDeviceSynchronize(); /* waits for all work that may use the block, as cudaFree does */
  (void)cudaFreeAsync(block, pool->stream);
  return true;
}

void sl_cuda_pool_trim(sl_cuda_pool *pool) {
  if (pool && cudaStreamSynchronize(pool->stream) == cudaSuccess)
    (void)cudaMemPoolTrimTo(pool->pool, 0);
}

int64_t sl_cuda_pool_unused(const sl_cuda_pool *pool) {
  uint64_t reserved = 0, used = 0;
  if (!pool ||
      cudaMemPoolGetAttribute(pool->pool, cudaMemPoolAttrReservedMemCurrent, &reserved) != cudaSuccess ||
      cudaMemPoolGetAttribute(pool->pool, cudaMemPoolAttrUsedMemCurrent, &used) != cudaSuccess)
    return 0;
  return used < reserved ? (int64_t)(reserved - used) : 0;
}
