/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix Market: what is read, what is refused and where, numbers to the last bit, and writing. */
#include <math.h>

#include "base/memory.h"
#include "base/random.h"
#include "base/value.h"
#include "formats.h"
#include "io/io.h"
#include "io/text.h"
#include "support.h"

static sley_status read_text(const char *text, sley_dtype dtype, sl_team *team, sley_matrix **out) {
  *out = NULL;
  return test_read_memory("t.mtx", text, strlen(text), dtype, team, out);
}

/* Value at (row, col); NAN if no entry is there. */
static double at(const sley_matrix *a, int64_t row, int64_t col) {
  for (int64_t e = a->rowptr[row]; e < a->rowptr[row + 1]; e++)
    if (sl_index_at(a->col, a->index, e) == col)
      return a->dtype == SLEY_F32 ? (double)((const float *)a->val)[e] : ((const double *)a->val)[e];
  return (double)NAN;
}

#define MM "%%MatrixMarket matrix "

typedef struct sizes_case {
  const char *text;
  int64_t rows, cols, nnz, stored;
} sizes_case;

static void accepts_every_field_and_symmetry(void **state) {
  (void)state;
  static const sizes_case cases[] = {
      {MM "coordinate real general\n2 3 2\n1 1 1.5\n2 3 -2\n", 2, 3, 2, 2},
      {MM "coordinate integer general\n2 3 1\n2 1 -inf\n", 2, 3, 1, 1},
      {MM "coordinate pattern general\n2 3 1\n2 1 \n", 2, 3, 1, 1},
      {MM "coordinate pattern symmetric\n3 3 3\n2 1\n3 3\n1 3", 3, 3, 5, 3},
      {MM "coordinate real skew-symmetric\n3 3 2\n2 1 4\n3 3 0\n", 3, 3, 3, 2},
      {"%%matrixmarket MATRIX Coordinate Real General\r\n% x\r\n\r\n1 1 1\r\n1 1 2\r\n", 1, 1, 1, 1},
      {MM "array real general\n2 2\n1\n0\n3\n4\n", 2, 2, 4, 4},
      {MM "array integer symmetric\n3 3\n1\n2\n3\n4\n5\n6\n", 3, 3, 9, 6},
      {MM "array real skew-symmetric\n3 3\n\n1\n% c\n2\n3", 3, 3, 6, 3},
      {MM "array real general\n0 0\n", 0, 0, 0, 0},
      {MM "array real skew-symmetric\n1 1\n", 1, 1, 0, 0},
      {MM "coordinate real hermitian\n3 3 2\n1 1 5\n3 1 2\n", 3, 3, 3, 2},
      {MM "coordinate pattern hermitian\n3 3 2\n1 2\n3 1\n", 3, 3, 4, 2},
      {MM "array integer hermitian\n2 2\n1\n2\n3\n", 2, 2, 4, 3},
      {MM "coordinate real symmetric\n3 3 3\n2 1 5\n2 1 6\n1 3 7\n", 3, 3, 4, 3},
      {MM "coordinate integer general\n2 2 3\n1 1 5.0\n1 2 -9007199254740992\n1 2 1.5D+1\n", 2, 2, 2, 3},
      {MM "coordinate real general\n0 0 0", 0, 0, 0, 0},
      {MM "coordinate real general\n5 0 0\n\n", 5, 0, 0, 0},
      {MM "coordinate real general\n%%GraphBLAS type gunk\n2 2 3\n1 1 1\n\n%x\n1 1 2\n 2\t2  nan \n\n", 2, 2,
       2, 3},
      {MM "coordinate pattern general\n3 3000000000 2\n1 3000000000\n3 1\n", 3, 3000000000, 2, 2},
      {"3 3 2\n1 1 5\n3 3 7\n", 3, 3, 2, 2},
      {"3 3 2\n0 1 5\n2 2 7\n", 3, 3, 2, 2},
      {"2 2\n1\n2\n3\n4.5\n", 2, 2, 4, 4},
      {"7\n8\n9", 3, 1, 3, 3},
  };
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
    for (int dtype = 0; dtype < 2; dtype++) {
      sley_matrix *a;
      assert_sley_ok(read_text(cases[c].text, (sley_dtype)dtype, NULL, &a));
      if (a->rows != cases[c].rows || a->cols != cases[c].cols || a->nnz != cases[c].nnz ||
          a->entries_stored != cases[c].stored)
        fail_msg("case %zu reads as %lld x %lld, %lld nonzeros, %lld stored", c, (long long)a->rows,
                 (long long)a->cols, (long long)a->nnz, (long long)a->entries_stored);
      sl_matrix_destroy(a);
    }
}

