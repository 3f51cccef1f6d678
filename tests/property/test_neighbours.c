/* SPDX-License-Identifier: Apache-2.0 */
/* Neighbour partitions on random matrices: every entry must be in one partition of its half; a product that
 * is summed by partitions and slots must equal the plain product; warps must take each partition once. The
 * model must have the paper's numbers, and the search for a shape must find the expected shape without timing
 * any shape twice. */
#include "support.h"

#include <math.h>

#include "base/memory.h"
#include "base/random.h"
#include "device/neighbour_schedule.h"
#include "device/neighbour_search.h"
#include "device/neighbours.h"

enum { RANKS = 3, MOST_ROWS = 60, MOST_COLS = 90 };

typedef struct sample {
  int64_t rows, segment[RANKS + 1], rowptr[MOST_ROWS + 1];
  int64_t col[MOST_ROWS * MOST_COLS];
  double val[MOST_ROWS * MOST_COLS], x[MOST_COLS];
  int own;
} sample;

/* Rows of very different lengths, some empty; segments may be empty too. */
static void draw(uint64_t seed, sample *s) {
  uint64_t at = 0;
  s->rows = sl_below(sl_random(seed, at++, 0), MOST_ROWS + 1);
  s->segment[0] = 0;
  for (int p = 0; p < RANKS; p++)
    s->segment[p + 1] = s->segment[p] + sl_below(sl_random(seed, at++, 0), MOST_COLS / RANKS + 1);
  s->own = (int)sl_below(sl_random(seed, at++, 0), RANKS);
  int64_t entries = (int64_t)(seed % 4), cols = s->segment[RANKS];
  for (int64_t i = 0; i < s->rows; i++) {
    s->rowptr[i] = entries;
    double share = sl_unit(sl_random(seed, at++, 0));
    for (int64_t j = 0; j < cols; j++)
      if (sl_unit(sl_random(seed, at++, 0)) < share * share * share) {
        s->col[entries] = j;
        s->val[entries++] = sl_unit(sl_random(seed, at++, 0)) - 0.5;
      }
  }
  s->rowptr[s->rows] = entries;
  for (int64_t j = 0; j < cols; j++)
    s->x[j] = sl_unit(sl_random(seed, at++, 0)) - 0.5;
}

/* Sums the partitions of a half, to y or to their slots. */
static void sum_parts(const sample *s, const sl_neighbour_half *half, const sl_neighbour_part *parts,
                      int64_t count, int ps, bool remote, double *y, double *slots) {
  for (int64_t p = 0; p < count; p++) {
    const sl_neighbour_part *part = &parts[p];
    assert_true(part->count >= 1 && part->count <= ps);
    assert_true(part->begin >= half->rowptr[part->row]);
    assert_true(part->begin + part->count <= half->rowptr[part->row + 1]);
    double sum = 0;
    for (int64_t e = part->begin; e < part->begin + part->count; e++) {
      int owner = half->owner[e];
      assert_true(half->col[e] >= s->segment[owner] && half->col[e] < s->segment[owner + 1]);
      assert_int_equal(remote, owner != s->own);
      sum += ((const double *)half->val)[e] * s->x[half->col[e]];
    }
    *(part->slot < 0 ? &y[part->row] : &slots[part->slot]) = sum;
  }
}

/* Checks that every value of the matrix is at its position in its half. */
static void check_places(const sample *s, const sl_neighbour_split *split) {
  for (int64_t e = s->rowptr[0]; e < s->rowptr[s->rows]; e++) {
    int64_t at = e - s->rowptr[0];
    const sl_neighbour_word *word = &split->word[at / SL_NEIGHBOUR_WORD];
    uint32_t bit = UINT32_C(1) << at % SL_NEIGHBOUR_WORD;
    int64_t remotes = word->remotes + __builtin_popcount(word->remote & (bit - 1));
    bool remote = s->col[e] < s->segment[s->own] || s->col[e] >= s->segment[s->own + 1];
    assert_int_equal((word->remote & bit) != 0, remote);
    const double *val = remote ? split->remote.val : split->local.val;
    assert_true(val[remote ? remotes : at - remotes] == s->val[e]);
  }
}

/* Checks that with whole rows no row has two partitions in a half. */
static void check_longest(const sl_neighbour_split *split, const sl_neighbour_lists *lists, int ps) {
  int64_t longest = 0, halves = 0;
  for (int64_t i = 0; i < split->rows; i++) {
    int64_t local = split->local.rowptr[i + 1] - split->local.rowptr[i],
            remote = split->remote.rowptr[i + 1] - split->remote.rowptr[i];
    longest = local > longest ? local : longest;
    longest = remote > longest ? remote : longest;
    halves += (local > 0) + (remote > 0);
  }
  assert_int_equal(lists->longest, longest < ps ? longest : ps);
  if (ps == SL_NEIGHBOUR_WHOLE)
    assert_int_equal(lists->locals + lists->remotes, halves);
}

