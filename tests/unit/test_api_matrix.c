/* SPDX-License-Identifier: Apache-2.0 */
/* The public functions of matrices and dense operands: results, ownership, refusals. */
#include "support.h"

#include <stddef.h>
#include <unistd.h>

static const int64_t rowptr[] = {0, 2, 2, 5};
static const int32_t col[] = {0, 3, 1, 2, 3}, unsorted[] = {3, 0, 2, 1, 3};
static const float val[] = {1, 2, 3, 4, 5};
static const sley_csr given = {3, 4, rowptr, col, val, SLEY_I32, SLEY_F32};

static void arrays_are_copied_or_borrowed(void **state) {
  (void)state;
  for (int how = 0; how < 2; how++) {
    sley_matrix *a;
    sley_csr csr;
    sley_matrix_info info;
    assert_sley_ok(sley_matrix_from_csr(&given, how ? SLEY_BORROW : SLEY_COPY, &a));
    assert_sley_ok(sley_matrix_csr(a, &csr));
    assert_int_equal(csr.col == given.col, how);
    assert_int_equal(csr.val == given.val, how);
    assert_memory_equal(csr.col, col, sizeof col);
    assert_memory_equal(csr.val, val, sizeof val);
    assert_sley_ok(sley_matrix_info_get(a, &info));
    assert_int_equal(info.rows, 3);
    assert_int_equal(info.cols, 4);
    assert_int_equal(info.nnz, 5);
    assert_int_equal(info.entries_stored, 5);
    assert_int_equal(info.max_row_nnz, 3);
    assert_int_equal(info.bytes, 4 * 8 + 5 * 8);
    sley_matrix_destroy(a);
  }
}

static void unsorted_rows_are_sorted_in_a_copy(void **state) {
  (void)state;
  sley_csr csr = given;
  csr.col = unsorted;
  sley_matrix *a;
  assert_sley_ok(sley_matrix_from_csr(&csr, SLEY_BORROW, &a));
  sley_csr out;
  assert_sley_ok(sley_matrix_csr(a, &out));
  const float want[] = {2, 1, 4, 3, 5};
  assert_memory_equal(out.col, col, sizeof col);
  assert_memory_equal(out.val, want, sizeof want);
  assert_int_equal(unsorted[0], 3);
  sley_matrix_destroy(a);
}

static void wrong_arrays_are_refused(void **state) {
  (void)state;
  sley_matrix *a;
  sley_csr csr = given;
  csr.rows = -1;
  assert_int_equal(sley_matrix_from_csr(&csr, SLEY_COPY, &a), SLEY_ERR_ARG);
  csr = given;
  csr.rowptr = NULL;
  assert_int_equal(sley_matrix_from_csr(&csr, SLEY_COPY, &a), SLEY_ERR_ARG);
  csr = given;
  csr.val = NULL;
  assert_int_equal(sley_matrix_from_csr(&csr, SLEY_COPY, &a), SLEY_ERR_ARG);
  csr = given;
  csr.dtype = (sley_dtype)9;
  assert_int_equal(sley_matrix_from_csr(&csr, SLEY_COPY, &a), SLEY_ERR_ARG);
  csr = given;
  csr.cols = 3;
  assert_int_equal(sley_matrix_from_csr(&csr, SLEY_COPY, &a), SLEY_ERR_INPUT);
  assert_non_null(strstr(sley_last_error(), "row 0: column 3"));
  assert_null(a);
  assert_int_equal(sley_matrix_from_csr(NULL, SLEY_COPY, &a), SLEY_ERR_ARG);
  assert_int_equal(sley_matrix_from_csr(&given, (sley_ownership)7, &a), SLEY_ERR_ARG);
  assert_int_equal(sley_matrix_from_csr(&given, SLEY_COPY, NULL), SLEY_ERR_ARG);
  sley_matrix_destroy(NULL);
}