static void places_and_mirrors_values(void **state) {
  (void)state;
  sley_matrix *a;
  assert_sley_ok(read_text(MM "array real symmetric\n3 3\n1\n2\n3\n4\n5\n6\n", SLEY_F64, NULL, &a));
  const double full[3][3] = {{1, 2, 3}, {2, 4, 5}, {3, 5, 6}};
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      assert_true(at(a, i, j) == full[i][j]);
  sl_matrix_destroy(a);
  assert_sley_ok(read_text(MM "array real skew-symmetric\n3 3\n1\n2\n3\n", SLEY_F32, NULL, &a));
  assert_true(at(a, 1, 0) == 1 && at(a, 2, 0) == 2 && at(a, 2, 1) == 3);
  assert_true(at(a, 0, 1) == -1 && at(a, 0, 2) == -2 && at(a, 1, 2) == -3 && isnan(at(a, 1, 1)));
  sl_matrix_destroy(a);
  assert_sley_ok(
      read_text(MM "coordinate real general\n2 2 3\n2 1 1.5\n1 2 -inf\n2 1 2\n", SLEY_F32, NULL, &a));
  assert_true(at(a, 1, 0) == 3.5 && at(a, 0, 1) == -INFINITY);
  sl_matrix_destroy(a);
  assert_sley_ok(read_text("2 3\n1\n2\n3\n4\n5\n6\n", SLEY_F64, NULL, &a));
  assert_true(at(a, 0, 0) == 1 && at(a, 1, 0) == 2 && at(a, 0, 1) == 3 && at(a, 1, 2) == 6);
  sl_matrix_destroy(a);
  assert_sley_ok(read_text("3 3 2\n0 2 5\n2 1 7\n", SLEY_F64, NULL, &a));
  assert_true(at(a, 0, 2) == 5 && at(a, 2, 1) == 7);
  sl_matrix_destroy(a);
  /* Sizes in a comment: the banner's symmetry holds. */
  assert_sley_ok(read_text("%%MatrixMarket matrix coordinate pattern symmetric\n%3 3 2\n2 1\n3 1\n", SLEY_F64,
                           NULL, &a));
  assert_true(a->rows == 3 && a->nnz == 4 && at(a, 0, 1) == 1 && at(a, 0, 2) == 1);
  sl_matrix_destroy(a);
}

typedef struct refusal {
  const char *text;
  sley_status status;
  int line;
} refusal;

