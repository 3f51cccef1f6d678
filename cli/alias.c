/* SPDX-License-Identifier: Apache-2.0 */
/* Puts the defaults of `sley tile` before the given words. */
#include "alias.h"

#include <stdlib.h>
#include <string.h>

#include "output/terminal.h"
#include "ranks/processes.h"

static const char *const dense[] = {"spmm", "--algo=tile-c", "--k=64", "--device=cpu", NULL};
static const char *const sparse[] = {"spgemm",     "--algo=tile-c", "--repeat=10",
                                     "--warmup=2", "--verify",      NULL};
enum { MOST_ADDED = 8 };

static void take(char **list, int *count, const char *word) {
  list[(*count)++] = (char *)word;
}

/* Returns B if words[*at] is --times=B, or --times with B after it (*at is then advanced); else NULL. */
static const char *take_times(char **words, int count, int *at) {
  if (strncmp(words[*at], "--times=", 8) == 0)
    return words[*at] + 8;
  return strcmp(words[*at], "--times") == 0 && *at + 1 < count ? words[++*at] : NULL;
}

bool cli_alias_expand(int *argc, char ***argv) {
  char **words = *argv, **given, **all;
  const char *times = NULL;
  int count = 0, taken = 0;
  if (*argc < 2 || strcmp(words[1], "tile") != 0)
    return true;
  given = calloc((size_t)*argc, sizeof *given);
  all = calloc((size_t)*argc + MOST_ADDED, sizeof *all);
  if (!given || !all) {
    free(given);
    free(all);
    return false;
  }
  for (int i = 2; i < *argc; i++) {
    const char *factor = take_times(words, *argc, &i);
    times = factor ? factor : times;
    if (!factor)
      take(given, &taken, words[i]);
  }
  take(all, &count, words[0]);
  for (const char *const *word = times ? sparse : dense; *word; word++)
    take(all, &count, *word);
  if (times && !cli_launched())
    take(all, &count, "--ranks=4");
  for (int i = 0; i < taken; i++) {
    const bool value = i > 0 && strcmp(given[i - 1], "--algo") == 0;
    take(all, &count,
         value && strcmp(given[i], "all") == 0 ? "tile-all"
         : strcmp(given[i], "--algo=all") == 0 ? "--algo=tile-all"
                                               : given[i]);
  }
  if (times)
    take(all, &count, times);
  free(given);
  *argc = count;
  *argv = all;
  if (cli_is_first())
    cli_say("sley tile is sley %s --algo tile-c now; the next version does not have the old name", all[1]);
  return true;
}
