/* SPDX-License-Identifier: Apache-2.0 */
/* The base: statuses and messages, memory counters and failures, teams, specifications, output files, random
 * numbers. */
#include "support.h"

#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/outfile.h"
#include "base/random.h"
#include "base/spec.h"
#include "base/types.h"

/* ---- status */

static void every_status_has_its_name(void **state) {
  (void)state;
  static const char *const names[] = {"SLEY_OK",          "SLEY_ERR_ARG",      "SLEY_ERR_INPUT",
                                      "SLEY_ERR_MEMORY",  "SLEY_ERR_IO",       "SLEY_ERR_UNSUPPORTED",
                                      "SLEY_ERR_PEER",    "SLEY_ERR_OVERFLOW", "SLEY_ERR_INTERRUPTED",
                                      "SLEY_ERR_INTERNAL"};
  for (int s = 0; s < 10; s++)
    assert_string_equal(sley_status_name((sley_status)s), names[s]);
  assert_non_null(sley_status_name((sley_status)99));
}

static void messages_are_led_and_kept(void **state) {
  (void)state;
  assert_int_equal(sl_fail(SLEY_ERR_IO, "file %d: %s", 3, "gone"), SLEY_ERR_IO);
  assert_string_equal(sley_last_error(), "file 3: gone");
  assert_int_equal(sl_fail_prefix(SLEY_ERR_IO, "rank %d: ", 2), SLEY_ERR_IO);
  assert_string_equal(sley_last_error(), "rank 2: file 3: gone");
  sl_fail(SLEY_ERR_IO, "again: %s", sley_last_error());
  assert_string_equal(sley_last_error(), "again: rank 2: file 3: gone");
  char large[5000];
  memset(large, 'x', sizeof large - 1);
  large[sizeof large - 1] = '\0';
  sl_fail(SLEY_ERR_ARG, "%s", large);
  assert_in_range(strlen(sley_last_error()), 100, sizeof large - 1);
  sl_fail_prefix(SLEY_ERR_ARG, "%s", large);
  assert_in_range(strlen(sley_last_error()), 100, sizeof large - 1);
}

static void *error_of_a_thread(void *argument) {
  char *first = argument;
  strcpy(first, sley_last_error());
  sl_fail(SLEY_ERR_ARG, "of the other thread");
  return NULL;
}

static void errors_belong_to_their_thread(void **state) {
  (void)state;
  char first[64] = "unset";
  pthread_t thread;
  sl_fail(SLEY_ERR_ARG, "of this thread");
  assert_int_equal(pthread_create(&thread, NULL, error_of_a_thread, first), 0);
  pthread_join(thread, NULL);
  assert_string_equal(first, "");
  assert_string_equal(sley_last_error(), "of this thread");
}

static sley_status step(int *steps, sley_status status) {
  ++*steps;
  return status;
}

static sley_status three_steps(int *steps, sley_status second) {
  SL_TRY(step(steps, SLEY_OK));
  SL_TRY(step(steps, second));
  return step(steps, SLEY_OK);
}

static void try_passes_errors_on(void **state) {
  (void)state;
  int steps = 0;
  assert_int_equal(three_steps(&steps, SLEY_OK), SLEY_OK);
  assert_int_equal(steps, 3);
  assert_int_equal(three_steps(&steps, SLEY_ERR_PEER), SLEY_ERR_PEER);
  assert_int_equal(steps, 5);
}

/* ---- types */

static void types_have_their_sizes(void **state) {
  (void)state;
  assert_int_equal(sl_index_for(INT32_MAX), SLEY_I32);
  assert_int_equal(sl_index_for((int64_t)INT32_MAX + 1), SLEY_I64);
  assert_int_equal(sley_dtype_bytes(SLEY_F32), 4);
  assert_int_equal(sley_dtype_bytes(SLEY_F64), 8);
  assert_int_equal(sley_dtype_bytes((sley_dtype)7), 0);
  assert_true(sl_now() <= sl_now());
}

/* ---- memory */

