/* SPDX-License-Identifier: Apache-2.0 */
/* The text in a file, before its format is looked for: a byte order mark of UTF-8 is passed over, lines that
 * all end with CR alone end with LF, and what can be no text of one byte a character is refused. */
#ifndef SLEY_IO_BYTES_ENCODING_H
#define SLEY_IO_BYTES_ENCODING_H

#include "io/format.h"

/* All of it, of a whole content, which must lie in input->memory. Binary contents stay as they are. Errors:
 * SLEY_ERR_INPUT with file and line (UTF-16 or UTF-32; a CR between what may be two lines of a text that has
 * LF too; another CR is a blank). */
sley_status sl_encoding_clean(sl_input *input);

/* The parts of it, for ranks of which each has some lines. Of the first lines: begin moves behind a byte
 * order mark, of *mark bytes (0: none). Errors: SLEY_ERR_INPUT (UTF-16 or UTF-32). */
sley_status sl_encoding_head(sl_input *head, int64_t *mark);

/* Whether the first lines have CR and no LF: who has all of the text must read it. */
bool sl_encoding_cr_only(const sl_input *head);

/* Whether lines that end with LF have no CR inside that may be the end of a line, too. Errors: SLEY_ERR_INPUT
 * with the first such line. */
sley_status sl_encoding_check_lines(const sl_input *part);

#endif
