/* SPDX-License-Identifier: Apache-2.0 */
/* The binary cache: exact round trips, views, other dtypes, repeats, files that change, and hostile files. */
#include <stdlib.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/random.h"
#include "base/value.h"
#include "formats.h"
#include "io/cache.h"
#include "io/io.h"
#include "support.h"

static const char text[] =
    "%%MatrixMarket matrix coordinate real symmetric\n4 4 4\n1 1 1.5\n3 1 2\n4 2 -3\n4 4 7\n";

static char path[] = "/tmp/sley-cache-XXXXXX.sley";

static char *load(size_t *size) {
  FILE *file = fopen(path, "rb");
  char *bytes = malloc(1 << 16);
  *size = fread(bytes, 1, 1 << 16, file);
  fclose(file);
  return bytes;
}

static sley_matrix *sample(sley_dtype dtype) {
  sley_matrix *a;
  assert_sley_ok(test_read_memory("t", text, sizeof text - 1, dtype, NULL, &a));
  return a;
}

static void expect_equal(const sley_matrix *a, const sley_matrix *b) {
  assert_true(a->rows == b->rows && a->cols == b->cols && a->nnz == b->nnz && a->dtype == b->dtype);
  assert_true(a->index == b->index && a->entries_stored == b->entries_stored);
  for (int64_t i = 0; i <= a->rows; i++)
    assert_int_equal(a->rowptr[i] - a->rowptr[0], b->rowptr[i]);
  size_t col_bytes = sl_index_bytes(a->index), val_bytes = sley_dtype_bytes(a->dtype),
         first = (size_t)a->rowptr[0];
  assert_memory_equal((const char *)a->col + first * col_bytes, b->col, (size_t)a->nnz * col_bytes);
  assert_memory_equal((const char *)a->val + first * val_bytes, b->val, (size_t)a->nnz * val_bytes);
}

static void comes_back_exactly(void **state) {
  (void)state;
  for (int dtype = 0; dtype < 4; dtype++) {
    sley_matrix *a = sample((sley_dtype)dtype), *b;
    assert_sley_ok(sl_matrix_write_file(a, path, NULL));
    int64_t before = sl_memory_now();
    assert_sley_ok(test_read_file(path, (sley_dtype)dtype, NULL, &b));
    assert_true(sl_memory_now() - before < 1024 + sl_csr_bytes(a->rows, a->nnz, a->index, a->dtype));
    assert_int_equal((uintptr_t)b->rowptr % 64 + (uintptr_t)b->col % 64 + (uintptr_t)b->val % 64, 0);
    expect_equal(a, b);
    assert_int_equal(b->entries_stored, 4);
    sl_matrix_destroy(b);
    for (int other = 0; other < 4; other++) {
      assert_sley_ok(test_read_file(path, (sley_dtype)other, NULL, &b));
      assert_int_equal(b->dtype, other);
      for (int64_t e = 0; e < a->nnz; e++) {
        double rounded;
        sl_value_set(&rounded, b->dtype, 0, sl_value_at(a->val, a->dtype, e));
        assert_true(sl_value_at(b->val, b->dtype, e) == sl_value_at(&rounded, b->dtype, 0));
      }
      sl_matrix_destroy(b);
    }
    sl_matrix_destroy(a);
  }
  unlink(path);
}

static void views_and_empty_matrices(void **state) {
  (void)state;
  sley_matrix *a = sample(SLEY_F32), *view, *b;
  for (int64_t first = 0; first <= 4; first++)
    for (int64_t count = 0; first + count <= 4; count++) {
      assert_sley_ok(sl_matrix_view(a, first, count, &view));
      assert_sley_ok(sl_matrix_write_file(view, path, NULL));
      assert_sley_ok(test_read_file(path, SLEY_F32, NULL, &b));
      expect_equal(view, b);
      sl_matrix_destroy(b);
      sl_matrix_destroy(view);
    }
  sl_matrix_destroy(a);
  const int64_t rowptr[] = {0, 0, 0};
  sley_csr csr = {
      .rows = 2, .cols = INT64_C(1) << 40, .rowptr = rowptr, .index = SLEY_I64, .dtype = SLEY_F64};
  assert_sley_ok(sl_matrix_from_csr(&csr, SLEY_BORROW, NULL, &a));
  assert_sley_ok(sl_matrix_write_file(a, path, NULL));
  assert_sley_ok(test_read_file(path, SLEY_F64, NULL, &b));
  assert_true(b->rows == 2 && b->cols == INT64_C(1) << 40 && b->nnz == 0 && b->index == SLEY_I64);
  sl_matrix_destroy(b);
  sl_matrix_destroy(a);
  unlink(path);
}

static sley_status reread(const char *bytes, size_t size) {
  sley_matrix *a;
  sley_status status = test_read_memory("c.sley", bytes, size, SLEY_F32, NULL, &a);
  if (status == SLEY_OK)
    sl_matrix_destroy(a);
  else
    assert_non_null(strstr(sley_last_error(), "c.sley: "));
  return status;
}