static void sums_are_the_product(void **state) {
  (void)state;
  sample *s = malloc(sizeof *s);
  assert_non_null(s);
  for (uint64_t seed = 1; seed <= 200; seed++) {
    draw(seed, s);
    sl_spmm_matrix a = {.rows = s->rows,
                        .rowptr = s->rowptr,
                        .col = s->col,
                        .val = s->val,
                        .index = SLEY_I64,
                        .dtype = SLEY_F64};
    sl_neighbour_split split;
    assert_sley_ok(sl_neighbour_split_make(&a, s->segment, RANKS, s->own, &split));
    check_places(s, &split);
    for (int step = 0; step < 7; step++) {
      int ps = step == 6 ? SL_NEIGHBOUR_WHOLE : seed % 2 ? (2 << step) - 1 : 1 << step;
      sl_neighbour_lists lists;
      assert_sley_ok(sl_neighbour_lists_make(&split, ps, &lists));
      check_longest(&split, &lists, ps);
      double y[MOST_ROWS], *slots = malloc((size_t)(lists.slots + 1) * sizeof *slots);
      for (int64_t i = 0; i < s->rows; i++)
        y[i] = NAN;
      for (int64_t i = 0; i < lists.slots; i++)
        slots[i] = NAN;
      sum_parts(s, &split.local, lists.local, lists.locals, ps, false, y, slots);
      sum_parts(s, &split.remote, lists.remote, lists.remotes, ps, true, y, slots);
      for (int64_t j = 0; j < lists.joins; j++) {
        const sl_neighbour_row *row = &lists.joined[j];
        assert_true(isnan(y[row->row]));
        assert_true(row->slots != 1);
        y[row->row] = 0;
        for (int64_t i = 0; i < row->slots; i++)
          y[row->row] += slots[row->first_slot + i];
      }
      for (int64_t i = 0; i < s->rows; i++) {
        double want = 0;
        for (int64_t e = s->rowptr[i]; e < s->rowptr[i + 1]; e++)
          want += s->val[e] * s->x[s->col[e]];
        assert_true(fabs(y[i] - want) < 1e-12);
      }
      free(slots);
      sl_neighbour_lists_free(&lists);
    }
    sl_neighbour_split_free(&split);
  }
  free(s);
}

/* Takes the partitions begin .. end - 1 of a list that are below most, and checks that they follow those
 * taken before. */
static int64_t take(int64_t *taken, int64_t begin, int64_t end, int64_t most) {
  end = end < most ? end : most;
  if (end <= begin)
    return 0;
  assert_int_equal(begin, *taken);
  *taken = end;
  return end - begin;
}

static void warps_take_each_partition_once(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < 500; seed++) {
    int64_t locals = sl_below(sl_random(seed, 0, 0), 100), remotes = sl_below(sl_random(seed, 1, 0), 100);
    int dist = 1 + (int)sl_below(sl_random(seed, 2, 0), 16);
    bool apart = seed % 2;
    int64_t warps = sl_neighbour_warps(locals, remotes, dist, apart), local = 0, remote = 0;
    for (int64_t w = 0; w < warps + 3; w++) {
      sl_neighbour_share share = sl_neighbour_share_of(locals, remotes, dist, apart, w);
      int64_t near = take(&local, share.begin, share.end, share.locals),
              far = take(&remote, share.begin, share.end, share.remotes);
      assert_int_equal(share.end - share.begin, apart ? 2 * dist : dist);
      assert_int_equal(near + far > 0, w < warps);
      if (apart) /* of one kind, and the local ones first */
        assert_true(near == 0 || (far == 0 && remote == 0));
    }
    assert_int_equal(local, locals);
    assert_int_equal(remote, remotes);
  }
}

static void the_model_has_the_papers_numbers(void **state) {
  (void)state;
  sl_neighbour_facts facts = {.locals = 1000,
                              .remotes = 600,
                              .longest = 70,
                              .k = 16,
                              .value_bytes = 4,
                              .sum_bytes = 4,
                              .processors = 100};
  sl_neighbour_model model = sl_neighbour_model_of(&(sl_neighbour_shape){16, 2, 4}, &facts);
  assert_int_equal(model.workload, 2 * 16 * 16 * 2);
  assert_int_equal(model.shared_bytes, 16 * 4 * 4 + 2 * 4 * 16 * 4);
  assert_int_equal(model.warps, 500);
  assert_int_equal(model.blocks, 125);
  assert_true(model.blocks_per_sm == 1.25);
  facts.apart = true;
  model = sl_neighbour_model_of(&(sl_neighbour_shape){SL_NEIGHBOUR_WHOLE, 1, 2}, &facts);
  assert_int_equal(model.workload, 2 * 70 * 16);
  assert_int_equal(model.shared_bytes, 32 * 2 * 4 + 2 * 2 * 16 * 4);
  assert_int_equal(model.warps, 800);
}

