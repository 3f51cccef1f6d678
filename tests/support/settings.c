/* SPDX-License-Identifier: Apache-2.0 */
#include "settings.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/overrides.h"
#include "draws.h"

enum { MOST_VARIABLES = 5, NAME_BYTES = 32 };

typedef struct setting {
  const char *name;
  const char *variables[MOST_VARIABLES]; /* NAME=value */
  sl_override_values overrides;
} setting;

#define DEVICE "SLEY_TEST_DEVICE=cuda", "SLEY_MODULE_PATH=" SLEY_MOCK_DEVICE_DIR
static const setting settings[] = {
    {"cpu", {NULL}},
    {"tcp", {"SLEY_TEST_TRANSPORT=tcp"}},
    /* ranks that a launcher has started: tests/mpi/run.sh alone asks for it */
    {"mpi", {"SLEY_TEST_TRANSPORT=mpi"}},
    /* links for which formats differ between link classes, and two-level is chosen */
    {"slow_links", {"SLEY_MACHINE=" SLEY_TESTS_DIR "/support/slow_links.machine"}},
    /* the rows of every workgroup in as many slices as possible */
    {"slices", {NULL}, {.stage_bytes = 40}},
    /* the mock of a device that the host cannot address; its devices can load each other's memory, or cannot
     */
    {"device", {DEVICE, "SLEY_MOCK_REACH=yes"}},
    {"device_apart", {DEVICE, "SLEY_MOCK_REACH=no"}},
    /* devices that signal each other, with aligned copies of X, or do not */
    {"device_signals", {DEVICE}, {.aligns = true, .signals = SL_SIGNALS_ON}},
    {"device_no_signals", {DEVICE}, {.signals = SL_SIGNALS_OFF}},
    /* the halo in as many pieces as possible, aligned copies of X, and rows of rowwise in many batches */
    {"device_pieces", {DEVICE}, {.piece_bytes = 1000, .aligns = true, .fetch_rows = 100}},
    /* the own columns first */
    {"device_own", {DEVICE}, {.own_first = true}},
    {"device_halo_pieces", {DEVICE}, {.piece_bytes = 300}},
    /* ranks that would be processes, whose devices load each other's memory inside a workgroup, or cannot
       share it */
    {"device_tcp", {DEVICE, "SLEY_TEST_TRANSPORT=tcp"}, {.signals = SL_SIGNALS_ON}},
    {"device_tcp_apart", {DEVICE, "SLEY_TEST_TRANSPORT=tcp", "SLEY_MOCK_SHARE=no"}},
    /* a transport with collectives of its own */
    {"device_nccl", {DEVICE, "SLEY_TEST_TRANSPORT=nccl", "SLEY_MOCK_NCCL_SHARES=yes"}},
};

/* A variable's name, and its value before. */
typedef struct kept {
  char name[NAME_BYTES];
  char *value; /* NULL: not set */
} kept;

static void set(const char *variable, kept *before) {
  const char *value = strchr(variable, '=');
  snprintf(before->name, sizeof before->name, "%.*s", (int)(value - variable), variable);
  const char *was = getenv(before->name);
  before->value = was ? strdup(was) : NULL;
  setenv(before->name, value + 1, 1);
}

static void restore(kept *before) {
  if (before->value)
    setenv(before->name, before->value, 1);
  else
    unsetenv(before->name);
  free(before->value);
}

/* The position of the name in the list, or NULL. */
static const char *find(const char *list, const char *name) {
  size_t length = strlen(name);
  for (const char *at = list; *at; at += strcspn(at, " "), at += strspn(at, " "))
    if (strncmp(at, name, length) == 0 && strchr(" =", at[length]))
      return at;
  return NULL;
}

static int run_in(const setting *s, uint64_t share, int (*run)(const char *name, void *arg), void *arg) {
  kept before[MOST_VARIABLES];
  int count = 0;
  for (; count < MOST_VARIABLES && s->variables[count]; count++)
    set(s->variables[count], &before[count]);
  sl_overrides = s->overrides;
  test_draw_for(s->name, share);
  int result = run(s->name, arg);
  sl_overrides = (sl_override_values){0};
  while (count-- > 0)
    restore(&before[count]);
  return result;
}

static bool is_given(const char *variable) {
  const char *value = getenv(variable);
  return value && *value;
}

/* The setting of the environment's transport and device, with the overrides of SLEY_TEST_OVERRIDES. */
static int run_given(int (*run)(const char *name, void *arg), void *arg) {
  const char *overrides = getenv("SLEY_TEST_OVERRIDES");
  setting given = {.name = "given"};
  for (size_t i = 0; overrides && i < sizeof settings / sizeof *settings; i++)
    if (strcmp(settings[i].name, overrides) == 0) {
      given.overrides = settings[i].overrides;
      overrides = NULL;
    }
  if (!overrides)
    return run_in(&given, 1, run, arg);
  fprintf(stderr, "SLEY_TEST_OVERRIDES: there is no setting %s\n", overrides);
  return 1;
}

int test_each_setting(const char *list, int (*run)(const char *name, void *arg), void *arg) {
  const char *wanted = getenv("SLEY_TEST_SETTINGS");
  int sum = 0, runs = 0;
  if (is_given("SLEY_TEST_TRANSPORT") || is_given("SLEY_TEST_DEVICE"))
    return run_given(run, arg);
  for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
    const setting *s = &settings[i];
    const char *at = find(list, s->name), *share = at ? at + strlen(s->name) : NULL;
    if (!at || (wanted && *wanted ? !find(wanted, s->name) : strcmp(s->name, "mpi") == 0))
      continue;
    sum += run_in(s, *share == '=' ? strtoull(share + 1, NULL, 10) : 1, run, arg);
    runs++;
  }
  return runs > 0 ? sum : -1;
}
