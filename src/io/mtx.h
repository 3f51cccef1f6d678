/* SPDX-License-Identifier: Apache-2.0 */
/* What a Matrix Market header says, and the parser of the entries after it. */
#ifndef SLEY_IO_MTX_H
#define SLEY_IO_MTX_H

#include "io/format.h"
#include "io/literal.h"

typedef struct sl_mtx_header {
  bool array;         /* values column by column, else triplets */
  bool pattern;       /* triplets without values */
  bool bare;          /* no header line: whether indices count from 0 or 1 shows in them */
  sl_literal literal; /* of values */
  sl_symmetry symmetry;
  int64_t rows, cols, count; /* count: entries that follow */
  const char *sizes;         /* where they stand, for messages */
  const char *body;          /* the line after */
} sl_mtx_header;

/* The header of a file that sl_mtx_banner has told; input holds its first lines at least. Errors:
 * SLEY_ERR_INPUT with file and line. */
sley_status sl_mtx_read_header(const sl_input *input, sl_mtx_header *out);

/* The lines after a header, or those of them that one rank of several parses. Used so: cut, count, parse;
 * free.
 */
typedef struct sl_mtx_lines {
  const sl_input *head; /* holds the header */
  const sl_input *part; /* holds the lines */
  const sl_mtx_header *header;
  const char *comments;
  struct sl_mtx_piece *pieces;
  int64_t piece_count;
  bool blank_lines; /* or comments are among the entries: not every line counts */
  int64_t before;   /* entries in the parts before this one, which the caller sets before it parses */
  int64_t count;    /* entries in it */
  bool missing;     /* a blank line was counted as an entry where all counted lines are as many as promised */
  uint64_t least;   /* index in it, of files that do not say where they count from */
  int64_t below, above; /* entries of it below the diagonal, and above it */
  sl_coo coo;           /* count entries, in the order of the lines */
} sl_mtx_lines;

/* The lines of part from begin on, which is the start of one, to its end. */
sley_status sl_mtx_cut(const sl_input *head, const sl_mtx_header *header, const sl_input *part,
                       const char *begin, sl_mtx_lines *out);

/* Sets count: every line is an entry, which is fast and nearly always right, or, with blank_lines, every line
 * that is neither blank nor a comment. */
sley_status sl_mtx_count(sl_mtx_lines *lines, bool blank_lines, sl_team *team);

/* Whether all parts' `found` entries are those that the header promises. Errors: SLEY_ERR_INPUT; where there
 * are too many, only from the part that holds the first of those. */
sley_status sl_mtx_check_count(const sl_mtx_lines *lines, int64_t found);

/* Parses into coo. Errors: SLEY_ERR_INPUT, of the first bad line. If there is none in any part, but entries
 * are `missing` in one, sl_mtx_tell_missing says so. */
sley_status sl_mtx_parse_lines(sl_mtx_lines *lines, sley_dtype dtype, sl_team *team);
sley_status sl_mtx_tell_missing(const sl_mtx_lines *lines);

/* mtx_triangles.c. A symmetric or skew-symmetric file stores an entry (i, j) or its mirror image (j, i), not
 * both: where entries are below and above, these three find out. The places of the entries below the
 * diagonal, or the mirrored ones of those above, without values: */
sley_status sl_mtx_triangle(const sl_mtx_lines *lines, bool above, sl_coo *out);

/* The first place that both matrices, made of the two, have; false if there is none. */
bool sl_mtx_in_both(const sley_matrix *below, const sley_matrix *above, int64_t *row, int64_t *col);

/* SLEY_ERR_INPUT naming the first line that holds the mirror image of (row, col), which are counted from 0;
 * SLEY_OK if no line of this part does. */
sley_status sl_mtx_tell_both(const sl_mtx_lines *lines, int64_t row, int64_t col);

/* The line of entry e of this part. */
const char *sl_mtx_line_of(const sl_mtx_lines *lines, int64_t e);

void sl_mtx_lines_free(sl_mtx_lines *lines);

/* Parses the entries on the team into a matrix. The result and the error, which is that of the first bad
 * line, do not depend on the team. The input is closed once it is read. Errors: SLEY_ERR_INPUT with file and
 * line. */
sley_status sl_mtx_parse(sl_input *input, const sl_mtx_header *header, sley_dtype dtype, sl_team *team,
                         sley_matrix **out);

#endif
