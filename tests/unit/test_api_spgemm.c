/* SPDX-License-Identifier: Apache-2.0 */
/* The public sparse product: results that are known, what it reports, its check, limits of memory, and
 * refusals. On every device. */
#include "chosen_device.h"
#include "support.h"

static sley_spgemm_options options_here(void) {
  sley_spgemm_options options = SLEY_SPGEMM_OPTIONS_INIT;
  options.device = test_device();
  return options;
}

static sley_matrix *read(const char *name, sley_dtype dtype) {
  sley_read_options options = SLEY_READ_OPTIONS_INIT;
  sley_matrix *m;
  options.dtype = dtype;
  assert_sley_ok(sley_matrix_read(name, &options, &m));
  return m;
}

/* [1 1; 0 2] [1 0; -1 3]: 1 - 1 stays as a zero. */
static void cancellation_stays(void **state) {
  (void)state;
  const int64_t rowptr_a[] = {0, 2, 3}, rowptr_b[] = {0, 1, 3};
  const int32_t col_a[] = {0, 1, 1}, col_b[] = {0, 0, 1};
  const double val_a[] = {1, 1, 2}, val_b[] = {1, -1, 3}, want[] = {0, 3, -2, 6};
  sley_csr csr_a = {2, 2, rowptr_a, col_a, val_a, SLEY_I32, SLEY_F64, NULL};
  sley_csr csr_b = {2, 2, rowptr_b, col_b, val_b, SLEY_I32, SLEY_F64, NULL}, csr;
  sley_matrix *a, *b, *c;
  sley_spgemm_info info;
  const sley_spgemm_options options = options_here();
  assert_sley_ok(sley_matrix_from_csr(&csr_a, SLEY_BORROW, &a));
  assert_sley_ok(sley_matrix_from_csr(&csr_b, SLEY_BORROW, &b));
  assert_sley_ok(sley_spgemm(a, b, &options, &c, &info));
  assert_sley_ok(sley_matrix_csr(c, &csr));
  assert_int_equal(csr.rowptr[2], 4);
  assert_memory_equal(csr.val, want, sizeof want);
  assert_int_equal(info.products, 5);
  assert_int_equal(info.nnz, 4);
  assert_true(info.compression == 1.25 && info.peak_bytes > 0);
  assert_true(!test_on_cpu() || info.passes == 1);
  sley_matrix_destroy(a);
  sley_matrix_destroy(b);
  sley_matrix_destroy(c);
}

static void check(const sley_matrix *a, const sley_matrix *b, const sley_spgemm_options *options) {
  sley_matrix *c;
  sley_check result;
  assert_sley_ok(sley_spgemm(a, b, options, &c, NULL));
  assert_sley_ok(sley_check_spgemm(a, b, options, c, &result));
  if (!result.ok)
    fail_msg("row %lld, column %lld: error %g, bound %g", (long long)result.row, (long long)result.col,
             result.max_error, result.bound);
  sley_matrix_destroy(c);
}

static void products_pass_the_check(void **state) {
  (void)state;
  static const char *const names[] = {"er:n=700,nnz=9000", "rmat:scale=9,edgefactor=8", "er:n=1,nnz=1"};
  for (size_t n = 0; n < sizeof names / sizeof *names; n++)
    for (int dtype = SLEY_F32; dtype <= SLEY_BF16; dtype++) {
      sley_matrix *a = read(names[n], (sley_dtype)dtype);
      for (int which = 0; which < 16; which++) {
        sley_spgemm_options options = options_here();
        options.semiring = (sley_semiring)(which % 4);
        options.transpose_b = which & 4;
        options.mask = which & 8 ? a : NULL;
        options.threads = 1 + which % 3;
        check(a, a, &options);
      }
      sley_matrix_destroy(a);
    }
}

/* The same arrays within every limit that does, each lower than the one before. Devices make C in chunks of
 * rows where it does not fit. */
