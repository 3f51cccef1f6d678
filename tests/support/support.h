/* SPDX-License-Identifier: Apache-2.0 */
/* Common parts of test programs: cmocka with its prerequisites, and the folder of real matrices. */
#ifndef SLEY_TESTS_SUPPORT_H
#define SLEY_TESTS_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "draws.h"
#include "sley.h"

/* Seconds after which a test that waits for other ranks ends, since one of them hangs. The time is long,
 * because a case may take a minute under a sanitizer on a busy machine. */
enum { WATCHDOG_SECONDS = 300 };

/* A program all of whose tests are skipped ends with TEST_SKIPPED, which ctest reports as skipped. */
enum { TEST_SKIPPED = 77 };
extern int test_skips;
#undef skip
#define skip() (test_skips++, _skip(__FILE__, __LINE__))
#undef cmocka_run_group_tests
#define cmocka_run_group_tests(group, setup, teardown)                                                       \
  test_run_group(#group, SLEY_TEST_SETTINGS, group, sizeof(group) / sizeof *(group), setup, teardown)

/* The settings of a program (settings.h). tests/CMakeLists.txt defines them for programs with several
 * settings. */
#ifndef SLEY_TEST_SETTINGS
#define SLEY_TEST_SETTINGS "cpu"
#endif

/* Runs the tests in every setting. Returns the number of failed tests, or TEST_SKIPPED. */
int test_run_group(const char *name, const char *settings, const struct CMUnitTest *tests, size_t count,
                   CMFixtureFunction setup, CMFixtureFunction teardown);

/* Asserts SLEY_OK and shows the library's message if it is not. */
#define assert_sley_ok(call)                                                                                 \
  do {                                                                                                       \
    sley_status sley_ok_status_ = (call);                                                                    \
    if (sley_ok_status_ != SLEY_OK)                                                                          \
      fail_msg("%s: %s: %s", #call, sley_status_name(sley_ok_status_), sley_last_error());                   \
  } while (0)

/* Folder of the real matrices (environment variable SLEY_DATA, else beside the checkout). If it is absent,
 * returns NULL and prints a message on stderr. */
const char *test_data_dir(void);

#endif
