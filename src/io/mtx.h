/* SPDX-License-Identifier: Apache-2.0 */
/* The header of a Matrix Market file, and the parser of the entries after it. */
#ifndef SLEY_IO_MTX_H
#define SLEY_IO_MTX_H

#include "io/format.h"
#include "io/literal.h"

typedef struct sl_mtx_header {
  bool array;         /* values column by column; false: triplets */
  bool pattern;       /* triplets without values */
  bool bare;          /* no header line: the indices show whether numbers count from 0 or 1 */
  sl_literal literal; /* declaration of the values */
  sl_symmetry symmetry;
  int64_t rows, cols, count; /* count: number of entries that follow */
  const char *sizes;         /* position of the sizes, for messages */
  const char *body;          /* the line after the header */
} sl_mtx_header;

/* Reads the header of a file that sl_mtx_banner has recognised; input holds at least its first lines. Errors:
 * SLEY_ERR_INPUT with file and line. */
sley_status sl_mtx_read_header(const sl_input *input, sl_mtx_header *out);

/* The lines after a header, or the part of them that one of several ranks parses. Order of calls: cut, count,
 * parse; free. */
typedef struct sl_mtx_lines {
  const sl_input *head; /* input with the header */
  const sl_input *part; /* input with the lines to parse */
  const sl_mtx_header *header;
  const char *comments;
  struct sl_mtx_piece *pieces;
  int64_t piece_count;
  bool blank_lines; /* blank lines or comments are among the entries: not every line counts */
  int64_t before;   /* number of entries in earlier parts, which the caller sets before it parses */
  int64_t count;    /* number of entries in this part */
  bool missing;     /* a blank line was counted as an entry, so entries are missing if the total equals
                       the promised number */
  uint64_t least;   /* least index in this part, for files that do not state the number of the first row */
  int64_t below, above; /* numbers of entries of this part below the diagonal, and above it */
  sl_coo coo;           /* `count` entries, in the order of the lines */
} sl_mtx_lines;

/* Divides the lines of part, from `begin` (the start of a line) to its end, into pieces. */
sley_status sl_mtx_cut(const sl_input *head, const sl_mtx_header *header, const sl_input *part,
                       const char *begin, sl_mtx_lines *out);

/* Sets count. Without blank_lines every line counts as an entry, which is fast and nearly always right; with
 * it, only a line that is neither blank nor a comment counts. */
sley_status sl_mtx_count(sl_mtx_lines *lines, bool blank_lines, sl_team *team);

/* Checks that `found`, the number of entries in all parts, is the number that the header promises. Errors:
 * SLEY_ERR_INPUT; if there are too many entries, only in the part with the first surplus entry. */
sley_status sl_mtx_check_count(const sl_mtx_lines *lines, int64_t found);

/* Parses the lines into coo. Errors: SLEY_ERR_INPUT for the first bad line. If no part has an error, but
 * `missing` is set in one, sl_mtx_tell_missing returns that error. */
sley_status sl_mtx_parse_lines(sl_mtx_lines *lines, sley_dtype dtype, sl_team *team);
sley_status sl_mtx_tell_missing(const sl_mtx_lines *lines);

/* In mtx_triangles.c. A symmetric or skew-symmetric file stores an entry (i, j) or its mirror image (j, i),
 * not both; these three functions check this if there are entries both below and above the diagonal. This one
 * collects the positions of the entries below the diagonal, or the mirrored positions of those above, without
 * values. */
sley_status sl_mtx_triangle(const sl_mtx_lines *lines, bool above, sl_coo *out);

/* Finds the first position that both matrices, made from the two triangles, have; returns false if there is
 * none. */
bool sl_mtx_in_both(const sley_matrix *below, const sley_matrix *above, int64_t *row, int64_t *col);

/* Returns SLEY_ERR_INPUT, naming the first line that holds the mirror image of (row, col), which are counted
 * from 0; SLEY_OK if no line of this part holds it. */
sley_status sl_mtx_tell_both(const sl_mtx_lines *lines, int64_t row, int64_t col);

/* Returns the line of entry e of this part. */
const char *sl_mtx_line_of(const sl_mtx_lines *lines, int64_t e);

void sl_mtx_lines_free(sl_mtx_lines *lines);

/* Parses the entries by the team into a matrix. The result, and the error, which is for the first bad line,
 * do not depend on the team. The input is closed once it is read. Errors: SLEY_ERR_INPUT with file and
 * line. */
sley_status sl_mtx_parse(sl_input *input, const sl_mtx_header *header, sley_dtype dtype, sl_team *team,
                         sley_matrix **out);

#endif
