/* SPDX-License-Identifier: Apache-2.0 */
/* Inspection and cutting of a row block by the operations of op_inspect.h: the reference. Plans for CPUs do
 * not use them, because their threads have the block in memory already. */
#include <string.h>

#include "device/cpu/cpu.h"

static bool is_remote(const sl_block_arrays *b, int64_t col) {
  return col < b->first || col >= b->first + b->count;
}

static int64_t number_of(const sl_colset_word *words, int64_t col) {
  const sl_colset_word *word = &words[col / 64];
  return word->before + __builtin_popcountll(word->bits & ((UINT64_C(1) << (col % 64)) - 1));
}

static int owner_of(const sl_columns_args *a, int64_t col) {
  int low = 0, high = a->ranks - 1;
  while (low < high) {
    int middle = (low + high) / 2;
    if (col < a->owner_begin[middle + 1])
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

static sley_status columns_run(sl_queue *queue, const sl_kernel_args *args) {
  (void)queue;
  const sl_columns_args *a = &args->columns;
  for (int64_t e = 0; e < a->block.entries; e++) {
    int64_t col = a->block.col[e];
    a->owner_nnz[owner_of(a, col)]++;
    if (is_remote(&a->block, col))
      a->bits[col / 64] |= UINT64_C(1) << (col % 64);
  }
  return SLEY_OK;
}

static sley_status needs_run(sl_queue *queue, const sl_kernel_args *args) {
  (void)queue;
  const sl_needs_args *a = &args->needs;
  const sl_block_arrays *b = &a->block;
  int piece = 0;
  for (int64_t row = 0; row < b->rows; row++) {
    while (piece + 1 < a->pieces && a->piece_row[piece + 1] <= row)
      piece++;
    a->needs[row] = 0;
    for (int64_t e = b->rowptr[row] - b->rowptr[0]; e < b->rowptr[row + 1] - b->rowptr[0]; e++) {
      if (!is_remote(b, b->col[e]))
        continue;
      int32_t *at = &a->piece[number_of(a->words, b->col[e])];
      a->needs[row] = 1;
      *at = piece < *at ? piece : *at;
    }
  }
  return SLEY_OK;
}

/* Returns the part to which an entry belongs, and in *place its position in that part. */
static int locate(const sl_block_arrays *b, const sl_cut_map *map, int64_t row, int64_t col, int64_t *place) {
  int part = map->local;
  *place = map->local_place + col - b->first;
  if (is_remote(b, col)) {
    int64_t h = number_of(map->words, col);
    *place = map->far_place + (map->place ? map->place[h] : h);
    part = map->part ? map->part[h] : map->remote;
  }
  return map->row_part ? map->row_part[row] : part;
}

static sley_status tally_run(sl_queue *queue, const sl_kernel_args *args) {
  (void)queue;
  const sl_tally_args *a = &args->tally;
  const sl_block_arrays *b = &a->block;
  memset(a->tally, 0, (size_t)(a->parts * b->rows) * sizeof *a->tally);
  for (int64_t row = 0; row < b->rows; row++)
    for (int64_t e = b->rowptr[row] - b->rowptr[0]; e < b->rowptr[row + 1] - b->rowptr[0]; e++) {
      int64_t place;
      int part = locate(b, &a->map, row, b->col[e], &place);
      if (part >= 0)
        a->tally[part * b->rows + row]++;
    }
  return SLEY_OK;
}

static sley_status cut_run(sl_queue *queue, const sl_kernel_args *args) {
  (void)queue;
  const sl_cut_args *a = &args->cut;
  const sl_block_arrays *b = &a->block;
  size_t bytes = (size_t)a->value_bytes;
  for (int64_t row = 0; row < b->rows; row++) {
    int64_t next[SL_CUT_PARTS];
    for (int p = 0; p < a->parts; p++)
      next[p] = a->at[a->map.row_part ? row : p * b->rows + row];
    for (int64_t e = b->rowptr[row] - b->rowptr[0]; e < b->rowptr[row + 1] - b->rowptr[0]; e++) {
      int64_t place;
      int part = locate(b, &a->map, row, b->col[e], &place);
      if (part < 0)
        continue;
      int64_t at = next[part]++;
      a->col[part][at] = (int32_t)place;
      memcpy((char *)a->val[part] + (size_t)at * bytes, (const char *)b->val + (size_t)e * bytes, bytes);
    }
  }
  return SLEY_OK;
}

static bool inspect_ok(const sl_kernel_args *args) {
  (void)args;
  return true;
}

#define INSPECTION(kernel_name, operation, function)                                                         \
  {                                                                                                          \
    .name = kernel_name, .op = operation, .ok = inspect_ok, .cost = sl_cost_of_bytes,                        \
    SL_KERNEL_KEEPS_NOTHING, .run = function                                                                 \
  }

const sl_kernel sl_cpu_columns = INSPECTION("columns", SL_OP_COLUMNS, columns_run),
                sl_cpu_needs = INSPECTION("needs", SL_OP_NEEDS, needs_run),
                sl_cpu_tally = INSPECTION("tally", SL_OP_TALLY, tally_run),
                sl_cpu_cut = INSPECTION("cut", SL_OP_CUT, cut_run);
