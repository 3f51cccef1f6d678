/* SPDX-License-Identifier: Apache-2.0 */
/* Dense .npy: element types, byte orders, element orders, versions, refusals, and writing. */
#include <math.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/random.h"
#include "base/value.h"
#include "formats.h"
#include "io/io.h"
#include "io/npy.h"

enum { ROOM = 4096 };

/* An array of this version and header text, followed by bytes; its size. */
static size_t make_array(uint8_t *out, int version, const char *header, const void *bytes, size_t size) {
  size_t length = strlen(header), prefix = version > 1 ? 12 : 10;
  memcpy(out, "\x93NUMPY", 6);
  out[6] = (uint8_t)version;
  out[7] = 0;
  for (size_t b = 0; b < prefix - 8; b++)
    out[8 + b] = (uint8_t)(length >> 8 * b);
  memcpy(out + prefix, header, length);
  if (size)
    memcpy(out + prefix + length, bytes, size);
  return prefix + length + size;
}

static sley_status read_array(const void *bytes, size_t size, sley_dtype dtype, int64_t *rows, int64_t *cols,
                              void **data) {
  sl_input input;
  *data = NULL;
  assert_sley_ok(test_open_memory("t.npy", bytes, size, &input));
  sley_status status = sl_npy_read_input(&input, dtype, NULL, 0, -1, rows, cols, data);
  sl_input_close(&input);
  return status;
}

typedef struct type_case {
  const char *type;
  size_t size;
  uint8_t bytes[16]; /* two elements */
  double values[2];
} type_case;

static void reads_every_type_in_both_byte_orders(void **state) {
  (void)state;
  static const type_case cases[] = {
      {"<f2", 4, {0x00, 0x3e, 0x00, 0xc0}, {1.5, -2}},
      {">f2", 4, {0x3e, 0x00, 0x00, 0x01}, {1.5, 0x1p-24}},
      {"<f2", 4, {0x00, 0xfc, 0xff, 0x7b}, {-(double)INFINITY, 65504}},
      {"<f4", 8, {0, 0, 0xc0, 0x3f, 0, 0, 0, 0xc0}, {1.5, -2}},
      {">f4", 8, {0x3f, 0xc0, 0, 0, 0xc0, 0, 0, 0}, {1.5, -2}},
      {"<f8", 16, {0, 0, 0, 0, 0, 0, 0xf8, 0x3f, 0, 0, 0, 0, 0, 0, 0, 0xc0}, {1.5, -2}},
      {">f8", 16, {0x3f, 0xf8, 0, 0, 0, 0, 0, 0, 0xc0, 0, 0, 0, 0, 0, 0, 0}, {1.5, -2}},
      {"|i1", 2, {0x7f, 0x80}, {127, -128}},
      {"<i2", 4, {0xfe, 0xff, 1, 2}, {-2, 513}},
      {">i2", 4, {0xff, 0xfe, 2, 1}, {-2, 513}},
      {"<i4", 8, {0xfe, 0xff, 0xff, 0xff, 1, 2, 0, 0}, {-2, 513}},
      {">i4", 8, {0xff, 0xff, 0xff, 0xfe, 0, 0, 2, 1}, {-2, 513}},
      {"<i8", 16, {0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 2, 0, 0, 0, 0, 0, 0}, {-2, 513}},
      {">i8", 16, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe, 0, 0, 0, 0, 0, 0, 2, 1}, {-2, 513}},
      {"|u1", 2, {0x7f, 0x80}, {127, 128}},
      {"<u2", 4, {0xfe, 0xff, 1, 2}, {65534, 513}},
      {">u4", 8, {0xff, 0xff, 0xff, 0xfe, 0, 0, 2, 1}, {4294967294., 513}},
      {"<u8", 16, {0, 0, 0, 0, 0, 0, 0, 0x80, 1, 2, 0, 0, 0, 0, 0, 0}, {0x1p63, 513}},
      {"<i8", 16, {1, 0, 0, 0, 0, 0, 0x20, 0, 1, 2, 0, 0, 0, 0, 0, 0}, {0x1p53 + 2, 513}}, /* 2^53 + 1 */
      {"<i8", 16, {0, 0, 0, 0, 0, 0, 0x20, 0, 1, 2, 0, 0, 0, 0, 0, 0}, {0x1p53, 513}},
      {">i8",
       16,
       {0xff, 0xdf, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 2, 1},
       {-0x1p53 - 2, 513}},
      {"<u8", 16, {1, 0, 0, 0, 0, 0, 0x20, 0, 1, 2, 0, 0, 0, 0, 0, 0}, {0x1p53 + 2, 513}},
      {"<f8", 16, {0, 0, 0, 0, 0, 0, 0xf0, 0x47, 0, 0, 0, 0, 0, 0, 0, 0xc0}, {0x1p128, -2}},
      {"|b1", 2, {1, 0}, {1, 0}},
      {"=i4", 8, {0xfe, 0xff, 0xff, 0xff, 1, 2, 0, 0}, {-2, 513}},
  };
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
    for (int dtype = 0; dtype < 4; dtype++)
      for (int version = 1; version <= 3; version++) {
        uint8_t bytes[ROOM];
        char header[256];
        int64_t rows, cols;
        void *data;
        snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (2,), }   \n",
                 cases[c].type);
        size_t size = make_array(bytes, version, header, cases[c].bytes, cases[c].size);
        double most = fabs(cases[c].values[0]);
        bool fits = isinf(most) || most < sl_dtype_limit((sley_dtype)dtype);
        if (dtype == SLEY_F64 && strchr("iu", cases[c].type[1]) && most > 0x1p53)
          fits = false;
        sley_status status = read_array(bytes, size, (sley_dtype)dtype, &rows, &cols, &data);
        if (status != (fits ? SLEY_OK : SLEY_ERR_INPUT))
          fail_msg("%s as dtype %d: %s", cases[c].type, dtype, sley_last_error());
        if (!fits) {
          assert_non_null(strstr(sley_last_error(), "t.npy: element 0"));
          continue;
        }
        assert_int_equal(rows, 2);
        assert_int_equal(cols, 1);
        for (int i = 0; i < 2; i++) {
          double is = sl_value_at(data, (sley_dtype)dtype, i), room, wanted;
          sl_value_set(&room, (sley_dtype)dtype, 0, cases[c].values[i]);
          wanted = sl_value_at(&room, (sley_dtype)dtype, 0);
          if (is != wanted)
            fail_msg("%s[%d] is %.17g, not %.17g", cases[c].type, i, is, wanted);
        }
        sl_free(data);
      }
}

