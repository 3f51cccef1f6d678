/* SPDX-License-Identifier: Apache-2.0 */
/* A transport that wraps any other and records its calls, and a timeline of all ranks for Perfetto. */
#ifndef SLEY_TRANSPORT_TRACE_TRACE_H
#define SLEY_TRANSPORT_TRACE_TRACE_H

#include "transport/transport.h"

/* Events of one rank. The recorder is filled by that rank's thread only. */
typedef struct sl_trace sl_trace;

sley_status sl_trace_create(int rank, sl_trace **out);
void sl_trace_destroy(sl_trace *trace);

/* Makes a comm that forwards calls to inner and records them. inner outlives it. Closing this comm does not
   close inner. */
sley_status sl_trace_wrap(sl_comm *inner, sl_trace *trace, sl_comm **out);


/* Returns the recorder of a comm, or NULL if the comm is not traced. */
sl_trace *sl_trace_of(sl_comm *comm);

/* Records a span of work on this rank, in seconds of sl_now(). Does nothing if trace is NULL. name is copied.
 * bytes < 0: no bytes are recorded. */
void sl_trace_span(sl_trace *trace, const char *name, double begin, double end, int64_t bytes);

/* Sends the events of all ranks, which are processes, to rank 0: fills its traces[r] for every rank r. Each
 * rank has recorders for all ranks; its own holds events. Collective, on the comm that is not traced. */
sley_status sl_trace_collect(sl_comm *comm, sl_trace **traces);

/* Writes the ranks' events as Trace Event JSON, one track per rank. */
sley_status sl_trace_write(const char *path, sl_trace *const *traces, int count);

#endif
