/* SPDX-License-Identifier: Apache-2.0 */
/* Reader of edge lists: a line for each entry, "row column [value ...]", separated by blanks, commas or
 * semicolons; what follows the value is not read. SNAP, CSV (one line of names may lead it), KONECT and their
 * kin. Blank lines, and what follows # or %, are comments. Entries are taken as they stand, none is mirrored;
 * a missing value is 1; repeats are summed.
 *
 * Numbering. Numbers start from 1 if the file says so: by KONECT's header ("% asym weighted", then "% entries
 * rows cols"), or by a Matrix Market banner whose size line is a comment; both may give the sizes. Otherwise
 * they start from 1 exactly if the smallest number in the file is 1, else from 0, and the matrix is square,
 * as large as the largest number needs. Source: KONECT handbook (Kunegis), section 9, for its header. */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "base/interrupt.h"
#include "base/memory.h"
#include "base/value.h"
#include "io/edgelist.h"
#include "io/pieces.h"

typedef enum problem { FINE, NOT_TWO_NUMBERS, NEGATIVE, NOT_A_VALUE } problem;

/* What one piece of the text holds, and the first thing wrong in it. */
typedef struct sl_edge_piece {
  sl_edge_totals totals; /* entries: before it */
  problem problem;
  const char *at;
} piece;

typedef sl_edge_lines list;

static bool is_separator(char c) {
  return c == ',' || c == ';';
}

static bool ends_line(const list *l, const char *at) {
  return *at == '\n' || *at == '#' || *at == '%' || at >= l->part->end;
}

static bool ends_field(const list *l, const char *at) {
  return *at == ' ' || *at == '\t' || *at == '\r' || is_separator(*at) || ends_line(l, at);
}

/* Blanks, and one separator among them. */
static const char *skip_gap(const char *at) {
  at = sl_skip_blanks(at);
  return is_separator(*at) ? sl_skip_blanks(at + 1) : at;
}

/* Reads exactly count whole numbers that fill the rest of the line. */
static bool scan_numbers(const char *at, int count, int64_t *out) {
  for (int i = 0; i < count; i++)
    if (!(at = sl_scan_int(sl_skip_blanks(at), &out[i])) || !sl_token_ends(at) || out[i] < 0)
      return false;
  at = sl_skip_blanks(at);
  return *at == '\n' || *at == 0;
}

static bool starts_word(const char *at, const char *word) {
  size_t length = strlen(word);
  return strncmp(at, word, length) == 0 && sl_token_ends(at + length);
}

/* The header of KONECT, or the banner of Matrix Market with a size line that is a comment. */
static void scan_header(list *l) {
  const char *first = l->head->begin, *second = sl_next_line(first, l->head->end);
  int64_t number[3];
  if (*first != '%')
    return;
  if (strncmp(first, "%%MatrixMarket", 14) == 0) {
    for (; *second == '%'; second = sl_next_line(second, l->head->end))
      if (scan_numbers(second + 1, 3, number)) {
        l->from_one = true;
        l->rows = number[0];
        l->cols = number[1];
        return;
      }
    return;
  }
  const char *word = sl_skip_blanks(first + 1);
  if (!starts_word(word, "sym") && !starts_word(word, "asym") && !starts_word(word, "bip"))
    return;
  l->from_one = true;
  if (*second == '%' && scan_numbers(second + 1, 3, number)) {
    l->rows = number[1];
    l->cols = number[2];
  }
}

/* Puts the body behind a byte order mark, and behind the first line of data if that names the columns. */
static void find_body(list *l) {
  sl_text text = sl_text_start(l->head);
  const char *first = l->head->begin;
  l->body = first;
  if (sl_input_starts(l->head, "\xef\xbb\xbf", 3))
    l->body = first = sl_skip_blanks(first + 3);
  else if (sl_text_next_data(&text, "#%"))
    first = text.at;
  if (isalpha((unsigned char)*first) || *first == '"' || *first == '_')
    l->body = sl_next_line(first, l->head->end);
}

static sley_status count_pieces(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  list *l = context;
  SL_TRY(sl_interrupted());
  for (int64_t i = begin; i < end; i++) {
    const char *at = sl_piece_start(l->begin, l->part->end, i, l->pieces);
    const char *stop = sl_piece_start(l->begin, l->part->end, i + 1, l->pieces);
    for (; at < stop; at = sl_next_line(at, stop))
      l->piece[i].totals.entries += !ends_line(l, sl_skip_blanks(at));
  }
  return SLEY_OK;
}

static void note(piece *p, problem found, const char *at) {
  p->problem = found;
  p->at = at;
}

/* The number at *at, which moves behind it; false with a note if there is none. */
static bool scan_number(const list *l, piece *p, const char **at, int64_t *out) {
  const char *start = *at;
  *at = sl_scan_int(start, out);
  if (!*at || !ends_field(l, *at))
    note(p, NOT_TWO_NUMBERS, start);
  else if (*out < 0)
    note(p, NEGATIVE, start);
  if (p->problem)
    return false;
  if (*out < p->totals.least) {
    p->totals.least = *out;
    p->totals.least_at = start;
  }
  p->totals.wide |= *out >= INT32_MAX;
  return true;
}