static void reads_both_element_orders_and_odd_headers(void **state) {
  (void)state;
  static const char *const headers[] = {
      "{'descr': '|i1', 'fortran_order': False, 'shape': (2, 3)}",
      "{\"shape\":(2,3,),\"fortran_order\":False,\"descr\":\"<i1\"}\n",
      "{'shape': (2L, 3L), 'descr': '|i1', 'fortran_order': True, }",
  };
  static const int8_t given[] = {1, 2, 3, 4, 5, 6};
  static const float row_major[] = {1, 2, 3, 4, 5, 6}, column_major[] = {1, 3, 5, 2, 4, 6};
  for (int h = 0; h < 3; h++) {
    uint8_t bytes[ROOM];
    int64_t rows, cols;
    void *data;
    size_t size = make_array(bytes, 1, headers[h], given, sizeof given);
    assert_sley_ok(read_array(bytes, size, SLEY_F32, &rows, &cols, &data));
    assert_true(rows == 2 && cols == 3);
    assert_memory_equal(data, h == 2 ? column_major : row_major, sizeof row_major);
    sl_free(data);
  }
}

static void reads_empty_arrays(void **state) {
  (void)state;
  static const struct {
    const char *shape;
    int64_t rows, cols;
  } cases[] = {
      {"(0,)", 0, 1}, {"(0, 7)", 0, 7}, {"(7, 0)", 7, 0}, {"(4611686018427387904, 0)", INT64_C(1) << 62, 0}};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    uint8_t bytes[ROOM];
    char header[256];
    int64_t rows, cols;
    void *data;
    snprintf(header, sizeof header, "{'descr': '<f8', 'fortran_order': True, 'shape': %s, }", cases[c].shape);
    size_t size = make_array(bytes, 1, header, NULL, 0);
    assert_sley_ok(read_array(bytes, size, SLEY_F32, &rows, &cols, &data));
    assert_true(rows == cases[c].rows && cols == cases[c].cols && data);
    sl_free(data);
  }
}

