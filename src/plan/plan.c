/* SPDX-License-Identifier: Apache-2.0 */
/* Creates, fills and frees plans. */
#include "plan/plan.h"

#include <string.h>

#include "base/memory.h"
#include "base/value.h"

enum { SPARE_LISTS = 8 };

/* Appends a copy of one item. */
static sley_status append(sl_list *list, const void *item, size_t bytes, int *index) {
  if (list->count == list->room) {
    int room = list->room ? 2 * list->room : 8;
    void *items = sl_realloc(list->items, room, bytes, "a plan");
    if (!items)
      return SLEY_ERR_MEMORY;
    list->items = items;
    list->room = room;
  }
  memcpy((char *)list->items + (size_t)list->count * bytes, item, bytes);
  if (index)
    *index = list->count;
  list->count++;
  return SLEY_OK;
}

sley_status sl_plan_begin(const sl_inspection *ins, const char *algo, bool dry, sl_plan *out) {
  *out = (sl_plan){.comm = ins->comm,
                   .algo = algo,
                   .dtype = ins->block->dtype,
                   .sum_dtype = sl_sum_dtype(ins->block->dtype),
                   .rows = ins->rows,
                   .x_rows = ins->x_rows,
                   .near_local = ins->local_within[0],
                   .k = ins->wishes->k,
                   .all_rows = ins->row_begin[ins->comm->size],
                   .all_cols = ins->block->cols,
                   .all_nnz = ins->nnz_all,
                   .remote_nnz = ins->remote_nnz_all,
                   .halo_rows = ins->halo_all,
                   .cover_rows = SL_COVER_ROWS_UNKNOWN,
                   .dry = dry,
                   .reproducible = ins->wishes->reproducible,
                   .separate_result = ins->wishes->reproducible,
                   .tf32 = ins->wishes->tf32,
                   .library = ins->wishes->library,
                   .device_figures =
                       ins->wishes->has_figures ? ins->wishes->figures : ins->comm->device->figures,
                   .kernel = ins->wishes->kernel,
                   .rowwise = ins->wishes->rowwise,
                   .x_unit = 1,
                   .wire = ins->wishes->has_wire ? ins->wishes->wire : ins->block->dtype,
                   .keeps_input = ins->wishes->keeps_input,
                   .renewable = ins->wishes->renewable,
                   .updates = ins->wishes->updates,
                   .capture = ins->wishes->capture};
  SL_TRY(sl_plan_add_buffer(out, "X", ins->x_rows, ins->wishes->row_bytes, NULL));
  return sl_plan_add_buffer(out, "Y", ins->rows, ins->wishes->row_bytes, NULL);
}

sley_status sl_plan_divide(sl_plan *plan, int exchange, int *local, int *remote) {
  enum { LOCAL, REMOTE };
  if (plan->parts.count > 0 || exchange != plan->exchanges.count - 1 ||
      SL_EXCHANGE(plan, exchange)->dst != plan->buffers.count - 1)
    return sl_fail(SLEY_ERR_INTERNAL,
                   "%s divides the block after it has added other parts, buffers or exchanges", plan->algo);
  plan->division = (sl_division){
      .count = 2,
      .plain = true,
      .exchange = exchange,
      .map = {.local = LOCAL, .remote = REMOTE},
      .frame = {
          [LOCAL] = {.name = "local", .x = SL_EXCHANGE(plan, exchange)->src, .whole = true},
          [REMOTE] = {.name = "remote", .kind = SLEY_PART_HALO, .x = SL_EXCHANGE(plan, exchange)->dst}}};
  *local = LOCAL;
  *remote = REMOTE;
  return SLEY_OK;
}

void sl_plan_divide_anew(sl_plan *plan, const sl_division *division) {
  for (int i = 0; i < SL_DIVISION_BLOCKS; i++)
    sl_free(plan->division.owned[i]);
  plan->division = *division;
}

/* A block of device memory that lives as long as the plan. */
typedef struct device_block {
  void *block;
  int64_t bytes;
} device_block;