static void row_pointers_may_have_32_bits(void **state) {
  (void)state;
  static const int32_t thin[] = {0, 2, 2, 5}, later[] = {2, 2, 5}, falling[] = {0, 2, 1, 5},
                       all[] = {-1, 2, 2, 5};
  for (int how = SLEY_COPY; how <= SLEY_BORROW; how++)
    for (int sorted = 0; sorted < 2; sorted++) {
      sley_csr csr = given, out;
      sley_matrix *a, *t, *b;
      csr.rowptr = NULL;
      csr.rowptr32 = thin;
      csr.col = sorted ? col : unsorted;
      assert_sley_ok(sley_matrix_from_csr(&csr, (sley_ownership)how, &a));
      assert_sley_ok(sley_matrix_csr(a, &out));
      assert_null(out.rowptr32);
      assert_memory_equal(out.rowptr, rowptr, sizeof rowptr);
      assert_memory_equal(out.col, col, sizeof col);
      assert_int_equal(out.col == csr.col, how == SLEY_BORROW && sorted);
      assert_sley_ok(sley_matrix_transpose(a, 1, &t));
      assert_sley_ok(sley_matrix_row_block(a, 1, 2, &b));
      sley_matrix_destroy(b);
      sley_matrix_destroy(t);
      sley_matrix_destroy(a);
    }
  sley_csr csr = given, out;
  sley_matrix *a;
  csr.rowptr32 = thin;
  assert_int_equal(sley_matrix_from_csr(&csr, SLEY_COPY, &a), SLEY_ERR_ARG);
  assert_non_null(strstr(sley_last_error(), "rowptr and rowptr32"));
  csr.rowptr = NULL;
  csr.rowptr32 = falling;
  assert_int_equal(sley_matrix_from_csr(&csr, SLEY_BORROW, &a), SLEY_ERR_INPUT);
  csr.rowptr32 = all;
  assert_int_equal(sley_matrix_from_csr(&csr, SLEY_BORROW, &a), SLEY_ERR_INPUT);
  csr.rows = 2;
  csr.rowptr32 = later; /* the first is not 0 */
  assert_sley_ok(sley_matrix_from_csr(&csr, SLEY_COPY, &a));
  assert_sley_ok(sley_matrix_csr(a, &out));
  assert_int_equal(out.rowptr[2] - out.rowptr[0], 3);
  assert_int_equal(((const int32_t *)out.col)[out.rowptr[0]], 1);
  sley_matrix_destroy(a);
}

static sley_status nothing(sley_comm *comm, void *arg) {
  (void)comm;
  (void)arg;
  return SLEY_OK;
}

static sley_status plan_with(sley_comm *comm, void *arg) {
  const int64_t begin[] = {0, 3}, cols[] = {0, 4};
  sley_matrix *a;
  sley_plan *plan = NULL;
  if (sley_matrix_from_csr(&given, SLEY_BORROW, &a) != SLEY_OK)
    return SLEY_ERR_INTERNAL;
  sley_status status = sley_plan_create(comm, a, begin, cols, 2, arg, &plan);
  sley_plan_destroy(plan);
  sley_matrix_destroy(a);
  return status;
}

/* Calls that take a struct with a size, each with one of its options that begins with `size`. */
static sley_status read_with(size_t size) {
  sley_read_options options = SLEY_READ_OPTIONS_INIT;
  sley_matrix *a = NULL;
  options.struct_size = size;
  sley_status status = sley_matrix_read("er:n=10,nnz=20", &options, &a);
  sley_matrix_destroy(a);
  return status;
}

static sley_status ranks_with(size_t size) {
  sley_rank_options options = SLEY_RANK_OPTIONS_INIT;
  options.struct_size = size;
  return sley_run_ranks(&options, nothing, NULL);
}

static sley_status options_with(size_t size) {
  sley_plan_options options = SLEY_PLAN_OPTIONS_INIT;
  options.struct_size = size;
  return sley_run_ranks(NULL, plan_with, &options);
}

static sley_status comm_with(size_t size) {
  sley_comm_options options = SLEY_COMM_OPTIONS_INIT;
  sley_comm *comm = NULL;
  options.struct_size = size;
  sley_status status = sley_comm_open(&options, &comm);
  (void)sley_comm_close(comm);
  return status;
}

