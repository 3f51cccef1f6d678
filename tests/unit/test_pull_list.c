/* SPDX-License-Identifier: Apache-2.0 */
/* The order of a pull: every row of every list once, in the list's order, all lists at work from beginning to
 * end. */
#include "support.h"

#include "base/random.h"
#include "transport/pull_list.h"

enum { LISTS = 7, MOST = 1600, TURN = SL_PULL_TURN };

static void check_order(const sl_pull_rows *lists, int count, int start) {
  int64_t total = 0, most = 0, next[LISTS] = {0};
  for (int l = 0; l < count; l++) {
    total += lists[l].count;
    most = lists[l].count > most ? lists[l].count : most;
  }
  sl_pull_entry *entries = calloc((size_t)total + 1, sizeof *entries);
  assert_sley_ok(sl_pull_interleave(NULL, lists, count, start, 1, 0, NULL, entries));
  for (int64_t at = 0; at < total; at++) {
    int l = entries[at].source;
    const sl_pull_rows *list = &lists[l];
    int64_t i = next[l]++;
    assert_true(l >= 0 && l < count && i < list->count);
    assert_int_equal(entries[at].src_row, list->src_rows ? list->src_rows[i] : list->src_first + i);
    assert_int_equal(entries[at].dst_row, list->dst_rows ? list->dst_rows[i] : list->dst_first + i);
    /* No list is ahead or behind by more than a round, in which the longest has TURN entries. */
    for (int other = 0; other < count; other++)
      if (lists[other].count > 0 && list->count > 0) {
        double share = (double)(i + 1) / (double)list->count;
        double theirs = (double)next[other] / (double)lists[other].count;
        const double one_each = 1.0 / (double)lists[other].count + 1.0 / (double)list->count;
        assert_true(theirs <= share + one_each + (double)TURN / (double)most);
      }
  }
  free(entries);
}

static void test_lists_take_turns(void **state) {
  (void)state;
  static int64_t rows[2][LISTS][MOST];
  uint64_t seed = 1;
  for (int repeat = 0; repeat < 200; repeat++) {
    sl_pull_rows lists[LISTS] = {{0}};
    int count = (int)sl_below(sl_random(2, seed++, 0), LISTS + 1);
    for (int l = 0; l < count; l++) {
      lists[l] = (sl_pull_rows){
          .source = l,
          .count = sl_below(sl_random(3, seed++, 0), 4) == 0 ? 0 : sl_below(sl_random(4, seed++, 0), MOST),
          .src_first = sl_below(sl_random(5, seed++, 0), 50),
          .dst_first = sl_below(sl_random(6, seed++, 0), 50)};
      for (int side = 0; side < 2; side++)
        for (int i = 0; i < MOST; i++)
          rows[side][l][i] = sl_below(sl_random(7, seed++, 0), 1000);
      if (repeat % 2)
        lists[l].src_rows = rows[0][l];
      if (repeat % 3)
        lists[l].dst_rows = rows[1][l];
    }
    check_order(lists, count, count > 0 ? repeat % count : 0);
  }
}

enum { STAGES = 4 };

static int stage_of(const sl_pull_rows *list, int64_t i) {
  int stage = 0;
  while (stage < STAGES - 1 && (!list->piece_end || i >= list->piece_end[stage]))
    stage++;
  return stage;
}

/* Of the entries from `at` on; STAGES: there is none. */
static int least_stage(const sl_pull_rows *lists, const sl_pull_entry *entries, int64_t at, int64_t total) {
  int least = STAGES;
  for (; at < total; at++) {
    int stage = stage_of(&lists[entries[at].source], (int64_t)entries[at].src_row);
    least = stage < least ? stage : least;
  }
  return least;
}

