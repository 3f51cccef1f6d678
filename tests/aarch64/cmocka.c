/* SPDX-License-Identifier: Apache-2.0 */
#include <cmocka.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Where the test that runs goes on when it ends early, and how it ended. */
static enum outcome { PASSED, FAILED, SKIPPED } outcome;
static jmp_buf end_of_test;

void _skip(const char *file, int line) {
  fprintf(stderr, "%s:%d: skipped\n", file, line);
  outcome = SKIPPED;
  longjmp(end_of_test, 1);
}

void check_failed(const char *file, int line, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fprintf(stderr, "%s:%d: ", file, line);
  vfprintf(stderr, format, arguments);
  fprintf(stderr, "\n");
  va_end(arguments);
  outcome = FAILED;
  longjmp(end_of_test, 1);
}

void check_true(bool holds, const char *what, const char *file, int line) {
  if (!holds)
    check_failed(file, line, "does not hold: %s", what);
}

void check_ints(intmax_t a, intmax_t b, bool equal, const char *file, int line) {
  if ((a == b) != equal)
    check_failed(file, line, "%jd and %jd are %s", a, b, equal ? "not equal" : "equal");
}

void check_texts(const char *a, const char *b, const char *file, int line) {
  if (strcmp(a, b) != 0)
    check_failed(file, line, "\"%s\" is not \"%s\"", a, b);
}

void check_memory(const void *a, const void *b, size_t bytes, const char *file, int line) {
  const unsigned char *left = a, *right = b;
  if (memcmp(a, b, bytes) == 0)
    return;
  for (size_t i = 0; i < bytes; i++)
    if (left[i] != right[i])
      check_failed(file, line, "byte %zu of %zu is %02x, not %02x", i, bytes, left[i], right[i]);
}

static int run_test(const struct CMUnitTest *test) {
  static const char *const word[] = {[PASSED] = "passed", [FAILED] = "FAILED", [SKIPPED] = "skipped"};
  void *state = NULL;
  outcome = PASSED;
  if (setjmp(end_of_test) == 0)
    test->run(&state);
  printf("%s: %s\n", test->name, word[outcome]);
  return outcome == FAILED;
}

int _cmocka_run_group_tests(const char *name, const struct CMUnitTest *tests, size_t count,
                            CMFixtureFunction setup, CMFixtureFunction teardown) {
  void *state = NULL;
  int failed = 0;
  if (setup && setup(&state) != 0) {
    fprintf(stderr, "%s: setup failed\n", name);
    return 1;
  }
  for (size_t i = 0; i < count; i++)
    failed += run_test(&tests[i]);
  if (teardown && teardown(&state) != 0) {
    fprintf(stderr, "%s: teardown failed\n", name);
    failed++;
  }
  return failed;
}
