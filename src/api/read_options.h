/* SPDX-License-Identifier: Apache-2.0 */
/* Options of reading, for the functions that accept them. */
#ifndef SLEY_API_READ_OPTIONS_H
#define SLEY_API_READ_OPTIONS_H

#include "io/io.h"

/* Takes the caller's options over the defaults; shorter structs of older programs are allowed. Errors:
 * SLEY_ERR_ARG. */
sley_status sl_read_options_take(const sley_read_options *given, sley_read_options *out);

/* Converts the options to the readers' struct. */
sl_reading sl_reading_of(const sley_read_options *options);

/* Checks that options for files are not used with a generator's name. Errors: SLEY_ERR_ARG. */
sley_status sl_read_options_for_file(const char *name, const sley_read_options *options);

#endif