static void every_flipped_bit_of_the_header_shows(void **state) {
  (void)state;
  sley_matrix *a = sample(SLEY_F32);
  assert_sley_ok(sl_matrix_write_file(a, path, NULL));
  size_t size;
  char *bytes = load(&size);
  assert_int_equal(reread(bytes, size), SLEY_OK);
  for (size_t bit = 64; bit < 8 * sizeof(sl_cache_header); bit++) { /* the magic decides whose file it is */
    bytes[bit / 8] ^= (char)(1 << bit % 8);
    assert_int_not_equal(reread(bytes, size), SLEY_OK);
    bytes[bit / 8] ^= (char)(1 << bit % 8);
  }
  for (size_t length = 8; length < size; length++)
    assert_int_equal(reread(bytes, length), SLEY_ERR_INPUT);
  free(bytes);
  sl_matrix_destroy(a);
  unlink(path);
}

/* Headers with a true checksum and false promises. */
static void hostile_headers_are_refused(void **state) {
  (void)state;
  sley_matrix *a = sample(SLEY_F32);
  assert_sley_ok(sl_matrix_write_file(a, path, NULL));
  size_t size;
  char *bytes = load(&size);
  sl_cache_header good, bad;
  memcpy(&good, bytes, sizeof good);
  const int64_t wild[] = {
      -1, 0, 1, 3, 5, INT32_MAX, INT64_MAX, INT64_MAX - 1, INT64_MIN, INT64_MAX / 8, INT64_MAX / 4};
  for (size_t w = 0; w < sizeof wild / sizeof *wild; w++)
    for (int field = 0; field < 5; field++) {
      bad = good;
      int64_t *fields[] = {&bad.rows, &bad.cols, &bad.nnz, &bad.file_bytes, &bad.entries_stored};
      *fields[field] = wild[w];
      bad.checksum = sl_cache_checksum(&bad);
      memcpy(bytes, &bad, sizeof bad);
      bool harmless = (field == 1 && wild[w] >= 4 && wild[w] <= INT32_MAX) || (field == 4 && wild[w] >= 0);
      assert_int_equal(reread(bytes, size), harmless ? SLEY_OK : SLEY_ERR_INPUT);
    }
  for (uint32_t kind = 2; kind; kind *= 2) {
    bad = good;
    bad.dtype = kind;
    bad.checksum = sl_cache_checksum(&bad);
    memcpy(bytes, &bad, sizeof bad);
    assert_int_equal(reread(bytes, size), SLEY_ERR_INPUT);
    bad = good;
    bad.index = kind;
    bad.checksum = sl_cache_checksum(&bad);
    memcpy(bytes, &bad, sizeof bad);
    assert_int_equal(reread(bytes, size), SLEY_ERR_INPUT);
  }
  bad = good;
  bad.version = 2;
  memcpy(bytes, &bad, sizeof bad);
  assert_int_equal(reread(bytes, size), SLEY_ERR_UNSUPPORTED);
  bad = good;
  bad.order = 0x04030201;
  memcpy(bytes, &bad, sizeof bad);
  assert_int_equal(reread(bytes, size), SLEY_ERR_UNSUPPORTED);
  free(bytes);
  sl_matrix_destroy(a);
  unlink(path);
}

static void hostile_arrays_are_refused(void **state) {
  (void)state;
  sley_matrix *a = sample(SLEY_F32);
  assert_sley_ok(sl_matrix_write_file(a, path, NULL));
  size_t size;
  char *bytes = load(&size);
  int64_t rowptr[5], good[5];
  memcpy(good, bytes + 128, sizeof good);
  const int64_t wild[] = {-1, 100, INT64_MAX, INT64_MIN};
  for (int i = 0; i < 5; i++)
    for (size_t w = 0; w < sizeof wild / sizeof *wild; w++) {
      memcpy(rowptr, good, sizeof good);
      rowptr[i] = wild[w];
      memcpy(bytes + 128, rowptr, sizeof rowptr);
      assert_int_equal(reread(bytes, size), SLEY_ERR_INPUT);
    }
  memcpy(bytes + 128, good, sizeof good);
  char *col = bytes + 192;
  for (int e = 0; e < (int)a->nnz; e++) {
    int32_t before, bad[] = {-1, 4, INT32_MIN, INT32_MAX};
    memcpy(&before, col + 4 * e, 4);
    for (int w = 0; w < 4; w++) {
      memcpy(col + 4 * e, &bad[w], 4);
      assert_int_equal(reread(bytes, size), SLEY_ERR_INPUT);
    }
    memcpy(col + 4 * e, &before, 4);
  }
  int32_t descending[] = {2, 0}; /* row 0 holds columns 0 and 2 */
  memcpy(col, descending, sizeof descending);
  assert_int_equal(reread(bytes, size), SLEY_ERR_INPUT);
  free(bytes);
  sl_matrix_destroy(a);
  unlink(path);
}