#define HEAD(type, shape) "{'descr': '" type "', 'fortran_order': False, 'shape': " shape ", }"

static void refuses_the_rest(void **state) {
  (void)state;
  static const struct {
    const char *header;
    size_t bytes;
    sley_status status;
    const char *says;
  } cases[] = {
      {HEAD("<f4", "()"), 4, SLEY_ERR_INPUT, "0 dimensions"},
      {HEAD("<f4", "(1, 1, 1)"), 4, SLEY_ERR_INPUT, "3 dimensions"},
      {HEAD("<f4", "(1,1,1,1,1,1,1,1,1)"), 4, SLEY_ERR_UNSUPPORTED, "more than 8 dimensions"},
      {HEAD("<f4", "(2,)"), 7, SLEY_ERR_INPUT, "7 bytes follow the header, but the shape needs 8"},
      {HEAD("<f4", "(2,)"), 9, SLEY_ERR_INPUT, "9 bytes follow"},
      {HEAD("<f4", "(4611686018427387904, 4)"), 9, SLEY_ERR_INPUT, "does not fit"},
      {HEAD("<f4", "(4611686018427387904,)"), 9, SLEY_ERR_INPUT, "does not fit"},
      {HEAD("<f4", "(99999999999999999999,)"), 9, SLEY_ERR_INPUT, "a length expected"},
      {HEAD("<f4", "(-1,)"), 9, SLEY_ERR_INPUT, "a length expected"},
      {HEAD("<f4", "(2"), 8, SLEY_ERR_INPUT, "expected"},
      {HEAD("<c8", "(1,)"), 8, SLEY_ERR_UNSUPPORTED, "complex"},
      {HEAD("|O", "(1,)"), 8, SLEY_ERR_UNSUPPORTED, "pickled"},
      {HEAD("<f16", "(1,)"), 16, SLEY_ERR_UNSUPPORTED, "'<f16'"},
      {HEAD("<f3", "(1,)"), 3, SLEY_ERR_UNSUPPORTED, "'<f3'"},
      {HEAD("<M8[ns]", "(1,)"), 8, SLEY_ERR_UNSUPPORTED, "<M8[ns]"},
      {HEAD("f4", "(1,)"), 4, SLEY_ERR_UNSUPPORTED, "'f4'"},
      {HEAD("", "(1,)"), 4, SLEY_ERR_UNSUPPORTED, "''"},
      {HEAD("|S4", "(1,)"), 4, SLEY_ERR_UNSUPPORTED, "text"},
      {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", 4, SLEY_ERR_UNSUPPORTED,
       "structures"},
      {"{'descr': '<f4', 'shape': (1,), }", 4, SLEY_ERR_INPUT, "lacks fortran_order"},
      {"{'descr': '<f4', 'fortran_order': 0, 'shape': (1,), }", 4, SLEY_ERR_INPUT, "True or False"},
      {"{'descr': '<f4', 'fortran_order': False, 'fortran_order': True, 'shape': (1,), }", 4, SLEY_ERR_INPUT,
       "odd key"},
      {"{'descr' '<f4'}", 4, SLEY_ERR_INPUT, "':' expected"},
      {"{'descr': '<f4", 0, SLEY_ERR_INPUT, "element type"},
      {"", 4, SLEY_ERR_INPUT, "'{' expected"},
      {"{'a\nb': 1}", 4, SLEY_ERR_INPUT, "odd key 'a\\nb'"}, /* a message stays one line */
  };
  static const uint8_t zeros[32];
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    uint8_t bytes[ROOM];
    int64_t rows, cols;
    void *data;
    size_t size = make_array(bytes, 1, cases[c].header, zeros, cases[c].bytes);
    sley_status status = read_array(bytes, size, SLEY_F32, &rows, &cols, &data);
    if (status != cases[c].status || strncmp(sley_last_error(), "t.npy: ", 7) != 0 ||
        !strstr(sley_last_error(), cases[c].says))
      fail_msg("case %zu: %s: %s", c, sley_status_name(status), sley_last_error());
    assert_null(strchr(sley_last_error(), '\n'));
  }
}

