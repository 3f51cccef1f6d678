/* SPDX-License-Identifier: Apache-2.0 */
/* scipy's .npz: formats, element types, prefixes, damaged and hostile archives, and writing. */
#include <math.h>
#include <unistd.h>
#include <zip.h>

#include "base/random.h"
#include "formats.h"
#include "io/io.h"
#include "io/npy.h"

/* One member: its array is type and shape (dims lengths) with bytes after it. */
typedef struct array {
  const char *name, *type;
  int dims;
  int64_t first, second;
  const void *bytes;
  size_t size;
} array;

enum { ROOM = 1 << 16, MOST = 8 };

/* An archive of these members, deflated or stored; its size. */
static size_t make_zip(uint8_t *out, const array *arrays, int count, bool deflated) {
  static char text[MOST][4096];
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t *archive = zip_source_buffer_create(NULL, 0, 0, &error);
  zip_t *zip = zip_open_from_source(archive, ZIP_TRUNCATE, &error);
  assert_non_null(zip);
  zip_source_keep(archive);
  for (int i = 0; i < count; i++) {
    size_t head = sl_npy_header(text[i], arrays[i].type, arrays[i].dims, arrays[i].first, arrays[i].second);
    assert_true(head + arrays[i].size <= sizeof text[i]);
    memcpy(text[i] + head, arrays[i].bytes, arrays[i].size);
    zip_source_t *source = zip_source_buffer(zip, text[i], head + arrays[i].size, 0);
    zip_int64_t at = zip_file_add(zip, arrays[i].name, source, 0);
    assert_true(at >= 0);
    zip_set_file_compression(zip, (zip_uint64_t)at, deflated ? ZIP_CM_DEFLATE : ZIP_CM_STORE, 0);
  }
  assert_int_equal(zip_close(zip), 0);
  assert_int_equal(zip_source_open(archive), 0);
  zip_int64_t size = zip_source_read(archive, out, ROOM);
  assert_true(size > 0 && size < ROOM);
  zip_source_close(archive);
  zip_source_free(archive);
  return (size_t)size;
}

static sley_status read_zip(const array *arrays, int count, bool deflated, sley_dtype dtype,
                            sley_matrix **out) {
  static uint8_t bytes[ROOM];
  *out = NULL;
  return test_read_memory("t.npz", bytes, make_zip(bytes, arrays, count, deflated), dtype, NULL, out);
}

/* The matrix [ 1 . 2 ; . . -3.5 ] in its three formats. */
static const int64_t shape[2] = {2, 3}, csr_indptr[3] = {0, 2, 3};
static const int32_t csr_indices[3] = {0, 2, 2}, csc_indptr[4] = {0, 1, 1, 3}, csc_indices[3] = {0, 0, 1};
static const int32_t coo_row[4] = {1, 0, 0, 1}, coo_col[4] = {2, 2, 0, 2};
static const double values[3] = {1, 2, -3.5};
static const float coo_values[4] = {-3, 2, 1, -0.5f};

static const array csr[] = {{"indices.npy", "<i4", 1, 3, 0, csr_indices, sizeof csr_indices},
                            {"indptr.npy", "<i8", 1, 3, 0, csr_indptr, sizeof csr_indptr},
                            {"format.npy", "|S3", 0, 0, 0, "csr", 3},
                            {"shape.npy", "<i8", 1, 2, 0, shape, sizeof shape},
                            {"data.npy", "<f8", 1, 3, 0, values, sizeof values}};
static const array csc[] = {{"indices.npy", "<i4", 1, 3, 0, csc_indices, sizeof csc_indices},
                            {"indptr.npy", "<i4", 1, 4, 0, csc_indptr, sizeof csc_indptr},
                            {"format.npy", "<U3", 0, 0, 0, "c\0\0\0s\0\0\0c\0\0\0", 12},
                            {"shape.npy", "<i8", 1, 2, 0, shape, sizeof shape},
                            {"data.npy", "<f8", 1, 3, 0, values, sizeof values}};
