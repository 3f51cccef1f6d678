/* SPDX-License-Identifier: Apache-2.0 */
/* The one parser of options, and the printer of help. */
#include "options.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "terminal.h"

enum { WORD_LIMIT = 40, NAME_LIMIT = 64, HELP_COLUMN = 26, HELP_WIDTH = 96 };

static size_t least_of(size_t a, size_t b, size_t c) {
  size_t least = a < b ? a : b;
  return least < c ? least : c;
}

/* Levenshtein distance; words are looked at up to WORD_LIMIT letters. */
static size_t distance(const char *a, const char *b) {
  size_t row[WORD_LIMIT + 1];
  size_t length_a = strnlen(a, WORD_LIMIT), length_b = strnlen(b, WORD_LIMIT);
  for (size_t j = 0; j <= length_b; j++)
    row[j] = j;
  for (size_t i = 1; i <= length_a; i++) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= length_b; j++) {
      size_t above = row[j];
      row[j] = least_of(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
      diagonal = above;
    }
  }
  return row[length_b];
}

const char *cli_nearest(const char *word, const char *const *list) {
  const char *best = NULL;
  size_t best_distance = SIZE_MAX;
  for (; *list; list++) {
    size_t d = distance(word, *list);
    if (d < best_distance) {
      best = *list;
      best_distance = d;
    }
  }
  return best;
}

/* ---- parsing */

/* The option of that name; *off tells whether it was "no-" and the name of a switch. */
static const cli_option *find(const cli_command *command, const char *name, size_t length, bool *off) {
  *off = false;
  for (const cli_option *const *table = command->options; *table; table++) {
    for (const cli_option *option = *table; option->name; option++) {
      if (strlen(option->name) == length && strncmp(option->name, name, length) == 0)
        return option;
      if (option->kind == CLI_SWITCH && length > 3 && strncmp(name, "no-", 3) == 0 &&
          strlen(option->name) == length - 3 && strncmp(option->name, name + 3, length - 3) == 0) {
        *off = true;
        return option;
      }
    }
  }
  return NULL;
}

static const cli_option *find_letter(const cli_command *command, char letter) {
  for (const cli_option *const *table = command->options; *table; table++)
    for (const cli_option *option = *table; option->name; option++)
      if (option->letter == letter)
        return option;
  return NULL;
}

static bool refuse_unknown(const cli_command *command, const char *word) {
  char name[NAME_LIMIT];
  size_t length = strcspn(word, "=");
  snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1), word);
  const char *best = "help";
  size_t best_distance = distance(name, best);
  for (const cli_option *const *table = command->options; *table; table++) {
    for (const cli_option *option = *table; option->name; option++) {
      size_t d = distance(name, option->name);
      if (d < best_distance) {
        best = option->name;
        best_distance = d;
      }
    }
  }
  cli_error("%s: unknown option --%s; the nearest is --%s", command->name, name, best);
  return false;
}

static bool refuse_value(const cli_command *command, const cli_option *option, const char *text,
                         const char *wanted) {
  cli_error("%s: --%s takes %s, not \"%s\"", command->name, option->name, wanted, text);
  return false;
}

static bool store_int(const cli_command *command, const cli_option *option, const char *text, int64_t *out) {
  char wanted[NAME_LIMIT + 64], *end = NULL;
  errno = 0;
  long long value = strtoll(text, &end, 10);
  if (end == text || *end || errno || value < option->least || value > option->most) {
    if (option->most == INT64_MAX)
      snprintf(wanted, sizeof wanted, "a whole number from %" PRId64, option->least);
    else
      snprintf(wanted, sizeof wanted, "a whole number from %" PRId64 " to %" PRId64, option->least,
               option->most);
    return refuse_value(command, option, text, wanted);
  }
  *out = value;
  return true;
}

