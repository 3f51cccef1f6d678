/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/resident_cut.h"

#include <string.h>

#include "base/memory.h"
#include "device/asked_kernel.h"

bool sl_resident_suits(const sl_plan *plan, const sl_inspection *ins, const sl_column_map *map, int count,
                       const sl_part_frame *frames, const sl_part *parts) {
  if (!ins->resident || plan->renewable || map->turn || ins->wishes->library || count > SL_CUT_PARTS ||
      !sl_kernel_takes_resident(ins->wishes->kernel, ins->block->dtype, plan->k))
    return false;
  for (int p = 0; p < count; p++)
    if (frames[p].in_place || frames[p].on_host || parts[p].a.index != SLEY_I32)
      return false;
  return true;
}

typedef struct cutting {
  const sl_inspection *ins;
  const sl_column_map *map;
  int count;
  const sl_part_frame *frames;
  sl_part *parts;
  int32_t *tally;          /* number of entries for each part and row; NULL if whole rows are assigned to
                              parts */
  int64_t *at;             /* position of each row's entries in each part; if whole rows go to parts, one
                            * position per row */
  int64_t *rows, *entries; /* for each thread and part: counts, then the thread's first positions */
  /* In device memory. */
  int32_t *device_tally;
  int64_t *device_at;
  sl_cut_map device_map;
} cutting;

static int64_t at_count(const cutting *c) {
  return c->ins->block->rows * (c->map->row_part ? 1 : c->count);
}

/* Sets the number of a row's entries that go to a part, and returns whether the part stores the row. */
static inline bool takes(const cutting *c, int p, int64_t row, int64_t *entries) {
  const sley_matrix *block = c->ins->block;
  if (c->map->row_part) {
    bool whole = c->map->row_part[row] == p;
    *entries = whole ? block->rowptr[row + 1] - block->rowptr[row] : 0;
    return whole;
  }
  *entries = c->tally[p * block->rows + row];
  return *entries > 0 || c->frames[p].whole;
}

static sley_status count_rows(void *context, int thread, int threads) {
  cutting *c = context;
  int64_t all = c->ins->block->rows, entries;
  for (int p = 0; p < c->count; p++) {
    int64_t rows = 0, sum = 0;
    for (int64_t row = all * thread / threads; row < all * (thread + 1) / threads; row++) {
      rows += takes(c, p, row, &entries);
      sum += entries;
    }
    c->rows[(int64_t)thread * c->count + p] = rows;
    c->entries[(int64_t)thread * c->count + p] = sum;
  }
  return SLEY_OK;
}

static sley_status list_rows(void *context, int thread, int threads) {
  cutting *c = context;
  int64_t all = c->ins->block->rows, entries;
  for (int p = 0; p < c->count; p++) {
    int64_t *rowid = (int64_t *)c->parts[p].a.rowid, *rowptr = (int64_t *)c->parts[p].a.rowptr;
    int64_t *at = c->at + (c->map->row_part ? 0 : p * all);
    int64_t stored = c->rows[(int64_t)thread * c->count + p];
    int64_t entry = c->entries[(int64_t)thread * c->count + p];
    for (int64_t row = all * thread / threads; row < all * (thread + 1) / threads; row++) {
      bool stores = takes(c, p, row, &entries);
      if (stores && rowid)
        rowid[stored] = row;
      if (stores)
        rowptr[stored++] = entry;
      if (stores || !c->map->row_part)
        at[row] = entry;
      entry += entries;
    }
  }
  return SLEY_OK;
}

/* Converts the threads' counts to first positions; the totals become the sizes of the parts. */
static void sum_counts(cutting *c, int threads) {
  for (int p = 0; p < c->count; p++) {
    int64_t rows = 0, entries = 0;
    for (int64_t i = p; i < (int64_t)threads * c->count; i += c->count) {
      int64_t r = c->rows[i], e = c->entries[i];
      c->rows[i] = rows;
      c->entries[i] = entries;
      rows += r;
      entries += e;
    }
    c->parts[p].a.rows = rows;
    c->parts[p].nnz = entries;
  }
}

