/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks for random row lengths. They must hold every entry of every row once and whole rows in order, divide
 * only long rows into pieces, and respect the promised number and length of chunks. */
#include "support.h"

#include "base/memory.h"
#include "base/random.h"
#include "device/chunks.h"

enum { MAX_ROWS = 80, ROUNDS = 4000 };

typedef struct sample {
  int64_t rows, rowptr[MAX_ROWS + 1], rowid[MAX_ROWS];
  sl_chunk_sizes sizes;
  bool in_order, numbered;
} sample;

static sample make(uint64_t round) {
  sample s = {.rows = sl_below(sl_random(1, round, 0), MAX_ROWS + 1),
              .in_order = sl_random(1, round, 2) % 2,
              .numbered = sl_random(1, round, 3) % 2};
  int64_t longest = 1 + sl_below(sl_random(1, round, 4), 20);
  s.sizes = sl_chunk_sizes_of(1 + sl_below(sl_random(1, round, 1), 30), s.in_order);
  if (!s.in_order && sl_random(1, round, 6) % 2) {
    s.sizes.longest = 1 + sl_below(sl_random(1, round, 7), 60);
    s.sizes.fragment = 1 + sl_below(sl_random(1, round, 8), s.sizes.longest);
  }
  s.rowptr[0] = sl_below(sl_random(1, round, 5), 3) * 17;
  for (int64_t i = 0; i < s.rows; i++) {
    uint64_t bits = sl_random(2, round, (uint64_t)i);
    s.rowptr[i + 1] = s.rowptr[i] + (bits % 3 == 0 ? 0 : sl_below(bits, longest) * (bits % 11 == 0 ? 30 : 1));
    s.rowid[i] = (i > 0 ? s.rowid[i - 1] : -1) + 1 + (int64_t)(bits % 4);
  }
  return s;
}

static int64_t y_of(const sample *s, int64_t i) {
  return s->numbered ? s->rowid[i] : i;
}

static int64_t row_of_y(const sl_chunks *c, int64_t i) {
  int64_t j = 0;
  while (!c->row && j < c->empties && c->empty[j] - j <= i)
    j++;
  return c->row ? c->row[i] : i + j;
}

/* Lists the stored row of each row with entries, and checks the empty rows. */
static int64_t list_rows(const sample *s, const sl_chunks *c, int64_t *stored) {
  int64_t full = 0, empty = 0;
  for (int64_t i = 0; i < s->rows; i++)
    if (s->rowptr[i + 1] == s->rowptr[i]) {
      assert_int_equal(c->empty[empty++], y_of(s, i));
    } else {
      assert_int_equal(row_of_y(c, full), y_of(s, i));
      stored[full++] = i;
    }
  assert_int_equal(c->empties, empty);
  assert_int_equal(c->rows, full);
  return full;
}

static void check(const sample *s, const sl_chunks *c) {
  int64_t stored[MAX_ROWS], cut_rows = 0, entries = s->rowptr[s->rows] - s->rowptr[0];
  int64_t full = list_rows(s, c, stored);
  const sl_chunk_sizes *sizes = &s->sizes;
  int64_t large = 4 * sizes->target > sizes->fragment ? 4 * sizes->target : sizes->fragment;
  char *taken = calloc((size_t)entries + 1, 1);
  for (int64_t i = 0, overlong = 1; i < c->chunks; i++) {
    const sl_chunk *chunk = &c->chunk[i];
    assert_true(chunk->rows >= 1 && chunk->row + chunk->rows <= full && chunk->count >= 1);
    int64_t begin = s->rowptr[stored[chunk->row]] - s->rowptr[0];
    int64_t end = s->rowptr[stored[chunk->row + chunk->rows - 1] + 1] - s->rowptr[0];
    if (chunk->slot < 0) {
      assert_int_equal(chunk->begin, begin);
      assert_int_equal(chunk->begin + chunk->count, end);
      assert_true(chunk->rows == 1 || chunk->count <= sizes->target + sizes->target / 4);
      assert_true(chunk->rows > 1 || chunk->count <= sizes->longest);
    } else {
      assert_false(s->in_order);
      assert_true(end - begin > sizes->longest && chunk->count <= sizes->fragment);
      assert_true(chunk->begin >= begin && chunk->begin + chunk->count <= end);
    }
    assert_true(overlong || chunk->count <= large);
    overlong = chunk->count > large;
    for (int64_t e = chunk->begin; e < chunk->begin + chunk->count; e++)
      assert_int_equal(taken[e]++, 0);
  }
  for (int64_t e = 0; e < entries; e++)
    assert_int_equal(taken[e], 1);
  free(taken);
  /* The slots of a long row are its pieces, in order. */
  for (int64_t l = 0; l < c->longs; l++) {
    int64_t at = -1;
    for (int32_t slot = c->long_row[l].first_slot; slot < c->long_row[l + 1].first_slot; slot++)
      for (int64_t i = 0; i < c->chunks; i++)
        if (c->chunk[i].slot == slot) {
          assert_int_equal(row_of_y(c, c->chunk[i].row), c->long_row[l].row);
          assert_true(c->chunk[i].begin > at);
          at = c->chunk[i].begin;
        }
    cut_rows++;
  }
  assert_int_equal(c->long_row[c->longs].first_slot, c->slots);
  assert_true(s->in_order ? cut_rows == 0 : true);
}

