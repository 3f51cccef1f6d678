/* SPDX-License-Identifier: Apache-2.0 */
/* Large copies of ordinary host memory to a GPU. The runtime fills its pinned buffers with one thread, which
 * is much slower than the link. Here the rank's threads each take the next fragment, fill one of two slots of
 * pinned memory alternately, and enqueue their own copies. So no thread waits for another until all fragments
 * are taken. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/memory.h"
#include "device/cuda/cuda.h"

/* A buffer has one slot per thread, for THREADS threads; more would not copy faster. */
enum {
  BUFFERS = 2,
  THREADS = 16,
  FRAGMENT = 1 << 19,
  BUFFER = THREADS * FRAGMENT,
  LEAST = 1 << 20,
  POOL = 32
};

struct sl_cuda_staging {
  pthread_mutex_t lock; /* queues of several threads may copy to one device */
  void *buffer[BUFFERS];
  cudaEvent_t sent[BUFFERS][THREADS]; /* recorded after the slot's copy; then the slot may be filled again */
};

/* Buffers of devices that were closed, kept for reuse: pinning takes milliseconds, and a buffer works with
 * every GPU. */
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

static void free_event(cudaEvent_t event) {
  if (!event)
    return;
  (void)cudaEventSynchronize(event);
  (void)cudaEventDestroy(event);
}

void sl_cuda_staging_destroy(sl_cuda_staging *staging) {
  if (!staging)
    return;
  for (int b = 0; b < BUFFERS; b++) {
    for (int t = 0; t < THREADS; t++)
      free_event(staging->sent[b][t]);
    return_buffer(staging->buffer[b]);
  }
  pthread_mutex_destroy(&staging->lock);
  sl_free(staging);
}

static sley_status make_buffer(sl_cuda_staging *staging, int b) {
  SL_TRY(take_buffer(&staging->buffer[b]));
  for (int t = 0; t < THREADS; t++)
    SL_TRY(sl_cuda_check(cudaEventCreateWithFlags(&staging->sent[b][t], cudaEventDisableTiming),
                         "making an event"));
  return SLEY_OK;
}

sley_status sl_cuda_staging_create(sl_cuda_staging **out) {
  sl_cuda_staging *staging;
  *out = NULL;
  SL_TRY(SL_NEW_ZERO(staging, 1, "buffers for copies"));
  pthread_mutex_init(&staging->lock, NULL);
  sley_status status = SLEY_OK;
  for (int b = 0; b < BUFFERS && status == SLEY_OK; b++)
    status = make_buffer(staging, b);
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

typedef struct sending {
  sl_cuda_staging *staging;
  sl_queue *queue;
  char *to;
  const char *from;
  int64_t bytes;
  _Atomic int64_t next; /* next fragment that no thread has taken */
} sending;

/* Sends a fragment through a slot of the thread's own. */
static sley_status send_fragment(const sending *s, int64_t at, int thread, int b) {
  cudaStream_t stream = sl_cuda_stream(s->queue);
  cudaEvent_t sent = s->staging->sent[b][thread];
  char *slot = (char *)s->staging->buffer[b] + (int64_t)thread * FRAGMENT;
  size_t count = (size_t)(s->bytes - at < FRAGMENT ? s->bytes - at : FRAGMENT);
  SL_TRY(sl_cuda_check(cudaEventSynchronize(sent), "waiting for a copy"));
  memcpy(slot, s->from + at, count);
  SL_TRY(sl_cuda_check(cudaMemcpyAsync(s->to + at, slot, count, cudaMemcpyHostToDevice, stream), "a copy"));
  return sl_cuda_check(cudaEventRecord(sent, stream), "recording an event");
}

static sley_status send_fragments(void *context, int thread, int threads) {
  (void)threads;
  sending *s = context;
  if (thread >= THREADS)
    return SLEY_OK;
  SL_TRY(sl_cuda_use(s->queue->device)); /* the current device is per thread */
  for (int b = 0;; b = (b + 1) % BUFFERS) {
    int64_t at = atomic_fetch_add_explicit(&s->next, FRAGMENT, memory_order_relaxed);
    if (at >= s->bytes)
      return SLEY_OK;
    SL_TRY(send_fragment(s, at, thread, b));
  }
}

sley_status sl_cuda_staging_copy(sl_cuda_staging *staging, sl_queue *queue, void *dst, const void *src,
                                 int64_t bytes) {
  pthread_mutex_lock(&staging->lock);
  sley_status status =
      sl_team_run(queue->team, send_fragments,
                  &(sending){.staging = staging, .queue = queue, .to = dst, .from = src, .bytes = bytes});
  pthread_mutex_unlock(&staging->lock);
  return status;
}