/* Parses the line at at into entry e. */
static void parse_line(const list *l, piece *p, const char *at, int64_t e) {
  const sl_coo *coo = &l->coo;
  int64_t row, col;
  const char *row_at = at;
  if (!scan_number(l, p, &at, &row))
    return;
  const char *col_at = at = skip_gap(at);
  if (!scan_number(l, p, &at, &col))
    return;
  if (row > p->totals.most_row) {
    p->totals.most_row = row;
    p->totals.row_at = row_at;
  }
  if (col > p->totals.most_col) {
    p->totals.most_col = col;
    p->totals.col_at = col_at;
  }
  double value = 1;
  at = skip_gap(at);
  if (!ends_line(l, at)) {
    const char *after = sl_scan_value(&l->rule, at, &value);
    if (!after || !ends_field(l, after)) {
      note(p, NOT_A_VALUE, at);
      return;
    }
    p->totals.valued = true;
  }
  sl_index_set(coo->row, coo->index, e, row);
  sl_index_set(coo->col, coo->index, e, col);
  if (!l->valued)
    return;
  sl_value_set(coo->val, coo->dtype, e, value);
}

static sley_status parse_pieces(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  list *l = context;
  SL_TRY(sl_interrupted());
  for (int64_t i = begin; i < end; i++) {
    piece *p = &l->piece[i];
    int64_t e = p->totals.entries;
    *p = (piece){.totals = {.entries = e, .least = INT64_MAX, .most_row = -1, .most_col = -1}};
    const char *at = sl_piece_start(l->begin, l->part->end, i, l->pieces);
    const char *stop = sl_piece_start(l->begin, l->part->end, i + 1, l->pieces);
    for (; at < stop && !p->problem; at = sl_next_line(at, stop)) {
      const char *start = sl_skip_blanks(at);
      if (!ends_line(l, start))
        parse_line(l, p, start, e++);
    }
  }
  return SLEY_OK;
}

static sley_status report(const list *l, const piece *p) {
  switch (p->problem) {
  case NEGATIVE:
    return sl_text_fail(l->part, p->at, "a row or column is negative");
  case NOT_A_VALUE:
    return sl_value_fail(l->part, p->at, &l->rule, "the value of the entry is not a number");
  default:
    return sl_text_fail(l->part, p->at,
                        "a line of an edge list starts with two whole numbers, row and column");
  }
}

/* Gathers the pieces into total; the first problem is reported. */
static sley_status gather(const list *l, sl_edge_totals *total) {
  *total = (sl_edge_totals){.entries = l->coo.count, .least = INT64_MAX, .most_row = -1, .most_col = -1};
  for (int64_t i = 0; i < l->pieces; i++) {
    const sl_edge_totals *p = &l->piece[i].totals;
    if (l->piece[i].problem)
      return report(l, &l->piece[i]);
    if (p->least < total->least) {
      total->least = p->least;
      total->least_at = p->least_at;
    }
    if (p->most_row > total->most_row) {
      total->most_row = p->most_row;
      total->row_at = p->row_at;
    }
    if (p->most_col > total->most_col) {
      total->most_col = p->most_col;
      total->col_at = p->col_at;
    }
    total->wide |= p->wide;
    total->valued |= p->valued;
  }
  return SLEY_OK;
}

static sley_status alloc_triplets(list *l) {
  sl_coo *coo = &l->coo;
  coo->row = sl_alloc(coo->count, sl_index_bytes(coo->index), "rows of an edge list");
  coo->col = sl_alloc(coo->count, sl_index_bytes(coo->index), "columns of an edge list");
  if (l->valued)
    coo->val = sl_alloc(coo->count, sley_dtype_bytes(coo->dtype), "values of an edge list");
  return coo->row && coo->col && (coo->val || !l->valued) ? SLEY_OK : SLEY_ERR_MEMORY;
}

static void free_triplets(list *l) {
  sl_free(l->coo.row);
  sl_free(l->coo.col);
  sl_free(l->coo.val);
  l->coo.row = l->coo.col = l->coo.val = NULL;
}

/* Whether the first line of data has a third field. */
static bool first_has_value(const list *l) {
  sl_text text = {l->head, l->body};
  if (!sl_text_next_data(&text, "#%"))
    return false;
  const char *at = text.at;
  for (int field = 0; field < 2; field++) {
    while (!ends_field(l, at))
      at++;
    at = skip_gap(at);
  }
  return !ends_line(l, at);
}

void sl_edge_head(const sl_input *head, sley_dtype dtype, sl_edge_lines *out) {
  *out = (sl_edge_lines){.head = head, .part = head, .rows = -1, .cols = -1, .coo = {.dtype = dtype}};
  out->rule = sl_value_rule_of(SL_LITERAL_UNTYPED, dtype);
  scan_header(out);
  find_body(out);
  out->begin = out->body;
  out->valued = first_has_value(out);
}