static const array coo[] = {{"row.npy", "<i4", 1, 4, 0, coo_row, sizeof coo_row},
                            {"col.npy", "<i4", 1, 4, 0, coo_col, sizeof coo_col},
                            {"format.npy", "|S3", 0, 0, 0, "coo", 3},
                            {"shape.npy", "<i8", 1, 2, 0, shape, sizeof shape},
                            {"data.npy", "<f4", 1, 4, 0, coo_values, sizeof coo_values}};
static const array prefixed[] = {{"adj_indices.npy", "<i4", 1, 3, 0, csr_indices, sizeof csr_indices},
                                 {"adj_indptr.npy", "<i8", 1, 3, 0, csr_indptr, sizeof csr_indptr},
                                 {"adj_shape.npy", "<i8", 1, 2, 0, shape, sizeof shape},
                                 {"attr_shape.npy", "<i8", 1, 2, 0, shape, sizeof shape},
                                 {"labels.npy", "<f8", 1, 3, 0, values, sizeof values},
                                 {"adj_data.npy", "<f8", 1, 3, 0, values, sizeof values}};

static void is_the_example(const sley_matrix *a) {
  const double n = (double)NAN;
  test_is(a, 2, 3, (double[]){1, n, 2, n, n, -3.5});
}

static void reads_every_format(void **state) {
  (void)state;
  static const struct {
    const array *arrays;
    int count;
    int64_t stored;
  } cases[] = {{csr, 5, 3}, {csc, 5, 3}, {coo, 5, 4}, {prefixed, 6, 3}};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
    for (int dtype = 0; dtype < 4; dtype++)
      for (int deflated = 0; deflated < 2; deflated++) {
        sley_matrix *a;
        assert_sley_ok(read_zip(cases[c].arrays, cases[c].count, deflated, (sley_dtype)dtype, &a));
        is_the_example(a);
        assert_int_equal(a->entries_stored, cases[c].stored);
        sl_matrix_destroy(a);
      }
}

static void reads_other_element_types(void **state) {
  (void)state;
  static const uint8_t indices[3] = {2, 0, 2}; /* the first row unsorted */
  static const uint8_t indptr[6] = {0, 0, 0, 2, 0, 3}, sizes[8] = {0, 0, 0, 2, 0, 0, 0, 3};
  static const uint8_t data[6] = {0x40, 0, 0x3c, 0, 0xc3, 0};
  const array arrays[] = {{"indices.npy", "|u1", 1, 3, 0, indices, 3},
                          {"indptr.npy", ">u2", 1, 3, 0, indptr, 6},
                          {"shape.npy", ">i4", 1, 2, 0, sizes, 8},
                          {"data.npy", ">f2", 1, 3, 0, data, 6}};
  sley_matrix *a;
  assert_sley_ok(read_zip(arrays, 4, true, SLEY_F32, &a));
  is_the_example(a);
  assert_int_equal(sl_index_at(a->col, a->index, 0), 0);
  sl_matrix_destroy(a);
}

typedef struct change_case {
  array with; /* replaces the member of its name; a NULL type leaves it out */
  sley_status status;
  const char *says;
} change_case;