/* A smaller one is of an older header, and what it lacks has its default; a larger one is refused. */
static void structs_are_checked_alike(void **state) {
  (void)state;
  static const struct {
    const char *name;
    size_t size, second; /* of the whole; up to the second field */
    sley_status (*call)(size_t size);
  } structs[] = {
      {"sley_read_options", sizeof(sley_read_options), offsetof(sley_read_options, threads), read_with},
      {"sley_rank_options", sizeof(sley_rank_options), offsetof(sley_rank_options, workgroup), ranks_with},
      {"sley_plan_options", sizeof(sley_plan_options), offsetof(sley_plan_options, reproducible),
       options_with},
      {"sley_comm_options", sizeof(sley_comm_options), offsetof(sley_comm_options, workgroup), comm_with},
  };
  for (size_t i = 0; i < sizeof structs / sizeof *structs; i++) {
    assert_sley_ok(structs[i].call(structs[i].size));
    assert_sley_ok(structs[i].call(structs[i].second));
    assert_sley_ok(structs[i].call(sizeof(size_t)));
    const size_t wrong[] = {0, sizeof(size_t) - 1, structs[i].size + 1, structs[i].size + 8, SIZE_MAX};
    for (size_t w = 0; w < sizeof wrong / sizeof *wrong; w++) {
      char expected[64];
      snprintf(expected, sizeof expected, "%s.struct_size is %zu", structs[i].name, wrong[w]);
      assert_int_equal(structs[i].call(wrong[w]), SLEY_ERR_ARG);
      assert_non_null(strstr(sley_last_error(), expected));
    }
  }
}

static void matrices_may_be_empty(void **state) {
  (void)state;
  const int64_t zero[] = {7};
  sley_csr csr = {0, 0, zero, NULL, NULL, SLEY_I64, SLEY_F64};
  for (int how = SLEY_COPY; how <= SLEY_BORROW; how++) {
    sley_matrix *a, *t, *b;
    assert_sley_ok(sley_matrix_from_csr(&csr, (sley_ownership)how, &a));
    assert_sley_ok(sley_matrix_transpose(a, 1, &t));
    assert_sley_ok(sley_matrix_row_block(a, 0, 0, &b));
    sley_matrix_destroy(b);
    assert_sley_ok(sley_matrix_undirected(a, 1, &b));
    sley_matrix_destroy(b);
    assert_int_equal(sley_matrix_undirected(a, -1, &b), SLEY_ERR_ARG);
    assert_int_equal(sley_matrix_undirected(NULL, 1, &b), SLEY_ERR_ARG);
    assert_int_equal(sley_matrix_undirected(a, 1, NULL), SLEY_ERR_ARG);
    sley_matrix_destroy(t);
    sley_matrix_destroy(a);
  }
}

static void row_blocks_are_views(void **state) {
  (void)state;
  sley_matrix *a, *block, *inner;
  sley_csr csr;
  sley_matrix_info info;
  assert_sley_ok(sley_matrix_from_csr(&given, SLEY_COPY, &a));
  assert_sley_ok(sley_matrix_row_block(a, 1, 2, &block));
  assert_sley_ok(sley_matrix_row_block(block, 1, 1, &inner));
  assert_sley_ok(sley_matrix_csr(inner, &csr));
  assert_int_equal(csr.rows, 1);
  assert_int_equal(csr.cols, 4);
  assert_int_equal(csr.rowptr[0], 2);
  assert_int_equal(((const int32_t *)csr.col)[csr.rowptr[0]], 1);
  assert_sley_ok(sley_matrix_info_get(block, &info));
  assert_int_equal(info.rows, 2);
  assert_int_equal(info.nnz, 3);
  sley_matrix_destroy(inner);
  assert_int_equal(sley_matrix_row_block(a, 2, 2, &inner), SLEY_ERR_ARG);
  assert_int_equal(sley_matrix_row_block(a, -1, 2, &inner), SLEY_ERR_ARG);
  assert_int_equal(sley_matrix_row_block(a, INT64_MAX, INT64_MAX, &inner), SLEY_ERR_ARG);
  sley_matrix_destroy(block);
  sley_matrix_destroy(a);
}