sley_status sl_edge_count(sl_edge_lines *lines, sl_team *team) {
  lines->pieces = sl_piece_count(lines->begin, lines->part->end);
  SL_TRY(SL_NEW_ZERO(lines->piece, lines->pieces, "pieces of a text"));
  SL_TRY(sl_team_for(team, lines->pieces, 1, count_pieces, lines));
  for (int64_t i = 0; i < lines->pieces; i++) {
    int64_t entries = lines->piece[i].totals.entries;
    lines->piece[i].totals.entries = lines->coo.count;
    lines->coo.count += entries;
  }
  return SLEY_OK;
}

sley_status sl_edge_parse(sl_edge_lines *lines, sley_index index, bool valued, sl_team *team,
                          sl_edge_totals *out) {
  free_triplets(lines);
  lines->coo.index = index;
  lines->valued = valued;
  SL_TRY(alloc_triplets(lines));
  SL_TRY(sl_team_for(team, lines->pieces, 1, parse_pieces, lines));
  return gather(lines, out);
}

/* at NULL: the place is in another part. */
static sley_status beyond(const list *l, const char *at, const char *what, int64_t limit) {
  if (!at)
    return SLEY_OK;
  return sl_text_fail(l->part, at, "the %s is above the %" PRId64 " that the header gives", what, limit);
}

sley_status sl_edge_shape(sl_edge_lines *l, const sl_edge_totals *totals, bool *wrong) {
  int64_t most = totals->most_row > totals->most_col ? totals->most_row : totals->most_col;
  const char *most_at = totals->most_row == most ? totals->row_at : totals->col_at;
  bool declared = l->from_one && l->rows >= 0;
  *wrong = true;
  l->base = l->from_one || totals->least == 1 ? 1 : 0;
  if (l->from_one && totals->least < 1)
    return totals->least_at
               ? sl_text_fail(l->part, totals->least_at,
                              "a row or column 0, but the file's header says that they start from 1")
               : SLEY_OK;
  if (most == INT64_MAX)
    return most_at ? sl_text_fail(l->part, most_at, "a row or column is too large") : SLEY_OK;
  if (totals->entries == 0 && !declared)
    return sl_text_fail(l->head, l->head->begin, "no line holds an entry: two whole numbers, row and column");
  if (declared && totals->most_row > l->rows)
    return beyond(l, totals->row_at, "row", l->rows);
  if (declared && totals->most_col > l->cols)
    return beyond(l, totals->col_at, "column", l->cols);
  l->coo.rows = declared ? l->rows : most + 1 - l->base;
  l->coo.cols = declared ? l->cols : most + 1 - l->base;
  if (declared || most_at)
    SL_TRY(sl_input_check_size(declared ? l->head : l->part, declared ? l->head->begin : most_at, l->coo.rows,
                               l->coo.cols));
  *wrong = false;
  return SLEY_OK;
}

static sley_status rebase(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  const sl_coo *coo = &((list *)context)->coo;
  for (int64_t e = begin; e < end; e++) {
    sl_index_set(coo->row, coo->index, e, sl_index_at(coo->row, coo->index, e) - 1);
    sl_index_set(coo->col, coo->index, e, sl_index_at(coo->col, coo->index, e) - 1);
  }
  return SLEY_OK;
}

sley_status sl_edge_rebase(sl_edge_lines *lines, sl_team *team) {
  return lines->base == 1 ? sl_team_for(team, lines->coo.count, 1 << 16, rebase, lines) : SLEY_OK;
}

void sl_edge_lines_free(sl_edge_lines *lines) {
  free_triplets(lines);
  sl_free(lines->piece);
  lines->piece = NULL;
}

/* Parses into narrow triplets without values unless the first line has one; if the text needs more, once
 * again. */
static sley_status parse_list(list *l, sl_team *team, sl_edge_totals *total) {
  SL_TRY(sl_edge_count(l, team));
  SL_TRY(sl_edge_parse(l, SLEY_I32, l->valued, team, total));
  if (total->wide || total->valued != l->valued)
    return sl_edge_parse(l, total->wide ? SLEY_I64 : SLEY_I32, total->valued, team, total);
  return SLEY_OK;
}

sley_status sl_edgelist_read(sl_input *input, sley_dtype dtype, sl_team *team, sley_matrix **out) {
  list l;
  sl_edge_totals total;
  sley_status status;
  bool wrong;
  sl_edge_head(input, dtype, &l);
  SL_TRY_GOTO(status, parse_list(&l, team, &total), done);
  SL_TRY_GOTO(status, sl_edge_shape(&l, &total, &wrong), done);
  sl_input_close(input);
  SL_TRY_GOTO(status, sl_edge_rebase(&l, team), done);
  status = sl_coo_to_csr(&l.coo, SL_GENERAL, SL_SUM_REPEATS, team, out);
done:
  sl_edge_lines_free(&l);
  return status;
}