static void refuses_what_does_not_fit(void **state) {
  (void)state;
  static const int64_t down[3] = {0, 2, 1}, late[3] = {1, 2, 3}, large[3] = {0, 2, 4}, negative[2] = {-1, 3};
  static const int64_t huge[2] = {2, INT64_C(1) << 60}, tall[2] = {INT64_C(1) << 60, 3};
  static const int32_t outside[3] = {0, 3, 2}, below[3] = {0, -1, 2};
  static const double real[3] = {0, 2, 2}, more[4] = {1, 2, 3, 4}, beyond[3] = {1, -1e300, 3};
  const change_case cases[] = {
      {{.name = "shape.npy"}, SLEY_ERR_INPUT, "holds no sparse matrix"},
      {{.name = "data.npy"}, SLEY_ERR_INPUT, "the archive has no data.npy"},
      {{.name = "indices.npy"}, SLEY_ERR_INPUT, "the archive has no indices.npy"},
      {{.name = "indptr.npy"}, SLEY_ERR_INPUT, "the archive has no indptr.npy"},
      {{"indptr.npy", "<i8", 1, 3, 0, down, 24}, SLEY_ERR_INPUT, "position 2 is 1"},
      {{"indptr.npy", "<i8", 1, 3, 0, late, 24}, SLEY_ERR_INPUT, "position 0 is 1"},
      {{"indptr.npy", "<i8", 1, 3, 0, large, 24}, SLEY_ERR_INPUT, "3 indices, but 4 are needed"},
      {{"indptr.npy", "<i8", 1, 2, 0, large, 16}, SLEY_ERR_INPUT, "2 positions, but the shape needs 3"},
      {{"indptr.npy", "<f8", 1, 3, 0, real, 24}, SLEY_ERR_INPUT, "whole numbers"},
      {{"indptr.npy", "<i8", 2, 3, 1, csr_indptr, 24}, SLEY_ERR_INPUT, "one-dimensional"},
      {{"indices.npy", "<i4", 1, 3, 0, outside, 12}, SLEY_ERR_INPUT, "index 1 is 3, outside 0 .. 2"},
      {{"indices.npy", "<i4", 1, 3, 0, below, 12}, SLEY_ERR_INPUT, "index 1 is -1"},
      {{"indices.npy", "<i4", 1, 4, 0, csr_indices, 12},
       SLEY_ERR_INPUT,
       "12 bytes follow the header, but the shape needs 16"},
      {{"data.npy", "<f8", 1, 2, 0, values, 16}, SLEY_ERR_INPUT, "2 values, but 3 are needed"},
      {{"data.npy", "<f8", 1, 4, 0, more, 32}, SLEY_ERR_INPUT, "3 indices, but data.npy has 4 values"},
      {{"data.npy", "<f8", 1, 3, 0, beyond, 24},
       SLEY_ERR_INPUT,
       "element 1, -1e+300, is beyond the range of f32"},
      {{"data.npy", "<c8", 1, 3, 0, values, 24}, SLEY_ERR_UNSUPPORTED, "complex"},
      {{"data.npy", "|O", 1, 3, 0, values, 24}, SLEY_ERR_UNSUPPORTED, "pickled"},
      {{"data.npy", "|S8", 1, 3, 0, values, 24}, SLEY_ERR_INPUT, "real numbers"},
      {{"shape.npy", "<i8", 1, 1, 0, shape, 8}, SLEY_ERR_INPUT, "1 sizes"},
      {{"shape.npy", "<i8", 1, 2, 0, negative, 16}, SLEY_ERR_INPUT, "negative"},
      {{"shape.npy", "<i8", 1, 2, 0, tall, 16}, SLEY_ERR_INPUT, "3 positions"},
      {{"format.npy", "|S3", 0, 0, 0, "bsr", 3}, SLEY_ERR_UNSUPPORTED, "'bsr' is not read"},
      {{"format.npy", "|S3", 0, 0, 0, "csc", 3}, SLEY_ERR_INPUT, "3 positions, but the shape needs 4"},
      {{"format.npy", "|S3", 0, 0, 0, "coo", 3}, SLEY_ERR_INPUT, "no row.npy"},
      {{"format.npy", "<f4", 0, 0, 0, "coo", 4}, SLEY_ERR_UNSUPPORTED, "format '' is not read"},
  };
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    array arrays[5];
    int count = 0;
    for (int i = 0; i < 5; i++) {
      bool same = strcmp(csr[i].name, cases[c].with.name) == 0;
      if (!same || cases[c].with.type)
        arrays[count++] = same ? cases[c].with : csr[i];
    }
    sley_matrix *a;
    sley_status status = read_zip(arrays, count, c % 2, SLEY_F32, &a);
    if (status != cases[c].status || strncmp(sley_last_error(), "t.npz: ", 7) != 0 ||
        !strstr(sley_last_error(), cases[c].says))
      fail_msg("case %zu: %s: %s", c, sley_status_name(status), sley_last_error());
    assert_null(strchr(sley_last_error(), '\n'));
  }
  /* A width costs nothing in CSR; a height that no array backs does in COO and CSC. */
  sley_matrix *a;
  array wide[5], high[5];
  memcpy(wide, csr, sizeof csr);
  wide[3].bytes = huge;
  assert_sley_ok(read_zip(wide, 5, true, SLEY_F32, &a));
  assert_true(a->cols == huge[1] && a->index == SLEY_I64);
  sl_matrix_destroy(a);
  for (int i = 0; i < 2; i++) {
    memcpy(high, i ? csc : coo, sizeof high);
    high[3].bytes = tall;
    assert_int_equal(read_zip(high, 5, true, SLEY_F32, &a), SLEY_ERR_INPUT);
    assert_non_null(strstr(sley_last_error(), "can mean"));
  }
}

