/* SPDX-License-Identifier: Apache-2.0 */
#include "collective/headers.h"

#include <string.h>

enum { PLACE = SL_COMPRESSED_HEADER };

/* Bytes of a run's memory: one place for the verdict, and one for each header. */
static int64_t run_bytes(const sl_headers *headers) {
  return ((int64_t)headers->most + 1) * PLACE;
}

static char *place_of(const sl_headers *headers, int64_t run) {
  return headers->here + run % SL_HEADERS_RUNS * run_bytes(headers);
}

sley_status sl_headers_open(sl_headers *headers, sl_queue *queue, const uint32_t *verdict, int most) {
  const sl_device_ops *ops = queue->ops;
  sl_device *device = queue->device;
  sl_pull_entry entries[SL_PULL_SOURCES] = {{0}};
  *headers = (sl_headers){.device = device, .verdict = verdict, .most = most};
  for (int i = 0; i < SL_PULL_SOURCES; i++)
    entries[i].source = (unsigned)i & (SL_PULL_SOURCES - 1);
  SL_TRY(ops->host_alloc(device, SL_HEADERS_RUNS * run_bytes(headers), "a sparse collective",
                         (void **)&headers->here));
  SL_TRY(sl_device_upload_private(queue, entries, sizeof entries, "a sparse collective",
                                  (void **)&headers->list));
  for (int i = 0; i < SL_HEADERS_RUNS; i++)
    SL_TRY(ops->event_create(device, &headers->sent[i]));
  return SLEY_OK;
}

void sl_headers_close(sl_headers *headers) {
  if (!headers->device)
    return;
  const sl_device_ops *ops = headers->device->ops;
  for (int i = 0; i < SL_HEADERS_RUNS; i++)
    if (headers->sent[i])
      ops->event_destroy(headers->sent[i]);
  if (headers->list)
    ops->free(headers->device, headers->list);
  if (headers->here)
    ops->host_free(headers->device, headers->here);
}

/* Copies some headers; the first source is the verdict. */
static sley_status take_some(sl_headers *headers, int first, int count, const void *const *at,
                             sl_queue *queue) {
  sl_pull_source source[SL_PULL_SOURCES] = {{.src = headers->verdict, .bytes = sizeof *headers->verdict}};
  for (int i = 0; i < count; i++)
    source[i + 1] =
        (sl_pull_source){.src = at[i], .bytes = PLACE, .dst_offset = ((int64_t)first + i + 1) * PLACE};
  sl_kernel_args args = {.op = SL_OP_PULL,
                         .pull = {.count = count + 1,
                                  .list = headers->list,
                                  .sources = count + 1,
                                  .source = source,
                                  .dst = place_of(headers, headers->runs),
                                  .dtype = SLEY_F32}};
  return sl_kernel_run(queue, &args);
}

sley_status sl_headers_take(sl_headers *headers, int first, int count, const void *const *at,
                            sl_queue *queue) {
  enum { MOST = SL_PULL_SOURCES - 1 };
  int taken = 0;
  do {
    int some = count - taken < MOST ? count - taken : MOST;
    SL_TRY(take_some(headers, first + taken, some, at + taken, queue));
    taken += some;
  } while (taken < count);
  return SLEY_OK;
}

sley_status sl_headers_send(sl_headers *headers, sl_queue *queue) {
  SL_TRY(queue->ops->event_record(queue, headers->sent[headers->runs % SL_HEADERS_RUNS]));
  headers->runs++;
  return SLEY_OK;
}

int64_t sl_headers_waiting(const sl_headers *headers) {
  return headers->runs - headers->read;
}

sley_status sl_headers_read(sl_headers *headers, bool waits, bool *come, sl_headers_run *out) {
  int64_t run = headers->read;
  *come = false;
  if (run == headers->runs)
    return SLEY_OK;
  do
    SL_TRY(headers->device->ops->event_query(headers->sent[run % SL_HEADERS_RUNS], come));
  while (waits && !*come);
  if (!*come)
    return SLEY_OK;
  memcpy(&out->verdict, place_of(headers, run), sizeof out->verdict);
  out->header = (const sl_compressed_header *)(const void *)(place_of(headers, run) + PLACE);
  headers->read++;
  return SLEY_OK;
}
