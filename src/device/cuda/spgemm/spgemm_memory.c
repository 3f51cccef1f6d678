/* SPDX-License-Identifier: Apache-2.0 */
#include "device/cuda/spgemm/spgemm_memory.h"

#include <inttypes.h>

void sl_spgemm_memory_begin(sl_spgemm_memory *m, sl_device *device, const sl_spgemm_args *args) {
  *m = (sl_spgemm_memory){.device = device, .args = args};
  *args->out = (sl_spgemm_result){0};
}

sley_status sl_spgemm_count(sl_spgemm_memory *m, int64_t bytes, const char *what) {
  const int64_t wanted = m->now + sl_device_bytes(bytes), limit = m->args->limit;
  if (limit > 0 && wanted > limit)
    return sl_fail(SLEY_ERR_MEMORY,
                   "sley_spgemm: with %s %" PRId64
                   " bytes of the GPU's memory are needed: a mem_limit of %" PRId64 " is too low",
                   what, wanted, limit);
  m->now = wanted;
  if (m->peak < wanted)
    m->peak = wanted;
  return SLEY_OK;
}

sley_status sl_spgemm_take(sl_spgemm_memory *m, int64_t bytes, const char *what, void **out) {
  *out = NULL;
  SL_TRY(sl_spgemm_count(m, bytes, what));
  SL_TRY(m->device->ops->alloc(m->device, bytes, what, out));
  m->block[m->blocks] = *out;
  m->bytes[m->blocks++] = bytes;
  return SLEY_OK;
}

void sl_spgemm_give_last(sl_spgemm_memory *m) {
  m->blocks--;
  m->device->ops->free(m->device, m->block[m->blocks]);
  m->now -= sl_device_bytes(m->bytes[m->blocks]);
}

sley_status sl_spgemm_take_result(sl_spgemm_memory *m, int64_t count, size_t bytes_each, const char *what,
                                  void **out) {
  const sl_spgemm_allocator *given = m->args->memory;
  const int64_t bytes = count * (int64_t)bytes_each;
  *out = NULL;
  SL_TRY(sl_spgemm_count(m, bytes, what));
  if (!given)
    return m->device->ops->alloc(m->device, bytes, what, out);
  *out = given->alloc(given->context, count, bytes_each, what);
  return *out ? SLEY_OK : SLEY_ERR_MEMORY;
}

static void free_result(const sl_spgemm_memory *m) {
  const sl_spgemm_allocator *given = m->args->memory;
  sl_spgemm_result *out = m->args->out;
  void *arrays[] = {out->rowptr, out->col, out->val};
  for (int i = 0; i < 3; i++)
    if (arrays[i] && given)
      given->free(given->context, arrays[i]);
    else
      m->device->ops->free(m->device, arrays[i]);
  *out = (sl_spgemm_result){0};
}

sley_status sl_spgemm_memory_end(sl_spgemm_memory *m, sley_status status) {
  while (m->blocks > 0)
    sl_spgemm_give_last(m);
  if (status != SLEY_OK)
    free_result(m);
  else
    m->args->out->peak = m->peak;
  return status;
}
