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
  bool wide;   /* a number does not fit 32 bits */
  bool valued; /* a value stands among them */
} sl_edge_totals;

typedef struct sl_edge_lines {
  const sl_input *head, *part;
  const char *body;   /* in head: where the entries begin */
  const char *begin;  /* in part: the first line to parse */
  bool from_one;      /* the header says so */
  int64_t rows, cols; /* by the header; -1 if it does not say */
  bool valued;        /* values are kept */
  sl_value_rule rule; /* of values */
  int64_t pieces;
  struct sl_edge_piece *piece;
  int64_t base;
  sl_coo coo; /* the entries, as they stand */
} sl_edge_lines;

/* Looks at the first lines, which head holds; part and begin become those of the whole of head. */
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

/* Counts the entries' numbers from 0. */
sley_status sl_edge_rebase(sl_edge_lines *lines, sl_team *team);

void sl_edge_lines_free(sl_edge_lines *lines);

#endif