void sl_plan_free_device(sl_plan *plan, int count) {
  while (plan->device_kept.count > count) {
    const device_block *last = &((device_block *)plan->device_kept.items)[--plan->device_kept.count];
    plan->comm->device->ops->free(plan->comm->device, last->block);
    plan->device_bytes -= last->bytes;
  }
}

void sl_plan_free(sl_plan *plan) {
  sl_plan_divide_anew(plan, &(sl_division){.count = 0});
  for (int i = 0; i < plan->kept.count; i++)
    sl_free(((void **)plan->kept.items)[i]);
  sl_plan_free_device(plan, 0);
  for (int i = 0; i < plan->halos.count; i++)
    sl_halo_release(((sl_halo **)plan->halos.items)[i]);
  sl_list *lists[] = {&plan->buffers, &plan->parts, &plan->exchanges, &plan->fetches,    &plan->conversions,
                      &plan->steps,   &plan->kept,  &plan->halos,     &plan->device_kept};
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
    sl_free(lists[i]->items);
  *plan = (sl_plan){0};
}

void *sl_plan_alloc(sl_plan *plan, int64_t count, size_t bytes_each) {
  void *block = sl_alloc(count, bytes_each, "a plan");
  if (!block)
    return NULL;
  if (append(&plan->kept, &block, sizeof block, NULL) != SLEY_OK) {
    sl_free(block);
    return NULL;
  }
  plan->memory_bytes += count * (int64_t)bytes_each;
  return block;
}

sley_status sl_plan_alloc_device(sl_plan *plan, int64_t bytes, const char *what, void **out) {
  sl_device *device = plan->comm->device;
  SL_TRY(device->ops->alloc_private(device, bytes, what, out));
  device_block kept = {*out, sl_device_bytes(bytes)};
  sley_status status = append(&plan->device_kept, &kept, sizeof kept, NULL);
  if (status != SLEY_OK) {
    device->ops->free(device, *out);
    *out = NULL;
    return status;
  }
  plan->device_bytes += kept.bytes;
  return SLEY_OK;
}

sley_status sl_plan_add_buffer(sl_plan *plan, const char *name, int64_t rows, int64_t row_bytes, int *index) {
  sl_buffer buffer = {.name = name, .rows = rows, .row_bytes = row_bytes, .dtype = plan->dtype};
  int64_t bytes;
  if (__builtin_mul_overflow(rows, row_bytes, &bytes))
    return sl_fail(SLEY_ERR_OVERFLOW, "buffer %s has more than 2^63 bytes", name);
  if (plan->buffers.count > SL_BUFFER_Y)
    plan->memory_bytes += bytes;
  return append(&plan->buffers, &buffer, sizeof buffer, index);
}

sley_status sl_plan_add_part(sl_plan *plan, const sl_part *part, int *index) {
  return append(&plan->parts, part, sizeof *part, index);
}

sley_status sl_plan_append_step(sl_plan *plan, const sl_step *step) {
  return append(&plan->steps, step, sizeof *step, NULL);
}

sley_status sl_plan_add_step(sl_plan *plan, const sl_step_kind *kind, int index) {
  return sl_plan_append_step(plan, &(sl_step){.kind = kind, .index = index});
}

sley_status sl_plan_add_fetch(sl_plan *plan, const sl_fetch *fetch, int *index) {
  return append(&plan->fetches, fetch, sizeof *fetch, index);
}

sley_status sl_plan_add_conversion(sl_plan *plan, const sl_conversion *conversion) {
  int index;
  if (conversion->count == 0 || conversion->k == 0)
    return SLEY_OK;
  SL_TRY(append(&plan->conversions, conversion, sizeof *conversion, &index));
  return sl_plan_add_step(plan, SL_STEP_CONVERT, index);
}

sley_status sl_plan_add_exchange(sl_plan *plan, const char *name, int src, int dst, sl_grain grain,
                                 int *index) {
  sl_plan_exchange exchange = {
      .spec = {.name = name, .dtype = plan->dtype, .grain = grain, .capture = plan->capture},
      .src = src,
      .dst = dst};
  return append(&plan->exchanges, &exchange, sizeof exchange, index);
}

