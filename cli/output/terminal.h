/* SPDX-License-Identifier: Apache-2.0 */
/* Messages and progress on stderr. Colour and progress are used only on a terminal, and colour not if
 * NO_COLOR is set. Names from outside are made printable by sley_printable: these functions do so for whole
 * lines, other code calls cli_shown. */
#ifndef SLEY_CLI_OUTPUT_TERMINAL_H
#define SLEY_CLI_OUTPUT_TERMINAL_H

#include <stdbool.h>
#include <stdarg.h>
#include <stdint.h>

/* Returns a text from outside, such as the name of a file or a word of the command line, in printable form
 * for reports and pictures. Valid until the process ends. text NULL: NULL. */
const char *cli_shown(const char *text);

/* Prints one line that begins with "sley: ". Clears a progress line first. */
void cli_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same with a va_list. */
void cli_error_list(const char *format, va_list arguments) __attribute__((format(printf, 1, 0)));

/* Prints one line without a prefix. Clears a progress line first. */
void cli_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Shows a line that the next one overwrites: text, and a bar if total > 0, redrawn a few times per second.
 * Does nothing if stderr is not a terminal. */
void cli_progress(const char *text, int64_t done, int64_t total);

/* Shows the progress of the library's work until cli_watch_end: text, the name of the work, and the share
 * that is done. If stderr is not a terminal, does so only if SLEY_PROGRESS is set, by one line in as many
 * seconds as it says. */
void cli_watch(const char *text);
void cli_watch_end(void);

/* Removes the progress line. */
void cli_progress_clear(void);

/* Removes the progress line when a signal handler ends the process. Async-signal-safe. */
void cli_progress_abandon(void);

#endif
