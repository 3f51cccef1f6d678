/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers for tests of matrix formats: reading from memory, refusals with their lines, round trips. */
#include "formats.h"

#include <dirent.h>
#include <math.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/random.h"
#include "base/value.h"
#include "io/io.h"

static double value_at(const sley_matrix *a, int64_t e) {
  return sl_value_at(a->val, a->dtype, e);
}

double test_value(const sley_matrix *a, int64_t row, int64_t col) {
  double sum = 0;
  bool found = false;
  for (int64_t e = a->rowptr[row]; e < a->rowptr[row + 1]; e++)
    if (sl_index_at(a->col, a->index, e) == col) {
      sum += value_at(a, e);
      found = true;
    }
  return found ? sum : (double)NAN;
}

void test_is(const sley_matrix *a, int64_t rows, int64_t cols, const double *dense) {
  assert_int_equal(a->rows, rows);
  assert_int_equal(a->cols, cols);
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < cols; j++) {
      double is = test_value(a, i, j), wanted = dense[i * cols + j];
      if (is != wanted && !(isnan(is) && isnan(wanted)))
        fail_msg("entry (%lld, %lld) is %g, not %g", (long long)i, (long long)j, is, wanted);
    }
}

sley_status test_open_memory(const char *name, const void *bytes, size_t size, sl_input *out) {
  const sl_file file = sl_file_of_memory(name, bytes, (int64_t)size);
  return sl_input_load(&file, 0, NULL, out);
}

sley_status test_read_file(const char *path, sley_dtype dtype, sl_team *team, sley_matrix **out) {
  return sl_matrix_read_as(path, &(sl_reading){.dtype = dtype}, team, out);
}

sley_status test_read_memory(const char *name, const void *bytes, size_t size, sley_dtype dtype, sl_team *team,
                             sley_matrix **out) {
  sl_input input;
  SL_TRY(test_open_memory(name, bytes, size, &input));
  return sl_format_read(&input, NULL, dtype, team, out);
}

sley_status test_read(const char *name, const char *text, sley_dtype dtype, sley_matrix **out) {
  *out = NULL;
  return test_read_memory(name, text, strlen(text), dtype, NULL, out);
}

void test_refusals(const char *name, const test_refusal *cases, size_t count) {
  for (size_t c = 0; c < count; c++) {
    sley_matrix *a;
    char where[64];
    int64_t before = sl_memory_now();
    sley_status status = test_read(name, cases[c].text, SLEY_F32, &a);
    snprintf(where, sizeof where, "%s:%d: ", name, cases[c].line);
    const char *message = status == SLEY_OK ? "" : sley_last_error();
    if (status != cases[c].status || strncmp(message, where, strlen(where)) != 0 ||
        !strstr(message, cases[c].says))
      fail_msg("case %zu: %s: %s (expected %s ... %s)", c, sley_status_name(status), message, where,
               cases[c].says);
    assert_null(strchr(message, '\n'));
    assert_int_equal(sl_memory_now(), before);
  }
}

void test_reading_short_of_memory(const char *name, const void *bytes, size_t size) {
  int64_t before = sl_memory_now();
  sley_status status = SLEY_ERR_MEMORY;
  for (int64_t nth = 1; status != SLEY_OK; nth++) {
    sley_matrix *a;
    sl_memory_fail_at(nth);
    status = test_read_memory(name, bytes, size, SLEY_F32, NULL, &a);
    sl_memory_fail_at(0);
    if (status == SLEY_OK)
      sl_matrix_destroy(a);
    else if (status != SLEY_ERR_MEMORY)
      fail_msg("allocation %lld: %s: %s", (long long)nth, sley_status_name(status), sley_last_error());
    assert_int_equal(sl_memory_now(), before);
    assert_true(nth < 200);
  }
}

void test_writing_short_of_memory(const sley_matrix *a, const char *ending) {
  const char *path = test_path(ending);
  int64_t before = sl_memory_now();
  sley_status status = SLEY_ERR_MEMORY;
  for (int64_t nth = 1; status != SLEY_OK; nth++) {
    sl_memory_fail_at(nth);
    status = sl_matrix_write_file(a, path, NULL);
    sl_memory_fail_at(0);
    if (status != SLEY_OK) {
      if (status != SLEY_ERR_MEMORY)
        fail_msg("allocation %lld: %s: %s", (long long)nth, sley_status_name(status), sley_last_error());
      assert_int_not_equal(access(path, F_OK), 0);
    }
    assert_int_equal(sl_memory_now(), before);
    assert_true(nth < 200);
  }
  unlink(path);
}

