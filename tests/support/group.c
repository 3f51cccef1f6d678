/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a program's tests in its settings, and distinguishes skipped tests from passed ones. */
#include "support.h"

#include "draws.h"
#include "settings.h"

int test_skips;

typedef struct group {
  const char *name;
  const struct CMUnitTest *tests;
  size_t count;
  CMFixtureFunction setup, teardown;
  int settings;
} group;

static int run_once(const char *setting, void *arg) {
  group *g = arg;
  char name[128];
  snprintf(name, sizeof name, "%s, %s", g->name, setting);
  g->settings++;
  return _cmocka_run_group_tests(name, g->tests, g->count, g->setup, g->teardown);
}

int test_run_group(const char *name, const char *settings, const struct CMUnitTest *tests, size_t count,
                   CMFixtureFunction setup, CMFixtureFunction teardown) {
  group g = {name, tests, count, setup, teardown, 0};
  /* Printed first, because a test may end the program. */
  fprintf(stderr, "one case in %s, drawn by SLEY_TEST_SEED=%llu\n",
          getenv("SLEY_TEST_SHARE") ? getenv("SLEY_TEST_SHARE") : "1", (unsigned long long)test_seed());
  int failed = test_each_setting(settings, run_once, &g);
  if (failed < 0)
    fprintf(stderr, "skipped: none of the settings %s is in SLEY_TEST_SETTINGS\n", settings);
  return failed < 0 || (failed == 0 && test_skips > 0 && (size_t)test_skips == count * (size_t)g.settings)
             ? TEST_SKIPPED
             : failed;
}
