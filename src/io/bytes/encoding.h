/* SPDX-License-Identifier: Apache-2.0 */
/* The encoding of a text, checked before its format is detected: a byte order mark of UTF-8 is skipped, lines
 * that all end with CR alone are changed to end with LF, and text that cannot have one byte per character is
 * refused. */
#ifndef SLEY_IO_BYTES_ENCODING_H
#define SLEY_IO_BYTES_ENCODING_H

#include "io/format.h"

/* Cleans the whole content, which must lie in input->memory. Binary contents stay as they are. Errors:
 * SLEY_ERR_INPUT with file and line: for UTF-16 or UTF-32; and, in a text that has LF, for a CR that seems to
 * end a line, because what stands before and after it could each be a line. Any other CR is a blank. */
sley_status sl_encoding_clean(sl_input *input);

/* Cleans the first lines of a text that several ranks read in parts: moves head->begin behind a byte order
 * mark, whose bytes are *mark (0: there is none). Errors: SLEY_ERR_INPUT (UTF-16 or UTF-32). */
sley_status sl_encoding_head(sl_input *head, int64_t *mark);

/* Returns whether the first lines have CR and no LF; then a rank that has all of the text must read it. */
bool sl_encoding_cr_only(const sl_input *head);

/* Checks that lines that end with LF have no CR inside that may also end a line. Errors: SLEY_ERR_INPUT with
 * the first such line. */
sley_status sl_encoding_check_lines(const sl_input *part);

#endif
