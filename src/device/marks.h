/* SPDX-License-Identifier: Apache-2.0 */
/* Marks in a queue: whether a device has come to a certain point of its work, without waiting. Points are
 * reached in order, so an event that is recorded again at a later point speaks for the earlier one too: a
 * ring of events serves any number of marks, and none is ever taken for reached too early. */
#ifndef SLEY_DEVICE_MARKS_H
#define SLEY_DEVICE_MARKS_H

#include "device/device.h"

enum { SL_MARK_EVENTS = 16 };

/* Of one queue; used by one thread at a time. */
typedef struct sl_marks {
  sl_device *device;
  uint64_t set;     /* marks so far */
  uint64_t reached; /* of those, known to be */
  sl_event *event[SL_MARK_EVENTS];
} sl_marks;

/* Errors: those of the device. After an error it may be closed. */
sley_status sl_marks_open(sl_device *device, sl_marks *out);
void sl_marks_close(sl_marks *marks); /* Of zeros: nothing. */

/* A mark behind all that the queue has been given so far; *number names it. */
sley_status sl_marks_set(sl_marks *marks, sl_queue *queue, uint64_t *number);

/* Whether mark `number`, and all before it, are reached; 0: always. Does not wait. */
sley_status sl_marks_test(sl_marks *marks, uint64_t number, bool *reached);

#endif