void test_same(const sley_matrix *a, const sley_matrix *b) {
  assert_int_equal(a->rows, b->rows);
  assert_int_equal(a->cols, b->cols);
  assert_int_equal(a->nnz, b->nnz);
  assert_int_equal(a->dtype, b->dtype);
  for (int64_t i = 0; i <= a->rows; i++)
    assert_int_equal(a->rowptr[i] - a->rowptr[0], b->rowptr[i] - b->rowptr[0]);
  size_t bytes = sley_dtype_bytes(a->dtype);
  for (int64_t k = 0; k < a->nnz; k++) {
    int64_t e = a->rowptr[0] + k, f = b->rowptr[0] + k;
    assert_int_equal(sl_index_at(a->col, a->index, e), sl_index_at(b->col, b->index, f));
    assert_memory_equal((const char *)a->val + (size_t)e * bytes, (const char *)b->val + (size_t)f * bytes,
                        bytes);
  }
}

/* Whether (i, j) is an entry, and its value; the same for (j, i) if symmetric. */
static bool random_entry(uint64_t seed, int64_t i, int64_t j, double density, bool symmetric, double *value) {
  uint64_t a = (uint64_t)i, b = (uint64_t)j;
  if (symmetric && i == j)
    return false;
  if (symmetric && i > j) {
    a = (uint64_t)j;
    b = (uint64_t)i;
  }
  uint64_t bits = sl_random(seed, a, b), more = sl_random(seed + 1, a, b);
  *value = symmetric ? (double)(1 + sl_below(more, 5)) : ldexp(sl_unit(more) - 0.5, (int)(more % 60) - 30);
  return sl_unit(bits) < density;
}

sley_matrix *test_random_matrix(uint64_t seed, int64_t rows, int64_t cols, double density, sley_dtype dtype,
                                bool symmetric) {
  int64_t nnz = 0;
  double value;
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < cols; j++)
      nnz += random_entry(seed, i, j, density, symmetric, &value);
  sl_csr_arrays arrays = {sl_alloc(rows + 1, sizeof(int64_t), "test"), sl_alloc(nnz, sizeof(int32_t), "test"),
                          sl_alloc(nnz, sley_dtype_bytes(dtype), "test")};
  int64_t e = 0;
  for (int64_t i = 0; i < rows; i++) {
    arrays.rowptr[i] = e;
    for (int64_t j = 0; j < cols; j++)
      if (random_entry(seed, i, j, density, symmetric, &value)) {
        ((int32_t *)arrays.col)[e] = (int32_t)j;
        sl_value_set(arrays.val, dtype, e, value);
        e++;
      }
  }
  arrays.rowptr[rows] = e;
  sley_matrix *a;
  assert_sley_ok(sl_matrix_adopt(rows, cols, SLEY_I32, dtype, arrays, -1, &a));
  return a;
}

void test_round_trip(const sley_matrix *a, const char *ending, sl_team *team) {
  static const char *const compressions[] = {"", ".gz", ".zst"};
  for (int c = 0; c < 3; c++) {
    char name[64];
    snprintf(name, sizeof name, "round%s%s", ending, compressions[c]);
    const char *path = test_path(name);
    sley_matrix *b;
    assert_sley_ok(sl_matrix_write_file(a, path, team));
    assert_sley_ok(test_read_file(path, a->dtype, team, &b));
    test_same(a, b);
    assert_int_equal(b->entries_stored, a->nnz);
    sl_matrix_destroy(b);
    unlink(path);
  }
}

static char folder[64];

const char *test_path(const char *name) {
  static char path[256];
  if (!folder[0]) {
    strcpy(folder, "/tmp/sley-test-XXXXXX");
    assert_non_null(mkdtemp(folder));
  }
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

int test_clean(void **state) {
  (void)state;
  DIR *open = folder[0] ? opendir(folder) : NULL;
  if (!open)
    return 0;
  for (struct dirent *entry; (entry = readdir(open));)
    if (entry->d_name[0] != '.' || strlen(entry->d_name) > 2)
      unlink(test_path(entry->d_name));
  closedir(open);
  int result = rmdir(folder);
  folder[0] = '\0';
  return result;
}