static sley_status take_arrays(sl_plan *plan, const cutting *c, int p) {
  sl_part *part = &c->parts[p];
  bool whole = c->frames[p].whole;
  int64_t *rowptr = sl_plan_alloc(plan, part->a.rows + 1, sizeof *rowptr);
  int64_t *rowid = whole ? NULL : sl_plan_alloc(plan, part->a.rows, sizeof *rowid);
  if (!rowptr || (!whole && !rowid))
    return SLEY_ERR_MEMORY;
  rowptr[part->a.rows] = part->nnz;
  part->a.rowptr = rowptr;
  part->a.rowid = rowid;
  part->a.resident = true;
  SL_TRY(sl_plan_alloc_device(plan, part->nnz * (int64_t)sizeof(int32_t), "a part's columns",
                              (void **)&part->a.col));
  return sl_plan_alloc_device(plan, part->nnz * (int64_t)sley_dtype_bytes(part->a.dtype), "a part's values",
                              (void **)&part->a.val);
}

static sley_status upload_map(cutting *c) {
  const sl_inspection *ins = c->ins;
  const sl_column_map *map = c->map;
  int64_t halo = ins->halo_set.count;
  sl_cut_map *to = &c->device_map;
  *to = (sl_cut_map){.local = map->local,
                     .remote = map->remote,
                     .local_place = map->local_place,
                     .far_place = map->far_place};
  SL_TRY(sl_resident_number(ins));
  if (map->part)
    SL_TRY(sl_resident_upload(ins, map->part, halo, sizeof *map->part, &to->part));
  if (map->place)
    SL_TRY(sl_resident_upload(ins, map->place, halo, sizeof *map->place, &to->place));
  if (map->row_part)
    SL_TRY(sl_resident_upload(ins, map->row_part, ins->block->rows, sizeof *map->row_part, &to->row_part));
  to->words = ins->resident->words;
  return SLEY_OK;
}

static sley_status tally(cutting *c) {
  const sl_inspection *ins = c->ins;
  sl_queue *queue = ins->comm->queue;
  int64_t count = c->count * ins->block->rows;
  SL_TRY(SL_NEW(c->tally, count, "part counts"));
  SL_TRY(queue->ops->alloc_private(queue->device, count * (int64_t)sizeof *c->tally, "part counts",
                                   (void **)&c->device_tally));
  sl_kernel_args args = {
      .op = SL_OP_TALLY,
      .tally = {
          .block = ins->resident->block, .map = c->device_map, .parts = c->count, .tally = c->device_tally}};
  SL_TRY(sl_kernel_run(queue, &args));
  return sl_resident_download(ins, c->tally, c->device_tally, count, sizeof *c->tally);
}

static void free_device(const cutting *c) {
  sl_device *device = c->ins->comm->device;
  device->ops->free(device, c->device_at);
  device->ops->free(device, c->device_tally);
  device->ops->free(device, (void *)c->device_map.row_part);
  device->ops->free(device, (void *)c->device_map.place);
  device->ops->free(device, (void *)c->device_map.part);
}

static sley_status count_set(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  const cutting *c = context;
  for (int p = 0; p < c->count; p++) {
    const int32_t *tallied = c->tally + p * c->ins->block->rows;
    int64_t rows = 0, entries = 0;
    for (int64_t row = begin; row < end; row++) {
      rows += tallied[row] > 0;
      entries += tallied[row];
    }
    __atomic_fetch_add(&c->entries[2 * p], rows, __ATOMIC_RELAXED);
    __atomic_fetch_add(&c->entries[2 * p + 1], entries, __ATOMIC_RELAXED);
  }
  return SLEY_OK;
}