static void limits_change_nothing(void **state) {
  (void)state;
  sley_matrix *a = read("rmat:scale=9,edgefactor=8", SLEY_F32), *whole, *c;
  sley_spgemm_options options = options_here();
  sley_spgemm_info info;
  sley_matrix_info size;
  sley_csr want, csr;
  int64_t lowest = 0;
  assert_sley_ok(sley_spgemm(a, a, &options, &whole, &info));
  assert_sley_ok(sley_matrix_csr(whole, &want));
  assert_sley_ok(sley_matrix_info_get(whole, &size));
  options.mem_limit = info.peak_bytes;
  while (sley_spgemm(a, a, &options, &c, &info) == SLEY_OK) {
    assert_true(info.peak_bytes <= options.mem_limit);
    assert_sley_ok(sley_matrix_csr(c, &csr));
    assert_memory_equal(csr.rowptr, want.rowptr, (size_t)(size.rows + 1) * sizeof(int64_t));
    assert_memory_equal(csr.col, want.col, (size_t)size.nnz * sizeof(int32_t));
    assert_memory_equal(csr.val, want.val, (size_t)size.nnz * sizeof(float));
    sley_matrix_destroy(c);
    lowest = options.mem_limit;
    options.mem_limit -= options.mem_limit / 5;
  }
  assert_true(lowest > 0 && (test_on_cpu() || lowest < size.bytes));
  sley_matrix_destroy(whole);
  sley_matrix_destroy(a);
}

/* More ranks than rows too, and ranks that share a GPU. */
static void ranks_change_nothing(void **state) {
  (void)state;
  static const char *const names[] = {"rmat:scale=9,edgefactor=8", "er:n=3,nnz=5", "er:n=40,nnz=1"};
  if (test_on_cpu())
    skip();
  for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
    sley_matrix *a = read(names[n], SLEY_F32), *whole, *c;
    sley_spgemm_options options = options_here();
    sley_matrix_info size;
    sley_csr want, csr;
    sley_spgemm_info one, info;
    options.mask = n == 1 ? a : NULL;
    assert_sley_ok(sley_spgemm(a, a, &options, &whole, &one));
    assert_sley_ok(sley_matrix_csr(whole, &want));
    assert_sley_ok(sley_matrix_info_get(whole, &size));
    for (int ranks = 2; ranks <= 7; ranks++)
      for (int tight = 0; tight < 2; tight++) {
        options.ranks = ranks;
        options.mem_limit = tight && n == 0 ? one.peak_bytes / 4 : 0;
        assert_sley_ok(sley_spgemm(a, a, &options, &c, &info));
        assert_sley_ok(sley_matrix_csr(c, &csr));
        assert_int_equal(info.nnz, one.nnz);
        assert_int_equal(info.products, one.products);
        assert_memory_equal(csr.rowptr, want.rowptr, (size_t)(size.rows + 1) * sizeof(int64_t));
        assert_memory_equal(csr.col, want.col, (size_t)size.nnz * sizeof(int32_t));
        assert_memory_equal(csr.val, want.val, (size_t)size.nnz * sizeof(float));
        sley_matrix_destroy(c);
      }
    sley_matrix_destroy(whole);
    sley_matrix_destroy(a);
  }
}

static void the_check_finds_what_is_wrong(void **state) {
  (void)state;
  sley_matrix *a = read("er:n=50,nnz=300", SLEY_F64), *c, *wrong;
  sley_spgemm_options options = options_here();
  sley_check result;
  sley_csr csr;
  assert_sley_ok(sley_spgemm(a, a, &options, &c, NULL));
  assert_sley_ok(sley_matrix_csr(c, &csr));
  double *val = malloc((size_t)csr.rowptr[50] * sizeof *val);
  memcpy(val, csr.val, (size_t)csr.rowptr[50] * sizeof *val);
  val[7] += 1e-9 * (val[7] + 1);
  csr.val = val;
  assert_sley_ok(sley_matrix_from_csr(&csr, SLEY_BORROW, &wrong));
  assert_sley_ok(sley_check_spgemm(a, a, &options, wrong, &result));
  assert_false(result.ok);
  sley_matrix_destroy(wrong);
  options.mask = a; /* C has entries where the mask has none */
  assert_sley_ok(sley_check_spgemm(a, a, &options, c, &result));
  assert_false(result.ok);
  options.mask = NULL; /* and A lacks entries of C */
  assert_sley_ok(sley_check_spgemm(a, a, &options, a, &result));
  assert_false(result.ok);
  free(val);
  sley_matrix_destroy(a);
  sley_matrix_destroy(c);
}

