/* SPDX-License-Identifier: Apache-2.0 */
/* Generators: what they promise, the same on any team, and refusals. */
#include "support.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "generate/generate.h"
#include "generate/twin.h"

static sley_matrix *generate(const char *text, sley_dtype dtype, sl_team *team) {
  sley_matrix *a;
  assert_sley_ok(sl_generate(text, dtype, 1, team, &a));
  sley_csr csr = sl_matrix_csr(a);
  bool sorted;
  assert_sley_ok(sl_csr_validate(&csr, team, &sorted));
  assert_true(sorted);
  return a;
}

static double value_at(const sley_matrix *a, int64_t e) {
  return a->dtype == SLEY_F32 ? (double)((const float *)a->val)[e] : ((const double *)a->val)[e];
}

/* Position of an entry, or -1. */
static int64_t find_entry(const sley_matrix *a, int64_t row, int64_t col) {
  for (int64_t e = a->rowptr[row]; e < a->rowptr[row + 1]; e++)
    if (sl_index_at(a->col, a->index, e) == col)
      return e;
  return -1;
}

static void assert_no_repeats(const sley_matrix *a) {
  for (int64_t i = 0; i < a->rows; i++)
    for (int64_t e = a->rowptr[i] + 1; e < a->rowptr[i + 1]; e++)
      assert_true(sl_index_at(a->col, a->index, e - 1) < sl_index_at(a->col, a->index, e));
}

static void assert_no_loops(const sley_matrix *a) {
  for (int64_t i = 0; i < a->rows; i++)
    assert_int_equal(find_entry(a, i, i), -1);
}

static void assert_symmetric(const sley_matrix *a) {
  sley_matrix *t;
  assert_sley_ok(sl_matrix_transpose(a, NULL, &t));
  assert_memory_equal(a->rowptr, t->rowptr, (size_t)(a->rows + 1) * sizeof(int64_t));
  assert_memory_equal(a->col, t->col, (size_t)a->nnz * sl_index_bytes(a->index));
  assert_memory_equal(a->val, t->val, (size_t)a->nnz * sley_dtype_bytes(a->dtype));
  sl_matrix_destroy(t);
}

static const char *const samples[] = {"er:n=1000,nnz=20000",
                                      "er:rows=50,cols=3000,nnz=149999",
                                      "er:n=300,m=7,nnz=2000,seed=9",
                                      "rmat:scale=11,edgefactor=8",
                                      "rmat:scale=10,undirected",
                                      "rmat:scale=10,shuffle,a=0.6,seed=4",
                                      "rmat:scale=10,shuffle=apart,seed=4",
                                      "twin:cyt:scale=0.01",
                                      "twin:cit:scale=0.003",
                                      "twin:cok:scale=0.001",
                                      "twin:red:scale=0.004",
                                      "dense:rows=9,cols=70",
                                      "band:n=5000,width=3",
                                      "windows:rows=1600,columns=30,entries=77,near=100",
                                      "windows:rows=320,columns=17,entries=272,seed=5",
                                      "grid:nx=90,ny=30"};
enum { SAMPLES = sizeof samples / sizeof *samples };

static void same_on_any_team(void **state) {
  (void)state;
  for (int s = 0; s < SAMPLES; s++) {
    sley_matrix *one = generate(samples[s], SLEY_F32, NULL);
    for (int threads = 2; threads <= 5; threads += 3) {
      sl_team *team;
      assert_sley_ok(sl_team_create(threads, &team));
      sley_matrix *many = generate(samples[s], SLEY_F32, team);
      assert_int_equal(one->nnz, many->nnz);
      assert_memory_equal(one->rowptr, many->rowptr, (size_t)(one->rows + 1) * sizeof(int64_t));
      assert_memory_equal(one->col, many->col, (size_t)one->nnz * sizeof(int32_t));
      assert_memory_equal(one->val, many->val, (size_t)one->nnz * sizeof(float));
      sl_matrix_destroy(many);
      sl_team_destroy(team);
    }
    sl_matrix_destroy(one);
  }
}

