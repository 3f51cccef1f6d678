/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts a row block into parts, with all threads of the rank. */
#include "plan/parts.h"

#include <string.h>

#include "base/memory.h"
#include "base/value.h"
#include "plan/resident_cut.h"

/* State of the two passes over the block's rows, which count and then fill. */
typedef struct cut {
  const sl_inspection *ins;
  const sl_column_map *map;
  int count;
  const sl_part_frame *frames;
  sl_part *parts;
  int threads;
  /* For each thread and part: numbers of stored rows and entries; after the prefix sums, positions of the
   * thread's next row and entry. */
  int64_t *rows, *entries;
} cut;

/* Returns the part of an entry with column col; < 0: no part. */
static inline int part_of(const cut *c, int64_t col) {
  const sl_column_map *map = c->map;
  if (!sl_is_remote(c->ins, col))
    return map->local;
  return map->part ? map->part[sl_colset_place(&c->ins->halo_set, col)] : map->remote;
}

/* Returns the part of an entry, and sets its place and turn. */
static inline int locate(const cut *c, int64_t col, int64_t *place, int *turn) {
  const sl_inspection *ins = c->ins;
  const sl_column_map *map = c->map;
  *turn = 0;
  if (!sl_is_remote(ins, col)) {
    *place = map->local_place + col - ins->first_col;
    return map->local;
  }
  int64_t h = sl_colset_place(&ins->halo_set, col);
  *place = map->far_place + (map->place ? map->place[h] : h);
  if (map->turn)
    *turn = map->turn[h];
  return map->part ? map->part[h] : map->remote;
}

static sley_status count_rows(void *context, int thread, int threads) {
  cut *c = context;
  const sley_matrix *block = c->ins->block;
  int64_t *rows = c->rows + (int64_t)thread * c->count, *entries = c->entries + (int64_t)thread * c->count;
  int64_t *last;
  SL_TRY(SL_NEW(last, c->count, "part counts"));
  for (int p = 0; p < c->count; p++) {
    last[p] = -1;
    rows[p] = entries[p] = 0;
  }
  int64_t begin = sl_csr_split(block->rows, block->rowptr, thread, threads);
  int64_t end = sl_csr_split(block->rows, block->rowptr, thread + 1, threads);
  for (int64_t row = begin; row < end && c->map->row_part; row++) {
    rows[c->map->row_part[row]]++;
    entries[c->map->row_part[row]] += block->rowptr[row + 1] - block->rowptr[row];
  }
  for (int64_t row = begin; row < end && !c->map->row_part; row++)
    for (int64_t e = block->rowptr[row]; e < block->rowptr[row + 1]; e++) {
      int p = part_of(c, sl_index_at(block->col, block->index, e));
      if (p < 0)
        continue;
      entries[p]++;
      rows[p] += last[p] != row;
      last[p] = row;
    }
  for (int p = 0; p < c->count; p++)
    if (c->frames[p].whole)
      rows[p] = end - begin;
  sl_free(last);
  return SLEY_OK;
}

static inline void store_entry(const sl_part *part, const sley_matrix *block, int64_t at, int64_t place,
                               int64_t e) {
  sl_index_set((void *)part->a.col, part->a.index, at, place);
  sl_value_copy((void *)part->a.val, at, block->val, e, block->dtype);
  if (part->entry)
    part->entry[at] = e - block->rowptr[0];
}

/* An entry of a row whose turn is not 0, which is stored after the entries of turn 0. */
typedef struct late_entry {
  int64_t place, e;
  int part, turn;
} late_entry;

typedef struct late_entries {
  late_entry *entry;
  int64_t count;
  uint64_t turns; /* bit t: there are entries of turn t */
} late_entries;

/* Allocates memory for the late entries of any one of rows begin .. end - 1. */
static sley_status late_entries_make(const cut *c, int64_t begin, int64_t end, late_entries *out) {
  const int64_t *rowptr = c->ins->block->rowptr;
  int64_t most = 0;
  *out = (late_entries){0};
  for (int64_t row = begin; row < end && c->map->turn; row++)
    most = rowptr[row + 1] - rowptr[row] > most ? rowptr[row + 1] - rowptr[row] : most;
  return SL_NEW(out->entry, most, "entries of a row");
}