static void check_count(const sl_chunks *c, int64_t rows, const int64_t *rowptr, sl_chunk_sizes sizes,
                        sl_team *team) {
  sl_chunks n;
  sl_chunks_count(rows, rowptr, sizes, team, &n);
  assert_true(n.chunks == c->chunks && n.rows == c->rows && n.empties == c->empties);
  assert_true(n.longs == c->longs && n.slots == c->slots && n.longest == c->longest);
  assert_null(n.chunk);
}

static void chunks_hold_every_entry_once(void **state) {
  (void)state;
  int64_t longs = 0;
  for (uint64_t round = 0; round < ROUNDS; round++) {
    sample s = make(round);
    sl_chunks c;
    assert_sley_ok(sl_chunks_make(s.rows, s.numbered ? s.rowid : NULL, s.rowptr, s.sizes, NULL, &c));
    check(&s, &c);
    check_count(&c, s.rows, s.rowptr, s.sizes, NULL);
    longs += c.longs;
    sl_chunks_free(&c);
  }
  assert_true(longs > 100);
}

/* Enough rows for several threads: for any number of threads the lists must have no gaps between the threads'
 * shares. */
static void threads_do_not_show(void **state) {
  (void)state;
  enum { ROWS = 100000 };
  static int64_t rowptr[ROWS + 1];
  sl_team *team;
  assert_sley_ok(sl_team_create(3, &team));
  for (int64_t i = 0; i < ROWS; i++)
    rowptr[i + 1] = rowptr[i] + sl_below(sl_random(4, (uint64_t)i, 0), i % 7 == 0 ? 600 : 6);
  for (int in_order = 0; in_order < 2; in_order++) {
    sl_chunks one, three;
    assert_sley_ok(sl_chunks_make(ROWS, NULL, rowptr, sl_chunk_sizes_of(100, in_order), NULL, &one));
    assert_sley_ok(sl_chunks_make(ROWS, NULL, rowptr, sl_chunk_sizes_of(100, in_order), team, &three));
    assert_true(one.chunks == three.chunks && one.rows == three.rows && one.empties == three.empties);
    assert_true(one.longs == three.longs && one.slots == three.slots && one.longest == three.longest);
    assert_memory_equal(one.chunk, three.chunk, (size_t)one.chunks * sizeof *one.chunk);
    assert_true(!one.row && !three.row);
    assert_memory_equal(one.empty, three.empty, (size_t)one.empties * sizeof *one.empty);
    assert_memory_equal(one.long_row, three.long_row, ((size_t)one.longs + 1) * sizeof *one.long_row);
    check_count(&one, ROWS, rowptr, sl_chunk_sizes_of(100, in_order), team);
    int64_t entries = 0;
    for (int64_t i = 0; i < one.chunks; i++)
      entries += one.chunk[i].count;
    assert_int_equal(entries, rowptr[ROWS]);
    assert_int_equal(one.rows + one.empties, ROWS);
    assert_true(in_order ? one.longs == 0 : one.longs > 1000);
    sl_chunks_free(&one);
    sl_chunks_free(&three);
  }
  sl_team_destroy(team);
}

static void what_is_too_large_is_refused(void **state) {
  (void)state;
  sl_chunks c;
  const int64_t rowptr[2] = {0, INT64_C(1) << 40}, short_row[2] = {0, 1}, far[1] = {INT64_C(1) << 31};
  assert_int_equal(sl_chunks_make(1, NULL, rowptr, sl_chunk_sizes_of(128, true), NULL, &c),
                   SLEY_ERR_OVERFLOW);
  sl_chunks_free(&c);
  assert_int_equal(sl_chunks_make(1, far, short_row, sl_chunk_sizes_of(128, false), NULL, &c),
                   SLEY_ERR_OVERFLOW);
  sl_chunks_free(&c);
  assert_non_null(strstr(sley_last_error(), "use more ranks"));
}

static void memory_that_runs_out_is_an_error(void **state) {
  (void)state;
  const int64_t rowptr[4] = {0, 100, 103, 104};
  for (int64_t nth = 1;; nth++) {
    sl_chunks c;
    sl_memory_fail_at(nth);
    sley_status status = sl_chunks_make(3, NULL, rowptr, sl_chunk_sizes_of(2, true), NULL, &c);
    sl_chunks_free(&c);
    if (status == SLEY_OK) {
      assert_true(nth > 4);
      break;
    }
    assert_int_equal(status, SLEY_ERR_MEMORY);
  }
  sl_memory_fail_at(0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(chunks_hold_every_entry_once), cmocka_unit_test(threads_do_not_show),
      cmocka_unit_test(what_is_too_large_is_refused), cmocka_unit_test(memory_that_runs_out_is_an_error)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
