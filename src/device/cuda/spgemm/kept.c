/* SPDX-License-Identifier: Apache-2.0 */
#include "device/cuda/spgemm/kept.h"

#include "base/memory.h"

static void close_sides(const sl_spgemm_sides *sides) {
  for (int i = 0; i < SL_SPGEMM_SIDES; i++) {
    if (sides->ended[i])
      (void)cudaEventDestroy(sides->ended[i]);
    if (sides->stream[i])
      (void)cudaStreamDestroy(sides->stream[i]);
  }
  if (sides->begun)
    (void)cudaEventDestroy(sides->begun);
}

static void release(sl_queue *queue) {
  sl_cuda_spgemm_kept *kept = ((sl_cuda_queue *)queue)->spgemm;
  close_sides(&kept->sides);
  queue->ops->host_free(queue->device, kept->state);
  queue->ops->free(queue->device, kept->block);
  sl_free(kept);
}

sley_status sl_cuda_spgemm_kept_of(sl_queue *queue, sl_cuda_spgemm_kept **out) {
  sl_cuda_queue *q = (sl_cuda_queue *)queue;
  if (!q->spgemm) {
    SL_TRY(SL_NEW_ZERO(q->spgemm, 1, "what sparse products keep"));
    q->spgemm_release = release;
  }
  *out = q->spgemm;
  if (q->spgemm->state)
    return SLEY_OK;
  return queue->ops->host_alloc(queue->device, sizeof *q->spgemm->state, "the state of a sparse product",
                                (void **)&q->spgemm->state);
}

sley_status sl_cuda_spgemm_block(sl_queue *queue, sl_cuda_spgemm_kept *kept, int64_t bytes, void **out) {
  if (kept->bytes < bytes) {
    queue->ops->free(queue->device, kept->block);
    kept->block = NULL;
    kept->bytes = 0;
    int64_t room = 1 << 20;
    while (room < bytes)
      room *= 2;
    SL_TRY(queue->ops->alloc(queue->device, room, "memory of sparse products", &kept->block));
    kept->bytes = room;
  }
  *out = kept->block;
  return SLEY_OK;
}

static sley_status make_event(cudaEvent_t *out) {
  return *out ? SLEY_OK
              : sl_cuda_check(cudaEventCreateWithFlags(out, cudaEventDisableTiming), "making an event");
}

sley_status sl_cuda_spgemm_open_sides(sl_cuda_spgemm_kept *kept, int wanted) {
  sl_spgemm_sides *sides = &kept->sides;
  SL_TRY(make_event(&sides->begun));
  for (; sides->used < wanted && sides->used < SL_SPGEMM_SIDES; sides->used++) {
    SL_TRY(make_event(&sides->ended[sides->used]));
    SL_TRY(sl_cuda_check(cudaStreamCreateWithFlags(&sides->stream[sides->used], cudaStreamNonBlocking),
                         "making a stream"));
  }
  return SLEY_OK;
}
