/* SPDX-License-Identifier: Apache-2.0 */
/* Memory for measurements. */
#include "base/memory.h"
#include "tune/tune_inside.h"

enum { PATTERN = 1 << 18 }; /* values in the repeated pattern */

/* Fills a part of memory with copies of a pattern. */
static sley_status fill(sl_comm *comm, const float *pattern, char *block, int64_t bytes) {
  const int64_t most = PATTERN * (int64_t)sizeof *pattern;
  for (int64_t at = 0; at < bytes; at += most) {
    int64_t part = bytes - at < most ? bytes - at : most;
    SL_TRY(comm->device->ops->copy(comm->queue, SL_COPY_TO_DEVICE, block + at, pattern, part));
  }
  return SLEY_OK;
}

sley_status sl_tune_alloc(sl_comm *comm, int64_t bytes, const char *what, void **out) {
  float *pattern = NULL;
  *out = NULL;
  SL_TRY(SL_NEW(pattern, PATTERN, what));
  for (int i = 0; i < PATTERN; i++)
    pattern[i] = (float)(i % 17);
  sley_status status = comm->device->ops->alloc(comm->device, bytes, what, out);
  if (status == SLEY_OK)
    status = fill(comm, pattern, *out, bytes);
  if (status != SLEY_OK) {
    comm->device->ops->free(comm->device, *out);
    *out = NULL;
  }
  sl_free(pattern);
  return status;
}
