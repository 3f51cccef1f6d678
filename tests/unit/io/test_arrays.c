/* SPDX-License-Identifier: Apache-2.0 */
/* Named arrays in a file: what is written is read again, in every type; hostile names and damaged files. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/random.h"
#include "base/value.h"
#include "formats.h"

static char path[64];

static int make_path(void **state) {
  (void)state;
  snprintf(path, sizeof path, "/tmp/sley-arrays-%d.npz", (int)getpid());
  return 0;
}

static int remove_path(void **state) {
  (void)state;
  unlink(path);
  return 0;
}

static void test_round_trip_of_types(void **state) {
  (void)state;
  enum { ROWS = 7, COLS = 3, VALUES = ROWS * COLS };
  double wide[VALUES], got_wide;
  float narrow[VALUES];
  uint16_t half[VALUES], brain[VALUES];
  int64_t whole[VALUES];
  for (int i = 0; i < VALUES; i++) {
    wide[i] = sl_unit(sl_random(1, 2, (uint64_t)i)) - 0.5;
    narrow[i] = (float)wide[i];
    whole[i] = (int64_t)sl_random(3, 4, (uint64_t)i);
  }
  assert_sley_ok(sley_convert(SLEY_F64, wide, SLEY_F16, half, VALUES));
  assert_sley_ok(sley_convert(SLEY_F64, wide, SLEY_BF16, brain, VALUES));
  const sley_array arrays[] = {{"wide", SLEY_TYPE_F64, ROWS, COLS, wide},
                               {"0.weight.first", SLEY_TYPE_F32, VALUES, SLEY_VECTOR, narrow},
                               {"half", SLEY_TYPE_F16, COLS, ROWS, half},
                               {"brain", SLEY_TYPE_BF16, ROWS, COLS, brain},
                               {"whole", SLEY_TYPE_I64, 1, SLEY_VECTOR, whole},
                               {"none", SLEY_TYPE_F32, 0, 5, NULL}};
  assert_sley_ok(sley_arrays_write(path, arrays, 6));
  for (int n = 0; n < 6; n++) {
    const sley_array *a = &arrays[n];
    int64_t rows, cols;
    void *data;
    assert_sley_ok(sley_array_read(path, a->name, a->type, &rows, &cols, &data));
    assert_int_equal(rows, a->rows);
    assert_int_equal(cols, a->cols);
    const int64_t values = rows * (cols == SLEY_VECTOR ? 1 : cols);
    assert_memory_equal(data, a->data ? a->data : data, (size_t)values * sley_type_bytes(a->type));
    sley_buffer_free(data);
    if (a->type == SLEY_TYPE_I64 || values == 0)
      continue;
    assert_sley_ok(sley_array_read(path, a->name, SLEY_TYPE_F64, &rows, &cols, &data));
    sl_values_convert((sley_dtype)a->type, a->data, SLEY_F64, &got_wide, 1);
    assert_true(*(double *)data == got_wide);
    sley_buffer_free(data);
  }
}

static void assert_read_fails(const char *name, sley_type type, sley_status status, const char *words) {
  int64_t rows, cols;
  void *data;
  assert_int_equal(sley_array_read(path, name, type, &rows, &cols, &data), status);
  assert_non_null(strstr(sley_last_error(), words));
  assert_null(data);
}

static void test_what_is_refused(void **state) {
  (void)state;
  const double value = 1.5;
  const sley_array good = {"x", SLEY_TYPE_F64, 1, 1, &value};
  const char *const names[] = {"", "a/b", "a\\b", NULL};
  char longest[200];
  memset(longest, 'n', sizeof longest - 1);
  longest[sizeof longest - 1] = 0;
  assert_sley_ok(sley_arrays_write(path, &good, 1));
  assert_read_fails("y", SLEY_TYPE_F64, SLEY_ERR_INPUT, "has no y.npy");
  assert_read_fails("x", SLEY_TYPE_I64, SLEY_ERR_INPUT, "not of whole numbers");
  assert_read_fails(longest, SLEY_TYPE_F64, SLEY_ERR_ARG, "is no name");
  assert_read_fails("x", (sley_type)9, SLEY_ERR_ARG, "no type 9");
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    sley_array bad = good;
    bad.name = names[i];
    assert_int_equal(sley_arrays_write(path, &bad, 1), SLEY_ERR_ARG);
  }
  sley_array bad = good;
  bad.rows = -1;
  assert_int_equal(sley_arrays_write(path, &bad, 1), SLEY_ERR_ARG);
  bad = good;
  bad.data = NULL;
  assert_int_equal(sley_arrays_write(path, &bad, 1), SLEY_ERR_ARG);
  bad = good;
  bad.rows = bad.cols = INT64_C(1) << 40;
  assert_int_equal(sley_arrays_write(path, &bad, 1), SLEY_ERR_ARG);
}

/* A file that a failed call has not touched is still the one before. */
static void test_failed_calls_leave_the_file(void **state) {
  (void)state;
  const double value = 2.5;
  const sley_array both[] = {{"x", SLEY_TYPE_F64, 1, 1, &value}, {"a/b", SLEY_TYPE_F64, 1, 1, &value}};
  int64_t rows, cols;
  void *data;
  assert_sley_ok(sley_arrays_write(path, both, 1));
  assert_int_equal(sley_arrays_write(path, both, 2), SLEY_ERR_ARG);
  assert_sley_ok(sley_array_read(path, "x", SLEY_TYPE_F64, &rows, &cols, &data));
  assert_true(*(double *)data == value);
  sley_buffer_free(data);
}

/* Every cut of a file, and every byte of it turned, is either refused or read as something. */
static void test_damaged_files(void **state) {
  (void)state;
  static uint8_t bytes[4096];
  const float values[6] = {1, 2, 3, 4, 5, 6};
  const sley_array one = {"x", SLEY_TYPE_F32, 2, 3, values};
  int64_t rows, cols;
  void *data;
  assert_sley_ok(sley_arrays_write(path, &one, 1));
  FILE *file = fopen(path, "rb");
  const size_t size = fread(bytes, 1, sizeof bytes, file);
  fclose(file);
  assert_true(size > 100 && size < sizeof bytes);
  for (size_t at = 0; at < 2 * size; at++) {
    const bool cut = at < size;
    file = fopen(path, "wb");
    if (!cut)
      bytes[at - size] ^= 0x15;
    assert_int_equal(fwrite(bytes, 1, cut ? at : size, file), cut ? at : size);
    fclose(file);
    if (!cut)
      bytes[at - size] ^= 0x15;
    const sley_status status = sley_array_read(path, "x", SLEY_TYPE_F32, &rows, &cols, &data);
    assert_true(status == SLEY_OK || status == SLEY_ERR_INPUT || status == SLEY_ERR_UNSUPPORTED);
    assert_false(cut && status == SLEY_OK);
    sley_buffer_free(data);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_round_trip_of_types), cmocka_unit_test(test_what_is_refused),
      cmocka_unit_test(test_failed_calls_leave_the_file), cmocka_unit_test(test_damaged_files)};
  return cmocka_run_group_tests(tests, make_path, remove_path);
}