static void values_are_seeded(void **state) {
  (void)state;
  for (int s = 0; s < SAMPLES; s++) {
    sley_matrix *a = generate(samples[s], SLEY_F32, NULL), *b = generate(samples[s], SLEY_F64, NULL);
    assert_int_equal(a->nnz, b->nnz);
    double sum = 0;
    for (int64_t e = 0; e < a->nnz; e++) {
      assert_true(value_at(a, e) > 0 && value_at(a, e) <= 1);
      assert_true(value_at(a, e) == (double)(float)value_at(b, e));
      sum += value_at(a, e);
    }
    assert_true(fabs(sum / (double)a->nnz - 0.5) < 0.1);
    sl_matrix_destroy(a);
    sl_matrix_destroy(b);
  }
  sley_matrix *a, *b, *c;
  assert_sley_ok(sl_generate("er:n=100,nnz=900", SLEY_F32, 1, NULL, &a));
  assert_sley_ok(sl_generate("er:n=100,nnz=900", SLEY_F32, 2, NULL, &b));
  assert_sley_ok(sl_generate("er:n=100,nnz=900,seed=2", SLEY_F32, 1, NULL, &c));
  assert_memory_not_equal(a->col, b->col, 900 * sizeof(int32_t));
  assert_memory_equal(b->col, c->col, 900 * sizeof(int32_t));
  assert_memory_equal(b->val, c->val, 900 * sizeof(float));
  sl_matrix_destroy(a);
  sl_matrix_destroy(b);
  sl_matrix_destroy(c);
}

static void er_has_exactly_its_entries(void **state) {
  (void)state;
  static const int64_t cases[][3] = {{0, 0, 0},        {1, 1, 0},     {1, 1, 1},
                                     {3, 5, 15},       {1, 977, 400}, {977, 1, 977},
                                     {100, 100, 9999}, {2000, 3, 1},  {513, 511, 30000}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[96];
    snprintf(text, sizeof text, "er:rows=%lld,cols=%lld,nnz=%lld", (long long)cases[i][0],
             (long long)cases[i][1], (long long)cases[i][2]);
    sley_matrix *a = generate(text, SLEY_F64, NULL);
    assert_int_equal(a->rows, cases[i][0]);
    assert_int_equal(a->cols, cases[i][1]);
    assert_int_equal(a->nnz, cases[i][2]);
    assert_no_repeats(a);
    sl_matrix_destroy(a);
  }
}

/* Every row and column of a large sample gets about its share. */
static void er_is_spread_evenly(void **state) {
  (void)state;
  enum { N = 500, NNZ = 50000 };
  sley_matrix *a = generate("er:n=500,nnz=50000", SLEY_F32, NULL), *t;
  assert_sley_ok(sl_matrix_transpose(a, NULL, &t));
  for (int i = 0; i < N; i++) {
    assert_in_range(a->rowptr[i + 1] - a->rowptr[i], 50, 150);
    assert_in_range(t->rowptr[i + 1] - t->rowptr[i], 50, 150);
  }
  sl_matrix_destroy(t);
  sl_matrix_destroy(a);
}

static void rmat_has_no_loops_or_repeats(void **state) {
  (void)state;
  sley_matrix *a = generate("rmat:scale=12,edgefactor=8", SLEY_F32, NULL);
  assert_int_equal(a->rows, 4096);
  assert_in_range(a->nnz, 8 * 4096 / 2, 8 * 4096);
  assert_no_repeats(a);
  assert_no_loops(a);
  assert_true(sl_matrix_max_row(a) > 100); /* skewed: the mean is below 8 */
  sl_matrix_destroy(a);
  a = generate("rmat:scale=11,edgefactor=8,undirected", SLEY_F32, NULL);
  assert_no_loops(a);
  assert_symmetric(a);
  sl_matrix_destroy(a);
  a = generate("rmat:scale=0", SLEY_F32, NULL);
  assert_int_equal(a->rows, 1);
  assert_int_equal(a->nnz, 0);
  sl_matrix_destroy(a);
}

