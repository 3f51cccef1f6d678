/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of an edge list, or the part of them that one of several ranks parses. Order of calls: head; with
 * the lines to parse in part: count, parse, perhaps again, shape, base; free. */
#ifndef SLEY_IO_EDGELIST_H
#define SLEY_IO_EDGELIST_H

#include "io/literal.h"

/* Totals of the lines. Pointers refer to the first line that holds the number; NULL: no line of this part
 * holds it. */
typedef struct sl_edge_totals {
  int64_t entries;
  int64_t least, most_row, most_col;
  const char *least_at, *row_at, *col_at;
  int64_t fewest, most,
      cut;             /* fewest and most fields on a line; number of lines with more than three fields */
  const char *most_at; /* the first line with the most fields */
  bool wide;           /* a number does not fit 32 bits */
  bool valued;         /* a line has a value */
} sl_edge_totals;

typedef struct sl_edge_lines {
  const sl_input *head, *part;
  const char *body;   /* position in head of the first entry */
  const char *begin;  /* position in part of the first line to parse */
  bool from_one;      /* the header states that numbers start from 1 */
  bool one_direction; /* the header says sym, although entries are not mirrored */
  bool two_sides;     /* the header says bip, so rows and columns are numbered separately */
  int64_t rows, cols; /* sizes in the header; -1: not stated */
  int64_t promised;   /* number of entries in the header; -1: not stated */
  int64_t nodes;      /* number of nodes in SNAP's header; 0: not stated */
  const char *promised_at;
  const char *names_wrong; /* a line before the entries that is not a list of column names, or NULL */
  bool valued;             /* values are kept */
  sl_value_rule rule;      /* rule for values */
  int64_t pieces;
  struct sl_edge_piece *piece;
  int64_t base, why; /* base: number of the first row and column; why: sl_why */
  sl_coo coo;        /* the entries, with indices as they are in the text */
} sl_edge_lines;

/* Examines the first lines, which head holds; part and begin are set to the whole of head. Numbers start from
 * head->base if the caller has set it, or from 1 if a header says so: KONECT's ("% asym weighted", then "%
 * entries rows cols"), which may state the sizes too. Otherwise they start from 1 if the smallest number is
 * 1, unless SNAP's number of nodes shows that they start from 0; and the matrix is square, as large as the
 * largest number needs. Source: KONECT handbook (Kunegis), section 9, for its header. */
void sl_edge_head(const sl_input *head, sley_dtype dtype, sl_edge_lines *out);

/* Divides the lines of part, from begin on, into pieces, and counts the entries. */
sley_status sl_edge_count(sl_edge_lines *lines, sl_team *team);

/* Parses the lines into indices of this type, with values if `valued`. If the totals of all lines need more,
 * the lines must be parsed again. Errors: SLEY_ERR_INPUT for the first bad line. */
sley_status sl_edge_parse(sl_edge_lines *lines, sley_index index, bool valued, sl_team *team,
                          sl_edge_totals *out);

/* Decides base, rows and columns from the totals of all lines. Only the rank that knows the line reports an
 * error; *wrong is set on all. */
sley_status sl_edge_shape(sl_edge_lines *lines, const sl_edge_totals *totals, bool *wrong);

/* Writes to out how the lines were read: the base, the reason for it, and the lines that were not read. */
void sl_edge_tell(const sl_edge_lines *lines, const sl_edge_totals *totals, sl_source *out);

/* Renumbers the entries from 0. */
sley_status sl_edge_rebase(sl_edge_lines *lines, sl_team *team);

void sl_edge_lines_free(sl_edge_lines *lines);

#endif
