/* SPDX-License-Identifier: Apache-2.0 */
/* A transport that wraps any other and records what passes through it, and a timeline of it all for Perfetto. */
#ifndef SLEY_TRANSPORT_TRACE_TRACE_H
#define SLEY_TRANSPORT_TRACE_TRACE_H

#include "transport/transport.h"

/* Events of one rank. The recorder is filled by that rank's thread only. */
typedef struct sl_trace sl_trace;

sley_status sl_trace_create(int rank, sl_trace **out);
void sl_trace_destroy(sl_trace *trace);

/* A comm that forwards to inner and records. inner outlives it. Closed by its own close, which leaves inner open. */
sley_status sl_trace_wrap(sl_comm *inner, sl_trace *trace, sl_comm **out);


/* The recorder behind a comm, or NULL if it is not a traced one. */
sl_trace *sl_trace_of(sl_comm *comm);

/* Span of work on this rank, seconds of sl_now(). NULL trace: nothing happens. name is copied. bytes < 0: none. */
void sl_trace_span(sl_trace *trace, const char *name, double begin, double end, int64_t bytes);

/* Brings the events of all ranks, which are processes, to rank 0: fills its traces[r] for every rank r. Each rank has
 * recorders for all, its own with events. Collective, on the comm that is not traced. */
sley_status sl_trace_collect(sl_comm *comm, sl_trace **traces);

/* Writes the ranks' events as Trace Event JSON, one track a rank. */
sley_status sl_trace_write(const char *path, sl_trace *const *traces, int count);

#endif