static void refuses_every_truncation_and_foreign_magics(void **state) {
  (void)state;
  uint8_t bytes[ROOM];
  static const uint8_t data[12];
  int64_t rows, cols;
  void *out;
  for (int version = 1; version <= 4; version++) {
    size_t size = make_array(bytes, version, HEAD("<f4", "(3,)"), data, sizeof data);
    for (size_t cut = 0; cut < size; cut++)
      assert_int_equal(read_array(bytes, cut, SLEY_F32, &rows, &cols, &out), SLEY_ERR_INPUT);
    assert_int_equal(read_array(bytes, size, SLEY_F32, &rows, &cols, &out),
                     version < 4 ? SLEY_OK : SLEY_ERR_INPUT);
    sl_free(out);
  }
  bytes[0] = 'x';
  assert_int_equal(read_array(bytes, 100, SLEY_F32, &rows, &cols, &out), SLEY_ERR_INPUT);
}

static void writes_what_it_reads(void **state) {
  (void)state;
  static const int64_t sizes[][2] = {{0, 0}, {0, 3}, {3, 0}, {1, 1}, {1, 9}, {9, 1}, {17, 33}};
  static const char *const names[] = {"x.npy", "x.npy.gz", "x.npy.zst"};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
    for (int dtype = 0; dtype < 4; dtype++)
      for (int64_t more = 0; more < 3; more += 2) {
        int64_t m = sizes[s][0], n = sizes[s][1], ld = n + more, rows, cols;
        size_t bytes = sley_dtype_bytes((sley_dtype)dtype);
        char *given = malloc((size_t)(m * ld + 1) * bytes);
        for (size_t b = 0; b < (size_t)(m * ld) * bytes; b++)
          given[b] = (char)(sl_random(s, b, 1) & 0xDF); /* no NaN */
        const char *path = test_path(names[s % 3]);
        void *data;
        assert_sley_ok(sl_npy_write(path, (sley_dtype)dtype, m, n, given, ld));
        assert_sley_ok(sl_npy_read(path, (sley_dtype)dtype, &rows, &cols, &data));
        assert_true(rows == m && cols == n);
        for (int64_t i = 0; i < m && n > 0; i++)
          assert_memory_equal((char *)data + (size_t)(i * n) * bytes, given + (size_t)(i * ld) * bytes,
                              (size_t)n * bytes);
        sl_free(data);
        free(given);
        unlink(path);
      }
}

static void writes_the_layout_numpy_writes(void **state) {
  (void)state;
  char header[SL_NPY_HEADER_ROOM];
  assert_int_equal(sl_npy_header(header, "<f4", 2, 4096, 64), 128);
  static const char text[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (4096, 64), }";
  assert_memory_equal(header, "\x93NUMPY\x01\x00\x76\x00", 10);
  assert_memory_equal(header + 10, text, sizeof text - 1);
  for (size_t i = 10 + sizeof text - 1; i < 127; i++)
    assert_int_equal(header[i], ' ');
  assert_int_equal(header[127], '\n');
  assert_true(sl_npy_header(header, "<f4", 2, INT64_MAX, INT64_MAX) <= SL_NPY_HEADER_ROOM);
}

