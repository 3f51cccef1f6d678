/* SPDX-License-Identifier: Apache-2.0 */
#include "device/cuda/dense/dense_state.h"

#include "base/memory.h"

static void release(sl_queue *queue) {
  sl_cuda_dense_state *state = ((sl_cuda_queue *)queue)->dense;
  if (state->products)
    state->products_release(state->products);
  queue->ops->free(queue->device, state->workspace);
  sl_free(state);
}

sley_status sl_cuda_dense_state_of(sl_queue *queue, sl_cuda_dense_state **out) {
  sl_cuda_queue *q = (sl_cuda_queue *)queue;
  if (!q->dense) {
    SL_TRY(SL_NEW_ZERO(q->dense, 1, "what dense operations keep"));
    q->dense_release = release;
  }
  *out = q->dense;
  return SLEY_OK;
}

sley_status sl_cuda_workspace(sl_queue *queue, void **out) {
  sl_cuda_dense_state *state;
  *out = NULL;
  SL_TRY(sl_cuda_dense_state_of(queue, &state));
  if (!state->workspace)
    SL_TRY(queue->ops->alloc(queue->device, SL_CUDA_WORKSPACE_BYTES, "a workspace for dense operations",
                             &state->workspace));
  *out = state->workspace;
  return SLEY_OK;
}
