/* SPDX-License-Identifier: Apache-2.0 */
/* Row blocks divided into parts by random maps. Every entry must be in its part, at its position, in its row,
 * in stored order, or in the map's turns if it has any. Arrays that a part shares with the block must not be
 * copied. */
#include "ranks.h"

#include <stdatomic.h>

#include "base/random.h"
#include "plan/parts.h"

enum { ROUNDS = 500, MAX_RANKS = 4, PARTS = 3, ROWS = 40, TURNS = 4 };

/* The way in which a map distributes the halo. */
typedef enum map_kind { ONE_PART, PLACED, TWO_PARTS, BELOW_AND_ABOVE, SOME_NOWHERE, KINDS } map_kind;

typedef struct sample {
  uint64_t round;
  const sley_matrix *matrix;
  int64_t begin[MAX_RANKS + 1];
  map_kind kind;
  _Atomic int borrowed, renumbered;
} sample;

typedef struct map_arrays {
  int32_t *part;
  int64_t *place;
  uint8_t *turn;
} map_arrays;

/* The map of a kind. Positions are shuffled by a stride, unless they must equal the columns. */
static sl_column_map make_map(const sl_inspection *ins, map_kind kind, bool turns, map_arrays *arrays) {
  int64_t halo = ins->halo_set.count, below = ins->halo->begin[ins->comm->rank];
  sl_column_map map = {.local_place = kind == PLACED ? ins->first_col : 3, .remote = kind == TWO_PARTS};
  for (int64_t h = 0; h < halo; h++) {
    arrays->place[h] = kind == PLACED ? ins->halo->row[h] : (h * 7 + 5) % ins->block->cols;
    arrays->turn[h] = (uint8_t)((h * 5 + 1) % TURNS);
    arrays->part[h] = kind == BELOW_AND_ABOVE ? (h < below ? 1 : 2) : kind == SOME_NOWHERE ? h % 3 - 1 : 0;
  }
  if (kind == BELOW_AND_ABOVE || kind == SOME_NOWHERE)
    map.part = arrays->part;
  if (kind != TWO_PARTS)
    map.place = arrays->place;
  if (turns)
    map.turn = arrays->turn;
  return map;
}

static double value_at(const void *val, sley_dtype dtype, int64_t e) {
  return dtype == SLEY_F32 ? ((const float *)val)[e] : ((const double *)val)[e];
}

/* Checks that the parts hold exactly the block's entries. */
static sley_status check_entries(const sl_inspection *ins, const sl_column_map *map, const sl_plan *plan) {
  const sley_matrix *block = ins->block;
  int64_t stored[PARTS] = {0}, at[PARTS];
  for (int p = 0; p < PARTS; p++)
    at[p] = SL_PART(plan, p)->a.rowptr[0];
  for (int64_t row = 0; row < block->rows; row++) {
    bool seen[PARTS] = {false};
    int64_t count = block->rowptr[row + 1] - block->rowptr[row];
    for (int64_t i = 0; i < TURNS * count; i++) {
      int64_t e = block->rowptr[row] + i % count;
      int64_t col = sl_index_at(block->col, block->index, e), place = map->local_place + col - ins->first_col;
      int p = map->local, turn = 0;
      if (sl_is_remote(ins, col)) {
        int64_t h = 0;
        while (ins->halo->row[h] != col)
          h++;
        place = map->place ? map->place[h] : h;
        p = map->part ? map->part[h] : map->remote;
        turn = map->turn ? map->turn[h] : 0;
      }
      if (p < 0 || turn != i / count)
        continue;
      const sl_spmm_matrix *a = &SL_PART(plan, p)->a;
      EXPECT(at[p] < a->rowptr[a->rows]);
      EXPECT(sl_index_at(a->col, a->index, at[p]) == place);
      EXPECT(value_at(a->val, a->dtype, at[p]) == value_at(block->val, block->dtype, e));
      at[p]++;
      seen[p] = true;
    }
    for (int p = 0; p < PARTS; p++) {
      const sl_spmm_matrix *a = &SL_PART(plan, p)->a;
      if (!seen[p] && a->rowid)
        continue;
      EXPECT(a->rowid ? a->rowid[stored[p]] == row : p == 0);
      EXPECT(a->rowptr[++stored[p]] == at[p]);
    }
  }
  for (int p = 0; p < PARTS; p++) {
    const sl_part *part = SL_PART(plan, p);
    EXPECT(stored[p] == part->a.rows && at[p] == part->a.rowptr[stored[p]]);
    EXPECT(part->nnz == at[p] - part->a.rowptr[0]);
  }
  return SLEY_OK;
}

/* Checks that a single part shares the block's arrays as far as possible. */
static sley_status check_borrowing(sample *s, const sl_inspection *ins, bool turns, const sl_plan *plan) {
  const sley_matrix *block = ins->block;
  const sl_spmm_matrix *a = &SL_PART(plan, 0)->a;
  bool one = s->kind == ONE_PART || s->kind == PLACED || ins->halo_set.count == 0;
  EXPECT(plan->uses_block == one);
  if (!one)
    return SLEY_OK;
  bool placed = !turns && block->index == a->index &&
                (s->kind == PLACED || (ins->halo_set.count == 0 && ins->first_col == 3));
  EXPECT((a->col == block->col) == placed);
  if (placed)
    EXPECT(a->rowptr == block->rowptr && a->val == block->val);
  if (block->rowptr[0] == 0)
    EXPECT(a->rowptr == block->rowptr && (turns || a->val == block->val));
  if (turns)
    return SLEY_OK;
  const char *values = block->val, *own = a->val;
  EXPECT(own >= values &&
         own <= values + block->rowptr[block->rows] * (int64_t)sley_dtype_bytes(block->dtype));
  atomic_fetch_add(placed ? &s->borrowed : &s->renumbered, 1);
  return SLEY_OK;
}