static void refuses_with_file_and_line(void **state) {
  (void)state;
  static const refusal cases[] = {
      {"%%MatrixMarket", SLEY_ERR_INPUT, 1},
      {"%%Matr\n5 5 1\n1 1\n", SLEY_ERR_INPUT, 1},
      {MM "sparse real general\n1 1 0\n", SLEY_ERR_INPUT, 1},
      {MM "coordinate quaternion general\n1 1 0\n", SLEY_ERR_INPUT, 1},
      {MM "coordinate real general extra\n1 1 0\n", SLEY_ERR_INPUT, 1},
      {MM "array pattern general\n1 1\n", SLEY_ERR_INPUT, 1},
      {MM "coordinate pattern skew-symmetric\n1 1 0\n", SLEY_ERR_INPUT, 1},
      {MM "coordinate complex general\n1 1 1\n1 1 1 1\n", SLEY_ERR_UNSUPPORTED, 1},
      {MM "array complex hermitian\n1 1\n1 1\n", SLEY_ERR_UNSUPPORTED, 1},
      {MM "coordinate real general\n% nothing more\n", SLEY_ERR_INPUT, 3},
      {MM "coordinate real general\n\n3\n", SLEY_ERR_INPUT, 3},
      {MM "coordinate real general\n1 1 1 1\n1 1 1\n", SLEY_ERR_INPUT, 2},
      {MM "coordinate real general\n1 1.5 1\n1 1 1\n", SLEY_ERR_INPUT, 2},
      {MM "coordinate real general\n-1 1 0\n", SLEY_ERR_INPUT, 2},
      {MM "coordinate real general\n1 1 -1\n", SLEY_ERR_INPUT, 2},
      {MM "coordinate real general\n99999999999999999999 1 0\n", SLEY_ERR_INPUT, 2},
      {MM "coordinate real general\n9000000000000000000 1 0\n", SLEY_ERR_INPUT, 2},
      {MM "coordinate real general\n2 2 9000000000000000000\n1 1 1\n", SLEY_ERR_INPUT, 2},
      {MM "array real general\n100000000 9000000000000000000\n1\n", SLEY_ERR_INPUT, 2},
      {MM "array real general\n100000000 100000000\n1\n", SLEY_ERR_INPUT, 2},
      {MM "coordinate real symmetric\n2 3 0\n", SLEY_ERR_INPUT, 2},
      {MM "coordinate real general\n2 2 2\n1 1 1\n", SLEY_ERR_INPUT, 2},
      {MM "coordinate real general\n2 2 2\n1 1 1\n\n", SLEY_ERR_INPUT, 2},
      {MM "coordinate real general\n2 2 2\n\n1 1 1", SLEY_ERR_INPUT, 2},
      {MM "coordinate real general\n2 2 1\n1 1 1\n\n2 2 2\n", SLEY_ERR_INPUT, 5},
      {MM "coordinate real general\n2 2 1\n1 1 1\ngarbage", SLEY_ERR_INPUT, 4},
      {MM "coordinate real general\n0 2 1\n1 1 1\n", SLEY_ERR_INPUT, 3},
      {MM "coordinate real general\n2 0 1\n1 1 1\n", SLEY_ERR_INPUT, 3},
      {MM "coordinate real general\n2 2 1\n0 1 1\n", SLEY_ERR_INPUT, 3},
      {MM "coordinate real general\n2 2 1\n1 0 1\n", SLEY_ERR_INPUT, 3},
      {MM "coordinate real general\n2 2 1\n3 1 1\n", SLEY_ERR_INPUT, 3},
      {MM "coordinate real general\n2 2 1\n1 3 1\n", SLEY_ERR_INPUT, 3},
      {MM "coordinate real general\n2 2 1\n-1 1 1\n", SLEY_ERR_INPUT, 3},
      {MM "coordinate real general\n2 2 1\n1 18446744073709551617 1\n", SLEY_ERR_INPUT, 3},
      {MM "coordinate real general\n2 2 1\n4294967297 1 1\n", SLEY_ERR_INPUT, 3},
      {MM "coordinate real general\n2 2 2\n1 1 1\n2 2", SLEY_ERR_INPUT, 4},
      {MM "coordinate real general\n2 2 1\n1 1 0x1p3\n", SLEY_ERR_INPUT, 3},
      {MM "coordinate real general\n2 2 1\n1 1 1e\n", SLEY_ERR_INPUT, 3},
      {MM "coordinate real general\n2 2 1\n1 1 1 1\n", SLEY_ERR_INPUT, 3},
      {MM "coordinate pattern general\n2 2 1\n1 1 1\n", SLEY_ERR_INPUT, 3},
      {MM "coordinate pattern general\n2 2 1\n1\n", SLEY_ERR_INPUT, 3},
      {MM "coordinate real skew-symmetric\n2 2 1\n1 1 1\n", SLEY_ERR_INPUT, 3},
      {MM "array real general\n2 1\n1 2\n3\n", SLEY_ERR_INPUT, 3},
      {MM "array real general\n2 1\n1\n2\n3\n", SLEY_ERR_INPUT, 5},
      {MM "array real general\n2 1\n1\nx\n", SLEY_ERR_INPUT, 4},
      {MM "array real general\n2 1\n\n1\n", SLEY_ERR_INPUT, 2},
      {MM "coordinate integer general\n2 2 2\n1 1 1\n1 2 5.7\n", SLEY_ERR_INPUT, 4},
      {MM "coordinate integer general\n2 2 1\n1 1 15e-1\n", SLEY_ERR_INPUT, 3},
      {MM "coordinate unsigned-integer general\n2 2 1\n1 1 -5\n", SLEY_ERR_INPUT, 3},
      {MM "array integer general\n1 2\n3\n0.1D0\n", SLEY_ERR_INPUT, 4},
      {MM "coordinate real general\n2 2 1\n1 1 1,5\n", SLEY_ERR_INPUT, 3},
      {MM "coordinate real general\n2 2 1\n1 1 1.5+3\n", SLEY_ERR_INPUT, 3},
      {MM "coordinate real general\n2 2 1\n1 1 1.5D\n", SLEY_ERR_INPUT, 3},
      {MM "coordinate real general\n2 2 1\n1 1 1e9999\n", SLEY_ERR_INPUT, 3},
      {MM "coordinate real general\n2 2 1\n1 1 -3.5e38\n", SLEY_ERR_INPUT, 3},
      {MM "array real general\n2 1\n1\n1e39\n", SLEY_ERR_INPUT, 4},
      {"1 1 1\n1 1 1e39\n", SLEY_ERR_INPUT, 2},
      {MM "coordinate real symmetric\n2 2 3\n1 1 1\n1 2 5\n2 1 5\n", SLEY_ERR_INPUT, 4},
      {MM "coordinate real hermitian\n2 2 2\n2 1 5\n\n1 2 5\n", SLEY_ERR_INPUT, 5},
      {MM "coordinate integer skew-symmetric\n3 3 3\n3 1 5\n2 1 5\n1 2 -5\n", SLEY_ERR_INPUT, 5},
      {MM "coordinate pattern symmetric\n3000000000 3000000000 2\n2 2999999999\n2999999999 2\n",
       SLEY_ERR_INPUT, 2},
      {MM "coordinate pattern symmetric\n9 9 4\n9 2\n8 2\n%\n2 7\n2 8\n", SLEY_ERR_INPUT, 7},
      {MM "array real symmetric\n2 2\n1\n2\n2\n3\n", SLEY_ERR_INPUT, 6},
      {"3 3 2\n1 1 5\n3 4 7\n", SLEY_ERR_INPUT, 3},
      {"3 3 2\n0 1 5\n3 2 7\n", SLEY_ERR_INPUT, 1},
      {"", SLEY_ERR_INPUT, 1},
  };
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    sley_matrix *a;
    char where[32];
    sley_status status = read_text(cases[c].text, SLEY_F32, NULL, &a);
    snprintf(where, sizeof where, "t.mtx:%d: ", cases[c].line);
    if (status != cases[c].status || strncmp(sley_last_error(), where, strlen(where)) != 0)
      fail_msg("case %zu: %s: %s (expected %s)", c, sley_status_name(status), sley_last_error(), where);
    assert_null(strchr(sley_last_error(), '\n'));
  }
}

