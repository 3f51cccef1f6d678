/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/stages.h"

/* Of sl_pull_interleave. On four H200 with 16 stages of neighbouring rows of a graph: with none ahead a pull
 * takes a tenth longer, with two a twentieth. */
enum { STAGES_AHEAD = 8 };

int64_t sl_stages_interleave(sl_stages *stages, const sl_pull_rows *lists, int count, int start,
                             sl_pull_entry *out) {
  return sl_pull_interleave(lists, count, start, stages->count > 0 ? stages->count : 1, STAGES_AHEAD,
                            stages->count > 0 ? stages->end : NULL, out);
}

sley_status sl_stages_create(sl_stages *stages, sl_queue *queue) {
  static const sl_stage_words zeros;
  stages->first_arrived = true;
  return stages->count == 0
             ? SLEY_OK
             : sl_device_upload(queue, &zeros, sizeof zeros, "words of stages", (void **)&stages->arrived);
}

void sl_stages_destroy(sl_stages *stages, sl_device *device) {
  device->ops->free(device, stages->arrived);
  stages->arrived = NULL;
}

int64_t sl_stages_memory(int count) {
  return count > 0 ? sl_device_bytes(sizeof(sl_stage_words)) : 0;
}

void sl_stages_fill(const sl_stages *stages, sl_pull_args *args) {
  args->stages = stages->count;
  args->unhurried = stages->unhurried;
  args->stage_end = stages->end;
  args->arrived = stages->arrived;
}

void sl_stages_begin(sl_stages *stages) {
  stages->first_arrived = stages->count == 0;
}

/* In every round, for the wait counts them. */
static sley_status wait_for_first(sl_stages *stages, sl_queue *queue) {
  sl_kernel_args first = {.op = SL_OP_ARRIVE, .arrive = {.words = stages->arrived, .stage = 0}};
  if (!stages->first_arrived)
    SL_TRY(sl_kernel_run(queue, &first));
  stages->first_arrived = true;
  return SLEY_OK;
}

sley_status sl_stages_arrive(sl_stages *stages, sl_event *done, sl_queue *queue,
                             const sl_stage_words **words) {
  *words = stages->count > 0 ? stages->arrived : NULL;
  return *words ? wait_for_first(stages, queue) : queue->ops->event_wait(queue, done);
}

sley_status sl_stages_complete(sl_stages *stages, sl_event *done, sl_queue *queue) {
  SL_TRY(wait_for_first(stages, queue));
  return queue->ops->event_wait(queue, done);
}