static void memory_is_counted(void **state) {
  (void)state;
  int64_t before = sl_memory_now();
  sl_memory_peak_reset();
  sl_memory_fail_at(0);
  char *a = sl_alloc(1000, 8, "a test");
  assert_non_null(a);
  assert_int_equal((uintptr_t)a % 64, 0);
  assert_true(sl_memory_now() - before >= 8000);
  int64_t high = sl_memory_now();
  char *zeros = sl_alloc_zero(3 << 20, 2, "a test");
  assert_non_null(zeros);
  for (int i = 0; i < 6 << 20; i += 4001)
    assert_int_equal(zeros[i], 0);
  sl_free(zeros);
  assert_int_equal(sl_memory_now(), high);
  assert_true(sl_memory_peak() >= high + (6 << 20));
  sl_memory_peak_reset();
  assert_int_equal(sl_memory_peak(), high);
  assert_int_equal(sl_memory_count(), 2);
  memset(a, 7, 8000);
  a = sl_realloc(a, 4000, 8, "a test");
  assert_non_null(a);
  for (int i = 0; i < 8000; i++)
    assert_int_equal(a[i], 7);
  a = sl_realloc(a, 10, 1, "a test");
  assert_non_null(a);
  assert_int_equal(a[9], 7);
  sl_free(a);
  sl_free(NULL);
  char *text = sl_strdup("warp");
  assert_string_equal(text, "warp");
  sl_free(text);
  void *nothing = sl_alloc(0, 8, "a test");
  assert_non_null(nothing);
  sl_free(nothing);
  assert_int_equal(sl_memory_now(), before);
}

static void memory_fails_when_told(void **state) {
  (void)state;
  int64_t before = sl_memory_now();
  sl_memory_fail_at(2);
  void *first = sl_alloc(1, 1, "the first"), *second = sl_alloc(1, 1, "the second");
  void *third = sl_alloc(1, 1, "the third");
  assert_non_null(first);
  assert_null(second);
  assert_non_null(strstr(sley_last_error(), "the second"));
  assert_non_null(third);
  sl_memory_fail_at(1);
  assert_null(sl_realloc(first, 100, 1, "more")); /* the old block stays */
  sl_free(first);
  sl_free(third);
  sl_memory_fail_at(1);
  int64_t *array;
  assert_int_equal(SL_NEW_ZERO(array, 3, "an array"), SLEY_ERR_MEMORY);
  assert_int_equal(SL_NEW(array, 3, "an array"), SLEY_OK);
  sl_free(array);
  sl_memory_fail_at(0);
  assert_int_equal(sl_memory_now(), before);
}

static void impossible_sizes_are_refused(void **state) {
  (void)state;
  int64_t before = sl_memory_now();
  assert_null(sl_alloc(-1, 1, "a test"));
  assert_null(sl_alloc(INT64_MAX, 8, "a test"));
  assert_null(sl_alloc(INT64_MAX, 1, "a test"));
  assert_null(sl_alloc_zero(INT64_C(1) << 60, 16, "a test"));
  assert_null(sl_alloc_zero(INT64_C(1) << 46, 1, "a test")); /* would fit the address space */
  assert_non_null(strstr(sley_last_error(), "a test"));
  assert_int_equal(sl_memory_now(), before);
}

/* ---- specifications */

static void specifications_are_taken_apart(void **state) {
  (void)state;
  sl_spec spec;
  int64_t n = 0, missing = 17;
  double a = 0;
  assert_sley_ok(sl_spec_parse("rmat:scale=17,a=0.5:undirected", &spec));
  assert_string_equal(spec.name, "rmat");
  assert_int_equal(spec.keys, 3);
  assert_sley_ok(sl_spec_int(&spec, "scale", 0, 20, &n));
  assert_int_equal(n, 17);
  assert_sley_ok(sl_spec_int(&spec, "seed", 0, 20, &missing));
  assert_int_equal(missing, 17);
  assert_sley_ok(sl_spec_real(&spec, "a", 0, 1, &a));
  assert_true(a == 0.5);
  assert_int_equal(sl_spec_done(&spec), SLEY_ERR_ARG);
  assert_non_null(strstr(sley_last_error(), "undirected"));
  assert_string_equal(sl_spec_text(&spec, "undirected"), "undirected");
  assert_null(sl_spec_text(&spec, "b"));
  assert_sley_ok(sl_spec_done(&spec));
  assert_sley_ok(sl_spec_parse("", &spec));
  assert_string_equal(spec.name, "");
  assert_int_equal(spec.keys, 0);
  assert_sley_ok(sl_spec_parse("bare", &spec));
  assert_string_equal(spec.name, "bare");
  assert_int_equal(sl_spec_int(&spec, "bare", 0, 1, &n), SLEY_OK);
}