static void refuses(const sley_matrix *a, const sley_matrix *b, const sley_spgemm_options *options,
                    sley_status status, const char *text) {
  sley_matrix *c = (sley_matrix *)&status;
  assert_int_equal(sley_spgemm(a, b, options, &c, NULL), status);
  assert_ptr_equal(c, NULL);
  if (!strstr(sley_last_error(), text))
    fail_msg("\"%s\" lacks \"%s\"", sley_last_error(), text);
}

static void wrong_arguments_are_refused(void **state) {
  (void)state;
  sley_matrix *a = read("er:n=50,nnz=300", SLEY_F64), *f32 = read("er:n=50,nnz=300", SLEY_F32), *block;
  sley_spgemm_options options = options_here();
  assert_sley_ok(sley_matrix_row_block(a, 0, 20, &block));
  refuses(NULL, a, NULL, SLEY_ERR_ARG, "a is NULL");
  refuses(a, block, NULL, SLEY_ERR_ARG, "A has 50 columns and B 20 rows");
  refuses(a, f32, NULL, SLEY_ERR_ARG, "different dtypes");
  options.mask = block;
  refuses(a, a, &options, SLEY_ERR_ARG, "the mask is 20 x 50");
  options.mask = NULL;
  options.semiring = (sley_semiring)9;
  refuses(a, a, &options, SLEY_ERR_ARG, "unknown semiring 9");
  options.semiring = SLEY_PLUS_TIMES;
  options.mem_limit = -1;
  refuses(a, a, &options, SLEY_ERR_ARG, "must not be negative");
  options.device = "abacus";
  options.mem_limit = 0;
  refuses(a, a, &options, SLEY_ERR_ARG, "abacus");
  options.device = test_device();
  options.local = "mkl";
  refuses(a, a, &options, SLEY_ERR_ARG, "no sparse products called \"mkl\"");
  options.local = NULL;
  options.mem_limit = 1000;
  refuses(a, a, &options, SLEY_ERR_MEMORY, "mem_limit of 1000 bytes");
  options.mem_limit = 0;
  options.threads = -1;
  refuses(a, a, &options, SLEY_ERR_ARG, "-1 threads");
  options.threads = 0;
  options.ranks = -1;
  refuses(a, a, &options, SLEY_ERR_ARG, "-1 ranks");
  options.ranks = 0;
  options.algo = "tile-c";
  refuses(a, a, &options, SLEY_ERR_ARG, "no algorithm \"tile-c\" in one process");
  options.algo = "rows";
  options.ranks = 2;
  options.device = "cpu";
  refuses(a, a, &options, SLEY_ERR_ARG, "2 ranks on cpu");
  assert_ptr_equal(sley_semiring_name((sley_semiring)-1), NULL);
  assert_string_equal(sley_semiring_name(SLEY_MIN_PLUS), "min-plus");
  sley_matrix_destroy(block);
  sley_matrix_destroy(a);
  sley_matrix_destroy(f32);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(cancellation_stays),
                                     cmocka_unit_test(products_pass_the_check),
                                     cmocka_unit_test(limits_change_nothing),
                                     cmocka_unit_test(ranks_change_nothing),
                                     cmocka_unit_test(the_check_finds_what_is_wrong),
                                     cmocka_unit_test(wrong_arguments_are_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
