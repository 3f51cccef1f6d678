/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of an edge list, or those of them that one rank of several parses. Used so: head; with the lines
 * to parse in part: count, parse, perhaps again, shape, base; free. */
#ifndef SLEY_IO_EDGELIST_H
#define SLEY_IO_EDGELIST_H

#include "io/literal.h"

/* What lines hold. Places are those of the first that holds the number; NULL: none of these lines does. */
typedef struct sl_edge_totals {
  int64_t entries;
  int64_t least, most_row, most_col;
  const char *least_at, *row_at, *col_at;
  int64_t fewest, most, cut; /* fields on a line; lines of more than three */
  const char *most_at;       /* the first line of most fields */
  bool wide;                 /* a number does not fit 32 bits */
  bool valued;               /* a value stands among them */
} sl_edge_totals;

typedef struct sl_edge_lines {
  const sl_input *head, *part;
  const char *body;   /* in head: where the entries begin */
  const char *begin;  /* in part: the first line to parse */
  bool from_one;      /* the header says so */
  bool one_direction; /* it says sym, and entries are taken as they stand */
  bool two_sides;     /* it says bip: rows and columns are counted apart */
  int64_t rows, cols; /* by the header; -1 if it does not say */
  int64_t promised;   /* entries by the header; -1 */
  int64_t nodes;      /* by SNAP's header; 0: it does not say */
  const char *promised_at;
  const char *names_wrong; /* a line before the entries that is no names of columns; or NULL */
  bool valued;             /* values are kept */
  sl_value_rule rule;      /* of values */
  int64_t pieces;
  struct sl_edge_piece *piece;
  int64_t base, why; /* sl_why */
  sl_coo coo;        /* the entries, as they stand */
} sl_edge_lines;

/* Looks at the first lines, which head holds; part and begin become those of the whole of head. Numbers start
 * where head's caller has said (head->base), or else from 1 if a header says so: KONECT's ("% asym weighted",
 * then "% entries rows cols"), which may give the sizes too. Otherwise they start from 1 exactly if the
 * smallest is 1, unless SNAP's number of nodes shows that they start from 0; and the matrix is square, as
 * large as the largest number needs. Source: KONECT handbook (Kunegis), section 9, for its header. */
void sl_edge_head(const sl_input *head, sley_dtype dtype, sl_edge_lines *out);

/* Cuts the lines of part from begin on, and counts the entries. */
sley_status sl_edge_count(sl_edge_lines *lines, sl_team *team);

/* Parses into indices of this type, with values if `valued`. If the totals of all lines need more, all of
 * them are parsed again. Errors: SLEY_ERR_INPUT of the first bad line. */
sley_status sl_edge_parse(sl_edge_lines *lines, sley_index index, bool valued, sl_team *team,
                          sl_edge_totals *out);

/* Decides base, rows and columns from the totals of all lines. An error is told where its place is known, and
 * *wrong is set in any case. */
sley_status sl_edge_shape(sl_edge_lines *lines, const sl_edge_totals *totals, bool *wrong);

/* What was read as what: base, why and unread lines. */
void sl_edge_tell(const sl_edge_lines *lines, const sl_edge_totals *totals, sl_source *out);

/* Counts the entries' numbers from 0. */
sley_status sl_edge_rebase(sl_edge_lines *lines, sl_team *team);

void sl_edge_lines_free(sl_edge_lines *lines);

#endif