/* Stores the late entries of a row, turn by turn. entry_at: for each part, the position of its next entry. */
static void store_late(const cut *c, late_entries *late, int64_t *entry_at) {
  for (uint64_t turn = 0; late->turns >> turn; turn++) {
    if (!(late->turns >> turn & 1))
      continue;
    for (int64_t i = 0; i < late->count; i++) {
      const late_entry *l = &late->entry[i];
      if ((uint64_t)l->turn == turn)
        store_entry(&c->parts[l->part], c->ins->block, entry_at[l->part]++, l->place, l->e);
    }
  }
  late->count = 0;
  late->turns = 0;
}

static inline void store_or_delay(const cut *c, late_entries *late, int part, int turn, int64_t place,
                                  int64_t e, int64_t *entry_at) {
  if (turn == 0) {
    store_entry(&c->parts[part], c->ins->block, entry_at[part]++, place, e);
    return;
  }
  late->entry[late->count++] = (late_entry){.place = place, .e = e, .part = part, .turn = turn};
  late->turns |= UINT64_C(1) << turn;
}

/* The filling pass if whole rows go to parts. */
static sley_status copy_rows(void *context, int thread, int threads) {
  cut *c = context;
  const sley_matrix *block = c->ins->block;
  int64_t *row_at = c->rows + (int64_t)thread * c->count, *entry_at = c->entries + (int64_t)thread * c->count;
  int64_t begin = sl_csr_split(block->rows, block->rowptr, thread, threads);
  int64_t end = sl_csr_split(block->rows, block->rowptr, thread + 1, threads);
  for (int64_t row = begin; row < end; row++) {
    int p = c->map->row_part[row];
    ((int64_t *)c->parts[p].a.rowid)[row_at[p]] = row;
    ((int64_t *)c->parts[p].a.rowptr)[row_at[p]++] = entry_at[p];
    for (int64_t e = block->rowptr[row]; e < block->rowptr[row + 1]; e++) {
      int64_t place;
      int turn;
      locate(c, sl_index_at(block->col, block->index, e), &place, &turn);
      store_entry(&c->parts[p], block, entry_at[p]++, place, e);
    }
  }
  return SLEY_OK;
}

static sley_status fill_rows(void *context, int thread, int threads) {
  cut *c = context;
  const sley_matrix *block = c->ins->block;
  int64_t *row_at = c->rows + (int64_t)thread * c->count, *entry_at = c->entries + (int64_t)thread * c->count;
  int64_t *last = NULL;
  late_entries late;
  int64_t begin = sl_csr_split(block->rows, block->rowptr, thread, threads);
  int64_t end = sl_csr_split(block->rows, block->rowptr, thread + 1, threads);
  sley_status status = late_entries_make(c, begin, end, &late);
  if (status != SLEY_OK)
    return status;
  SL_TRY_GOTO(status, SL_NEW(last, c->count, "part counts"), done);
  for (int p = 0; p < c->count; p++)
    last[p] = -1;
  for (int64_t row = begin; row < end; row++) {
    for (int64_t e = block->rowptr[row]; e < block->rowptr[row + 1]; e++) {
      int64_t place;
      int turn, p = locate(c, sl_index_at(block->col, block->index, e), &place, &turn);
      if (p < 0)
        continue;
      const sl_part *part = &c->parts[p];
      if (!c->frames[p].whole && last[p] != row) {
        ((int64_t *)part->a.rowid)[row_at[p]] = row;
        ((int64_t *)part->a.rowptr)[row_at[p]++] = entry_at[p];
        last[p] = row;
      }
      store_or_delay(c, &late, p, turn, place, e, entry_at);
    }
    store_late(c, &late, entry_at);
    for (int p = 0; p < c->count; p++)
      if (c->frames[p].whole)
        ((int64_t *)c->parts[p].a.rowptr)[row + 1] = entry_at[p];
  }
done:
  sl_free(last);
  sl_free(late.entry);
  return status;
}