static void permutations_are_checked(void **state) {
  (void)state;
  const int64_t rows[] = {2, 0, 1}, cols[] = {3, 2, 1, 0}, wrong[] = {0, 0, 1, 2};
  sley_matrix *a, *b;
  sley_csr csr;
  assert_sley_ok(sley_matrix_from_csr(&given, SLEY_COPY, &a));
  assert_int_equal(sley_matrix_permute(a, wrong, cols, 1, &b), SLEY_ERR_ARG);
  assert_int_equal(sley_matrix_permute(a, rows, wrong, 1, &b), SLEY_ERR_ARG);
  assert_int_equal(sley_matrix_permute(a, rows, cols, -1, &b), SLEY_ERR_ARG);
  assert_sley_ok(sley_matrix_permute(a, rows, cols, 1, &b));
  assert_sley_ok(sley_matrix_csr(b, &csr));
  const int64_t want_rowptr[] = {0, 0, 3, 5};
  const int32_t want_col[] = {0, 1, 2, 0, 3};
  const float want_val[] = {5, 4, 3, 2, 1};
  assert_memory_equal(csr.rowptr, want_rowptr, sizeof want_rowptr);
  assert_memory_equal(csr.col, want_col, sizeof want_col);
  assert_memory_equal(csr.val, want_val, sizeof want_val);
  sley_matrix_destroy(b);
  sley_matrix_destroy(a);
}

static void generators_are_read_by_name(void **state) {
  (void)state;
  sley_matrix *a, *b;
  sley_matrix_info info;
  assert_sley_ok(sley_matrix_read("er:n=100,nnz=700", NULL, &a));
  assert_sley_ok(sley_matrix_info_get(a, &info));
  assert_int_equal(info.nnz, 700);
  assert_int_equal(info.dtype, SLEY_F32);
  sley_read_options options = SLEY_READ_OPTIONS_INIT;
  options.dtype = SLEY_F64;
  options.seed = 5;
  options.threads = 2;
  assert_sley_ok(sley_matrix_read("er:n=100,nnz=700", &options, &b));
  assert_sley_ok(sley_matrix_info_get(b, &info));
  assert_int_equal(info.dtype, SLEY_F64);
  sley_matrix_destroy(b);
  sley_matrix_destroy(a);
  options.struct_size = 1;
  assert_int_equal(sley_matrix_read("er:n=100,nnz=700", &options, &b), SLEY_ERR_ARG);
  options.struct_size = sizeof options;
  options.threads = -1;
  assert_int_equal(sley_matrix_read("er:n=100,nnz=700", &options, &b), SLEY_ERR_ARG);
  assert_int_equal(sley_matrix_read(NULL, NULL, &b), SLEY_ERR_ARG);
  assert_int_equal(sley_matrix_read("no-such-file.mtx", NULL, &b), SLEY_ERR_IO);
  assert_null(b);
}