/* Remote nonzeros and halo rows at 16 equal row blocks. */
static void count_remote(const sley_matrix *a, int64_t *remote, int64_t *halo) {
  *remote = *halo = 0;
  uint8_t *seen = sl_alloc_zero(a->rows, 1, "marks");
  for (int64_t b = 0, end = 0; b < 16; b++) {
    int64_t begin = end;
    end += a->rows / 16 + (b < a->rows % 16);
    for (int64_t e = a->rowptr[begin]; e < a->rowptr[end]; e++) {
      int64_t col = sl_index_at(a->col, a->index, e);
      if (col >= begin && col < end)
        continue;
      ++*remote;
      *halo += seen[col] != b + 1;
      seen[col] = (uint8_t)(b + 1);
    }
  }
  sl_free(seen);
}

/* At full size the bounds are 2 and 5 %; small twins have more repeats. */
/* Sum over rows of the difference of their lengths in two matrices. */
static int64_t rows_apart(const sley_matrix *a, const sley_matrix *b) {
  int64_t sum = 0;
  for (int64_t i = 0; i < a->rows; i++)
    sum += llabs((a->rowptr[i + 1] - a->rowptr[i]) - (b->rowptr[i + 1] - b->rowptr[i]));
  return sum;
}

/* shuffle=apart gives the columns another order than shuffle does, and the rows the same; only entries on the
 * diagonal, which are dropped, differ. */
static void rmat_shuffles_columns_apart(void **state) {
  (void)state;
  sley_matrix *one = generate("rmat:scale=10,shuffle,seed=4", SLEY_F32, NULL);
  sley_matrix *two = generate("rmat:scale=10,shuffle=apart,seed=4", SLEY_F32, NULL), *one_t, *two_t;
  assert_sley_ok(sl_matrix_transpose(one, NULL, &one_t));
  assert_sley_ok(sl_matrix_transpose(two, NULL, &two_t));
  assert_no_repeats(two);
  assert_true(rows_apart(one, two) < one->nnz / 20);
  assert_true(rows_apart(one_t, two_t) > one->nnz / 2);
  sl_matrix_destroy(one);
  sl_matrix_destroy(two);
  sl_matrix_destroy(one_t);
  sl_matrix_destroy(two_t);
}

static void twins_resemble_at_small_scale(void **state) {
  (void)state;
  static const struct {
    const char *name;
    double remote, halo; /* CoLa's V_FR and V_FC, MiB at k = 32 */
  } wanted[] = {{"cyt", 271.85, 92.75},     {"clj", 2481.61, 835.43}, {"prd", 2714.10, 497.93},
                {"cok", 12964.64, 1723.12}, {"cit", 858.12, 285.83},  {"slj", 2681.62, 822.49},
                {"spk", 1491.62, 575.96},   {"sso", 2910.63, 818.91}};
  enum { WANTED = sizeof wanted / sizeof *wanted };
  assert_int_equal(sl_twin_count, WANTED + 1);
  for (int i = 0; i < WANTED; i++) {
    const sl_twin *twin = &sl_twins[i];
    const double scale = twin->nnz > 100000000 ? 0.01 : 0.02;
    char text[64];
    snprintf(text, sizeof text, "twin:%s:scale=%g", twin->name, scale);
    assert_string_equal(wanted[i].name, twin->name);
    sley_matrix *a = generate(text, SLEY_F32, NULL);
    int64_t remote, halo;
    count_remote(a, &remote, &halo);
    assert_int_equal(a->rows, llround((double)twin->rows * scale));
    double nnz = (double)a->nnz / scale / (double)twin->nnz;
    double fetched = (double)remote / 8192 / scale / wanted[i].remote;
    double needed = (double)halo / 8192 / scale / wanted[i].halo;
    if (fabs(nnz - 1) > 0.12 || fabs(fetched - 1) > 0.25 || fabs(needed - 1) > 0.05)
      fail_msg("%s: nnz %.3f, remote nonzeros %.3f, halo rows %.3f of the wanted", text, nnz, fetched,
               needed);
    assert_no_repeats(a);
    assert_no_loops(a);
    if (twin->mirrored)
      assert_symmetric(a);
    sl_matrix_destroy(a);
  }
}

/* The twin of reddit, which the table above lacks: rows of hundreds of entries. This small, its blocks are
 * nearly full, so that the longest row is not the 40 times the mean that it is at full size. */
