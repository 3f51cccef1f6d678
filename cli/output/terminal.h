/* SPDX-License-Identifier: Apache-2.0 */
/* Talk: everything here goes to stderr. Colour and progress only on a terminal; NO_COLOR is respected. Names
 * that come from outside are shown as sley_printable writes them: the lines of these functions whole,
 * elsewhere by cli_shown. */
#ifndef SLEY_CLI_OUTPUT_TERMINAL_H
#define SLEY_CLI_OUTPUT_TERMINAL_H

#include <stdbool.h>
#include <stdarg.h>
#include <stdint.h>

/* A text that comes from outside, such as a name of a file or a word of the command line, as a report or a
 * picture shows it. Valid until the process ends. NULL: NULL. */
const char *cli_shown(const char *text);

/* One line led by "sley: ". Clears a progress line first. */
void cli_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same of a list of arguments. */
void cli_error_list(const char *format, va_list arguments) __attribute__((format(printf, 1, 0)));

/* One line of talk as it is. */
void cli_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A line that the next one overwrites: text, and a bar if total > 0, redrawn a few times a
 * second. Nothing when stderr is no terminal. */
void cli_progress(const char *text, int64_t done, int64_t total);

/* Removes the progress line. */
void cli_progress_clear(void);

/* The same for a process that ends in a signal's handler: async-signal-safe. */
void cli_progress_abandon(void);

#endif
