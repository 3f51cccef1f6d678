/* SPDX-License-Identifier: Apache-2.0 */
/* A rank's recorder: an array of events that grows, and drops events for which there is no memory. One thread
 * uses it, so it needs no locks. */
#include "transport/trace/record.h"

#include <stdio.h>

#include "base/memory.h"

enum { EVENTS_FIRST = 1024 };

sley_status sl_trace_create(int rank, sl_trace **out) {
  *out = NULL;
  sl_trace *trace;
  SL_TRY(SL_NEW_ZERO(trace, 1, "a timeline"));
  trace->rank = rank;
  trace->events = sl_alloc(EVENTS_FIRST, sizeof *trace->events, "a timeline");
  if (!trace->events) {
    sl_free(trace);
    return SLEY_ERR_MEMORY;
  }
  trace->capacity = EVENTS_FIRST;
  *out = trace;
  return SLEY_OK;
}

void sl_trace_destroy(sl_trace *trace) {
  if (!trace)
    return;
  sl_free(trace->events);
  sl_free(trace);
}

static bool grow(sl_trace *trace) {
  sl_error error;
  sl_error_save(&error);
  sl_trace_event *larger = sl_realloc(trace->events, 2 * trace->capacity, sizeof *larger, "a timeline");
  if (!larger) {
    (void)sl_error_restore(&error);
    return false;
  }
  trace->events = larger;
  trace->capacity *= 2;
  return true;
}

sl_trace_event *sl_trace_add(sl_trace *trace, sl_trace_kind kind, const char *name) {
  if (trace->count == trace->capacity && !grow(trace)) {
    trace->dropped++;
    return NULL;
  }
  sl_trace_event *event = &trace->events[trace->count++];
  event->kind = kind;
  snprintf(event->name, sizeof event->name, "%s", name);
  for (int link = 0; link < SL_LINK_COUNT; link++)
    event->bytes[link] = -1;
  return event;
}

void sl_trace_span(sl_trace *trace, const char *name, double begin, double end, int64_t bytes) {
  if (!trace)
    return;
  sl_trace_event *event = sl_trace_add(trace, SL_TRACE_SPAN, name);
  if (!event)
    return;
  event->begin = begin;
  event->end = end;
  event->bytes[SL_LINK_SELF] = bytes;
}