static void the_dense_twin_is_dense(void **state) {
  (void)state;
  const double scale = 0.03;
  sley_matrix *a = generate("twin:red:scale=0.03", SLEY_F32, NULL);
  assert_int_equal(a->rows, llround(232965 * scale));
  double mean = (double)a->nnz / (double)a->rows;
  if (mean < 250 || mean > 492)
    fail_msg("a row has %.1f entries on average", mean);
  int64_t longest = 0;
  for (int64_t i = 0; i < a->rows; i++)
    longest = a->rowptr[i + 1] - a->rowptr[i] > longest ? a->rowptr[i + 1] - a->rowptr[i] : longest;
  if ((double)longest < 2.5 * mean)
    fail_msg("the longest row has %lld entries, the mean is %.1f", (long long)longest, mean);
  assert_no_repeats(a);
  assert_no_loops(a);
  assert_symmetric(a);
  sl_matrix_destroy(a);
}

static void shapes_are_exact(void **state) {
  (void)state;
  sley_matrix *a = generate("dense:rows=7,cols=5", SLEY_F32, NULL);
  assert_int_equal(a->nnz, 35);
  sl_matrix_destroy(a);
  a = generate("dense:rows=3,cols=50", SLEY_F32, NULL);
  assert_int_equal(a->nnz, 150);
  sl_matrix_destroy(a);
  a = generate("diag:n=50", SLEY_F32, NULL);
  assert_int_equal(a->nnz, 50);
  for (int64_t i = 0; i < 50; i++)
    assert_int_equal(find_entry(a, i, i), i);
  sl_matrix_destroy(a);
  a = generate("band:n=6,width=2", SLEY_F32, NULL);
  for (int64_t i = 0; i < 6; i++)
    for (int64_t j = 0; j < 6; j++)
      assert_int_equal(find_entry(a, i, j) >= 0, llabs(i - j) <= 2);
  sl_matrix_destroy(a);
  a = generate("band:n=4,width=100", SLEY_F32, NULL);
  assert_int_equal(a->nnz, 16);
  sl_matrix_destroy(a);
  a = generate("grid:nx=4,ny=3", SLEY_F32, NULL);
  for (int64_t i = 0; i < 12; i++)
    for (int64_t j = 0; j < 12; j++)
      assert_int_equal(find_entry(a, i, j) >= 0, llabs(i % 4 - j % 4) + llabs(i / 4 - j / 4) <= 1);
  sl_matrix_destroy(a);
  a = generate("empty:rows=9,cols=0", SLEY_F32, NULL);
  assert_int_equal(a->rows, 9);
  assert_int_equal(a->cols, 0);
  assert_int_equal(a->nnz, 0);
  sl_matrix_destroy(a);
}

/* Every window has as many distinct columns, and entries, as asked for, and no others. */
static void windows_are_exact(void **state) {
  (void)state;
  static const struct {
    const char *text;
    int64_t columns, entries, near;
  } asked[] = {{"windows:rows=320,columns=30,entries=77,near=100", 30, 77, 100},
               {"windows:rows=320,columns=17,entries=272,seed=5", 17, 272, 320},
               {"windows:rows=320,columns=1,entries=1", 1, 1, 320},
               {"windows:rows=320,columns=320,entries=1001", 320, 1001, 320}};
  for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
    sley_matrix *a = generate(asked[i].text, SLEY_F32, NULL);
    assert_int_equal(a->rows, 320);
    for (int64_t w = 0; w < 20; w++) {
      int64_t begin = a->rowptr[16 * w], end = a->rowptr[16 * w + 16], columns = 0, first = 320, last = 0;
      bool seen[320] = {false};
      for (int64_t e = begin; e < end; e++) {
        int64_t c = sl_index_at(a->col, a->index, e);
        columns += !seen[c];
        seen[c] = true;
        first = c < first ? c : first;
        last = c > last ? c : last;
      }
      assert_int_equal(end - begin, asked[i].entries);
      assert_int_equal(columns, asked[i].columns);
      assert_true(last - first < asked[i].near);
    }
    sl_matrix_destroy(a);
  }
}