/* Converts the threads' counts to first positions; the totals become the sizes of the parts. */
static void prefix_sums(cut *c) {
  for (int p = 0; p < c->count; p++) {
    int64_t rows = 0, entries = 0;
    for (int t = 0; t < c->threads; t++) {
      int64_t *r = &c->rows[(int64_t)t * c->count + p], *e = &c->entries[(int64_t)t * c->count + p];
      int64_t r_count = *r, e_count = *e;
      *r = rows;
      *e = entries;
      rows += r_count;
      entries += e_count;
    }
    c->parts[p].a.rows = rows;
    c->parts[p].nnz = entries;
  }
}

/* Allocates the arrays of a part whose sizes are known. */
static sley_status take_arrays(sl_plan *plan, sl_part *part, bool whole) {
  int64_t *rowptr = sl_plan_alloc(plan, part->a.rows + 1, sizeof *rowptr);
  int64_t *rowid = whole ? NULL : sl_plan_alloc(plan, part->a.rows, sizeof *rowid);
  void *col = sl_plan_alloc(plan, part->nnz, sl_index_bytes(part->a.index));
  void *val = sl_plan_alloc(plan, part->nnz, sley_dtype_bytes(part->a.dtype));
  part->entry = plan->renewable ? sl_plan_alloc(plan, part->nnz, sizeof *part->entry) : NULL;
  if (!rowptr || (!whole && !rowid) || !col || !val || (plan->renewable && !part->entry))
    return SLEY_ERR_MEMORY;
  rowptr[0] = 0;
  rowptr[part->a.rows] = part->nnz;
  part->a.rowptr = rowptr;
  part->a.rowid = rowid;
  part->a.col = col;
  part->a.val = val;
  return SLEY_OK;
}

static sley_index index_of(const sl_plan *plan, const cut *c, const sl_part_frame *frame) {
  int64_t places = SL_BUFFER(plan, frame->x)->rows;
  if (places < c->ins->halo_set.count)
    places = c->ins->halo_set.count; /* a builder may renumber columns later; until then they may be places in
                                      * the halo */
  if (frame->in_place)
    places = plan->segment[c->ins->comm->size];
  if (frame->far)
    places = SL_BUFFER(plan, frame->x)->rows + SL_BUFFER(plan, frame->far)->rows;
  return sl_index_for(places);
}

/* Sets the fields of the parts except their arrays. */
static sley_status frame_parts(const sl_plan *plan, cut *c) {
  SL_TRY(SL_NEW_ZERO(c->parts, c->count, "parts"));
  for (int p = 0; p < c->count; p++) {
    const sl_part_frame *frame = &c->frames[p];
    c->parts[p] = (sl_part){.name = frame->name,
                            .kind = frame->kind,
                            .a = {.index = index_of(plan, c, frame), .dtype = c->ins->block->dtype},
                            .k = c->ins->wishes->k,
                            .x = frame->x,
                            .far = frame->far,
                            .y = SL_BUFFER_Y,
                            .in_place = frame->in_place,
                            .beta = frame->whole || c->map->row_part ? SL_BETA_USER : SL_BETA_ONE,
                            .completes = c->map->row_part,
                            .pieces = frame->pieces,
                            .exchange = frame->exchange,
                            .piece_end = frame->piece_end,
                            .during_pull = frame->during_pull,
                            .arrives_in = -1};
  }
  return SLEY_OK;
}

static sley_status cut_block(sl_plan *plan, cut *c) {
  if (sl_resident_suits(plan, c->ins, c->map, c->count, c->frames, c->parts)) {
    sley_status status = sl_resident_cut(plan, c->ins, c->map, c->count, c->frames, c->parts);
    if (status != SLEY_ERR_MEMORY) /* if device memory is short, the host cuts the parts */
      return status;
  }
  int64_t slots = (int64_t)c->threads * c->count;
  SL_TRY(SL_NEW(c->rows, slots, "part counts"));
  SL_TRY(SL_NEW(c->entries, slots, "part counts"));
  sl_team *team = sl_plan_team(c->ins);
  SL_TRY(sl_team_run(team, count_rows, c));
  prefix_sums(c);
  for (int p = 0; p < c->count; p++)
    SL_TRY(take_arrays(plan, &c->parts[p], c->frames[p].whole));
  return sl_team_run(team, c->map->row_part ? copy_rows : fill_rows, c);
}

