/* SPDX-License-Identifier: Apache-2.0 */
/* Large copies of ordinary host memory to a GPU. The runtime fills its pinned buffers with one thread, which
 * is slower than the link by far; here the rank's threads fill two alternately, each while the other is on
 * its way. */
#include <pthread.h>
#include <string.h>

#include "base/memory.h"
#include "device/cuda/cuda.h"

enum { BUFFERS = 2, BUFFER = 8 << 20, FRAGMENT = 1 << 18, LEAST = 1 << 20, POOL = 32 };

struct sl_cuda_staging {
  pthread_mutex_t lock; /* queues of several threads may copy to one device */
  void *buffer[BUFFERS];
  cudaEvent_t sent[BUFFERS]; /* the buffer may be filled again */
};

/* Buffers of devices that were closed: to pin one takes milliseconds, and it serves every GPU. */
static struct {
  pthread_mutex_t lock;
  int count;
  void *buffer[POOL];
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER};

static sley_status take_buffer(void **out) {
  *out = NULL;
  pthread_mutex_lock(&pool.lock);
  if (pool.count > 0)
    *out = pool.buffer[--pool.count];
  pthread_mutex_unlock(&pool.lock);
  return *out ? SLEY_OK
              : sl_cuda_check(cudaHostAlloc(out, BUFFER, cudaHostAllocPortable), "pinned buffers for copies");
}

static void return_buffer(void *buffer) {
  pthread_mutex_lock(&pool.lock);
  bool keeps = buffer && pool.count < POOL;
  if (keeps)
    pool.buffer[pool.count++] = buffer;
  pthread_mutex_unlock(&pool.lock);
  if (buffer && !keeps)
    (void)cudaFreeHost(buffer);
}

void sl_cuda_staging_destroy(sl_cuda_staging *staging) {
  if (!staging)
    return;
  for (int b = 0; b < BUFFERS; b++) {
    if (staging->sent[b]) {
      (void)cudaEventSynchronize(staging->sent[b]);
      (void)cudaEventDestroy(staging->sent[b]);
    }
    return_buffer(staging->buffer[b]);
  }
  pthread_mutex_destroy(&staging->lock);
  sl_free(staging);
}

sley_status sl_cuda_staging_create(sl_cuda_staging **out) {
  sl_cuda_staging *staging;
  *out = NULL;
  SL_TRY(SL_NEW_ZERO(staging, 1, "buffers for copies"));
  pthread_mutex_init(&staging->lock, NULL);
  sley_status status = SLEY_OK;
  for (int b = 0; b < BUFFERS && status == SLEY_OK; b++) {
    status = take_buffer(&staging->buffer[b]);
    if (status == SLEY_OK)
      status = sl_cuda_check(cudaEventCreateWithFlags(&staging->sent[b], cudaEventDisableTiming),
                             "making an event");
  }
  if (status != SLEY_OK) {
    sl_cuda_staging_destroy(staging);
    return status;
  }
  *out = staging;
  return SLEY_OK;
}

bool sl_cuda_staging_suits(const sl_queue *queue, int64_t bytes) {
  return bytes >= LEAST && sl_team_size(queue->team) > 1;
}

typedef struct filling {
  char *to;
  const char *from;
} filling;

static sley_status fill(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  const filling *f = context;
  memcpy(f->to + begin, f->from + begin, (size_t)(end - begin));
  return SLEY_OK;
}

static sley_status copy(sl_cuda_staging *staging, sl_queue *queue, char *dst, const char *src,
                        int64_t bytes) {
  cudaStream_t stream = sl_cuda_stream(queue);
  for (int64_t at = 0, b = 0; at < bytes; at += BUFFER, b = (b + 1) % BUFFERS) {
    int64_t count = bytes - at < BUFFER ? bytes - at : BUFFER;
    SL_TRY(sl_cuda_check(cudaEventSynchronize(staging->sent[b]), "waiting for a copy"));
    SL_TRY(sl_team_for(queue->team, count, FRAGMENT, fill, &(filling){staging->buffer[b], src + at}));
    SL_TRY(sl_cuda_check(
        cudaMemcpyAsync(dst + at, staging->buffer[b], (size_t)count, cudaMemcpyHostToDevice, stream),
        "a copy"));
    SL_TRY(sl_cuda_check(cudaEventRecord(staging->sent[b], stream), "recording an event"));
  }
  return SLEY_OK;
}

sley_status sl_cuda_staging_copy(sl_cuda_staging *staging, sl_queue *queue, void *dst, const void *src,
                                 int64_t bytes) {
  pthread_mutex_lock(&staging->lock);
  sley_status status = copy(staging, queue, dst, src, bytes);
  pthread_mutex_unlock(&staging->lock);
  return status;
}
