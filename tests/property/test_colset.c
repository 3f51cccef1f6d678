/* SPDX-License-Identifier: Apache-2.0 */
/* Column sets of random sources, compared with a table: few columns of a wide range, and many columns of a
 * narrow range. */
#include "support.h"

#include "base/random.h"
#include "plan/colset.h"

enum { ROUNDS = 300, MAX_RANGE = 20000, MAX_ENTRIES = 6000 };

typedef struct source {
  int64_t column[MAX_ENTRIES]; /* < 0: not a member */
} source;

static int64_t columns(const void *context, int64_t begin, int64_t end, int64_t *out) {
  const source *s = context;
  int64_t count = 0;
  for (int64_t i = begin; i < end; i++)
    if (s->column[i] >= 0)
      out[count++] = s->column[i];
  return count;
}

static void check(const source *s, int64_t range, int64_t entries, sl_team *team, const sl_colset *set) {
  static bool in[MAX_RANGE];
  static int64_t list[MAX_ENTRIES + 1];
  int64_t occurrences = 0, members = 0;
  memset(in, 0, sizeof in);
  for (int64_t i = 0; i < entries; i++)
    if (s->column[i] >= 0) {
      in[s->column[i]] = true;
      occurrences++;
    }
  assert_int_equal(set->occurrences, occurrences);
  assert_true(set->count <= MAX_ENTRIES);
  assert_sley_ok(sl_colset_list(set, team, list));
  for (int64_t c = 0; c < range; c++)
    if (in[c]) {
      assert_int_equal(list[members], c);
      assert_int_equal(sl_colset_place(set, c), members++);
    }
  assert_int_equal(set->count, members);
  assert_true(set->word_count * 64 <=
              (4 * entries > range ? 4 * entries + SL_COLSET_PAGE : members * SL_COLSET_PAGE));
}

static void sets_hold_their_sources(void **state) {
  (void)state;
  static source s;
  sl_team *team;
  assert_sley_ok(sl_team_create(3, &team));
  for (uint64_t round = 0; round < ROUNDS; round++) {
    int64_t range = sl_below(sl_random(1, round, 0), MAX_RANGE) + 1;
    int64_t entries = sl_below(sl_random(1, round, 1), round % 2 ? MAX_ENTRIES : 100);
    for (int64_t i = 0; i < entries; i++) {
      uint64_t bits = sl_random(2, round, (uint64_t)i);
      s.column[i] = bits % 4 == 0 ? -1 : sl_below(sl_random(3, round, bits), range);
    }
    sl_colset_source from = {entries, columns, &s};
    sl_colset set;
    sl_team *helpers = round % 3 ? team : NULL;
    assert_sley_ok(sl_colset_build(range, &from, helpers, &set));
    check(&s, range, entries, helpers, &set);
    sl_colset_free(&set);
  }
  sl_team_destroy(team);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(sets_hold_their_sources)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