sley_status sl_resident_sizes(const sl_inspection *ins, int parts, int own, const int32_t *part,
                              int64_t *sizes) {
  enum { AT_ONCE = 1 << 14 };
  sl_column_map map = {.local = own, .part = part};
  cutting c = {.ins = ins, .map = &map, .count = parts, .entries = sizes};
  memset(sizes, 0, 2 * (size_t)parts * sizeof *sizes);
  sley_status status = upload_map(&c);
  if (status == SLEY_OK)
    status = tally(&c);
  if (status == SLEY_OK)
    status = sl_team_for(sl_plan_team(ins), ins->block->rows, AT_ONCE, count_set, &c);
  free_device(&c);
  sl_free(c.tally);
  return status;
}

static sley_status upload_values(const sl_inspection *ins) {
  const sley_matrix *block = ins->block;
  size_t bytes = sley_dtype_bytes(block->dtype);
  if (ins->resident->block.val)
    return SLEY_OK;
  return sl_resident_upload(ins, (const char *)block->val + (size_t)block->rowptr[0] * bytes, block->nnz,
                            bytes, &ins->resident->block.val);
}

static sley_status fill(const cutting *c) {
  const sl_inspection *ins = c->ins;
  sl_queue *queue = ins->comm->queue;
  sl_kernel_args args = {.op = SL_OP_CUT,
                         .cut = {.block = ins->resident->block,
                                 .map = c->device_map,
                                 .parts = c->count,
                                 .value_bytes = (int64_t)sley_dtype_bytes(ins->block->dtype),
                                 .at = c->device_at}};
  for (int p = 0; p < c->count; p++) {
    args.cut.col[p] = (int32_t *)c->parts[p].a.col;
    args.cut.val[p] = (void *)c->parts[p].a.val;
  }
  SL_TRY(sl_kernel_run(queue, &args));
  return queue->ops->queue_wait(queue);
}

static sley_status cut_parts(sl_plan *plan, cutting *c) {
  const sl_inspection *ins = c->ins;
  sl_team *team = sl_plan_team(ins);
  int64_t slots = (int64_t)sl_team_size(team) * c->count;
  SL_TRY(upload_map(c));
  if (!c->map->row_part)
    SL_TRY(tally(c));
  SL_TRY(SL_NEW(c->rows, slots, "part counts"));
  SL_TRY(SL_NEW(c->entries, slots, "part counts"));
  SL_TRY(SL_NEW(c->at, at_count(c), "part counts"));
  SL_TRY(sl_team_run(team, count_rows, c));
  sum_counts(c, sl_team_size(team));
  for (int p = 0; p < c->count; p++)
    SL_TRY(take_arrays(plan, c, p));
  SL_TRY(sl_team_run(team, list_rows, c));
  SL_TRY(sl_resident_upload(ins, c->at, at_count(c), sizeof *c->at, &c->device_at));
  SL_TRY(upload_values(ins));
  return fill(c);
}

/* Resets parts that could not be cut. Host memory allocated for them stays with the plan. */
static void forget_arrays(sl_plan *plan, const cutting *c, int kept) {
  sl_plan_free_device(plan, kept);
  for (int p = 0; p < c->count; p++) {
    sl_spmm_matrix *a = &c->parts[p].a;
    *a = (sl_spmm_matrix){.index = a->index, .dtype = a->dtype};
    c->parts[p].nnz = 0;
  }
}

sley_status sl_resident_cut(sl_plan *plan, const sl_inspection *ins, const sl_column_map *map, int count,
                            const sl_part_frame *frames, sl_part *parts) {
  int kept = plan->device_kept.count;
  cutting c = {.ins = ins, .map = map, .count = count, .frames = frames, .parts = parts};
  sley_status status = cut_parts(plan, &c);
  if (status != SLEY_OK)
    forget_arrays(plan, &c, kept);
  free_device(&c);
  sl_free(c.at);
  sl_free(c.entries);
  sl_free(c.rows);
  sl_free(c.tally);
  return status;
}
