/* SPDX-License-Identifier: Apache-2.0 */
/* Errors, talk and progress on stderr. Called by one thread at a time. */
#include "terminal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

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

void cli_error_list(const char *format, va_list arguments) {
  cli_progress_clear();
  fputs(in_colour() ? "\033[31msley:\033[0m " : "sley: ", stderr);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
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
  vfprintf(stderr, format, arguments);
  va_end(arguments);
  fputc('\n', stderr);
}

void cli_progress(const char *text, int64_t done, int64_t total) {
  static double last;
  if (!on_terminal())
    return;
  struct timespec clock;
  clock_gettime(CLOCK_MONOTONIC, &clock);
  double now = (double)clock.tv_sec + (double)clock.tv_nsec * 1e-9;
  if (total > 0 && done > 1 && done < total && now - last < REDRAW_SECONDS)
    return;
  last = now;
  fprintf(stderr, "\r\033[K%s", text);
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
