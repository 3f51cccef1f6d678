/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a plan for fewer columns than it was built for. Rows of X and Y and the rows in lists are cut to the
 * remaining bytes. */
#include <string.h>

#include "base/memory.h"
#include "plan/plan.h"

/* Returns how many of `bytes` bytes, at an offset in a buffer's rows, remain. */
static int64_t left_of(const sl_buffer *buffer, int64_t k, int64_t offset, int64_t bytes) {
  int64_t left = (k - buffer->first_column) * (int64_t)sley_dtype_bytes(buffer->dtype) - offset;
  return left < 0 ? 0 : left < bytes ? left : bytes;
}

int64_t sl_arriving_stride(int64_t bytes) {
  const int64_t whole = sl_up_to(bytes, SL_SECTOR);
  return 4 * (whole - bytes) <= bytes ? whole : bytes > SL_SECTOR ? sl_up_to(bytes, SL_ROW_UNIT) : bytes;
}

static int64_t narrow_row(const sl_plan *plan, int64_t k, const sl_buffer *buffer) {
  if (buffer->first_column == SL_NO_COLUMNS)
    return buffer->row_bytes;
  const int64_t bytes = left_of(buffer, k, 0, buffer->row_bytes);
  return buffer->arrives ? sl_arriving_stride(sl_up_to(bytes, plan->x_unit)) : bytes;
}

/* Returns the bytes of each row that a list of an exchange moves. A list may describe several rows as one
 * long row. */
static int64_t narrow_list(const sl_plan *plan, int64_t k, const sl_plan_exchange *exchange,
                           const sl_buffer *buffer, const sl_row_list *list) {
  if (buffer->first_column == SL_NO_COLUMNS || buffer->row_bytes == 0)
    return list->bytes;
  const int64_t unit = exchange->src == SL_BUFFER_X ? plan->x_unit : 1;
  if (unit == 1 && list->bytes > buffer->row_bytes)
    return list->bytes / buffer->row_bytes * narrow_row(plan, k, buffer);
  return sl_up_to(left_of(buffer, k, list->offset, list->bytes), unit);
}

/* Returns the columns of a part. The rows of X that it reads may be padded. */
static int64_t narrow_part(const sl_plan *plan, int64_t k, const sl_part *part) {
  const sl_buffer *buffer = SL_BUFFER(plan, part->x);
  if (buffer->first_column == SL_NO_COLUMNS)
    return part->k;
  const int64_t value = (int64_t)sley_dtype_bytes(buffer->dtype);
  return left_of(buffer, k, 0, part->k * value) / value;
}

static sley_status copy_list(const sl_list *from, size_t bytes, sl_list *out) {
  *out = (sl_list){0};
  char *items = sl_alloc(from->count, bytes, "a narrow plan");
  if (!items)
    return SLEY_ERR_MEMORY;
  if (from->count > 0)
    memcpy(items, from->items, (size_t)from->count * bytes);
  *out = (sl_list){items, from->count, from->count};
  return SLEY_OK;
}

static sley_status narrow_exchange(const sl_plan *plan, int64_t k, int index, sl_plan *out) {
  const sl_plan_exchange *from = SL_EXCHANGE(plan, index);
  sl_exchange_spec *spec = &SL_EXCHANGE(out, index)->spec;
  spec->send = spec->recv = NULL;
  spec->sends = spec->recvs = 0;
  for (int i = 0; i < from->spec.sends + from->spec.recvs; i++) {
    bool sends = i < from->spec.sends;
    sl_row_list list = sends ? from->spec.send[i] : from->spec.recv[i - from->spec.sends];
    list.bytes = narrow_list(plan, k, from, SL_BUFFER(plan, sends ? from->src : from->dst), &list);
    (sends ? sl_plan_send : sl_plan_recv)(out, index, &list);
  }
  return out->failed ? SLEY_ERR_MEMORY : SLEY_OK;
}

sley_status sl_plan_for_columns(const sl_plan *plan, int64_t k, sl_plan *out) {
  *out = *plan;
  out->k = k;
  out->device_kept = (sl_list){0};
  out->spare_lists = 0;
  out->kept = out->halos = out->buffers = out->parts = out->exchanges = out->fetches = out->conversions =
      out->steps = (sl_list){0};
  SL_TRY(copy_list(&plan->buffers, sizeof(sl_buffer), &out->buffers));
  SL_TRY(copy_list(&plan->parts, sizeof(sl_part), &out->parts));
  SL_TRY(copy_list(&plan->exchanges, sizeof(sl_plan_exchange), &out->exchanges));
  SL_TRY(copy_list(&plan->fetches, sizeof(sl_fetch), &out->fetches));
  SL_TRY(copy_list(&plan->conversions, sizeof(sl_conversion), &out->conversions));
  SL_TRY(copy_list(&plan->steps, sizeof(sl_step), &out->steps));
  for (int i = 0; i < plan->buffers.count; i++) {
    sl_buffer *buffer = SL_BUFFER(out, i);
    buffer->row_bytes = narrow_row(plan, k, buffer);
    if (i > SL_BUFFER_Y)
      out->memory_bytes -= buffer->rows * (SL_BUFFER(plan, i)->row_bytes - buffer->row_bytes);
  }
  for (int i = 0; i < plan->parts.count && !plan->dry; i++)
    SL_PART(out, i)->k = narrow_part(plan, k, SL_PART(plan, i));
  for (int i = 0; i < plan->exchanges.count; i++)
    SL_TRY(narrow_exchange(plan, k, i, out));
  for (int i = 0; i < plan->conversions.count; i++) {
    sl_conversion *c = SL_CONVERSION(out, i);
    int64_t each = (int64_t)sley_dtype_bytes(c->from);
    c->k = left_of(SL_BUFFER(plan, c->src), k, c->src_offset, c->k * each) / each;
  }
  return SLEY_OK;
}