/* What f64 does not hold is refused, also by what states no type; f32 rounds it. */
static void integers_beyond_2_53_are_refused(void **state) {
  (void)state;
  static const struct {
    const char *name, *before, *after;
    int line;
  } doors[] = {
      {"t.mtx", MM "coordinate integer general\n1 1 1\n1 1 ", "\n", 3},
      {"t.mtx", MM "coordinate integer symmetric\n1 1 1\n1 1 ", "\n", 3},
      {"t.mtx", MM "array integer general\n1 1\n", "\n", 3},
      {"t.smat", "2 2 1\n1 1 ", "\n", 2},
      {"t.txt", "", "\n4\n", 1},
      {"t.el", "0 1 ", "\n", 1},
      {"t.csv", "a,b,c\n0,1,", ",5\n", 2},
  };
  static const struct {
    const char *number;
    double value; /* NAN: refused */
  } numbers[] = {{"9007199254740992", 0x1p53},
                 {"-9007199254740992", -0x1p53},
                 {"0009007199254740992", 0x1p53},
                 {"9007199254740993", (double)NAN},
                 {"-9007199254740993", (double)NAN},
                 {"9007199254740994", (double)NAN},
                 {"+18014398509481984", (double)NAN},
                 {"18446744073709551616", (double)NAN},
                 {"100000000000000000000000000000000", (double)NAN}};
  for (size_t d = 0; d < sizeof doors / sizeof *doors; d++)
    for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++)
      for (int dtype = 0; dtype < 2; dtype++) {
        char text[256], where[64];
        snprintf(text, sizeof text, "%s%s%s", doors[d].before, numbers[n].number, doors[d].after);
        snprintf(where, sizeof where, "%s:%d: the value %s is beyond 2^53", doors[d].name, doors[d].line,
                 numbers[n].number);
        bool refused = isnan(numbers[n].value) && dtype == SLEY_F64;
        sley_matrix *a = NULL;
        sley_status status =
            test_read_memory(doors[d].name, text, strlen(text), (sley_dtype)dtype, NULL, &a);
        if (status != (refused ? SLEY_ERR_INPUT : SLEY_OK) ||
            (refused && strncmp(sley_last_error(), where, strlen(where)) != 0))
          fail_msg("door %zu, %s: %s: %s", d, numbers[n].number, sley_status_name(status), sley_last_error());
        if (!refused && dtype == SLEY_F64)
          assert_true(((const double *)a->val)[0] == numbers[n].value);
        if (status == SLEY_OK)
          sl_matrix_destroy(a);
      }
}