/* f16 is NumPy's own; bf16, which NumPy lacks, is written as f4, exactly. */
static void writes_16_bits_as_numpy_knows_them(void **state) {
  (void)state;
  static const double values[] = {1.5, -0.0, 0x1p-133, (double)INFINITY, 0x1.fep127, -3};
  enum { COUNT = sizeof values / sizeof *values };
  static const struct {
    sley_dtype dtype, written;
    const char *descr;
  } cases[] = {{SLEY_F16, SLEY_F16, "'<f2'"}, {SLEY_BF16, SLEY_F32, "'<f4'"}};
  const char *path = test_path("x.npy");
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    uint16_t given[COUNT];
    char text[SL_NPY_HEADER_ROOM + sizeof values];
    sl_values_convert(SLEY_F64, values, cases[c].dtype, given, COUNT);
    assert_sley_ok(sl_npy_write(path, cases[c].dtype, 2, 3, given, 3));
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t size = fread(text, 1, sizeof text, file);
    fclose(file);
    unlink(path);
    assert_non_null(strstr(text + 10, cases[c].descr));
    size_t bytes = COUNT * sley_dtype_bytes(cases[c].written);
    assert_int_equal(size, 128 + bytes);
    for (int i = 0; i < COUNT; i++)
      assert_true(sl_value_at(text + 128, cases[c].written, i) == sl_value_at(given, cases[c].dtype, i));
  }
}

static void says_what_cannot_be_written_or_opened(void **state) {
  (void)state;
  float one = 1;
  int64_t rows, cols;
  void *data;
  assert_int_equal(sl_npy_write(test_path("x.npy"), SLEY_F32, 2, 3, &one, 2), SLEY_ERR_ARG);
  assert_int_equal(sl_npy_write(test_path("none/x.npy"), SLEY_F32, 1, 1, &one, 1), SLEY_ERR_IO);
  assert_int_equal(sl_npy_read(test_path("none.npy"), SLEY_F32, &rows, &cols, &data), SLEY_ERR_IO);
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  const double given[] = {1, 2, 3, 4};
  const char *path = test_path("x.npy");
  int64_t before = sl_memory_now(), rows, cols;
  sley_status status = SLEY_ERR_MEMORY;
  for (int64_t nth = 1; status != SLEY_OK; nth++) {
    sl_memory_fail_at(nth);
    status = sl_npy_write(path, SLEY_BF16, 2, 2, given, 2);
    sl_memory_fail_at(0);
    assert_true(status == SLEY_OK || (status == SLEY_ERR_MEMORY && access(path, F_OK) != 0));
    assert_int_equal(sl_memory_now(), before);
    assert_true(nth < 100);
  }
  status = SLEY_ERR_MEMORY;
  for (int64_t nth = 1; status != SLEY_OK; nth++) {
    void *data = NULL;
    sl_memory_fail_at(nth);
    status = sl_npy_read(path, SLEY_F32, &rows, &cols, &data);
    sl_memory_fail_at(0);
    assert_true(status == SLEY_OK || status == SLEY_ERR_MEMORY);
    if (status == SLEY_OK)
      sl_free(data);
    assert_int_equal(sl_memory_now(), before);
    assert_true(nth < 100);
  }
}

static void reads_the_real_file(void **state) {
  (void)state;
  const char *folder = test_data_dir();
  if (!folder)
    skip();
  char path[1024];
  int64_t rows, cols;
  void *data;
  snprintf(path, sizeof path, "%s/npy/dense_4096x64_fp16.npy", folder);
  assert_sley_ok(sl_npy_read(path, SLEY_F32, &rows, &cols, &data));
  assert_true(rows == 4096 && cols == 64);
  for (int64_t i = 0; i < rows * cols; i++)
    assert_true(isfinite(((float *)data)[i]));
  sl_free(data);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_every_type_in_both_byte_orders),
      cmocka_unit_test(reads_both_element_orders_and_odd_headers),
      cmocka_unit_test(reads_empty_arrays),
      cmocka_unit_test(refuses_the_rest),
      cmocka_unit_test(refuses_every_truncation_and_foreign_magics),
      cmocka_unit_test(writes_what_it_reads),
      cmocka_unit_test(writes_the_layout_numpy_writes),
      cmocka_unit_test(writes_16_bits_as_numpy_knows_them),
      cmocka_unit_test(says_what_cannot_be_written_or_opened),
      cmocka_unit_test(every_allocation_may_fail),
      cmocka_unit_test(reads_the_real_file),
  };
  return cmocka_run_group_tests(tests, NULL, test_clean);
}