static void names_are_told_from_files(void **state) {
  (void)state;
  assert_true(sl_is_generator("er:n=1,nnz=1"));
  assert_true(sl_is_generator("twin:clj"));
  assert_true(sl_is_generator("rmat:"));
  assert_false(sl_is_generator("er"));
  assert_false(sl_is_generator("er.mtx"));
  assert_false(sl_is_generator("./er:n=1"));
  assert_false(sl_is_generator(""));
}

static void wrong_specifications_are_refused(void **state) {
  (void)state;
  static const char *const wrong[] = {"er:n=10",
                                      "er:nnz=5",
                                      "er:n=3,nnz=10",
                                      "er:n=-3,nnz=1",
                                      "er:n=2^40,nnz=1",
                                      "er:n=10,nnz=5,colour=3",
                                      "er:n=10,nnz=x",
                                      "rmat:edgefactor=8",
                                      "rmat:scale=60",
                                      "rmat:scale=3,a=0.9,b=0.3",
                                      "rmat:scale=3,a=nan",
                                      "rmat:scale=3,shuffle=far",
                                      "twin:abc",
                                      "twin:",
                                      "twin:clj:scale=0",
                                      "twin:clj:seed=-1",
                                      "dense:rows=4",
                                      "grid:nx=3",
                                      "band:n=4",
                                      "diag:m=4",
                                      "windows:rows=32,columns=4",
                                      "windows:rows=30,columns=4,entries=4",
                                      "windows:rows=32,columns=4,entries=3",
                                      "windows:rows=32,columns=4,entries=65",
                                      "windows:rows=32,columns=33,entries=65",
                                      "windows:rows=32,columns=8,entries=8,near=7",
                                      "empty:rows=4",
                                      "nonsense:n=3"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    sley_matrix *a;
    sley_status status = sl_generate(wrong[i], SLEY_F32, 1, NULL, &a);
    if (status != SLEY_ERR_ARG || a != NULL)
      fail_msg("%s: %s", wrong[i], sley_status_name(status));
  }
  sley_matrix *a;
  assert_int_equal(sl_generate("dense:rows=2^39,cols=2^39", SLEY_F32, 1, NULL, &a), SLEY_ERR_OVERFLOW);
  assert_int_equal(sl_generate("dense:rows=2^30,cols=2^30", SLEY_F32, 1, NULL, &a), SLEY_ERR_MEMORY);
}

static void failing_memory_is_an_error(void **state) {
  (void)state;
  int64_t before = sl_memory_now();
  for (int s = 0; s < SAMPLES; s++) {
    sley_status status = SLEY_ERR_MEMORY;
    for (int64_t nth = 1; status != SLEY_OK; nth++) {
      sley_matrix *a;
      sl_memory_fail_at(nth);
      status = sl_generate(samples[s], SLEY_F32, 1, NULL, &a);
      sl_memory_fail_at(0);
      assert_true(status == SLEY_OK || status == SLEY_ERR_MEMORY);
      assert_true(status != SLEY_OK || nth > 4);
      sl_matrix_destroy(a);
      assert_int_equal(sl_memory_now(), before);
    }
  }
}

static void memory_stays_near_the_result(void **state) {
  (void)state;
  sl_memory_peak_reset();
  int64_t before = sl_memory_now();
  sley_matrix *a = generate("twin:clj:scale=0.05", SLEY_F32, NULL);
  assert_true((double)(sl_memory_peak() - before) < 1.3 * (double)a->storage_bytes);
  sl_matrix_destroy(a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(same_on_any_team),
      cmocka_unit_test(values_are_seeded),
      cmocka_unit_test(er_has_exactly_its_entries),
      cmocka_unit_test(er_is_spread_evenly),
      cmocka_unit_test(rmat_has_no_loops_or_repeats),
      cmocka_unit_test(rmat_shuffles_columns_apart),
      cmocka_unit_test(twins_resemble_at_small_scale),
      cmocka_unit_test(the_dense_twin_is_dense),
      cmocka_unit_test(shapes_are_exact),
      cmocka_unit_test(windows_are_exact),
      cmocka_unit_test(names_are_told_from_files),
      cmocka_unit_test(wrong_specifications_are_refused),
      cmocka_unit_test(failing_memory_is_an_error),
      cmocka_unit_test(memory_stays_near_the_result),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