static void files_come_back(void **state) {
  (void)state;
  char folder[] = "/tmp/sley-test-XXXXXX", path[64];
  assert_non_null(mkdtemp(folder));
  sley_matrix *a, *b;
  sley_csr csr;
  snprintf(path, sizeof path, "%s/a.mtx", folder);
  assert_sley_ok(sley_matrix_from_csr(&given, SLEY_COPY, &a));
  assert_sley_ok(sley_matrix_write(a, path));
  assert_sley_ok(sley_matrix_read(path, NULL, &b));
  assert_sley_ok(sley_matrix_csr(b, &csr));
  assert_int_equal(csr.cols, 4);
  assert_memory_equal(csr.rowptr, rowptr, sizeof rowptr);
  assert_memory_equal(csr.col, col, sizeof col);
  assert_memory_equal(csr.val, val, sizeof val);
  sley_matrix_destroy(b);
  unlink(path);
  assert_int_equal(sley_matrix_write(a, NULL), SLEY_ERR_ARG);
  assert_int_equal(sley_matrix_write(NULL, path), SLEY_ERR_ARG);
  snprintf(path, sizeof path, "%s/a.unknown", folder);
  assert_int_equal(sley_matrix_write(a, path), SLEY_ERR_ARG);
  sley_matrix_destroy(a);

  snprintf(path, sizeof path, "%s/x.npy", folder);
  const double x[] = {1, 2, 99, 3, 4, 99};
  int64_t rows, cols;
  void *data;
  assert_sley_ok(sley_dense_write(path, SLEY_F64, 2, 2, x, 3));
  assert_sley_ok(sley_dense_read(path, SLEY_F32, &rows, &cols, &data));
  const float want[] = {1, 2, 3, 4};
  assert_int_equal(rows, 2);
  assert_int_equal(cols, 2);
  assert_memory_equal(data, want, sizeof want);
  sley_buffer_free(data);
  unlink(path);
  assert_int_equal(sley_dense_write(path, SLEY_F64, 2, 4, x, 3), SLEY_ERR_ARG);
  assert_int_equal(sley_dense_write(path, SLEY_F64, 2, 2, NULL, 3), SLEY_ERR_ARG);
  assert_int_equal(sley_dense_write(path, SLEY_F64, INT64_MAX / 2, 2, x, 3), SLEY_ERR_OVERFLOW);
  assert_int_equal(sley_dense_read(path, SLEY_F64, NULL, &cols, &data), SLEY_ERR_ARG);
  assert_int_equal(sley_dense_read(path, SLEY_F64, &rows, &cols, &data), SLEY_ERR_IO);
  rmdir(folder);
}

/* A value depends on seed, row name and column only: not on blocks, the leading dimension or the other rows.
 */
static void random_values_follow_row_names(void **state) {
  (void)state;
  enum { ROWS = 40, COLS = 7, LD = 9 };
  double all[ROWS * COLS], block[10 * LD];
  float narrow[ROWS * COLS];
  int64_t names[10];
  assert_sley_ok(sley_dense_random(3, 0, ROWS, COLS, NULL, SLEY_F64, all, COLS));
  assert_sley_ok(sley_dense_random(3, 0, ROWS, COLS, NULL, SLEY_F32, narrow, COLS));
  double sum = 0;
  for (int i = 0; i < ROWS * COLS; i++) {
    assert_true(all[i] >= -1 && all[i] < 1);
    assert_true(narrow[i] >= -1 && narrow[i] < 1);
    assert_true(all[i] - narrow[i] < 0x1p-22 && narrow[i] - all[i] < 0x1p-22);
    sum += all[i];
  }
  assert_true(sum / (ROWS * COLS) < 0.2 && sum / (ROWS * COLS) > -0.2);
  block[COLS] = 77;
  assert_sley_ok(sley_dense_random(3, 20, 10, COLS, NULL, SLEY_F64, block, LD));
  assert_true(block[COLS] == 77);
  for (int i = 0; i < 10; i++)
    assert_memory_equal(block + i * LD, all + (20 + i) * COLS, COLS * sizeof *all);
  for (int i = 0; i < 10; i++)
    names[i] = (i * 7) % ROWS;
  assert_sley_ok(sley_dense_random(3, 1000, 10, COLS, names, SLEY_F64, block, LD));
  for (int i = 0; i < 10; i++)
    assert_memory_equal(block + i * LD, all + names[i] * COLS, COLS * sizeof *all);
  assert_sley_ok(sley_dense_random(4, 0, 10, COLS, NULL, SLEY_F64, block, COLS));
  assert_memory_not_equal(block, all, COLS * sizeof *all);
  assert_sley_ok(sley_dense_random(4, 0, 0, 0, NULL, SLEY_F64, NULL, 0));
  assert_int_equal(sley_dense_random(4, 0, 1, 1, NULL, SLEY_F64, NULL, 1), SLEY_ERR_ARG);
  assert_int_equal(sley_dense_random(4, 0, 1, 2, NULL, SLEY_F64, all, 1), SLEY_ERR_ARG);
}

