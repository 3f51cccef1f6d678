/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/conversions.h"

#include "base/memory.h"

/* Row lists of a conversion; NULL: consecutive rows, as in sl_conversion. */
typedef struct row_lists {
  const int64_t *src, *dst;
} row_lists;

struct sl_conversions {
  sl_device *device;
  void *copies;    /* copies of all lists, one after the other; NULL: no copies are needed */
  row_lists *rows; /* lists of each conversion */
};

/* Bytes of all lists; 0 on devices that can read the plan's lists. */
static int64_t bytes_to_copy(const sl_plan *plan) {
  int64_t entries = 0;
  for (int i = 0; i < plan->conversions.count; i++) {
    const sl_conversion *c = SL_CONVERSION(plan, i);
    entries += (c->src_rows ? c->count : 0) + (c->dst_rows ? c->count : 0);
  }
  return plan->comm->device->ops->host_addresses ? 0 : entries * (int64_t)sizeof(int64_t);
}

int64_t sl_conversions_memory(const sl_plan *plan) {
  int64_t bytes = bytes_to_copy(plan);
  return bytes > 0 ? sl_device_bytes(bytes) : 0;
}

/* Copies a list to *at, replaces it by the copy, and advances *at. */
static sley_status copy_list(sl_queue *queue, const int64_t **list, int64_t count, int64_t **at) {
  if (!*list)
    return SLEY_OK;
  int64_t *copy = *at;
  *at += count;
  SL_TRY(queue->ops->copy(queue, SL_COPY_TO_DEVICE, copy, *list, count * (int64_t)sizeof **list));
  *list = copy;
  return SLEY_OK;
}

static sley_status copy_lists(sl_conversions *conversions, const sl_plan *plan, sl_queue *queue) {
  int64_t bytes = bytes_to_copy(plan);
  if (bytes == 0)
    return SLEY_OK;
  SL_TRY(queue->ops->alloc(queue->device, bytes, "lists of rows", &conversions->copies));
  int64_t *at = conversions->copies;
  for (int i = 0; i < plan->conversions.count; i++) {
    int64_t count = SL_CONVERSION(plan, i)->count;
    SL_TRY(copy_list(queue, &conversions->rows[i].src, count, &at));
    SL_TRY(copy_list(queue, &conversions->rows[i].dst, count, &at));
  }
  return SLEY_OK;
}

sley_status sl_conversions_create(const sl_plan *plan, sl_queue *queue, sl_conversions **out) {
  sl_conversions *conversions;
  SL_TRY(SL_NEW_ZERO(conversions, 1, "conversions"));
  conversions->device = queue->device;
  sley_status status;
  SL_TRY_GOTO(status, SL_NEW(conversions->rows, plan->conversions.count, "conversions"), fail);
  for (int i = 0; i < plan->conversions.count; i++)
    conversions->rows[i] = (row_lists){SL_CONVERSION(plan, i)->src_rows, SL_CONVERSION(plan, i)->dst_rows};
  SL_TRY_GOTO(status, copy_lists(conversions, plan, queue), fail);
  *out = conversions;
  return SLEY_OK;
fail:
  sl_conversions_destroy(conversions);
  return status;
}

sley_status sl_conversions_run(const sl_conversions *conversions, const sl_plan *plan, int index,
                               const void *src, int64_t src_stride, void *dst, int64_t dst_stride,
                               sl_queue *queue) {
  const sl_conversion *c = SL_CONVERSION(plan, index);
  sl_kernel_args args = {.op = SL_OP_CONVERT,
                         .convert = {.count = c->count,
                                     .k = c->k,
                                     .src = (const char *)src + c->src_offset,
                                     .src_stride = src_stride,
                                     .src_rows = conversions->rows[index].src,
                                     .src_first = c->src_first,
                                     .from = c->from,
                                     .dst = (char *)dst + c->dst_offset,
                                     .dst_stride = dst_stride,
                                     .dst_rows = conversions->rows[index].dst,
                                     .dst_first = c->dst_first,
                                     .to = c->to,
                                     .add = c->add}};
  return c->k == 0 ? SLEY_OK : sl_kernel_run(queue, &args);
}

void sl_conversions_destroy(sl_conversions *conversions) {
  if (!conversions)
    return;
  conversions->device->ops->free(conversions->device, conversions->copies);
  sl_free(conversions->rows);
  sl_free(conversions);
}
