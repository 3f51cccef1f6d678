/* SPDX-License-Identifier: Apache-2.0 */
/* Row tiles for random row lengths. Tiles must hold every stored row once and in order, with at most the
 * requested numbers of rows and entries. Fragments must hold exactly the entries of long rows, once and in
 * order. */
#include "support.h"

#include "base/random.h"
#include "device/row_tiles.h"

enum { MAX_ROWS = 80, ROUNDS = 4000 };

typedef struct sample {
  int64_t rows, most_entries, rowptr[MAX_ROWS + 1];
  int most_rows;
} sample;

static sample make(uint64_t round) {
  sample s = {.rows = sl_below(sl_random(1, round, 0), MAX_ROWS + 1),
              .most_entries = 1 + sl_below(sl_random(1, round, 1), 60),
              .most_rows = 1 + (int)sl_below(sl_random(1, round, 2), 17)};
  int64_t longest = 1 + sl_below(sl_random(1, round, 4), 20);
  s.rowptr[0] = sl_below(sl_random(1, round, 5), 3) * 17;
  for (int64_t i = 0; i < s.rows; i++) {
    uint64_t bits = sl_random(2, round, (uint64_t)i);
    s.rowptr[i + 1] = s.rowptr[i] + (bits % 3 == 0 ? 0 : sl_below(bits, longest) * (bits % 11 == 0 ? 30 : 1));
  }
  return s;
}

/* Checks the fragments of a long row; returns the index after its last fragment. */
static int64_t check_long_row(const sample *s, const sl_row_tiles *t, int64_t row, int64_t slot,
                              int64_t number) {
  int64_t at = s->rowptr[row] - s->rowptr[0], end = s->rowptr[row + 1] - s->rowptr[0];
  assert_true(number < t->longs && end - at > s->most_entries);
  assert_int_equal(t->long_row[number].row, row);
  assert_int_equal(t->long_row[number].first_slot, slot);
  for (; at < end; slot++) {
    const sl_chunk *f = &t->chunk[slot];
    assert_true(slot < t->fragments && f->count > 0 && f->count <= s->most_entries);
    assert_int_equal(f->begin, at);
    assert_int_equal(f->row, row);
    assert_int_equal(f->slot, slot);
    assert_int_equal(f->long_row, number);
    assert_int_equal(f->rows, 1);
    assert_int_equal(f->piece, 0);
    at += f->count;
  }
  assert_int_equal(at, end);
  return slot;
}

static void check_tile(const sample *s, const sl_chunk *tile) {
  int64_t next = tile->row + tile->rows;
  assert_true(tile->rows > 0 && tile->rows <= s->most_rows && next <= s->rows);
  assert_int_equal(tile->begin, s->rowptr[tile->row] - s->rowptr[0]);
  assert_int_equal(tile->count, s->rowptr[next] - s->rowptr[tile->row]);
  assert_int_equal(tile->slot, -1);
  assert_int_equal(tile->piece, 0);
  /* The tile could not have included the next row. */
  assert_true(tile->count <= s->most_entries &&
              (next == s->rows || tile->rows == s->most_rows ||
               tile->count + s->rowptr[next + 1] - s->rowptr[next] > s->most_entries));
}

static void check(const sample *s, const sl_row_tiles *t) {
  int64_t row = 0, slot = 0, longs = 0;
  for (int64_t i = t->fragments; row < s->rows;) {
    if (i < t->chunks && t->chunk[i].row == row) {
      check_tile(s, &t->chunk[i]);
      row += t->chunk[i++].rows;
    } else {
      slot = check_long_row(s, t, row++, slot, longs++);
    }
    if (row == s->rows)
      assert_int_equal(i, t->chunks);
  }
  assert_int_equal(slot, t->fragments);
  assert_int_equal(longs, t->longs);
  assert_int_equal(t->long_row[longs].first_slot, slot);
}

static void rows_are_tiled(void **state) {
  (void)state;
  for (uint64_t round = 0; round < ROUNDS; round++) {
    sample s = make(round);
    sl_row_tiles tiles, counted;
    assert_sley_ok(sl_row_tiles_make(s.rows, s.rowptr, s.most_rows, s.most_entries, &tiles));
    sl_row_tiles_count(s.rows, s.rowptr, s.most_rows, s.most_entries, &counted);
    assert_int_equal(counted.chunks, tiles.chunks);
    assert_int_equal(counted.fragments, tiles.fragments);
    assert_int_equal(counted.longs, tiles.longs);
    check(&s, &tiles);
    sl_row_tiles_free(&tiles);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(rows_are_tiled)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