static void failing_memory_is_an_error(void **state) {
  (void)state;
  sample *s = malloc(sizeof *s);
  assert_non_null(s);
  draw(7, s);
  sl_spmm_matrix a = {.rows = s->rows,
                      .rowptr = s->rowptr,
                      .col = s->col,
                      .val = s->val,
                      .index = SLEY_I64,
                      .dtype = SLEY_F64};
  for (int64_t fail = 1; fail <= 13; fail++) {
    sl_neighbour_split split;
    sl_neighbour_lists lists = {0};
    sl_memory_fail_at(fail);
    sley_status status = sl_neighbour_split_make(&a, s->segment, RANKS, s->own, &split);
    if (status == SLEY_OK)
      status = sl_neighbour_lists_make(&split, 4, &lists);
    sl_memory_fail_at(0);
    assert_int_equal(status, fail <= 12 ? SLEY_ERR_MEMORY : SLEY_OK);
    sl_neighbour_lists_free(&lists);
    sl_neighbour_split_free(&split);
  }
  free(s);
}

/* ------------------------------------------------------------------------------------------- the search */

typedef struct landscape {
  int best_ps, best_dist, best_wpb;
  int least_ps; /* smaller ones do not fit */
  int timed;
} landscape;

static double away(int value, int best) {
  double steps = log2(value) - log2(best);
  return steps * steps;
}

static const sl_neighbour_shape nothing_fixed = {0, 0, 0};

static sley_status time_shape(void *context, sl_neighbour_trial *trial) {
  landscape *land = context;
  const sl_neighbour_shape *shape = &trial->shape;
  land->timed++;
  assert_true(isinf(trial->seconds));
  if (shape->ps >= land->least_ps)
    trial->seconds = 1 + away(shape->ps, land->best_ps) + away(shape->dist, land->best_dist) +
                     away(shape->wpb, land->best_wpb);
  return SLEY_OK;
}

static void smooth_landscapes_are_climbed(void **state) {
  (void)state;
  for (int ps = 1; ps <= 32; ps *= 2)
    for (int dist = 1; dist <= 16; dist *= 2)
      for (int wpb = 1; wpb <= 16; wpb *= 2) {
        landscape land = {ps, dist, wpb, 1, 0};
        sl_neighbour_table table;
        assert_sley_ok(sl_neighbour_search(time_shape, &land, &nothing_fixed, &table));
        const sl_neighbour_shape *found = &table.trial[table.best].shape;
        assert_int_equal(found->ps, ps);
        assert_int_equal(found->dist, dist);
        assert_int_equal(found->wpb, wpb);
        assert_int_equal(land.timed, table.count);
        for (int i = 0; i < table.count; i++)
          for (int j = 0; j < i; j++)
            assert_memory_not_equal(&table.trial[i].shape, &table.trial[j].shape,
                                    sizeof table.trial[i].shape);
      }
}

static void shapes_that_do_not_fit_are_passed_over(void **state) {
  (void)state;
  sl_neighbour_table table;
  landscape land = {16, 2, 4, 8, 0};
  assert_sley_ok(sl_neighbour_search(time_shape, &land, &nothing_fixed, &table));
  assert_int_equal(table.trial[table.best].shape.ps, 16);
  assert_true(isinf(table.trial[0].seconds));
  land = (landscape){16, 2, 4, 64, 0};
  assert_int_equal(sl_neighbour_search(time_shape, &land, &nothing_fixed, &table), SLEY_ERR_MEMORY);
}

/* Fixed values must not change, and the others must be found. */
static void fixed_values_are_not_searched(void **state) {
  (void)state;
  for (int which = 0; which < 8; which++) {
    landscape land = {8, 4, 2, 1, 0};
    sl_neighbour_table table;
    sl_neighbour_shape fixed = {which & 1 ? SL_NEIGHBOUR_WHOLE : 0, which & 2 ? 3 : 0, which & 4 ? 5 : 0};
    assert_sley_ok(sl_neighbour_search(time_shape, &land, &fixed, &table));
    const sl_neighbour_shape *found = &table.trial[table.best].shape;
    assert_int_equal(found->ps, which & 1 ? SL_NEIGHBOUR_WHOLE : 8);
    assert_int_equal(found->dist, which & 2 ? 3 : 4);
    assert_int_equal(found->wpb, which & 4 ? 5 : 2);
    assert_int_equal(land.timed, table.count);
    if (which == 7)
      assert_int_equal(table.count, 1);
  }
}

static sley_status refuse(void *context, sl_neighbour_trial *trial) {
  trial->seconds = 1;
  return --*(int *)context < 0 ? sl_fail(SLEY_ERR_INTERNAL, "the timer failed") : SLEY_OK;
}

static void errors_of_the_timer_end_it(void **state) {
  (void)state;
  sl_neighbour_table table;
  for (int calls = 0; calls < 3; calls++) {
    int left = calls;
    assert_int_equal(sl_neighbour_search(refuse, &left, &nothing_fixed, &table), SLEY_ERR_INTERNAL);
    assert_int_equal(table.count, calls);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(sums_are_the_product),
                                     cmocka_unit_test(failing_memory_is_an_error),
                                     cmocka_unit_test(smooth_landscapes_are_climbed),
                                     cmocka_unit_test(shapes_that_do_not_fit_are_passed_over),
                                     cmocka_unit_test(errors_of_the_timer_end_it),
                                     cmocka_unit_test(warps_take_each_partition_once),
                                     cmocka_unit_test(the_model_has_the_papers_numbers),
                                     cmocka_unit_test(fixed_values_are_not_searched)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