static void finite_values_stay_finite(void **state) {
  (void)state;
  static const struct {
    const char *number;
    double least[4]; /* 0: refused in this dtype */
  } cases[] = {
      {"3.4028235e38",
       {0x1.fffffep127, 3.4028235e38, 0, 0}}, /* above bf16's largest, 3.39e38, by half a unit */
      {"3.4028235677973366e38", {0, 0x1.ffffffp127, 0, 0}},
      {"65519.9", {65519.9f, 65519.9, 65504, 65536}},
      {"65520", {65520, 65520, 0, 65536}},
      {"3.39e38", {3.39e38f, 3.39e38, 0, 0x1.fep127}},
      {"inf", {INFINITY, INFINITY, INFINITY, INFINITY}},
      {"1e-400", {-1, -1, -1, -1}}, /* rounded to zero */
  };
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
    for (int dtype = 0; dtype < 4; dtype++) {
      char text[128];
      sley_matrix *a;
      double expected = cases[c].least[dtype];
      snprintf(text, sizeof text, MM "coordinate real general\n1 1 1\n1 1 %s\n", cases[c].number);
      sley_status status = read_text(text, (sley_dtype)dtype, NULL, &a);
      if (status != (expected == 0 ? SLEY_ERR_INPUT : SLEY_OK))
        fail_msg("%s as dtype %d: %s", cases[c].number, dtype, sley_last_error());
      if (expected == 0) {
        assert_non_null(strstr(sley_last_error(), "t.mtx:3: "));
        assert_non_null(strstr(sley_last_error(), "is beyond the range of"));
        continue;
      }
      assert_true(sl_value_at(a->val, a->dtype, 0) == (expected < 0 ? 0 : expected));
      sl_matrix_destroy(a);
    }
}

