/* SPDX-License-Identifier: Apache-2.0 */
/* Timelines of ranks that are processes: their events are sent to rank 0. Each host has its own clock, so
 * events of ranks on different hosts are shifted against each other. */
#include <string.h>

#include "base/memory.h"
#include "transport/trace/record.h"

/* Replaces trace's events by the array `events`. */
static sley_status take(sl_trace *trace, const sl_trace_event *events, int64_t count) {
  if (count > trace->capacity) {
    sl_trace_event *larger = sl_realloc(trace->events, count, sizeof *larger, "a timeline");
    if (!larger)
      return SLEY_ERR_MEMORY;
    trace->events = larger;
    trace->capacity = count;
  }
  memcpy(trace->events, events, (size_t)count * sizeof *events);
  trace->count = count;
  return SLEY_OK;
}

sley_status sl_trace_collect(sl_comm *comm, sl_trace **traces) {
  int64_t *counts = NULL;
  void *events = NULL;
  sley_status status = sl_agree(comm, SL_NEW_ZERO(counts, 2 * (int64_t)comm->size, "a timeline"));
  if (status == SLEY_OK) {
    const sl_trace *own = traces[comm->rank];
    counts[0] = own->count;
    status = sl_exchange_items(comm, sizeof *own->events, own->events, counts, &events, counts + comm->size);
  }
  int64_t at = 0;
  for (int r = 0; r < comm->size && status == SLEY_OK && comm->rank == 0; r++) {
    int64_t count = counts[comm->size + r];
    if (r != comm->rank)
      status = take(traces[r], (const sl_trace_event *)events + at, count);
    at += count;
  }
  sl_free(events);
  sl_free(counts);
  return status;
}
