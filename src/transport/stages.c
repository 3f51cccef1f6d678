/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/stages.h"

int64_t sl_stages_interleave(sl_stages *stages, const sl_pull_rows *lists, int count, int start,
                             sl_pull_entry *out) {
  if (stages->count == 0)
    return sl_pull_interleave(lists, count, start, out);
  int64_t at = 0;
  for (int s = 0; s < stages->count; s++) {
    at += sl_pull_interleave_stage(lists, count, start, s, stages->count, out + at);
    stages->end[s] = at;
  }
  return at;
}

sley_status sl_stages_create(sl_stages *stages, sl_queue *queue) {
  static const sl_stage_word zeros[SL_PULL_STAGES];
  stages->next = stages->count;
  return stages->count == 0 ? SLEY_OK
                            : sl_device_upload(queue, zeros, stages->count * (int64_t)sizeof *zeros,
                                               "words of stages", (void **)&stages->arrived);
}

void sl_stages_destroy(sl_stages *stages, sl_device *device) {
  device->ops->free(device, stages->arrived);
  stages->arrived = NULL;
}

int64_t sl_stages_memory(int count) {
  return count > 0 ? sl_device_bytes(count * (int64_t)sizeof(sl_stage_word)) : 0;
}

void sl_stages_fill(const sl_stages *stages, sl_pull_args *args) {
  args->stages = stages->count;
  args->stage_end = stages->end;
  args->arrived = stages->arrived;
}

void sl_stages_begin(sl_stages *stages) {
  stages->next = 0;
}

sley_status sl_stages_arrive(sl_stages *stages, const char *name, int stage, sl_event *done,
                             sl_queue *queue) {
  if (stages->next == stages->count)
    return SLEY_OK;
  if (stage != stages->next)
    return sl_fail(SLEY_ERR_ARG, "exchange %s: stage %d is to arrive, but the next of %d is %d", name, stage,
                   stages->count, stages->next);
  sl_kernel_args args = {.op = SL_OP_ARRIVE, .arrive = {.word = &stages->arrived[stage]}};
  SL_TRY(sl_kernel_run(queue, &args));
  stages->next++;
  return stages->next == stages->count ? queue->ops->event_wait(queue, done) : SLEY_OK;
}

sley_status sl_stages_finish(sl_stages *stages, const char *name, sl_event *done, sl_queue *queue) {
  while (stages->next < stages->count)
    SL_TRY(sl_stages_arrive(stages, name, stages->next, done, queue));
  return SLEY_OK;
}
