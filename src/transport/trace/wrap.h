/* SPDX-License-Identifier: Apache-2.0 */
/* The internals of a traced comm, shared by the files that wrap its operations. */
#ifndef SLEY_TRANSPORT_TRACE_WRAP_H
#define SLEY_TRANSPORT_TRACE_WRAP_H

#include "base/clock.h"
#include "transport/trace/record.h"

typedef struct sl_traced_comm {
  sl_comm base;
  sl_comm *inner;
  sl_trace *trace;
} sl_traced_comm;

static inline sl_comm *sl_traced_inner(const sl_comm *comm) {
  return ((const sl_traced_comm *)comm)->inner;
}

static inline sl_trace *sl_traced_trace(const sl_comm *comm) {
  return ((const sl_traced_comm *)comm)->trace;
}

/* Records a call that began at `begin` and ends now; returns its status. bytes -1: no bytes are recorded. */
static inline sley_status sl_traced_record(sl_comm *comm, const char *name, double begin, int64_t bytes,
                                           sley_status status) {
  sl_trace_span(sl_traced_trace(comm), name, begin, sl_now(), bytes);
  return status;
}

/* Operations of one-sided memory, in wrap_symmetric.c. */
extern const sl_symm_ops sl_traced_symm_ops;

#endif
