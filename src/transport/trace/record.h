/* SPDX-License-Identifier: Apache-2.0 */
/* Events of a timeline, as record.c stores them and trace_write.c writes them. */
#ifndef SLEY_TRANSPORT_TRACE_RECORD_H
#define SLEY_TRANSPORT_TRACE_RECORD_H

#include "transport/trace/trace.h"

enum { SL_TRACE_NAME = 48 };

typedef enum sl_trace_kind {
  SL_TRACE_SPAN,   /* an action of the rank; the spans of a rank may be nested */
  SL_TRACE_FLIGHT, /* an exchange from its begin to its end; flights may overlap */
  SL_TRACE_COUNTER /* number of bytes received so far */
} sl_trace_kind;

typedef struct sl_trace_event {
  sl_trace_kind kind;
  char name[SL_TRACE_NAME];     /* cut if longer */
  double begin, end;            /* seconds of sl_now() */
  int64_t bytes[SL_LINK_COUNT]; /* -1: none */
} sl_trace_event;

struct sl_trace {
  int rank;
  sl_trace_event *events;
  int64_t count, capacity;
  int64_t dropped; /* events for which there was no memory */
};

/* Adds an event with its kind and name, and no bytes; NULL if it is dropped. Never changes the thread's error
 * message: a timeline does not make a run fail. */
sl_trace_event *sl_trace_add(sl_trace *trace, sl_trace_kind kind, const char *name);

#endif
