/* SPDX-License-Identifier: Apache-2.0 */
/* Marks in a queue: report whether a device has reached a certain point of its work, without waiting. Points
 * are reached in order, so an event that is recorded again at a later point also implies the earlier one. So
 * a ring of events serves any number of marks, and no mark is reported as reached too early. */
#ifndef SLEY_DEVICE_MARKS_H
#define SLEY_DEVICE_MARKS_H

#include "device/device.h"

enum { SL_MARK_EVENTS = 16 };

/* The marks of one queue, used by one thread at a time. */
typedef struct sl_marks {
  sl_device *device;
  uint64_t set;     /* number of marks set */
  uint64_t reached; /* number of marks known to be reached */
  sl_event *event[SL_MARK_EVENTS];
} sl_marks;

/* Opens the marks. Errors: errors of the device. After an error the object is empty and may be closed. */
sley_status sl_marks_open(sl_device *device, sl_marks *out);
void sl_marks_close(sl_marks *marks); /* Closes the marks. Does nothing if all bytes are zero. */

/* Sets a mark after all work enqueued so far; *number identifies it. */
sley_status sl_marks_set(sl_marks *marks, sl_queue *queue, uint64_t *number);

/* Reports whether mark `number`, and so every earlier one, has been reached; always true for 0. Does not
 * wait. */
sley_status sl_marks_test(sl_marks *marks, uint64_t number, bool *reached);

#endif
