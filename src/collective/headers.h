/* SPDX-License-Identifier: Apache-2.0 */
/* The headers of the compressed arrays of runs, and the verdict of the kernels that have read them, on their
 * way to the host: a kernel writes them to pinned memory in the queue's order, and they are read when they
 * have come. So no host waits for a device to know them. Up to SL_HEADERS_RUNS runs are on their way at once.
 */
#ifndef SLEY_COLLECTIVE_HEADERS_H
#define SLEY_COLLECTIVE_HEADERS_H

#include "device/device.h"

enum { SL_HEADERS_RUNS = 16 };

typedef struct sl_headers {
  sl_device *device;
  const uint32_t *verdict; /* of the device */
  int most;                /* headers of a run */
  char *here; /* of the host, pinned: the verdict and the headers of a run, a place each, of SL_HEADERS_RUNS
                 runs */
  sl_pull_entry *list; /* of the device: entry i takes row 0 of source i */
  sl_event *sent[SL_HEADERS_RUNS];
  int64_t runs, read; /* that were sent; of these, that were read */
} sl_headers;

/* What a run's headers are when they have come. */
typedef struct sl_headers_run {
  uint32_t verdict;
  const sl_compressed_header *header;
} sl_headers_run;

/* For at most so many headers a run. verdict: a word of the device's memory. Ended by sl_headers_close, also
 * on an error; then the queue's work is done. Local. */
sley_status sl_headers_open(sl_headers *headers, sl_queue *queue, const uint32_t *verdict, int most);
void sl_headers_close(sl_headers *headers);

/* In queue's order, of the run that is sent next: headers first, first + 1, ... become the `count` ones at
 * the addresses, in memory that kernels reach. The list is of the host's memory and not used afterwards. */
sley_status sl_headers_take(sl_headers *headers, int first, int count, const void *const *at,
                            sl_queue *queue);

/* After the last take of a run: the next one's headers are those of another run. The verdict is as it was at
 * that take. Fewer than SL_HEADERS_RUNS are on their way. */
sley_status sl_headers_send(sl_headers *headers, sl_queue *queue);

/* How many runs are on their way, or have come and were not read. */
int64_t sl_headers_waiting(const sl_headers *headers);

/* The oldest of these, where it has come or is waited for; else *come is false. waits: after the queue has
 * been waited for, when an event may be a moment late: on an H100 one was asked for within microseconds of
 * its queue's end and was not there. out->header holds until as many runs as may be on their way have been
 * sent. */
sley_status sl_headers_read(sl_headers *headers, bool waits, bool *come, sl_headers_run *out);

#endif
