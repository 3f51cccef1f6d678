/* SPDX-License-Identifier: Apache-2.0 */
#include "device/marks.h"

sley_status sl_marks_open(sl_device *device, sl_marks *out) {
  *out = (sl_marks){.device = device};
  for (int i = 0; i < SL_MARK_EVENTS; i++)
    SL_TRY(device->ops->event_create(device, &out->event[i]));
  return SLEY_OK;
}

void sl_marks_close(sl_marks *marks) {
  for (int i = 0; i < SL_MARK_EVENTS; i++)
    if (marks->event[i])
      marks->device->ops->event_destroy(marks->event[i]);
  *marks = (sl_marks){0};
}

sley_status sl_marks_set(sl_marks *marks, sl_queue *queue, uint64_t *number) {
  SL_TRY(marks->device->ops->event_record(queue, marks->event[(marks->set + 1) % SL_MARK_EVENTS]));
  *number = ++marks->set;
  return SLEY_OK;
}

sley_status sl_marks_test(sl_marks *marks, uint64_t number, bool *reached) {
  *reached = number <= marks->reached;
  if (*reached)
    return SLEY_OK;
  SL_TRY(marks->device->ops->event_query(marks->event[number % SL_MARK_EVENTS], reached));
  if (*reached) { /* if an event is reached, so is the last mark that recorded it */
    uint64_t last = marks->set - (marks->set - number) % SL_MARK_EVENTS;
    marks->reached = last > marks->reached ? last : marks->reached;
  }
  return SLEY_OK;
}
