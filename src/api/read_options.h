/* SPDX-License-Identifier: Apache-2.0 */
/* Options of reading, for the calls that take them. */
#ifndef SLEY_API_READ_OPTIONS_H
#define SLEY_API_READ_OPTIONS_H

#include "io/io.h"

/* What the caller gave, over the defaults; shorter structs of older programs are fine. Errors: SLEY_ERR_ARG.
 */
sley_status sl_read_options_take(const sley_read_options *given, sley_read_options *out);

/* They as the readers take them. */
sl_reading sl_reading_of(const sley_read_options *options);

/* Errors: SLEY_ERR_ARG, if name is a generator and the options are of files. */
sley_status sl_read_options_for_file(const char *name, const sley_read_options *options);

#endif