static void refuses_damage(void **state) {
  (void)state;
  static uint8_t bytes[ROOM], damaged[ROOM];
  sley_matrix *a;
  size_t size = make_zip(bytes, csr, 5, true);
  for (size_t cut = 4; cut < size; cut += 7)
    assert_int_equal(test_read_memory("t.npz", bytes, cut, SLEY_F32, NULL, &a), SLEY_ERR_INPUT);
  /* Any bit may flip: an error, or a matrix that is whole; the checksums leave few. */
  int survived = 0;
  for (size_t bit = 0; bit < size * 8; bit++) {
    memcpy(damaged, bytes, size);
    damaged[bit / 8] ^= (uint8_t)(1 << bit % 8);
    if (test_read_memory("t.npz", damaged, size, SLEY_F32, NULL, &a) == SLEY_OK) {
      survived++;
      is_the_example(a);
      sl_matrix_destroy(a);
    }
  }
  assert_true(survived > 0 && (size_t)survived < size * 4);
}

static void refuses_sizes_that_cannot_be(void **state) {
  (void)state;
  static uint8_t bytes[ROOM];
  sley_matrix *a;
  size_t size = make_zip(bytes, csr, 5, true);
  /* The central directory's entry of the first member (indices.npy) says 3.9 GB inflated. */
  for (size_t at = 0; at + 46 < size; at++)
    if (memcmp(bytes + at, "PK\1\2", 4) == 0) {
      memcpy(bytes + at + 24, "\xf0\xff\xff\xe8", 4);
      break;
    }
  assert_int_equal(test_read_memory("t.npz", bytes, size, SLEY_F32, NULL, &a), SLEY_ERR_INPUT);
}

static void writes_what_it_reads(void **state) {
  (void)state;
  static const int64_t sizes[][2] = {{0, 0}, {1, 1},   {0, 5},  {5, 0},  {1, 7},
                                     {7, 1}, {13, 13}, {31, 8}, {40, 90}};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
    for (int dtype = 0; dtype < 4; dtype++) {
      sley_matrix *a = test_random_matrix(s + 30, sizes[s][0], sizes[s][1], 0.2, (sley_dtype)dtype, false),
                  *view;
      test_round_trip(a, ".npz", NULL);
      assert_sley_ok(sl_matrix_view(a, a->rows / 3, a->rows / 2, &view));
      test_round_trip(view, ".npz", NULL);
      sl_matrix_destroy(view);
      sl_matrix_destroy(a);
    }
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  static uint8_t bytes[ROOM];
  test_reading_short_of_memory("t.npz", bytes, make_zip(bytes, csc, 5, true));
  test_reading_short_of_memory("t.npz", bytes, make_zip(bytes, coo, 5, true));
  sley_matrix *a = test_random_matrix(1, 9, 9, 0.3, SLEY_F32, false), *view;
  assert_sley_ok(sl_matrix_view(a, 4, 5, &view));
  test_writing_short_of_memory(view, ".npz");
  sl_matrix_destroy(view);
  sl_matrix_destroy(a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_every_format),           cmocka_unit_test(reads_other_element_types),
      cmocka_unit_test(refuses_what_does_not_fit),    cmocka_unit_test(refuses_damage),
      cmocka_unit_test(refuses_sizes_that_cannot_be), cmocka_unit_test(writes_what_it_reads),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, test_clean);
}