static bool store_size(const cli_command *command, const cli_option *option, const char *text, int64_t *out) {
  static const char units[] = "KMGT";
  char *end = NULL;
  double value = strtod(text, &end), unit = 1;
  const char *named = *end ? strchr(units, *end) : NULL;
  for (const char *u = units; named && u <= named; u++)
    unit *= 1024;
  if (end == text || (*end && (!named || end[1])) || !(value * unit >= 1 && value * unit < 9e18))
    return refuse_value(command, option, text, "a size such as 512M or 8G");
  *out = (int64_t)(value * unit);
  return true;
}

static bool store_choice(const cli_command *command, const cli_option *option, const char *text,
                         const char **out) {
  const char *const *choices = option->choices();
  for (const char *const *choice = choices; *choice; choice++) {
    if (strcmp(*choice, text) == 0) {
      *out = *choice;
      return true;
    }
  }
  cli_error("%s: --%s has no \"%s\"; the nearest is \"%s\"", command->name, option->name, text,
            cli_nearest(text, choices));
  return false;
}

/* Writes an option's value (NULL for flags and switches) into the settings. */
static bool store(const cli_command *command, const cli_option *option, const char *text, bool off,
                  void *settings) {
  char *place = (char *)settings + option->offset, *end = NULL;
  switch (option->kind) {
  case CLI_FLAG:
  case CLI_SWITCH:
    *(bool *)place = !off;
    return true;
  case CLI_INT:
    return store_int(command, option, text, (int64_t *)place);
  case CLI_SIZE:
    return store_size(command, option, text, (int64_t *)place);
  case CLI_REAL: {
    double value = strtod(text, &end);
    if (end == text || *end || !isfinite(value))
      return refuse_value(command, option, text, "a finite number");
    *(double *)place = value;
    return true;
  }
  case CLI_TEXT:
    if (!*text)
      return refuse_value(command, option, text, option->value);
    *(const char **)place = text;
    return true;
  case CLI_CHOICE:
    return store_choice(command, option, text, (const char **)place);
  }
  return false;
}

static bool takes_value(const cli_option *option) {
  return option->kind != CLI_FLAG && option->kind != CLI_SWITCH;
}

/* Reads the option at argv[*at] and moves *at past it. */
static bool parse_option(const cli_command *command, int argc, char **argv, int *at, void *settings) {
  const char *word = argv[(*at)++], *value = NULL;
  const cli_option *option;
  bool off = false;
  if (word[1] == '-') {
    const char *name = word + 2;
    size_t length = strcspn(name, "=");
    option = find(command, name, length, &off);
    if (!option)
      return refuse_unknown(command, name);
    if (name[length] == '=')
      value = name + length + 1;
  } else {
    option = find_letter(command, word[1]);
    if (!option)
      return refuse_unknown(command, word + 1);
    if (word[2])
      value = word + 2;
  }
  if (!takes_value(option)) {
    if (value) {
      cli_error("%s: --%s takes no value", command->name, option->name);
      return false;
    }
  } else if (!value) {
    if (*at >= argc) {
      cli_error("%s: --%s needs a value: %s", command->name, option->name, option->value);
      return false;
    }
    value = argv[(*at)++];
  }
  return store(command, option, value, off, settings);
}

static bool check_required(const cli_command *command, const void *settings) {
  for (const cli_option *const *table = command->options; *table; table++) {
    for (const cli_option *option = *table; option->name; option++) {
      if (option->required && !*(const char *const *)((const char *)settings + option->offset)) {
        cli_error("%s: --%s %s is missing", command->name, option->name, option->value);
        return false;
      }
    }
  }
  return true;
}

