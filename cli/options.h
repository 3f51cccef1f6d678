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
  CLI_INT,    /* int64_t from least to most */
  CLI_REAL,   /* double */
  CLI_SIZE,   /* int64_t, bytes: a number above 0, with K, M, G or T for powers of 1024 */
  CLI_TEXT,   /* const char *, any */
  CLI_CHOICE  /* const char *, one of the words of choices() */
} cli_option_kind;

typedef struct cli_option {
  const char *name; /* name without the dashes; NULL ends a table */
  char letter;      /* short form, or 0 */
  bool required;    /* only for CLI_TEXT and CLI_CHOICE */
  bool positive;    /* only for CLI_REAL: the value must be 0 or more */
  bool listed;      /* only for CLI_INT: commands that sweep take several numbers, separated by commas */
  cli_option_kind kind;
  const char *value;   /* name of the value in the help, for example "N"; NULL for flags */
  size_t offset;       /* offset in the settings struct */
  int64_t least, most; /* CLI_INT; inclusive */
  /* The accepted values, NULL-terminated, static. CLI_CHOICE accepts no other values; CLI_TEXT does, and may
   * have NULL. */
  const char *const *(*choices)(void);
  const char *also; /* for CLI_TEXT: more suggested values, separated by spaces, or NULL */
  const sley_parameter *(*parameters)(const char *word); /* returns the parameters of a choice, set as
                                                            WORD:KEY=VALUE; NULL: none */
  const char *(*about)(const char *word); /* returns one line about a choice for the help; or NULL */
  const char *help; /* effect of the option; the printer adds a default that is not 0 or NULL */
} cli_option;

struct cli_command;

/* Reads argv[0..argc) of a command into settings, and the other words into positionals (command->positionals
 * entries, borrowed). A long option may be shortened as long as only one option begins with it. If --help or
 * -h is among the words, sets *help and stops. Returns false after one line on stderr: an unknown option
 * (with the nearest known one, if one is near), an ambiguous short form, a missing or wrong value, too many
 * or too few words. */
bool cli_options_parse(const struct cli_command *command, int argc, char **argv, void *settings,
                       char **positionals, bool *help);

/* Returns the option of this number: a command's own options in their order, then the common ones that it
 * takes. NULL: it has fewer. */
const cli_option *cli_option_at(const struct cli_command *command, int number);

/* Returns true if the parsed command line has the option (its name without dashes). */
bool cli_given(const char *name);

/* An option in the parsed command line, with its words there; NULL: there are fewer. */
typedef struct cli_occurrence {
  const cli_option *option;
  char **begin, **end;
} cli_occurrence;
const cli_occurrence *cli_occurrence_at(int number);

/* The numbers of an option that was given several. */
enum { CLI_AXES = 2, CLI_AXIS_MOST = 64 };
typedef struct cli_axis {
  const cli_option *option;
  int count;
  int64_t value[CLI_AXIS_MOST];
} cli_axis;

/* Returns the lists of the parsed command line, in the order of its options; *count: their number. */
const cli_axis *cli_axes(int *count);

/* Prints the help page of a command. */
void cli_options_help(const struct cli_command *command, FILE *stream);

/* Returns true if a word is the full name of an option of the command, and the option takes a value. */
bool cli_options_takes_value(const struct cli_command *command, const char *word);

/* The first function writes the accepted values of such an option, one per line; the second writes the names
 * of all options. */
void cli_options_words(const struct cli_command *command, const char *option, FILE *stream);
void cli_options_list(const struct cli_command *command, FILE *stream);

/* Index of a word in a NULL-terminated list; -1: not found. */
int cli_number_of(const char *word, const char *const *list);

/* Writes the end of a message "no X" about a word that is not in the list: "; the nearest is ...", or, if
 * none is near, "; known are ...". */
void cli_suggest(char *text, size_t room, const char *word, const char *const *list);

#endif
