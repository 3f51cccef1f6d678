/* SPDX-License-Identifier: Apache-2.0 */
/* Running a program's tests: what has not run at all is told apart from what has passed. */
#include "support.h"

int test_skips;

int test_run_group(const char *name, const struct CMUnitTest *tests, size_t count, CMFixtureFunction setup,
                   CMFixtureFunction teardown) {
  int failed = _cmocka_run_group_tests(name, tests, count, setup, teardown);
  return failed == 0 && test_skips > 0 && (size_t)test_skips == count ? TEST_SKIPPED : failed;
}
