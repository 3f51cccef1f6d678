/* SPDX-License-Identifier: Apache-2.0 */
/* Reads --algo: a word for several algorithms, or a list of names. */
#include "product/algos.h"

#include <stdio.h>
#include <string.h>

#include "options.h"
#include "output/terminal.h"
#include "product/ablation.h"
#include "sley_tile.h"

enum { NAME_BYTES = 64 };

static const char *const in_tiles[] = {"tile-all", NULL};

static void append(const char **list, const char *const *words) {
  while (*list)
    list++;
  while (*words)
    *list++ = *words++;
}

const char *const *cli_plan_algos(void) {
  static const char *const first[] = {"auto", "all", "cola", NULL};
  static const char *names[CLI_ALGORITHMS];
  if (!names[0]) {
    append(names, first);
    append(names, sley_algorithms());
  }
  return names;
}

const char *const *cli_spmm_algos(void) {
  static const char *names[CLI_ALGORITHMS];
  if (!names[0]) {
    append(names, cli_plan_algos());
    append(names, in_tiles);
    append(names, sley_tile_algorithms());
  }
  return names;
}

const char *const *cli_spgemm_algos(void) {
  static const char *const first[] = {"auto", "rows", NULL};
  static const char *names[CLI_ALGORITHMS];
  if (!names[0]) {
    append(names, first);
    append(names, in_tiles);
    append(names, sley_tile_algorithms());
  }
  return names;
}

/* If the word stands for several algorithms, appends them to *out and returns true. */
static bool take_group(const char *word, cli_algos *out) {
  if (strcmp(word, "cola") == 0) {
    cli_ablation_names(out);
    return true;
  }
  const char *const *names = strcmp(word, "all") == 0        ? sley_algorithms()
                             : strcmp(word, "tile-all") == 0 ? sley_tile_algorithms()
                                                             : NULL;
  for (out->several = names != NULL; names && *names; names++)
    out->name[out->count++] = *names;
  return out->several;
}

/* Returns true if the name is known. Only names of plans may have parameters, which the library checks. Else
 * prints one line on stderr. */
static bool is_known(const char *command, const char *word, const char *const *known) {
  char name[NAME_BYTES], suggestion[512];
  const size_t length = strcspn(word, ":");
  snprintf(name, sizeof name, "%.*s", (int)length, word);
  if (cli_number_of(name, known) < 0) {
    cli_suggest(suggestion, sizeof suggestion, name, known);
    cli_error("%s: --algo has no \"%s\"%s", command, name, suggestion);
    return false;
  }
  if (!word[length] || cli_number_of(name, sley_algorithms()) >= 0)
    return true;
  cli_error("%s: --algo %s: %s has no parameters", command, word, name);
  return false;
}

/* Returns the comma after a name and its parameters, which have commas between them too: a part KEY=VALUE
 * belongs to the name before. NULL: the end of the text. */
static char *comma_after(char *word) {
  char *comma = strchr(word, ',');
  const bool takes = strcspn(word, ":") < strcspn(word, ",");
  while (takes && comma && strcspn(comma + 1, "=") < strcspn(comma + 1, ",:"))
    comma = strchr(comma + 1, ',');
  return comma;
}

/* Reads a list of names, cutting out->text at commas. On failure prints one line on stderr. */
static bool take_names(const char *command, const char *const *known, cli_algos *out) {
  cli_algos group = {0};
  for (char *word = out->text, *end = word; end; word = end + 1) {
    end = comma_after(word);
    if (end)
      *end = '\0';
    if (!is_known(command, word, known))
      return false;
    if (out->count == CLI_ALGORITHMS || take_group(word, &group)) {
      cli_error(
          "%s: --algo takes one word for several algorithms, or a list of at most %d names of algorithms",
          command, CLI_ALGORITHMS);
      return false;
    }
    out->name[out->count++] = word;
  }
  out->several = out->count > 1;
  return true;
}

bool cli_algos_read(const char *command, const char *algo, const char *const *known, cli_algos *out) {
  *out = (cli_algos){0};
  if (snprintf(out->text, sizeof out->text, "%s", algo ? algo : "auto") >= (int)sizeof out->text) {
    cli_error("%s: --algo takes at most %zu characters", command, sizeof out->text - 1);
    return false;
  }
  const bool group = cli_number_of(out->text, known) >= 0 && take_group(out->text, out);
  if (!group && !take_names(command, known, out))
    return false;
  int tiles = 0;
  for (int i = 0; i < out->count; i++)
    tiles += cli_number_of(out->name[i], sley_tile_algorithms()) >= 0;
  out->tiles = tiles > 0;
  if (!out->tiles || tiles == out->count)
    return true;
  cli_error("%s: --algo compares algorithms of products in tiles with each other alone: give tile-all, or a "
            "list of tile-c, tile-a and so on",
            command);
  return false;
}