/* Returns the part of halo entry h, a row of owner p, and sets *next to the end of the run of entries in the
 * same part, at most `end`. */
static int part_of_run(const sl_column_map *map, int p, int64_t h, int64_t end, int64_t *next) {
  *next = end;
  if (map->part_of_owner)
    return map->part_of_owner[p];
  if (!map->part)
    return map->remote;
  for (*next = h + 1; *next < end && map->part[*next] == map->part[h];)
    ++*next;
  return map->part[h];
}

/* Returns whether every entry goes to the local part, and that part stores every row. */
static bool is_one_part(const cut *c) {
  const sl_column_map *map = c->map;
  const int64_t *begin = c->ins->halo->begin;
  if (map->row_part || c->ins->brief || !c->frames[map->local].whole)
    return false;
  for (int p = 0; p < c->ins->comm->size; p++)
    for (int64_t h = begin[p], next; h < begin[p + 1]; h = next)
      if (part_of_run(map, p, h, begin[p + 1], &next) != map->local)
        return false;
  return true;
}

/* Returns whether the block's column numbers and their order are already right for the part. */
static bool is_placed(const cut *c, sley_index index) {
  const sl_inspection *ins = c->ins;
  if (c->map->turn || index != ins->block->index || c->map->local_place != ins->first_col)
    return false;
  for (int64_t h = 0; h < ins->halo_set.count; h++)
    if ((c->map->place ? c->map->place[h] : h) != ins->halo->row[h])
      return false;
  return true;
}

/* Writes the columns of the only part, from entry begin of the block on. */
static sley_status renumber(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  cut *c = context;
  const sley_matrix *block = c->ins->block;
  const sl_part *part = &c->parts[c->map->local];
  for (int64_t e = begin; e < end; e++) {
    int64_t place;
    int turn;
    locate(c, sl_index_at(block->col, block->index, block->rowptr[0] + e), &place, &turn);
    sl_index_set((void *)part->a.col, part->a.index, e, place);
  }
  return SLEY_OK;
}

/* Writes the columns and values of the only part, row by row in the order of turns. */
static sley_status reorder(void *context, int thread, int threads) {
  cut *c = context;
  const sley_matrix *block = c->ins->block;
  int local = c->map->local;
  late_entries late;
  int64_t begin = sl_csr_split(block->rows, block->rowptr, thread, threads);
  int64_t end = sl_csr_split(block->rows, block->rowptr, thread + 1, threads);
  SL_TRY(late_entries_make(c, begin, end, &late));
  int64_t *entry_at = c->entries + (int64_t)thread * c->count;
  entry_at[local] = block->rowptr[begin] - block->rowptr[0];
  for (int64_t row = begin; row < end; row++) {
    for (int64_t e = block->rowptr[row]; e < block->rowptr[row + 1]; e++) {
      int64_t place;
      int turn;
      locate(c, sl_index_at(block->col, block->index, e), &place, &turn);
      store_or_delay(c, &late, local, turn, place, e, entry_at);
    }
    store_late(c, &late, entry_at);
  }
  sl_free(late.entry);
  return SLEY_OK;
}

static sley_status shift_rows(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  cut *c = context;
  const int64_t *from = c->ins->block->rowptr;
  int64_t *to = (int64_t *)c->parts[c->map->local].a.rowptr;
  for (int64_t i = begin; i < end; i++)
    to[i] = from[i] - from[0];
  return SLEY_OK;
}

