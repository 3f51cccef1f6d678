/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of kernels use of cmocka's interface, written for them: Debian has cmocka for aarch64 in
 * packages of that architecture only, which cannot be installed unless the whole system takes such packages.
 * As with cmocka a test ends where it first fails, and the program goes on with the next. */
#ifndef SLEY_TESTS_AARCH64_CMOCKA_H
#define SLEY_TESTS_AARCH64_CMOCKA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef int (*CMFixtureFunction)(void **state);

struct CMUnitTest {
  const char *name;
  void (*run)(void **state);
};

#define cmocka_unit_test(function)                                                                           \
  { #function, function }

/* Runs setup, the tests and teardown. The number of tests that failed; where setup or teardown fail, one
 * more.
 */
int _cmocka_run_group_tests(const char *name, const struct CMUnitTest *tests, size_t count,
                            CMFixtureFunction setup, CMFixtureFunction teardown);

/* Ends the test that runs: as skipped, or failed with a message. */
_Noreturn void _skip(const char *file, int line);
_Noreturn void check_failed(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

void check_true(bool holds, const char *what, const char *file, int line);
void check_ints(intmax_t a, intmax_t b, bool equal, const char *file, int line);
void check_texts(const char *a, const char *b, const char *file, int line);
void check_memory(const void *a, const void *b, size_t bytes, const char *file, int line);

#define fail_msg(...)                    check_failed(__FILE__, __LINE__, __VA_ARGS__)
#define assert_true(condition)           check_true(condition, #condition, __FILE__, __LINE__)
#define assert_false(condition)          check_true(!(condition), "not " #condition, __FILE__, __LINE__)
#define assert_null(pointer)             check_true((pointer) == NULL, #pointer " is NULL", __FILE__, __LINE__)
#define assert_non_null(pointer)         check_true((pointer) != NULL, #pointer " is not NULL", __FILE__, __LINE__)
#define assert_ptr_equal(a, b)           check_true((a) == (b), #a " is " #b, __FILE__, __LINE__)
#define assert_int_equal(a, b)           check_ints((intmax_t)(a), (intmax_t)(b), true, __FILE__, __LINE__)
#define assert_int_not_equal(a, b)       check_ints((intmax_t)(a), (intmax_t)(b), false, __FILE__, __LINE__)
#define assert_string_equal(a, b)        check_texts(a, b, __FILE__, __LINE__)
#define assert_memory_equal(a, b, bytes) check_memory(a, b, bytes, __FILE__, __LINE__)

#endif