static void wrong_specifications_are_refused(void **state) {
  (void)state;
  sl_spec spec;
  int64_t n;
  double a;
  assert_int_equal(sl_spec_parse("er:n=1,,m=2", &spec), SLEY_ERR_ARG);
  assert_int_equal(sl_spec_parse("er:n=1,m=2,n=3", &spec), SLEY_ERR_ARG);
  char large[2000];
  memset(large, 'k', sizeof large - 1);
  large[sizeof large - 1] = '\0';
  assert_int_equal(sl_spec_parse(large, &spec), SLEY_ERR_ARG);
  for (int i = 2; i < 100; i += 2)
    large[i] = ',';
  large[1] = ':';
  large[100] = '\0';
  assert_int_equal(sl_spec_parse(large, &spec), SLEY_ERR_ARG);
  assert_sley_ok(sl_spec_parse("x:n=30,flag,a=abc,b=", &spec));
  assert_int_equal(sl_spec_int(&spec, "n", 0, 20, &n), SLEY_ERR_ARG);
  assert_int_equal(sl_spec_int(&spec, "flag", 0, 20, &n), SLEY_ERR_ARG);
  assert_int_equal(sl_spec_int(&spec, "b", 0, 20, &n), SLEY_ERR_ARG);
  assert_int_equal(sl_spec_real(&spec, "a", 0, 20, &a), SLEY_ERR_ARG);
}

static void numbers_are_read(void **state) {
  (void)state;
  static const struct {
    const char *text;
    int64_t value;
  } good[] = {{"0", 0},
              {"-7", -7},
              {"+7", 7},
              {"12k", 12000},
              {"3M", 3000000},
              {"2g", INT64_C(2000000000)},
              {"2^10", 1024},
              {"2^0", 1},
              {"2^62", INT64_C(1) << 62},
              {"9223372036854775807", INT64_MAX}};
  static const char *const bad[] = {"",
                                    " 1",
                                    "1 ",
                                    "x",
                                    "1x",
                                    "2^63",
                                    "2^-1",
                                    "2^",
                                    "3^2",
                                    "1e3",
                                    "0x10",
                                    "1.5",
                                    "k",
                                    "9223372036854775808",
                                    "9223372036854775807k",
                                    "--1"};
  int64_t value;
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    assert_sley_ok(sl_parse_int(good[i].text, "n", INT64_MIN, INT64_MAX, &value));
    assert_int_equal(value, good[i].value);
  }
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    if (sl_parse_int(bad[i], "n", INT64_MIN, INT64_MAX, &value) != SLEY_ERR_ARG)
      fail_msg("'%s' was read as %lld", bad[i], (long long)value);
  assert_int_equal(sl_parse_int("5", "n", 6, 7, &value), SLEY_ERR_ARG);
  double real;
  assert_sley_ok(sl_parse_real("2.5e-1", "a", 0, 1, &real));
  assert_true(real == 0.25);
  static const char *const bad_reals[] = {"", "nan", "x", "1,5", " 1", "2"};
  for (size_t i = 0; i < sizeof bad_reals / sizeof *bad_reals; i++)
    assert_int_equal(sl_parse_real(bad_reals[i], "a", 0, 1, &real), SLEY_ERR_ARG);
}

/* ---- output files */

static char folder[] = "/tmp/sley-base-XXXXXX";

static int make_folder(void **state) {
  (void)state;
  return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
  (void)state;
  return rmdir(folder); /* fails if anything was left behind */
}