/* Returns memory for one list. Among many ranks there are many exchanges with a single list, so lists are
 * allocated several at a time. */
static sl_row_list *room_for_one(sl_plan *plan) {
  if (plan->spare_lists == 0) {
    plan->spare_list = sl_plan_alloc(plan, SPARE_LISTS, sizeof *plan->spare_list);
    plan->spare_lists = plan->spare_list ? SPARE_LISTS : 0;
  }
  if (plan->spare_lists == 0)
    return NULL;
  plan->spare_lists--;
  return plan->spare_list++;
}

/* Frees an array of `count` elements that sl_plan_alloc allocated. */
static void give_back(sl_plan *plan, const void *block, int64_t count, size_t bytes_each) {
  void **kept = plan->kept.items;
  for (int i = plan->kept.count - 1; i >= 0; i--)
    if (kept[i] == block) {
      sl_free(kept[i]);
      kept[i] = kept[--plan->kept.count];
      plan->memory_bytes -= count * (int64_t)bytes_each;
      return;
    }
}

/* Appends a list. When the count is a power of two, the lists move to an array of twice the length. */
static void add_list(sl_plan *plan, const sl_row_list **lists, int *count, const sl_row_list *list) {
  if (!sl_list_moves(list) || plan->failed)
    return;
  if ((*count & (*count - 1)) == 0) {
    sl_row_list *longer =
        *count ? sl_plan_alloc(plan, 2 * (int64_t)*count, sizeof *longer) : room_for_one(plan);
    if (!longer) {
      plan->failed = true;
      return;
    }
    if (*count > 0)
      memcpy(longer, *lists, (size_t)*count * sizeof *longer);
    if (*count > 1)
      give_back(plan, *lists, *count, sizeof *longer);
    *lists = longer;
  }
  ((sl_row_list *)*lists)[(*count)++] = *list;
}

void sl_plan_send(sl_plan *plan, int exchange, const sl_row_list *list) {
  sl_exchange_spec *spec = &SL_EXCHANGE(plan, exchange)->spec;
  add_list(plan, &spec->send, &spec->sends, list);
}

void sl_plan_recv(sl_plan *plan, int exchange, const sl_row_list *list) {
  sl_exchange_spec *spec = &SL_EXCHANGE(plan, exchange)->spec;
  add_list(plan, &spec->recv, &spec->recvs, list);
}

sley_status sl_plan_add_halo(sl_plan *plan, const char *name, sl_halo *halo, sl_halo_way way, int x,
                             int buffer, int64_t row_bytes, sl_grain grain, int *index) {
  bool gathers = way == SL_HALO_GATHER;
  SL_TRY(append(&plan->halos, &halo, sizeof halo, NULL));
  sl_halo_hold(halo);
  plan->memory_bytes += halo->wanted_begin[halo->comm->size] * (int64_t)sizeof *halo->wanted;
  SL_TRY(sl_plan_add_exchange(plan, name, gathers ? x : buffer, gathers ? buffer : x, grain, index));
  SL_EXCHANGE(plan, *index)->spec.add = !gathers;
  for (int p = 0; p < halo->comm->size; p++) {
    sl_row_list of_x = sl_halo_list_of_x(halo, p, row_bytes),
                of_buffer = sl_halo_list_of_buffer(halo, p, row_bytes);
    sl_plan_send(plan, *index, gathers ? &of_x : &of_buffer);
    sl_plan_recv(plan, *index, gathers ? &of_buffer : &of_x);
  }
  return SLEY_OK;
}

void sl_plan_drop_halo(sl_plan *plan) {
  sl_halo *halo = ((sl_halo **)plan->halos.items)[--plan->halos.count];
  plan->memory_bytes -= halo->wanted_begin[halo->comm->size] * (int64_t)sizeof *halo->wanted;
  sl_halo_release(halo);
}