/* A symmetric text of several pieces; `both`: the entry whose mirror image is added at its end, or -1. */
static char *symmetric_text(int64_t entries, bool mixed, int64_t both, size_t *size) {
  enum { SIZE = 3000 };
  char *text = malloc((size_t)entries * 32 + 256), *p = text;
  p += sprintf(p, "%s\n%d %d %lld\n", MM "coordinate real symmetric", SIZE, SIZE,
               (long long)(entries + (both >= 0)));
  long long row = 0, col = 0;
  for (int64_t e = 0; e <= entries; e++) {
    /* Repeats occur, and lie as the first did: the side depends on the place. */
    long long i = (long long)(sl_random(3, (uint64_t)e, 0) % SIZE) + 1;
    long long j = (long long)(sl_random(3, (uint64_t)e, 1) % SIZE) + 1;
    long long low = i < j ? i : j, high = i < j ? j : i;
    bool above = mixed && (low * 7 + high) % 3 == 0;
    if (e == entries && both < 0)
      break;
    if (e < entries)
      p += sprintf(p, "%lld %lld 1\n", above ? low : high, above ? high : low);
    else
      p += sprintf(p, "%lld %lld 1\n", col, row);
    if (e == both) {
      row = above ? low : high;
      col = above ? high : low;
      both = row == col ? both + 1 : both;
    }
  }
  *size = (size_t)(p - text);
  return text;
}

static void finds_an_entry_and_its_mirror_image(void **state) {
  (void)state;
  const int64_t entries = 200000;
  for (int c = 0; c < 6; c++) {
    size_t size;
    char *text = symmetric_text(entries, c % 2 == 1, c < 2 ? -1 : c < 4 ? 0 : entries - 9, &size);
    for (int threads = 1; threads <= 3; threads += 2) {
      sl_team *team;
      sley_matrix *a = NULL;
      assert_sley_ok(sl_team_create(threads, &team));
      sley_status status = test_read_memory("t.mtx", text, size, SLEY_F32, team, &a);
      if (status != (c < 2 ? SLEY_OK : SLEY_ERR_INPUT))
        fail_msg("case %d: %s", c, sley_last_error());
      if (c >= 2)
        assert_non_null(strstr(sley_last_error(), ") stands beside ("));
      else
        sl_matrix_destroy(a);
      sl_team_destroy(team);
    }
    free(text);
  }
}

static void a_zero_byte_is_no_line_end(void **state) {
  (void)state;
  static const char text[] = MM "coordinate real general\n2 2 2\n1 1 1\0\n2 2 2\n";
  sley_matrix *a;
  assert_int_equal(test_read_memory("t", text, sizeof text - 1, SLEY_F32, NULL, &a), SLEY_ERR_INPUT);
}

/* A text of several pieces, with comments and blank lines in it if odd. */
static char *large_text(int64_t entries, bool odd, int64_t bad, size_t *size) {
  char *text = malloc((size_t)entries * 48 + 256), *p = text;
  p += sprintf(p, "%s\n%d %d %lld\n", MM "coordinate real general", 5000, 7000, (long long)entries);
  for (int64_t e = 0; e < entries; e++) {
    if (odd && e % 1000 == 7)
      p += sprintf(p, e % 2000 == 7 ? "\n" : "  %% note\n");
    p += sprintf(
        p, "%lld %lld %.17g\n", e == bad ? 5001 : (long long)(sl_random(1, (uint64_t)e, 0) % 5000 + 1),
        (long long)(sl_random(1, (uint64_t)e, 1) % 7000 + 1), sl_unit(sl_random(1, (uint64_t)e, 2)) - 0.5);
  }
  *size = (size_t)(p - text);
  return text;
}