static void buffers_are_aligned(void **state) {
  (void)state;
  void *buffer;
  assert_sley_ok(sley_buffer_alloc(1000, &buffer));
  assert_int_equal((uintptr_t)buffer % 64, 0);
  sley_buffer_free(buffer);
  assert_sley_ok(sley_buffer_alloc(0, &buffer));
  sley_buffer_free(buffer);
  assert_int_equal(sley_buffer_alloc(-1, &buffer), SLEY_ERR_ARG);
  assert_int_equal(sley_buffer_alloc(INT64_MAX, &buffer), SLEY_ERR_MEMORY);
  assert_null(buffer);
  assert_int_equal(sley_buffer_alloc(8, NULL), SLEY_ERR_ARG);
  sley_buffer_free(NULL);
}

/* Y = 2 A X + Y0 / 2, and any of its values one hundredth off. */
static void a_check_finds_a_wrong_value_of_every_dtype(void **state) {
  (void)state;
  enum { ROWS = 3, COLS = 4, NNZ = 5 };
  static const double x[COLS] = {1, 1, 1, 1}, y0[ROWS] = {2, 4, 6}, y[ROWS] = {7, 2, 27};
  for (int dtype = 0; dtype < 4; dtype++) {
    double values[NNZ], x_there[COLS], y0_there[ROWS], y_there[ROWS]; /* room for any dtype */
    sley_csr csr = given;
    csr.dtype = (sley_dtype)dtype;
    csr.val = values;
    assert_sley_ok(sley_convert(SLEY_F32, val, csr.dtype, values, NNZ));
    assert_sley_ok(sley_convert(SLEY_F64, x, csr.dtype, x_there, COLS));
    assert_sley_ok(sley_convert(SLEY_F64, y0, csr.dtype, y0_there, ROWS));
    sley_matrix *a;
    sley_check check;
    assert_sley_ok(sley_matrix_from_csr(&csr, SLEY_COPY, &a));
    for (int wrong = -1; wrong < ROWS; wrong++) {
      double made[ROWS];
      memcpy(made, y, sizeof made);
      if (wrong >= 0)
        made[wrong] *= 1.01;
      assert_sley_ok(sley_convert(SLEY_F64, made, csr.dtype, y_there, ROWS));
      assert_sley_ok(sley_check_scaled(a, false, 1, 2, x_there, 1, 0.5, y0_there, 1, y_there, 1, 1, &check));
      assert_int_equal(check.ok, wrong < 0);
      if (wrong >= 0)
        assert_int_equal(check.row, wrong);
    }
    assert_int_equal(sley_check_scaled(a, false, 2, 1, x_there, 1, 0, NULL, 0, y_there, 2, 1, &check),
                     SLEY_ERR_ARG);
    assert_int_equal(sley_check_scaled(a, false, 1, 1, x_there, 1, 2, y0_there, 0, y_there, 1, 1, &check),
                     SLEY_ERR_ARG);
    sley_matrix_destroy(a);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(arrays_are_copied_or_borrowed),
      cmocka_unit_test(unsorted_rows_are_sorted_in_a_copy),
      cmocka_unit_test(wrong_arrays_are_refused),
      cmocka_unit_test(row_pointers_may_have_32_bits),
      cmocka_unit_test(structs_are_checked_alike),
      cmocka_unit_test(matrices_may_be_empty),
      cmocka_unit_test(row_blocks_are_views),
      cmocka_unit_test(permutations_are_checked),
      cmocka_unit_test(generators_are_read_by_name),
      cmocka_unit_test(files_come_back),
      cmocka_unit_test(random_values_follow_row_names),
      cmocka_unit_test(buffers_are_aligned),
      cmocka_unit_test(a_check_finds_a_wrong_value_of_every_dtype),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