/* Makes the block one part; other parts get no entries. */
static sley_status take_block(sl_plan *plan, cut *c) {
  enum { AT_ONCE = 1 << 16 };
  const sley_matrix *block = c->ins->block;
  sl_part *part = &c->parts[c->map->local];
  for (int p = 0; p < c->count; p++) {
    c->parts[p].a.rows = c->frames[p].whole ? block->rows : 0;
    if (p != c->map->local)
      SL_TRY(take_arrays(plan, &c->parts[p], c->frames[p].whole));
  }
  plan->uses_block = true;
  part->nnz = block->nnz;
  part->a.rowptr = block->rowptr;
  part->a.col = block->col;
  part->a.val = block->val;
  if (is_placed(c, part->a.index))
    return SLEY_OK;
  sl_team *team = sl_plan_team(c->ins);
  part->a.col = sl_plan_alloc(plan, block->nnz, sl_index_bytes(part->a.index));
  if (!part->a.col)
    return SLEY_ERR_MEMORY;
  if (block->rowptr[0] != 0) {
    part->a.val = (const char *)block->val + (size_t)block->rowptr[0] * sley_dtype_bytes(block->dtype);
    part->a.rowptr = sl_plan_alloc(plan, block->rows + 1, sizeof *part->a.rowptr);
    if (!part->a.rowptr)
      return SLEY_ERR_MEMORY;
    SL_TRY(sl_team_for(team, block->rows + 1, AT_ONCE, shift_rows, c));
  }
  if (!c->map->turn)
    return sl_team_for(team, block->nnz, AT_ONCE, renumber, c);
  part->a.val = sl_plan_alloc(plan, block->nnz, sley_dtype_bytes(block->dtype));
  part->entry = plan->renewable ? sl_plan_alloc(plan, block->nnz, sizeof *part->entry) : NULL;
  SL_TRY(part->a.val && (part->entry || !plan->renewable) ? SLEY_OK : SLEY_ERR_MEMORY);
  SL_TRY(SL_NEW(c->entries, (int64_t)c->threads * c->count, "part counts"));
  return sl_team_run(team, reorder, c);
}

int64_t sl_block_bytes(const sley_matrix *block) {
  return block->nnz * (int64_t)(sl_index_bytes(block->index) + sley_dtype_bytes(block->dtype)) +
         (block->rows + 1) * (int64_t)sizeof(int64_t);
}

/* Bytes of the arrays that the only part shares with the block. */
static int64_t shared_bytes(const sl_plan *plan, const cut *c) {
  const sley_matrix *block = c->ins->block;
  int64_t rows = (block->rows + 1) * (int64_t)sizeof(int64_t);
  if (is_placed(c, index_of(plan, c, &c->frames[c->map->local])))
    return sl_block_bytes(block);
  return (c->map->turn ? 0 : block->nnz * (int64_t)sley_dtype_bytes(block->dtype)) +
         (block->rowptr[0] == 0 ? rows : 0);
}

/* Sets the approximate number of entries of the parts from number `first` on. The entries of an owner's rows
 * are divided in proportion to its halo entries. */
static void tell_work(const sl_plan *plan, const cut *c, int first) {
  const sl_inspection *ins = c->ins;
  const sl_column_map *map = c->map;
  if (map->row_part)
    return;
  SL_PART(plan, first + map->local)->work += (double)ins->owner_nnz[ins->comm->rank];
  for (int p = 0; p < ins->comm->size; p++) {
    int64_t begin = ins->halo->begin[p], end = ins->halo->begin[p + 1];
    double each = (double)ins->owner_nnz[p] / (double)(end > begin ? end - begin : 1);
    for (int64_t h = begin, next; h < end; h = next) { /* neighbouring entries are mostly in the same part */
      int part = part_of_run(map, p, h, end, &next);
      if (part >= 0)
        SL_PART(plan, first + part)->work += each * (double)(next - h);
    }
  }
}

