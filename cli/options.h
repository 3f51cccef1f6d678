/* SPDX-License-Identifier: Apache-2.0 */
/* Options as tables: one parser reads them and one printer makes the help, so the two cannot disagree. */
#ifndef SLEY_CLI_OPTIONS_H
#define SLEY_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "sley.h"

typedef enum cli_option_kind {
  CLI_FLAG,   /* bool; --name sets it */
  CLI_SWITCH, /* bool; --name sets it, --no-name clears it */
  CLI_INT,    /* int64_t within least..most */
  CLI_REAL,   /* double */
  CLI_SIZE,   /* int64_t, bytes: a number above 0, with K, M, G or T for powers of 1024 */
  CLI_TEXT,   /* const char *, any */
  CLI_CHOICE  /* const char *, one of choices() */
} cli_option_kind;

typedef struct cli_option {
  const char *name; /* without the dashes; NULL ends a table */
  char letter;      /* short form, or 0 */
  bool required;    /* CLI_TEXT and CLI_CHOICE only */
  bool positive;    /* CLI_REAL only: 0 or more */
  cli_option_kind kind;
  const char *value;   /* its name in the help, e.g. "N"; NULL for flags */
  size_t offset;       /* into the settings struct */
  int64_t least, most; /* CLI_INT; inclusive */
  /* The words that it takes, NULL-terminated, static: CLI_CHOICE takes no others; CLI_TEXT does, NULL: it
   * has none. */
  const char *const *(*choices)(void);
  const char *also; /* CLI_TEXT: more words, with spaces between, or NULL */
  const sley_parameter *(*parameters)(
      const char *word);                  /* of a choice, as WORD:KEY=VALUE; or NULL: of none */
  const char *(*about)(const char *word); /* one line about each of the choices for the help, or NULL */
  const char *help; /* what it does; a default that is not 0 or NULL is added by the printer */
} cli_option;

struct cli_command;

/* Reads argv[0..argc) of a command into settings, and the other words into positionals (command->positionals
 * entries, borrowed). A long option may be cut as long as only one begins so. Sets *help and stops if --help
 * or -h is met. False after one line on stderr: an unknown option (with the nearest known one, if one is
 * near), one that is cut too short, a missing or wrong value, too many or too few words. */
bool cli_options_parse(const struct cli_command *command, int argc, char **argv, void *settings,
                       char **positionals, bool *help);

/* The option of this number: a command's own in their order, then those that it takes of the common ones.
 * NULL: it has fewer. */
const cli_option *cli_option_at(const struct cli_command *command, int number);

/* Whether the words that were parsed have had the option (its name without dashes). */
bool cli_given(const char *name);

/* The help page of a command. */
void cli_options_help(const struct cli_command *command, FILE *stream);

/* Whether a word is one of the command's options, whole, that takes a value. */
bool cli_options_takes_value(const struct cli_command *command, const char *word);

/* Writes the words that such an option takes, a line each; and the names of all options. */
void cli_options_words(const struct cli_command *command, const char *option, FILE *stream);
void cli_options_list(const struct cli_command *command, FILE *stream);

/* The number of a word in a NULL-terminated list; -1: it is not there. */
int cli_number_of(const char *word, const char *const *list);

/* The word of a NULL-terminated list nearest to word by edit distance, if it is near enough to be meant: at
 * most 1 letter of 3, 2 of 6, or a third of more differ. NULL: none is. */
const char *cli_nearest(const char *word, const char *const *list);

/* What to say of a word that is not in the list, after "no X": "; the nearest is ..." or, where none is near,
 * "; known are ...". */
void cli_suggest(char *text, size_t room, const char *word, const char *const *list);

#endif