static void files_appear_whole_or_not_at_all(void **state) {
  (void)state;
  char path[128], text[16] = "";
  snprintf(path, sizeof path, "%s/out", folder);
  sl_outfile file;
  struct stat info;
  assert_sley_ok(sl_outfile_open(path, &file));
  fputs("old", file.stream);
  assert_int_equal(stat(path, &info), -1);
  assert_sley_ok(sl_outfile_commit(&file));
  assert_int_equal(stat(path, &info), 0);
  assert_int_equal(info.st_size, 3);
  sl_outfile_discard(&file);
  assert_int_equal(stat(path, &info), 0);

  assert_sley_ok(sl_outfile_open(path, &file));
  fputs("thrown away", file.stream);
  sl_outfile_discard(&file);
  FILE *stream = fopen(path, "r");
  assert_non_null(stream);
  assert_non_null(fgets(text, sizeof text, stream));
  fclose(stream);
  assert_string_equal(text, "old");
  unlink(path);
}

static void unwritable_places_are_errors(void **state) {
  (void)state;
  char path[128];
  sl_outfile file;
  snprintf(path, sizeof path, "%s/missing/out", folder);
  assert_int_equal(sl_outfile_open(path, &file), SLEY_ERR_IO);
  assert_non_null(strstr(sley_last_error(), path));
  snprintf(path, sizeof path, "%s/taken", folder);
  assert_int_equal(mkdir(path, 0777), 0);
  assert_sley_ok(sl_outfile_open(path, &file)); /* a directory of that name: the rename fails */
  assert_int_equal(sl_outfile_commit(&file), SLEY_ERR_IO);
  rmdir(path);
  snprintf(path, sizeof path, "%s/out", folder);
  int64_t before = sl_memory_now();
  for (int nth = 1; nth <= 2; nth++) {
    sl_memory_fail_at(nth);
    assert_int_equal(sl_outfile_open(path, &file), SLEY_ERR_MEMORY);
    assert_int_equal(sl_memory_now(), before);
  }
  sl_memory_fail_at(0);
}

/* ---- random numbers */

static void random_numbers_are_uniform(void **state) {
  (void)state;
  enum { COUNT = 100000, CELLS = 10 };
  int counts[CELLS] = {0}, bits[64] = {0};
  double sum = 0, before = 0, product = 0;
  for (uint64_t i = 0; i < COUNT; i++) {
    uint64_t r = sl_random(1, i / 100, i % 100);
    double u = sl_unit(r);
    assert_true(u >= 0 && u < 1);
    counts[sl_below(r, CELLS)]++;
    for (int b = 0; b < 64; b++)
      bits[b] += (int)(r >> b & 1);
    sum += u;
    product += (u - 0.5) * (before - 0.5);
    before = u;
  }
  /* Six standard deviations. */
  assert_true(fabs(sum / COUNT - 0.5) < 6 * 0.2887 / sqrt(COUNT));
  assert_true(fabs(product / COUNT) < 6 * 0.0834 / sqrt(COUNT));
  for (int c = 0; c < CELLS; c++)
    assert_true(abs(counts[c] - COUNT / CELLS) < 6 * 95);
  for (int b = 0; b < 64; b++)
    assert_true(abs(bits[b] - COUNT / 2) < 6 * 159);
  assert_true(sl_random(1, 2, 3) == sl_random(1, 2, 3));
  assert_true(sl_random(1, 2, 3) != sl_random(1, 3, 2));
  assert_true(sl_random(1, 2, 3) != sl_random(2, 2, 3));
  assert_int_equal(sl_below(UINT64_MAX, 7), 6);
  assert_int_equal(sl_below(0, 7), 0);
  assert_int_equal(sl_below(UINT64_MAX, 1), 0);
  assert_true(sl_unit(UINT64_MAX) < 1);
}

/* A file that replaces another has its mode; one that a process leaves when it is killed, or must end at
 * once, is removed by whoever has called sl_outfile_share before. */
