/* SPDX-License-Identifier: Apache-2.0 */
/* gzip and zstd: several members or frames, damage at every place, files that are no files, endings for
 * writing. */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "base/memory.h"
#include "base/random.h"
#include "formats.h"
#include "io/format.h"
#include "io/io.h"
#include "support.h"

static const char text[] = "%%MatrixMarket matrix coordinate real general\n3 3 3\n1 1 1\n2 2 2\n3 1 5\n";
enum { TEXT = sizeof text - 1 };

static size_t gzip(const void *bytes, size_t size, char *to, size_t room) {
  z_stream stream = {0};
  assert_int_equal(deflateInit2(&stream, 9, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
  stream.next_in = (unsigned char *)(uintptr_t)bytes;
  stream.avail_in = (unsigned)size;
  stream.next_out = (unsigned char *)to;
  stream.avail_out = (unsigned)room;
  assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
  deflateEnd(&stream);
  return room - stream.avail_out;
}

/* With a checksum, so that every damage shows. */
static size_t zstd(const void *bytes, size_t size, char *to, size_t room) {
  ZSTD_CCtx *stream = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(stream, ZSTD_c_checksumFlag, 1);
  size_t packed = ZSTD_compress2(stream, to, room, bytes, size);
  assert_false(ZSTD_isError(packed));
  ZSTD_freeCCtx(stream);
  return packed;
}

typedef size_t (*pack)(const void *bytes, size_t size, char *to, size_t room);
static const pack packs[] = {gzip, zstd};

static void expect_content(const char *packed, size_t size, const void *expected, size_t expected_size) {
  sl_input input;
  assert_sley_ok(test_open_memory("m", packed, size, &input));
  assert_int_equal(input.end - input.begin, expected_size);
  assert_memory_equal(input.begin, expected, expected_size);
  assert_int_equal(*input.end, 0);
  sl_input_close(&input);
}

static void reads_members_and_frames_one_after_another(void **state) {
  (void)state;
  for (int p = 0; p < 2; p++) {
    char packed[1024];
    size_t first = packs[p](text, 20, packed, sizeof packed);
    size_t empty = packs[p]("", 0, packed + first, sizeof packed - first);
    size_t all = first + empty;
    all += packs[p](text + 20, TEXT - 20, packed + all, sizeof packed - all);
    expect_content(packed, all, text, TEXT);
    if (p == 0) {
      memset(packed + all, 0, 100); /* padding */
      expect_content(packed, all + 100, text, TEXT);
    }
    sley_matrix *a;
    assert_sley_ok(test_read_memory("m", packed, all, SLEY_F32, NULL, &a));
    assert_int_equal(a->nnz, 3);
    sl_matrix_destroy(a);
  }
}

static void reads_more_than_one_buffer(void **state) {
  (void)state;
  enum { SIZE = 11 << 20 };
  char *large = malloc(SIZE), *packed = malloc(SIZE + 4096);
  for (int p = 0; p < 2; p++)
    for (int noisy = 0; noisy < 2; noisy++) {
      for (int i = 0; i < SIZE; i++)
        large[i] = noisy ? (char)sl_random(3, (uint64_t)i, 0) : (char)('a' + i % 7);
      expect_content(packed, packs[p](large, SIZE, packed, SIZE + 4096), large, SIZE);
    }
  free(large);
  free(packed);
}

static void damage_is_an_error_with_the_name(void **state) {
  (void)state;
  for (int p = 0; p < 2; p++) {
    char packed[512], damaged[512];
    sl_input input;
    size_t size = packs[p](text, TEXT, packed, sizeof packed);
    for (size_t length = 4; length < size; length++) { /* fewer bytes are not recognised as a stream */
      assert_int_equal(test_open_memory("cut", packed, length, &input), SLEY_ERR_INPUT);
      assert_memory_equal(sley_last_error(), "cut: ", 5);
    }
    for (size_t at = 4; at < size; at++) {
      memcpy(damaged, packed, size);
      damaged[at] ^= 0x10;
      if (p == 0 && at < 10)
        continue; /* gzip's header has fields that do not matter: time, system */
      sley_status status = test_open_memory("bad", damaged, size, &input);
      if (status == SLEY_OK) { /* bits that only fill up a byte */
        assert_int_equal(input.end - input.begin, TEXT);
        assert_memory_equal(input.begin, text, TEXT);
        sl_input_close(&input);
        continue;
      }
      assert_int_equal(status, SLEY_ERR_INPUT);
      assert_memory_equal(sley_last_error(), "bad: ", 5);
    }
    memcpy(packed + size, "more", 4);
    assert_int_equal(test_open_memory("long", packed, size + 4, &input), SLEY_ERR_INPUT);
  }
}

static char folder[] = "/tmp/sley-streams-XXXXXX";

static const char *in_folder(const char *name) {
  static char path[128];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

static void opens_files_of_every_kind(void **state) {
  (void)state;
  sl_input input;
  assert_int_equal(sl_input_open(in_folder("absent"), &input), SLEY_ERR_IO);
  assert_int_equal(sl_input_open(folder, &input), SLEY_ERR_IO);
  sley_matrix *a;
  assert_int_equal(test_read_file("/dev/null", SLEY_F32, NULL, &a), SLEY_ERR_INPUT);
  const size_t sizes[] = {0, 1, 4095, 4096, 4097, 65536};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    char *bytes = malloc(sizes[s] + 1);
    memset(bytes, 'x', sizes[s] + 1);
    FILE *file = fopen(in_folder("plain"), "wb");
    assert_int_equal(fwrite(bytes, 1, sizes[s], file), sizes[s]);
    fclose(file);
    assert_sley_ok(sl_input_open(in_folder("plain"), &input));
    assert_int_equal(input.end - input.begin, sizes[s]);
    assert_memory_equal(input.begin, bytes, sizes[s]);
    assert_int_equal(*input.end, 0); /* also where a page ends */
    sl_input_close(&input);
    free(bytes);
  }
  unlink(in_folder("plain"));
}

static void endings_choose_format_and_compression(void **state) {
  (void)state;
  sley_matrix *a, *b;
  assert_sley_ok(test_read_memory("t", text, TEXT, SLEY_F32, NULL, &a));
  static const struct {
    const char *name;
    unsigned char magic[2];
  } files[] = {{"a.mtx", "%%"},         {"a.mtx.gz", {0x1f, 0x8b}},  {"a.MTX.zst", {0x28, 0xb5}},
               {"a.sley", {0x89, 'S'}}, {"a.sley.gz", {0x1f, 0x8b}}, {"a.sley.zst", {0x28, 0xb5}}};
  for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
    const char *path = in_folder(files[f].name);
    unsigned char start[2];
    assert_sley_ok(sl_matrix_write_file(a, path, NULL));
    FILE *file = fopen(path, "rb");
    assert_int_equal(fread(start, 1, 2, file), 2);
    fclose(file);
    assert_memory_equal(start, files[f].magic, 2);
    assert_sley_ok(test_read_file(path, SLEY_F32, NULL, &b));
    assert_true(b->rows == 3 && b->cols == 3 && b->nnz == 3);
    assert_memory_equal(b->val, a->val, 12);
    sl_matrix_destroy(b);
    unlink(path);
  }
  assert_int_equal(sl_matrix_write_file(a, in_folder("a.doc.gz"), NULL), SLEY_ERR_ARG);
  assert_non_null(strstr(sley_last_error(), ".mtx"));
  assert_non_null(strstr(sley_last_error(), ".sley"));
  assert_int_equal(access(in_folder("a.doc.gz"), F_OK), -1);
  assert_int_equal(sl_matrix_write_file(a, in_folder("no/such/folder.mtx"), NULL), SLEY_ERR_IO);
  assert_int_equal(sl_matrix_write_file(a, "/dev/full/x.mtx", NULL), SLEY_ERR_IO);
  sl_matrix_destroy(a);
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  static const char *const names[] = {"f.mtx", "f.mtx.gz", "f.mtx.zst", "f.sley", "f.sley.zst"};
  sley_matrix *a, *b;
  assert_sley_ok(test_read_memory("t", text, TEXT, SLEY_F32, NULL, &a));
  int64_t before = sl_memory_now();
  for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
    const char *path = in_folder(names[n]);
    for (int reading = 0; reading < 2; reading++) {
      sley_status status = SLEY_ERR_MEMORY;
      for (int64_t nth = 1; status != SLEY_OK; nth++) {
        sl_memory_fail_at(nth);
        if (reading) /* as f64, so that the cache converts */
          status = test_read_file(path, SLEY_F64, NULL, &b);
        else
          status = sl_matrix_write_file(a, path, NULL);
        sl_memory_fail_at(0);
        if (status == SLEY_OK && reading)
          sl_matrix_destroy(b);
        else if (status != SLEY_OK)
          assert_int_equal(status, SLEY_ERR_MEMORY);
        assert_int_equal(sl_memory_now(), before);
        assert_true(nth < 200);
      }
    }
    unlink(path);
  }
  sl_matrix_destroy(a);
}

static int make_folder(void **state) {
  (void)state;
  return mkdtemp(folder) ? 0 : -1;
}

/* Fails if a test, or a write that failed, left a file behind. */
static int remove_folder(void **state) {
  (void)state;
  return rmdir(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_members_and_frames_one_after_another),
      cmocka_unit_test(reads_more_than_one_buffer),
      cmocka_unit_test(damage_is_an_error_with_the_name),
      cmocka_unit_test(opens_files_of_every_kind),
      cmocka_unit_test(endings_choose_format_and_compression),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