/* Each list in its own order, no stage too far ahead of another, and each ended where it is said to. */
static void test_stages_follow_each_other(void **state) {
  (void)state;
  uint64_t seed = 1000;
  for (int repeat = 0; repeat < 100; repeat++) {
    sl_pull_rows lists[LISTS] = {{0}};
    int ahead = repeat % (STAGES + 1);
    int64_t ends[LISTS][STAGES - 1], end[STAGES], next[LISTS] = {0}, total = 0;
    for (int l = 0; l < LISTS; l++) {
      lists[l] =
          (sl_pull_rows){.source = l, .count = sl_below(sl_random(2, seed++, 0), repeat < 3 ? 1 : 3 * TURN)};
      lists[l].piece_end = l % 3 ? ends[l] : NULL;
      for (int s = 0; s < STAGES - 1; s++) {
        int64_t first = s > 0 ? ends[l][s - 1] : 0;
        ends[l][s] = first + sl_below(sl_random(3, seed++, 0), lists[l].count - first + 1);
      }
      total += lists[l].count;
    }
    sl_pull_entry *entries = calloc((size_t)total + 1, sizeof *entries);
    assert_int_equal(sl_pull_count(lists, LISTS), total);
    assert_sley_ok(sl_pull_interleave(NULL, lists, LISTS, repeat % LISTS, STAGES, ahead, end, entries));
    for (int64_t at = 0; at < total; at++) {
      const sl_pull_rows *list = &lists[entries[at].source];
      assert_int_equal(entries[at].src_row, next[entries[at].source]++);
      assert_true(stage_of(list, (int64_t)entries[at].src_row) <=
                  least_stage(lists, entries, at, total) + ahead);
    }
    for (int s = 0; s < STAGES; s++) {
      assert_true(least_stage(lists, entries, end[s], total) > s);
      assert_true(end[s] == 0 || least_stage(lists, entries, end[s] - 1, total) <= s);
    }
    free(entries);
  }
}

static void test_equal_lists_alternate_from_the_start(void **state) {
  (void)state;
  enum { EACH = 3 * TURN };
  sl_pull_rows lists[3];
  sl_pull_entry entries[3 * EACH];
  for (int32_t l = 0; l < 3; l++)
    lists[l] = (sl_pull_rows){.source = l, .count = EACH, .src_first = 100 * l, .dst_first = 1000 * l};
  assert_sley_ok(sl_pull_interleave(NULL, lists, 3, 2, 1, 0, NULL, entries));
  for (int i = 0; i < 3 * EACH; i++) {
    int l = (2 + i / TURN) % 3, at = i / (3 * TURN) * TURN + i % TURN;
    assert_int_equal(entries[i].source, l);
    assert_int_equal(entries[i].src_row, 100 * l + at);
    assert_int_equal(entries[i].dst_row, 1000 * l + at);
  }
}

/* Long lists, which several threads fill, are as one thread lists them. */
static void test_a_team_lists_the_same(void **state) {
  (void)state;
  enum { LONG = 20000 };
  sl_team *team;
  assert_sley_ok(sl_team_create(3, &team));
  sl_pull_rows lists[3];
  for (int32_t l = 0; l < 3; l++)
    lists[l] = (sl_pull_rows){.source = l, .count = LONG / (l + 1), .src_first = LONG * l, .dst_first = l};
  const int64_t total = sl_pull_count(lists, 3);
  sl_pull_entry *one = calloc((size_t)total, sizeof *one), *all = calloc((size_t)total, sizeof *all);
  assert_sley_ok(sl_pull_interleave(NULL, lists, 3, 1, 1, 0, NULL, one));
  assert_sley_ok(sl_pull_interleave(team, lists, 3, 1, 1, 0, NULL, all));
  for (int64_t i = 0; i < total; i++) {
    assert_int_equal(one[i].source, all[i].source);
    assert_int_equal(one[i].src_row, all[i].src_row);
    assert_int_equal(one[i].dst_row, all[i].dst_row);
  }
  free(all);
  free(one);
  sl_team_destroy(team);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_lists_take_turns),
                                     cmocka_unit_test(test_stages_follow_each_other),
                                     cmocka_unit_test(test_equal_lists_alternate_from_the_start),
                                     cmocka_unit_test(test_a_team_lists_the_same)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