static void threads_do_not_change_the_result(void **state) {
  (void)state;
  const int64_t entries = 100000;
  for (int odd = 0; odd < 2; odd++) {
    size_t size;
    char *text = large_text(entries, odd, -1, &size);
    sley_matrix *one, *a;
    assert_sley_ok(test_read_memory("t", text, size, SLEY_F64, NULL, &one));
    assert_int_equal(one->entries_stored, entries);
    for (int threads = 2; threads <= 3; threads++) {
      sl_team *team;
      assert_sley_ok(sl_team_create(threads, &team));
      assert_sley_ok(test_read_memory("t", text, size, SLEY_F64, team, &a));
      assert_int_equal(a->nnz, one->nnz);
      assert_memory_equal(a->rowptr, one->rowptr, (size_t)(one->rows + 1) * 8);
      assert_memory_equal(a->col, one->col, (size_t)one->nnz * 4);
      assert_memory_equal(a->val, one->val, (size_t)one->nnz * 8);
      sl_matrix_destroy(a);
      sl_team_destroy(team);
    }
    sl_matrix_destroy(one);
    free(text);
  }
}

static void tells_the_line_in_a_later_piece(void **state) {
  (void)state;
  size_t size;
  char *text = large_text(100000, false, 90000, &size);
  sley_matrix *a;
  assert_int_equal(test_read_memory("big", text, size, SLEY_F32, NULL, &a), SLEY_ERR_INPUT);
  assert_memory_equal(sley_last_error(), "big:90003: ", 11);
  free(text);
}

/* A copy with the padding that follows every input. */
static const char *padded(const char *text) {
  static char copy[128];
  memset(copy, 0, sizeof copy);
  assert_true(strlen(text) + SL_INPUT_PADDING <= sizeof copy);
  return strcpy(copy, text);
}

static void check_real(const char *text, bool fortran, double expected) {
  double value = 0;
  text = padded(text);
  const char *after = sl_scan_real(text, fortran, &value);
  if (!after || *after || memcmp(&value, &expected, sizeof value) != 0)
    fail_msg("'%s' is read as %.17g, not %.17g", text, value, expected);
}

static void reals_are_rounded_correctly(void **state) {
  (void)state;
  static const char *const hard[] = {"0",
                                     "-0",
                                     "1.",
                                     ".5",
                                     "+3",
                                     "9007199254740993",
                                     "9007199254740992.5",
                                     "5e-324",
                                     "2.2250738585072011e-308",
                                     "1e23",
                                     "8.5e22",
                                     "1.7976931348623159e308",
                                     "1e400",
                                     "123456789012345678901234567890",
                                     "0.1e-7",
                                     "9223372036854775807",
                                     "18446744073709551615",
                                     "9999999999999999999e-27",
                                     "9999999999999999999e27",
                                     "0.000000000000000000000000000000000001",
                                     "1e-22",
                                     "7205759403792793e-16",
                                     "72057594037927933",
                                     "1e0000000005",
                                     "36028797018963964",
                                     "36028797018963966",
                                     "36028797018963965",
                                     "9007199254740991e22",
                                     "100000000000000016777215"};
  for (size_t h = 0; h < sizeof hard / sizeof *hard; h++)
    check_real(hard[h], false, strtod(hard[h], NULL));
  for (uint64_t i = 0; i < 300000; i++) {
    char text[64];
    uint64_t bits = sl_random(7, i, 0), digits = sl_random(7, i, 1) % 19 + 1;
    if (i % 2 == 0) {
      snprintf(text, sizeof text, "%.*e", (int)digits - 1,
               ldexp(sl_unit(bits) - 0.5, (int)(bits % 200) - 100));
    } else { /* digits with a point among them and a small exponent */
      uint64_t whole = bits % UINT64_C(10000000000), part = sl_random(7, i, 2) % UINT64_C(1000000000);
      snprintf(text, sizeof text, "%llu.%0*llue%d", (unsigned long long)whole, 9, (unsigned long long)part,
               (int)(digits * 3) - 28);
    }
    check_real(text, false, strtod(text, NULL));
  }
  /* Halfway between two doubles, and one beside: m + 1/2 for 54-bit numbers, as a decimal that ends in 5. */
  for (uint64_t i = 0; i < 1000; i++) {
    char text[64];
    uint64_t half = (sl_random(9, i, 0) >> 11 | UINT64_C(1) << 52) * 2 + 1;
    for (int beside = -1; beside <= 1; beside++) {
      snprintf(text, sizeof text, "%llu%se-1", (unsigned long long)half,
               beside < 0 ? ""
               : beside   ? "01"
                          : "0");
      check_real(text, false, strtod(text, NULL));
    }
    snprintf(text, sizeof text, "%llu", (unsigned long long)half);
    check_real(text, false, strtod(text, NULL));
  }
}

