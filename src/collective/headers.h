/* SPDX-License-Identifier: Apache-2.0 */
/* The headers of the compressed arrays of runs, and the verdict of the kernels that have read them, sent to
 * the host asynchronously: a kernel writes them to pinned memory in the queue's order, and they are read when
 * they have arrived. So no host waits for a device to know them. Up to SL_HEADERS_RUNS runs may be in
 * flight. */
#ifndef SLEY_COLLECTIVE_HEADERS_H
#define SLEY_COLLECTIVE_HEADERS_H

#include "device/device.h"

enum { SL_HEADERS_RUNS = 16 };

typedef struct sl_headers {
  sl_device *device;
  const uint32_t *verdict; /* verdict, in device memory */
  int most;                /* maximum number of headers of a run */
  char *here; /* pinned host memory: for each of SL_HEADERS_RUNS runs the verdict and the headers, one place
                 each */
  sl_pull_entry *list; /* list in device memory: entry i copies row 0 of source i */
  sl_event *sent[SL_HEADERS_RUNS];
  int64_t runs, read; /* number of runs sent, and of runs read */
} sl_headers;

/* The headers of a run that have arrived. */
typedef struct sl_headers_run {
  uint32_t verdict;
  const sl_compressed_header *header;
} sl_headers_run;

/* Prepares for at most `most` headers per run. verdict: a word in device memory. Ended by sl_headers_close,
 * also on an error, when the queue's work is done. Not collective. */
sley_status sl_headers_open(sl_headers *headers, sl_queue *queue, const uint32_t *verdict, int most);
void sl_headers_close(sl_headers *headers);

/* Copies headers of the run that is sent next, in the queue's order: headers first to first + count - 1 are
 * at the addresses in at, in memory that kernels can reach. The array at, in host memory, is not used
 * afterwards. */
sley_status sl_headers_take(sl_headers *headers, int first, int count, const void *const *at,
                            sl_queue *queue);

/* Ends a run, after its last take: the next take begins another run. The verdict has the value that it had at
 * the last take. Fewer than SL_HEADERS_RUNS runs must be in flight. */
sley_status sl_headers_send(sl_headers *headers, sl_queue *queue);

/* Returns the number of runs that were sent and not read, whether they have arrived or not. */
int64_t sl_headers_waiting(const sl_headers *headers);

/* Reads the oldest run that was not read. If it has not arrived, *come is false, unless waits is set, which
 * waits for it. waits is set after the caller has waited for the queue, because an event may be late: on an
 * H100, an event queried within microseconds of the end of its queue was not set yet. out->header is valid
 * until SL_HEADERS_RUNS more runs have been sent. */
sley_status sl_headers_read(sl_headers *headers, bool waits, bool *come, sl_headers_run *out);

#endif