/* A file of these arrays with a true header; returns its bytes. */
static size_t compose(char *bytes, sl_cache_header header, const int64_t *rowptr, const int32_t *col,
                      const float *val) {
  size_t pointers = (size_t)(header.rows + 1) * sizeof *rowptr, nnz = (size_t)header.nnz,
         at_col = (128 + pointers + 63) / 64 * 64, at_val = (at_col + nnz * sizeof *col + 63) / 64 * 64;
  memset(bytes, 0, 1 << 12);
  header.file_bytes = (int64_t)(at_val + nnz * sizeof *val);
  header.checksum = sl_cache_checksum(&header);
  memcpy(bytes, &header, sizeof header);
  memcpy(bytes + 128, rowptr, pointers);
  memcpy(bytes + at_col, col, nnz * sizeof *col);
  memcpy(bytes + at_val, val, nnz * sizeof *val);
  return at_val + nnz * sizeof *val;
}

static sl_cache_header header_of(int64_t rows, int64_t cols, int64_t nnz) {
  sl_cache_header header;
  sley_matrix *a = sample(SLEY_F32);
  assert_sley_ok(sl_matrix_write_file(a, path, NULL));
  size_t size;
  char *bytes = load(&size);
  memcpy(&header, bytes, sizeof header);
  header.rows = rows;
  header.cols = cols;
  header.nnz = header.entries_stored = nnz;
  free(bytes);
  sl_matrix_destroy(a);
  unlink(path);
  return header;
}

static void repeats_are_summed(void **state) {
  (void)state;
  char bytes[1 << 12];
  const int64_t rowptr[] = {0, 3, 3, 5};
  const int32_t col[] = {1, 1, 2, 0, 0};
  const float val[] = {1, 2, 4, 8, 16};
  size_t size = compose(bytes, header_of(3, 3, 5), rowptr, col, val);
  sley_matrix *a;
  assert_sley_ok(test_read_memory("c.sley", bytes, size, SLEY_F32, NULL, &a));
  assert_int_equal(a->nnz, 3);
  assert_int_equal(a->entries_stored, 5);
  const float *sums = a->val;
  assert_true(sums[0] == 3 && sums[1] == 4 && sums[2] == 24);
  sl_matrix_destroy(a);
}

static void more_columns_than_indices_reach(void **state) {
  (void)state;
  char bytes[1 << 12];
  const int64_t rowptr[] = {0, 1};
  const int32_t col[] = {1};
  const float val[] = {1};
  size_t size = compose(bytes, header_of(1, INT64_C(1) << 31, 1), rowptr, col, val);
  assert_int_equal(reread(bytes, size), SLEY_OK);
  size = compose(bytes, header_of(1, (INT64_C(1) << 31) + 1, 1), rowptr, col, val);
  assert_int_equal(reread(bytes, size), SLEY_ERR_INPUT);
  assert_non_null(strstr(sley_last_error(), "more columns than its indices of 32 bits reach"));
}

/* What was read does not change with the file, and a file that became shorter is an error that names it. */
static void the_file_changes_afterwards(void **state) {
  (void)state;
  sley_matrix *a = sample(SLEY_F32), *b;
  assert_sley_ok(sl_matrix_write_file(a, path, NULL));
  assert_sley_ok(test_read_file(path, SLEY_F32, NULL, &b));
  sl_file file;
  assert_sley_ok(sl_file_open(path, &file));
  assert_int_equal(truncate(path, 10), 0);
  expect_equal(a, b);
  sl_cache_header header;
  assert_int_equal(sl_cache_look(&file, &header), SLEY_ERR_IO);
  assert_non_null(strstr(sley_last_error(), path));
  assert_non_null(strstr(sley_last_error(), "became shorter"));
  assert_int_equal(sl_file_check_unchanged(&file), SLEY_ERR_IO);
  assert_non_null(strstr(sley_last_error(), path));
  sl_file_close(&file);
  sl_matrix_destroy(b);
  sl_matrix_destroy(a);
  unlink(path);
}

static int make_path(void **state) {
  (void)state;
  int descriptor = mkstemps(path, 5);
  return descriptor < 0 || close(descriptor);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(comes_back_exactly),
      cmocka_unit_test(views_and_empty_matrices),
      cmocka_unit_test(every_flipped_bit_of_the_header_shows),
      cmocka_unit_test(hostile_headers_are_refused),
      cmocka_unit_test(hostile_arrays_are_refused),
      cmocka_unit_test(repeats_are_summed),
      cmocka_unit_test(more_columns_than_indices_reach),
      cmocka_unit_test(the_file_changes_afterwards),
  };
  return cmocka_run_group_tests(tests, make_path, NULL);
}