static sley_status cut_and_check(sample *s, const sl_inspection *ins, map_arrays *arrays) {
  const sl_part_frame frames[PARTS] = {{.name = "whole", .whole = true}, {.name = "one"}, {.name = "two"}};
  sl_column_map map = make_map(ins, s->kind, s->round % 7 < 2, arrays);
  sl_plan plan, dry;
  int first;
  SL_TRY(sl_plan_begin(ins, "none", false, &plan));
  sley_status status = sl_parts_cut(&plan, ins, &map, PARTS, frames, &first);
  if (status == SLEY_OK)
    status = check_entries(ins, &map, &plan);
  if (status == SLEY_OK)
    status = check_borrowing(s, ins, map.turn != NULL, &plan);
  if (status == SLEY_OK)
    status = sl_plan_begin(ins, "none", true, &dry);
  if (status == SLEY_OK) {
    status = sl_parts_cut(&dry, ins, &map, PARTS, frames, &first);
    /* A dry plan does not count the row pointers of parts without rows. */
    if (status == SLEY_OK && plan.uses_block && ins->block->index == SLEY_I32 &&
        plan.memory_bytes != dry.memory_bytes + (PARTS - 1) * (int64_t)sizeof(int64_t))
      status = sl_fail(SLEY_ERR_INTERNAL, "a dry plan says %lld bytes, a built one %lld",
                       (long long)dry.memory_bytes, (long long)plan.memory_bytes);
    sl_plan_free(&dry);
  }
  sl_plan_free(&plan);
  return status;
}

static sley_status rank_main(sl_comm *comm, void *arg) {
  sample *s = arg;
  int64_t rows = s->begin[comm->rank + 1] - s->begin[comm->rank];
  sley_matrix *block;
  sl_inspection ins;
  sl_plan_wishes wishes = sl_plan_wishes_for(4, s->matrix->dtype);
  SL_TRY(sl_matrix_view(s->matrix, s->begin[comm->rank], rows, &block));
  sley_status status = sl_inspect(comm, block, s->begin, s->begin, &wishes, &ins);
  if (status == SLEY_OK) {
    map_arrays arrays = {calloc((size_t)ins.halo_set.count + 1, sizeof *arrays.part),
                         calloc((size_t)ins.halo_set.count + 1, sizeof *arrays.place),
                         calloc((size_t)ins.halo_set.count + 1, sizeof *arrays.turn)};
    status = cut_and_check(s, &ins, &arrays);
    free(arrays.part);
    free(arrays.place);
    free(arrays.turn);
    sl_inspection_free(&ins);
  }
  sley_matrix_destroy(block);
  return status;
}

/* A square matrix with sorted random columns of 32 or 64 bits. */
static sley_matrix *generate(uint64_t round) {
  int64_t n = 1 + sl_below(sl_random(1, round, 0), ROWS), nnz = 0;
  sley_csr csr = {.rows = n,
                  .cols = n,
                  .index = round % 5 == 0 ? SLEY_I64 : SLEY_I32,
                  .dtype = round % 2 ? SLEY_F64 : SLEY_F32};
  int64_t *rowptr = calloc((size_t)n + 1, sizeof *rowptr);
  char *col = malloc((size_t)(n * n) * 8), *val = malloc((size_t)(n * n) * 8);
  int64_t odds = 1 + sl_below(sl_random(1, round, 1), 12);
  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = 0; j < n; j++) {
      if (sl_below(sl_random(2, round, (uint64_t)(i * n + j)), odds) > 0)
        continue;
      sl_index_set(col, csr.index, nnz, j);
      if (csr.dtype == SLEY_F32)
        ((float *)(void *)val)[nnz++] = (float)(i * n + j);
      else
        ((double *)(void *)val)[nnz++] = (double)(i * n + j);
    }
    rowptr[i + 1] = nnz;
  }
  csr.rowptr = rowptr;
  csr.col = col;
  csr.val = val;
  sley_matrix *matrix;
  assert_sley_ok(sley_matrix_from_csr(&csr, SLEY_COPY, &matrix));
  free(rowptr);
  free(col);
  free(val);
  return matrix;
}

static void parts_hold_the_block(void **state) {
  (void)state;
  sample s = {0};
  for (s.round = 0; s.round < ROUNDS; s.round++) {
    sley_matrix *matrix = generate(s.round);
    int ranks = 1 + (int)(s.round % MAX_RANKS);
    s.matrix = matrix;
    s.kind = (map_kind)sl_below(sl_random(3, s.round, 0), KINDS);
    assert_sley_ok(sley_partition_rows(matrix, s.round % 3 ? "rows" : "nnz", ranks, s.begin));
    rank_case c = {
        .transport = "threads", .ranks = ranks, .workgroup = ranks, .threads = 1 + (int)(s.round % 3)};
    assert_case_ok(&c, run_case(&c, rank_main, &s));
    sley_matrix_destroy(matrix);
  }
  assert_true(s.borrowed > 50 && s.renumbered > 50);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(parts_hold_the_block)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