bool cli_options_parse(const cli_command *command, int argc, char **argv, void *settings, char **positionals,
                       bool *help) {
  *help = false;
  for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
    if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
      *help = true;
      return true;
    }
  }
  int words = 0;
  bool only_words = false;
  for (int at = 0; at < argc;) {
    const char *word = argv[at];
    if (!only_words && strcmp(word, "--") == 0) {
      only_words = true;
      at++;
    } else if (!only_words && word[0] == '-' && word[1]) {
      if (!parse_option(command, argc, argv, &at, settings))
        return false;
    } else {
      if (words == command->positionals) {
        cli_error("%s: \"%s\" is one word too many; usage: sley %s %s", command->name, word, command->name,
                  command->arguments);
        return false;
      }
      positionals[words++] = argv[at++];
    }
  }
  if (words < command->positionals) {
    cli_error("%s: too few words; usage: sley %s %s", command->name, command->name, command->arguments);
    return false;
  }
  return check_required(command, settings);
}

/* ---- help */

/* Prints words from the current column on, further lines starting at HELP_COLUMN; a space stands before each
 * word but the first of a line. */
static void print_wrapped(FILE *stream, const char *text, size_t *column) {
  while (*text) {
    size_t length = strcspn(text, " ");
    if (*column + length + 1 > HELP_WIDTH && *column > HELP_COLUMN) {
      fprintf(stream, "\n%*s", HELP_COLUMN, "");
      *column = HELP_COLUMN;
    }
    *column += (size_t)fprintf(stream, "%s%.*s", *column > HELP_COLUMN ? " " : "", (int)length, text);
    text += length + strspn(text + length, " ");
  }
}

static void print_default(const cli_option *option, const void *defaults, char *text, size_t bytes) {
  const char *place = (const char *)defaults + option->offset;
  text[0] = '\0';
  if (option->kind == CLI_INT && *(const int64_t *)place > 0)
    snprintf(text, bytes, "(default %" PRId64 ")", *(const int64_t *)place);
  else if (option->kind == CLI_REAL)
    snprintf(text, bytes, "(default %g)", *(const double *)place);
  else if ((option->kind == CLI_TEXT || option->kind == CLI_CHOICE) && *(const char *const *)place)
    snprintf(text, bytes, "(default %s)", *(const char *const *)place);
}

static void print_option(const cli_option *option, const void *defaults, FILE *stream) {
  char left[NAME_LIMIT], standard[NAME_LIMIT];
  char letter[8] = "";
  if (option->letter)
    snprintf(letter, sizeof letter, "-%c, ", option->letter);
  snprintf(left, sizeof left, "  %s--%s%s%s", letter, option->name, option->value ? " " : "",
           option->value ? option->value : "");
  size_t column = (size_t)fprintf(stream, "%-*s", HELP_COLUMN, left);
  if (column > HELP_COLUMN) {
    fprintf(stream, "\n%*s", HELP_COLUMN, "");
    column = HELP_COLUMN;
  }
  print_wrapped(stream, option->help, &column);
  if (option->kind == CLI_CHOICE) {
    for (const char *const *choice = option->choices(); *choice; choice++) {
      print_wrapped(stream, choice == option->choices() ? "-" : "|", &column);
      print_wrapped(stream, *choice, &column);
    }
  }
  if (option->kind == CLI_SWITCH) {
    snprintf(left, sizeof left, "(--no-%s: do not)", option->name);
    print_wrapped(stream, left, &column);
  }
  print_default(option, defaults, standard, sizeof standard);
  print_wrapped(stream, standard, &column);
  fprintf(stream, "\n");
}

void cli_options_help(const cli_command *command, FILE *stream) {
  fprintf(stream, "usage: sley %s%s%s [options]\n\n%s\n\noptions:\n", command->name,
          *command->arguments ? " " : "", command->arguments, command->summary);
  for (const cli_option *const *table = command->options; *table; table++)
    for (const cli_option *option = *table; option->name; option++)
      print_option(option, command->defaults, stream);
  fprintf(stream, "  %-*s%s\n", HELP_COLUMN - 2, "-h, --help", "this page");
  if (*command->notes)
    fprintf(stream, "\n%s", command->notes);
}