sley_status sl_parts_cut(sl_plan *plan, const sl_inspection *ins, const sl_column_map *map, int count,
                         const sl_part_frame *frames, int *first) {
  *first = plan->parts.count;
  cut c = {
      .ins = ins, .map = map, .count = count, .frames = frames, .threads = sl_team_size(sl_plan_team(ins))};
  bool one = is_one_part(&c);
  int64_t shared = one ? shared_bytes(plan, &c) : 0;
  /* A device with its own memory holds copies of shared arrays. */
  if (ins->wishes->owned || !ins->comm->device->ops->host_addresses)
    plan->memory_bytes += shared;
  if (plan->dry) {
    plan->memory_bytes += sl_block_bytes(ins->block) - shared;
    if (plan->renewable && (!one || map->turn))
      plan->memory_bytes += ins->block->nnz * (int64_t)sizeof(int64_t);
    for (int p = 0; p < count; p++) {
      int64_t rows = one && p != map->local ? 0 : ins->block->rows;
      sl_part part = {.name = "dry",
                      .kind = frames[p].kind,
                      .a = {.rows = rows},
                      .x = frames[p].x,
                      .y = SL_BUFFER_Y,
                      .pieces = frames[p].pieces,
                      .exchange = frames[p].exchange,
                      .arrives_in = -1};
      SL_TRY(sl_plan_add_part(plan, &part, NULL));
    }
    tell_work(plan, &c, *first);
    return SLEY_OK;
  }
  sley_status status = frame_parts(plan, &c);
  if (status == SLEY_OK)
    status = one ? take_block(plan, &c) : cut_block(plan, &c);
  for (int p = 0; p < count && status == SLEY_OK; p++)
    status = sl_plan_add_part(plan, &c.parts[p], NULL);
  if (status == SLEY_OK)
    tell_work(plan, &c, *first);
  sl_free(c.parts);
  sl_free(c.entries);
  sl_free(c.rows);
  return status;
}

sley_status sl_parts_around_own(const sl_inspection *ins, int below, int above, int32_t **part) {
  SL_TRY(SL_NEW(*part, ins->halo_set.count, "the column map"));
  for (int64_t h = 0; h < ins->halo_set.count; h++)
    (*part)[h] = h < ins->halo->begin[ins->comm->rank] ? below : above;
  return SLEY_OK;
}

sley_status sl_plan_cut(sl_plan *plan, const sl_inspection *ins) {
  const sl_division *division = &plan->division;
  int first;
  if (division->count == 0)
    return SLEY_OK;
  sley_status status = sl_parts_cut(plan, ins, &division->map, division->count, division->frame, &first);
  sl_plan_divide_anew(plan, &(sl_division){.count = 0});
  return status;
}

sley_status sl_part_from_items(sl_plan *plan, const sl_part *frame, const sl_item *items, int64_t count,
                               bool whole, int64_t rows, int64_t row_first, int64_t col_first, int *index) {
  sl_part part = *frame;
  part.nnz = count;
  part.a.rows = rows;
  if (!whole) {
    part.a.rows = 0;
    for (int64_t i = 0; i < count; i++)
      part.a.rows += i == 0 || items[i].row != items[i - 1].row;
  }
  SL_TRY(take_arrays(plan, &part, whole));
  int64_t *rowptr = (int64_t *)part.a.rowptr, *rowid = (int64_t *)part.a.rowid, row = -1;
  memset(rowptr, 0, ((size_t)part.a.rows + 1) * sizeof *rowptr);
  for (int64_t i = 0; i < count; i++) {
    row = whole ? items[i].row - row_first : row + (i == 0 || items[i].row != items[i - 1].row);
    if (!whole)
      rowid[row] = items[i].row - row_first;
    rowptr[row + 1]++;
  }
  for (int64_t r = 0; r < part.a.rows; r++)
    rowptr[r + 1] += rowptr[r];
  row = -1;
  for (int64_t i = 0; i < count; i++) { /* rowptr[row]: position of the row's next entry */
    row = whole ? items[i].row - row_first : row + (i == 0 || items[i].row != items[i - 1].row);
    sl_index_set((void *)part.a.col, part.a.index, rowptr[row], items[i].col - col_first);
    sl_value_set((void *)part.a.val, part.a.dtype, rowptr[row]++, items[i].value);
  }
  memmove(rowptr + 1, rowptr,
          (size_t)part.a.rows * sizeof *rowptr); /* the end of each row is the start of the next */
  rowptr[0] = 0;
  return sl_plan_add_part(plan, &part, index);
}
