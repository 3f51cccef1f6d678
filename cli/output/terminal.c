/* SPDX-License-Identifier: Apache-2.0 */
/* Errors, messages and progress on stderr, and printable forms of names. Must be called by one thread at a
 * time. */
#include "output/terminal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sley.h"

enum { BAR_WIDTH = 24 };
#define REDRAW_SECONDS 0.05

static volatile bool progress_shown;

static bool on_terminal(void) {
  const char *term = getenv("TERM");
  return isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0;
}

static bool in_colour(void) {
  const char *off = getenv("NO_COLOR");
  return on_terminal() && !(off && *off);
}

/* A printable text, and the original behind it, stored until the process ends. */
typedef struct kept {
  struct kept *before;
  char text[];
} kept;

const char *cli_shown(const char *text) {
  static kept *all;
  const size_t bytes = text ? sley_printable(text, NULL, 0) : 0;
  if (!text || bytes == strlen(text))
    return text;
  for (kept *one = all; one; one = one->before) {
    /* the same name may occur often, for example in the rows of a table */
    char *again = one->text + strlen(one->text) + 1;
    if (strcmp(again, text) == 0)
      return one->text;
  }
  kept *one = malloc(sizeof *one + bytes + 1 + strlen(text) + 1);
  if (!one)
    return "?";
  sley_printable(text, one->text, bytes + 1);
  strcpy(one->text + bytes + 1, text);
  one->before = all;
  all = one;
  return one->text;
}

/* Prints one line to stderr; line breaks in quoted text are made printable. */
static void print_line(const char *format, va_list arguments) {
  va_list again;
  va_copy(again, arguments);
  const int bytes = vsnprintf(NULL, 0, format, again);
  va_end(again);
  char *line = bytes >= 0 ? malloc((size_t)bytes + 1) : NULL;
  const char *shown = "out of memory";
  if (line) {
    vsnprintf(line, (size_t)bytes + 1, format, arguments);
    shown = cli_shown(line);
  }
  fprintf(stderr, "%s\n", shown);
  free(line);
}

void cli_error_list(const char *format, va_list arguments) {
  cli_progress_clear();
  fputs(in_colour() ? "\033[31msley:\033[0m " : "sley: ", stderr);
  print_line(format, arguments);
}

void cli_error(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  cli_error_list(format, arguments);
  va_end(arguments);
}

void cli_say(const char *format, ...) {
  cli_progress_clear();
  va_list arguments;
  va_start(arguments, format);
  print_line(format, arguments);
  va_end(arguments);
}

static double now(void) {
  struct timespec clock;
  clock_gettime(CLOCK_MONOTONIC, &clock);
  return (double)clock.tv_sec + (double)clock.tv_nsec * 1e-9;
}

void cli_progress(const char *text, int64_t done, int64_t total) {
  static double last;
  if (!on_terminal())
    return;
  const double time = now();
  if (total > 0 && done > 1 && done < total && time - last < REDRAW_SECONDS)
    return;
  last = time;
  fprintf(stderr, "\r\033[K%s", cli_shown(text));
  if (total > 0) {
    int filled = (int)((double)done / (double)total * BAR_WIDTH);
    fputs(" [", stderr);
    for (int i = 0; i < BAR_WIDTH; i++)
      fputc(i < filled ? '#' : '.', stderr);
    fprintf(stderr, "] %lld/%lld", (long long)done, (long long)total);
  }
  fflush(stderr);
  progress_shown = true;
}

/* Text of the work that is watched, and time of its last line. */
static char watched[200];
static double last_line;

/* Seconds between lines of progress if stderr is not a terminal; less than 0: no lines. */
static double seconds_between_lines(void) {
  const char *asked = getenv("SLEY_PROGRESS");
  char *end;
  if (!asked || !*asked)
    return -1;
  const double seconds = strtod(asked, &end);
  return *end || seconds < 0 ? -1 : seconds;
}

/* Called by threads of the library, one at a time. */
static void show_work(void *context, const char *work, double share) {
  const bool terminal = on_terminal();
  const double seconds = terminal ? REDRAW_SECONDS : seconds_between_lines(), time = now();
  (void)context;
  if (seconds < 0 || time - last_line < seconds)
    return;
  last_line = time;
  fprintf(stderr, "%s%s: %s, %d %%%s", terminal ? "\r\033[K" : "", cli_shown(watched), work,
          (int)(100 * share), terminal ? "" : "\n");
  fflush(stderr);
  progress_shown = progress_shown || terminal;
}

void cli_watch(const char *text) {
  snprintf(watched, sizeof watched, "%s", text);
  last_line = now();
  if (on_terminal() || seconds_between_lines() >= 0)
    sley_watch(show_work, NULL);
}

void cli_watch_end(void) {
  sley_watch(NULL, NULL);
  cli_progress_clear();
}

void cli_progress_clear(void) {
  if (!progress_shown)
    return;
  fputs("\r\033[K", stderr);
  fflush(stderr);
  progress_shown = false;
}

void cli_progress_abandon(void) {
  static const char clear[] = "\r\033[K";
  if (progress_shown)
    (void)!write(STDERR_FILENO, clear, sizeof clear - 1);
}
