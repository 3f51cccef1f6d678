/* SPDX-License-Identifier: Apache-2.0 */
/* Parses options and prints help. */
#include "options.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "common.h"
#include "output/terminal.h"

enum { WORD_LIMIT = 40, NAME_LIMIT = 64, HELP_COLUMN = 26 };

enum { MOST_GIVEN = 128 };

static size_t least_of(size_t a, size_t b, size_t c) {
  size_t least = a < b ? a : b;
  return least < c ? least : c;
}

/* Levenshtein distance of the first WORD_LIMIT letters. */
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

static bool is_near(const char *word, size_t letters_wrong) {
  size_t length = strnlen(word, WORD_LIMIT), most = length < 4 ? 1 : length < 7 ? 2 : length / 3;
  return letters_wrong <= most && letters_wrong < length;
}

int cli_number_of(const char *word, const char *const *list) {
  for (int i = 0; list[i]; i++)
    if (strcmp(list[i], word) == 0)
      return i;
  return -1;
}

/* Returns the word of a NULL-terminated list that is nearest to `word` by edit distance, if it differs in few
 * letters: 1 letter of at most 3, 2 of at most 6, a third of a longer word. NULL: no word is near. */
static const char *nearest(const char *word, const char *const *list) {
  const char *best = NULL;
  size_t best_distance = SIZE_MAX;
  for (; *list; list++) {
    size_t d = distance(word, *list);
    if (d < best_distance) {
      best = *list;
      best_distance = d;
    }
  }
  return best && is_near(word, best_distance) ? best : NULL;
}

void cli_suggest(char *text, size_t room, const char *word, const char *const *list) {
  const char *near = nearest(word, list);
  if (near) {
    snprintf(text, room, "; the nearest is \"%s\"", near);
    return;
  }
  size_t length = (size_t)snprintf(text, room, "; known are");
  for (; *list && length < room; list++)
    length += (size_t)snprintf(text + length, room - length, " %s", *list);
}

const cli_option *cli_option_at(const cli_command *command, int number) {
  int own = 0;
  for (const cli_option *const *table = command->options; *table; table++)
    for (const cli_option *option = *table; option->name; option++)
      if (own++ == number)
        return option;
  return cli_common_option(command->common, number - own);
}

/* ---- parsing */

/* How the first letters of a long option match an option's name: not at all, as its beginning, or as the
 * whole name. */
typedef enum fit { NO_FIT, BEGINS, WHOLE } fit;

static fit fits(const char *name, size_t length, const char *option) {
  if (strncmp(option, name, length) != 0)
    return NO_FIT;
  return option[length] ? BEGINS : WHOLE;
}

/* The options that match a name. */
typedef struct found {
  const cli_option *option, *other; /* option: the first match; other: a second match */
  bool off, other_off;              /* the match is "no-" and the name of a switch */
  bool help;                        /* --help matches too */
  bool whole;
} found;

static void note(found *f, const cli_option *option, bool off, fit how) {
  if (how == NO_FIT || f->whole)
    return;
  if (how == WHOLE) {
    *f = (found){.option = option, .off = off, .whole = true};
  } else if (!f->option) {
    f->option = option;
    f->off = off;
  } else {
    f->other = option;
    f->other_off = off;
  }
}

/* Finds the option that a name means. */
static found find(const cli_command *command, const char *name, size_t length) {
  found f = {0};
  char off[NAME_LIMIT];
  if (length == 0)
    return f;
  f.help = fits(name, length, "help") != NO_FIT;
  const cli_option *option;
  for (int i = 0; (option = cli_option_at(command, i)); i++) {
    note(&f, option, false, fits(name, length, option->name));
    if (option->kind == CLI_SWITCH) {
      snprintf(off, sizeof off, "no-%s", option->name);
      note(&f, option, true, fits(name, length, off));
    }
  }
  return f;
}

/* Returns true if a word asks for help: -h, --help, or a beginning of --help that matches no option. */
static bool asks_for_help(const cli_command *command, const char *word) {
  if (strcmp(word, "-h") == 0)
    return true;
  if (strncmp(word, "--", 2) != 0)
    return false;
  found f = find(command, word + 2, strlen(word + 2));
  return f.help && !f.option;
}

static const cli_option *find_letter(const cli_command *command, char letter) {
  const cli_option *option;
  for (int i = 0; (option = cli_option_at(command, i)); i++)
    if (option->letter == letter)
      return option;
  return NULL;
}

static bool refuse_unknown(const cli_command *command, const char *dashes, const char *word) {
  enum { MOST = 64 };
  const char *names[MOST + 2] = {"help"};
  char name[NAME_LIMIT];
  int count = 1;
  size_t length = strcspn(word, "=");
  snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1), word);
  const cli_option *option;
  for (int i = 0; (option = cli_option_at(command, i)) && count < MOST; i++)
    names[count++] = option->name;
  const char *near = dashes[1] ? nearest(name, names) : NULL; /* a single letter is near to every name */
  if (near)
    cli_error("%s: unknown option --%s; the nearest is --%s", command->name, name, near);
  else
    cli_error("%s: unknown option %s%s; sley %s --help lists all", command->name, dashes, name,
              command->name);
  return false;
}