static void outfiles_of_others(void **state) {
  (void)state;
  char directory[] = "/tmp/sley-test-XXXXXX", name[64];
  struct stat info;
  sl_outfile file;
  assert_non_null(mkdtemp(directory));
  snprintf(name, sizeof name, "%s/out", directory);
  FILE *made = fopen(name, "w");
  assert_non_null(made);
  fclose(made);
  assert_int_equal(chmod(name, 0640), 0);
  assert_sley_ok(sl_outfile_open(name, &file));
  assert_sley_ok(sl_outfile_commit(&file));
  assert_int_equal(stat(name, &info), 0);
  assert_int_equal(info.st_mode & 07777, 0640);
  unlink(name);

  assert_int_equal(symlink("nowhere", name), 0);
  assert_int_equal(sl_outfile_open(name, &file), SLEY_ERR_IO);
  assert_non_null(strstr(sley_last_error(), "a link to nothing"));
  unlink(name);

  sl_outfile_share();
  for (int way = 0; way < 2; way++) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
      sley_status status = sl_outfile_open(name, &file);
      if (way == 1)
        sley_discard_outputs();
      _exit(status);
    }
    int code;
    assert_int_equal(waitpid(child, &code, 0), child);
    assert_int_equal(code, 0);
    if (way == 0) {
      assert_int_not_equal(rmdir(directory), 0); /* it is there */
      sl_outfile_sweep();
    }
    assert_int_equal(rmdir(directory), 0);
    assert_int_equal(mkdir(directory, 0700), 0);
  }
  assert_int_equal(sl_outfile_open(name, &file), SLEY_ERR_IO); /* none may be begun any more */
  assert_int_equal(rmdir(directory), 0);
}

/* A device is written straight and stays a device; a link stays a link. */
static void test_outfile_devices_and_links(void **state) {
  (void)state;
  sl_outfile file;
  struct stat info;
  if (stat("/dev/full", &info) == 0 && S_ISCHR(info.st_mode)) {
    assert_sley_ok(sl_outfile_open("/dev/full", &file));
    fputs("text", file.stream);
    assert_int_equal(sl_outfile_commit(&file), SLEY_ERR_IO);
    assert_int_equal(stat("/dev/full", &info), 0);
    assert_true(S_ISCHR(info.st_mode));
  }
  char directory[] = "/tmp/sley-test-XXXXXX", target[64], name[64];
  assert_non_null(mkdtemp(directory));
  snprintf(target, sizeof target, "%s/target", directory);
  snprintf(name, sizeof name, "%s/link", directory);
  FILE *made = fopen(target, "w");
  assert_non_null(made);
  fclose(made);
  assert_int_equal(symlink(target, name), 0);
  assert_sley_ok(sl_outfile_open(name, &file));
  fputs("text", file.stream);
  assert_sley_ok(sl_outfile_commit(&file));
  assert_int_equal(lstat(name, &info), 0);
  assert_true(S_ISLNK(info.st_mode));
  assert_int_equal(stat(target, &info), 0);
  assert_int_equal(info.st_size, 4);
  unlink(name);
  unlink(target);
  assert_int_equal(rmdir(directory), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_outfile_devices_and_links),

      cmocka_unit_test(every_status_has_its_name),
      cmocka_unit_test(messages_are_led_and_kept),
      cmocka_unit_test(errors_belong_to_their_thread),
      cmocka_unit_test(try_passes_errors_on),
      cmocka_unit_test(types_have_their_sizes),
      cmocka_unit_test(memory_is_counted),
      cmocka_unit_test(memory_fails_when_told),
      cmocka_unit_test(impossible_sizes_are_refused),
      cmocka_unit_test(specifications_are_taken_apart),
      cmocka_unit_test(wrong_specifications_are_refused),
      cmocka_unit_test(numbers_are_read),
      cmocka_unit_test(files_appear_whole_or_not_at_all),
      cmocka_unit_test(unwritable_places_are_errors),
      cmocka_unit_test(random_numbers_are_uniform),
      cmocka_unit_test(outfiles_of_others), /* the last: no file can be begun after it */
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