static void reads_fortran_exponents(void **state) {
  (void)state;
  double value;
  check_real("1.5D+03", true, 1500);
  check_real("1.5d3", true, 1500);
  check_real("1.5+3", true, 1500);
  check_real("-1.5-3", true, -0.0015);
  check_real("0.12345678901234567890123D-05", true, 0.12345678901234567890123e-05);
  check_real("0.12345678901234567890123-05", true, 0.12345678901234567890123e-05);
  check_real("1.5D+03", false, 1500);
  assert_int_equal(*sl_scan_real(padded("1.5+03"), false, &value), '+');
  assert_null(sl_scan_real(padded("1e"), false, &value));
  assert_null(sl_scan_real(padded("."), false, &value));
  assert_null(sl_scan_real(padded("-"), false, &value));
  assert_null(sl_scan_real(padded("na"), false, &value));
  check_real("-Infinity", false, -INFINITY);
  check_real("INF", false, INFINITY);
  assert_true(sl_scan_real(padded("NaN"), false, &value) && isnan(value));
}

static void whole_numbers_fit_or_are_refused(void **state) {
  (void)state;
  int64_t value;
  assert_true(sl_scan_int("9223372036854775807 ", &value) && value == INT64_MAX);
  assert_true(sl_scan_int("-9223372036854775808 ", &value) && value == INT64_MIN);
  assert_true(sl_scan_int("+007", &value) && value == 7);
  assert_null(sl_scan_int("9223372036854775808", &value));
  assert_null(sl_scan_int("-9223372036854775809", &value));
  assert_null(sl_scan_int("-", &value));
  assert_null(sl_scan_int("x", &value));
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  static const char *const texts[] = {MM "coordinate real symmetric\n3 3 3\n1 1 1\n2 1 1\n3 2 4\n",
                                      MM "coordinate real symmetric\n3 3 3\n2 1 1\n2 1 1\n1 3 4\n",
                                      MM "array real general\n2 2\n1\n2\n3\n4\n", "3 3 2\n1 1 5\n3 3 7\n"};
  for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
    int64_t before = sl_memory_now();
    sley_status status = SLEY_ERR_MEMORY;
    for (int64_t nth = 1; status != SLEY_OK; nth++) {
      sley_matrix *a;
      sl_memory_fail_at(nth);
      status = read_text(texts[t], SLEY_F32, NULL, &a);
      sl_memory_fail_at(0);
      if (status == SLEY_OK)
        sl_matrix_destroy(a);
      else
        assert_int_equal(status, SLEY_ERR_MEMORY);
      assert_int_equal(sl_memory_now(), before);
      assert_true(nth < 100);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(accepts_every_field_and_symmetry),
      cmocka_unit_test(places_and_mirrors_values),
      cmocka_unit_test(refuses_with_file_and_line),
      cmocka_unit_test(integers_beyond_2_53_are_refused),
      cmocka_unit_test(finite_values_stay_finite),
      cmocka_unit_test(finds_an_entry_and_its_mirror_image),
      cmocka_unit_test(a_zero_byte_is_no_line_end),
      cmocka_unit_test(threads_do_not_change_the_result),
      cmocka_unit_test(tells_the_line_in_a_later_piece),
      cmocka_unit_test(reals_are_rounded_correctly),
      cmocka_unit_test(reads_fortran_exponents),
      cmocka_unit_test(whole_numbers_fit_or_are_refused),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