static bool refuse_short(const cli_command *command, const char *name, size_t length, const found *f) {
  cli_error("%s: --%.*s may be --%s%s or --%s%s: give more letters of it", command->name, (int)length, name,
            f->off ? "no-" : "", f->option->name, f->other ? (f->other_off ? "no-" : "") : "",
            f->other ? f->other->name : "help");
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

/* ---- lists of numbers */

static cli_axis axes[CLI_AXES];
static int axis_count;

const cli_axis *cli_axes(int *count) {
  *count = axis_count;
  return axes;
}

/* Removes the list of an option that is given again. */
static void drop_axis(const cli_option *option) {
  int kept = 0;
  for (int a = 0; a < axis_count; a++)
    if (axes[a].option != option)
      axes[kept++] = axes[a];
  axis_count = kept;
}

/* Stores a list as an axis, and its first number in *out. */
static bool store_list(const cli_command *command, const cli_option *option, const char *text, int64_t *out) {
  drop_axis(option);
  if (!strchr(text, ',') || axis_count == CLI_AXES)
    return store_int(command, option, text, out);
  cli_axis *axis = &axes[axis_count++];
  *axis = (cli_axis){.option = option};
  for (const char *at = text; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
    char word[NAME_LIMIT];
    const size_t length = strcspn(at, ",");
    if (axis->count == CLI_AXIS_MOST)
      return refuse_value(command, option, text, "at most 64 numbers");
    snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : sizeof word - 1), at);
    if (!store_int(command, option, word, &axis->value[axis->count++]))
      return false;
  }
  *out = axis->value[0];
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
  char suggestion[256];
  cli_suggest(suggestion, sizeof suggestion, text, choices);
  cli_error("%s: --%s has no \"%s\"%s", command->name, option->name, text, suggestion);
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
    return (option->listed && command->sweep ? store_list : store_int)(command, option, text,
                                                                       (int64_t *)place);
  case CLI_SIZE:
    return store_size(command, option, text, (int64_t *)place);
  case CLI_REAL: {
    double value = strtod(text, &end);
    if (end == text || *end || !isfinite(value) || (option->positive && value < 0))
      return refuse_value(command, option, text,
                          option->positive ? "a finite number from 0" : "a finite number");
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

/* The options that the parsed command line has. */
static cli_occurrence given[MOST_GIVEN];
static int given_count;

const cli_occurrence *cli_occurrence_at(int number) {
  return number < given_count ? &given[number] : NULL;
}

bool cli_given(const char *name) {
  for (int i = 0; i < given_count; i++)
    if (strcmp(given[i].option->name, name) == 0)
      return true;
  return false;
}

static bool takes_value(const cli_option *option) {
  return option->kind != CLI_FLAG && option->kind != CLI_SWITCH;
}

/* Reads the option at argv[*at] and moves *at past it. */
static bool parse_option(const cli_command *command, int argc, char **argv, int *at, void *settings) {
  char **begin = argv + *at;
  const char *word = argv[(*at)++], *value = NULL;
  const cli_option *option;
  bool off = false;
  if (word[1] == '-') {
    const char *name = word + 2;
    size_t length = strcspn(name, "=");
    found f = find(command, name, length);
    if (!f.option)
      return refuse_unknown(command, "--", name);
    if (!f.whole && (f.other || f.help))
      return refuse_short(command, name, length, &f);
    option = f.option;
    off = f.off;
    if (name[length] == '=')
      value = name + length + 1;
  } else {
    option = find_letter(command, word[1]);
    if (!option)
      return refuse_unknown(command, "-", word + 1);
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
  if (given_count == MOST_GIVEN) {
    cli_error("%s: there are more than %d options", command->name, MOST_GIVEN);
    return false;
  }
  given[given_count++] = (cli_occurrence){option, begin, argv + *at};
  return store(command, option, value, off, settings);
}

static bool check_required(const cli_command *command, const void *settings) {
  const cli_option *option;
  for (int i = 0; (option = cli_option_at(command, i)); i++) {
    if (option->required && !*(const char *const *)((const char *)settings + option->offset)) {
      cli_error("%s: --%s %s is missing", command->name, option->name, option->value);
      return false;
    }
  }
  return true;
}

bool cli_options_parse(const cli_command *command, int argc, char **argv, void *settings, char **positionals,
                       bool *help) {
  *help = false;
  for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
    if (asks_for_help(command, argv[i])) {
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
  if (words < command->positionals - command->optional) {
    cli_error("%s: too few words; usage: sley %s %s", command->name, command->name, command->arguments);
    return false;
  }
  return check_required(command, settings);
}

/* ---- help */

static void print_default(const cli_option *option, const void *defaults, FILE *stream) {
  const char *place = (const char *)defaults + option->offset;
  if (option->kind == CLI_INT && *(const int64_t *)place > 0)
    fprintf(stream, " (default %" PRId64 ")", *(const int64_t *)place);
  else if (option->kind == CLI_REAL)
    fprintf(stream, " (default %g)", *(const double *)place);
  else if ((option->kind == CLI_TEXT || option->kind == CLI_CHOICE) && *(const char *const *)place)
    fprintf(stream, " (default %s)", *(const char *const *)place);
}

static void print_about(const char *word, const char *about, FILE *stream) {
  enum { WORD = 12 };
  const int width = strlen(word) < WORD ? WORD : (int)strlen(word);
  fprintf(stream, "%*s%-*s  %s\n", HELP_COLUMN, "", width, word, about ? about : "");
}

/* A line for each parameter of each choice. */
static void print_parameters(const cli_option *option, FILE *stream) {
  for (const char *const *word = option->choices(); *word; word++)
    for (const sley_parameter *one = option->parameters(*word); one && one->key; one++)
      fprintf(stream, "%*s%s:%s=%s: %s\n", HELP_COLUMN, "", *word, one->key, one->values, one->summary);
}

/* Lists the words that set each parameter of a choice; the value of a number is left out. */
static void list_parameters(const char *word, const sley_parameter *one, FILE *stream) {
  for (; one && one->key; one++) {
    const char *values = strstr(one->values, "..") ? "" : one->values;
    do {
      const size_t length = strcspn(values, "|");
      fprintf(stream, "%s:%s=%.*s\n", word, one->key, (int)length, values);
      values += length;
    } while (*values++);
  }
}

/* Prints the option and its help in one line; cli_text_end divides it. */
static void print_option(const cli_option *option, const void *defaults, bool sweeps, FILE *stream) {
  char left[NAME_LIMIT], letter[8] = "";
  if (option->letter)
    snprintf(letter, sizeof letter, "-%c, ", option->letter);
  snprintf(left, sizeof left, "  %s--%s%s%s", letter, option->name, option->value ? " " : "",
           option->value ? option->value : "");
  fprintf(stream, "%-*s", HELP_COLUMN, left);
  if (strlen(left) > HELP_COLUMN - 2)
    fprintf(stream, "\n%*s", HELP_COLUMN, "");
  fprintf(stream, "%s", option->help);
  for (const char *const *choice = option->choices && !option->about ? option->choices() : NULL;
       choice && *choice; choice++)
    fprintf(stream, " %s %s", choice == option->choices() ? "-" : "|", *choice);
  if (option->kind == CLI_SWITCH)
    fprintf(stream, " (--no-%s: do not)", option->name);
  print_default(option, defaults, stream);
  if (option->listed && sweeps)
    fprintf(stream, "; or several numbers, separated by commas: a run for each");
  fprintf(stream, "\n");
  if (option->parameters)
    print_parameters(option, stream);
  for (const char *const *word = option->about ? option->choices() : NULL; word && *word; word++)
    print_about(*word, option->about(*word), stream);
}

void cli_options_help(const cli_command *command, FILE *stream) {
  fprintf(stream, "usage: sley %s%s%s [options]\n\n%s\n", command->name, *command->arguments ? " " : "",
          command->arguments, command->summary);
  for (const char *const *word = command->about ? command->words() : NULL; word && *word; word++)
    print_about(*word, command->about(*word), stream);
  fprintf(stream, "\noptions:\n");
  const cli_option *option;
  for (int i = 0; (option = cli_option_at(command, i)); i++) {
    if (i > 0 && option == cli_common_option(command->common, 0))
      fprintf(stream, "\noptions that other commands have too:\n");
    print_option(option, command->defaults, command->sweep != NULL, stream);
  }
  fprintf(stream, "  %-*s%s\n", HELP_COLUMN - 2, "-h, --help", "this page");
  if (*command->notes)
    fprintf(stream, "\n%s", command->notes);
}

/* ---- words */

static const cli_option *find_whole(const cli_command *command, const char *word) {
  if (word[0] == '-' && word[1] && word[1] != '-')
    return find_letter(command, word[1]);
  const found f = strncmp(word, "--", 2) == 0 ? find(command, word + 2, strlen(word + 2)) : (found){0};
  return f.whole ? f.option : NULL;
}

bool cli_options_takes_value(const cli_command *command, const char *word) {
  const cli_option *option = find_whole(command, word);
  return option && takes_value(option);
}

void cli_options_words(const cli_command *command, const char *word, FILE *stream) {
  const cli_option *option = find_whole(command, word);
  for (const char *const *at = option->choices ? option->choices() : NULL; at && *at; at++) {
    fprintf(stream, "%s\n", *at);
    if (option->parameters)
      list_parameters(*at, option->parameters(*at), stream);
  }
  for (const char *at = option->also; at && *at; at += strspn(at, " ")) {
    const size_t length = strcspn(at, " ");
    fprintf(stream, "%.*s\n", (int)length, at);
    at += length;
  }
}

void cli_options_list(const cli_command *command, FILE *stream) {
  const cli_option *option;
  for (int i = 0; (option = cli_option_at(command, i)); i++) {
    fprintf(stream, "--%s\n", option->name);
    if (option->kind == CLI_SWITCH)
      fprintf(stream, "--no-%s\n", option->name);
  }
  fprintf(stream, "--help\n");
}
