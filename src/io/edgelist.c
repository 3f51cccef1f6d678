/* SPDX-License-Identifier: Apache-2.0 */
/* Reader of edge lists: a line for each entry, "row column [value ...]", separated by blanks, commas or
 * semicolons; between semicolons a comma may be the decimal point. Further fields are ignored, but their
 * lines are counted. Reads SNAP, CSV (with one optional line of names first), KONECT and similar files. Blank
 * lines, and text after # or %, are comments. Entries are not mirrored; a missing value is 1; repeats are
 * summed. edgelist_head.c examines the lines before the first entry. */
#include <inttypes.h>
#include <string.h>

#include "base/interrupt.h"
#include "base/memory.h"
#include "base/value.h"
#include "io/edgelist.h"
#include "io/pieces.h"

typedef enum problem { FINE, NOT_TWO_NUMBERS, NEGATIVE, NOT_A_VALUE, COMMA } problem;

/* The contents of one piece of the text, and its first error. */
typedef struct sl_edge_piece {
  sl_edge_totals totals; /* totals.entries: number of entries before the piece */
  problem problem;
  const char *at;
} piece;

typedef sl_edge_lines list;

static bool ends_line(const list *l, const char *at) {
  return *at == '\n' || *at == '#' || *at == '%' || at >= l->part->end;
}

static bool is_separator(char c) {
  return c == ',' || c == ';';
}

static bool ends_field(const list *l, const char *at) {
  return *at == ' ' || *at == '\t' || *at == '\r' || is_separator(*at) || ends_line(l, at);
}

/* Advances from the end of a field to the next field or to the line's end, over blanks and at most one
 * separator. */
static const char *next_field(const char *at) {
  at = sl_skip_blanks(at);
  return is_separator(*at) ? sl_skip_blanks(at + 1) : at;
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

/* Scans the number at *at, and advances *at beyond it; returns false and records the problem if there is no
 * number. */
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

/* Scans the value at `at`, which follows the separator `lead` (or a blank). If a comma and a digit follow the
 * value, the comma is a decimal point if semicolons separate fields; after a blank its meaning is ambiguous,
 * which is an error. Returns the byte after the value, or NULL and records the problem. */
static const char *scan_value(const list *l, piece *p, const char *at, char lead, double *out) {
  enum { MOST = 64 };
  char copy[MOST + SL_INPUT_PADDING] = {0};
  const char *after = sl_scan_value(&l->rule, at, out);
  bool comma = after && *after == ',' && (unsigned)(unsigned char)after[1] - '0' < 10 && lead != ',';
  if (comma && lead == ';') {
    int length = 0;
    for (; length < MOST && (at[length] == ',' || !ends_field(l, at + length)); length++)
      copy[length] = at[length] == ',' ? '.' : at[length];
    after = length < MOST && sl_scan_value(&l->rule, copy, out) == copy + length ? at + length : NULL;
  }
  if (!after || !ends_field(l, after))
    note(p, NOT_A_VALUE, at);
  else if (comma && lead != ';')
    note(p, COMMA, at);
  return p->problem ? NULL : after;
}

/* Counts the fields from `at` to the line's end. */
static int64_t count_fields(const list *l, const char *at) {
  int64_t fields = 0;
  for (; !ends_line(l, at); at = next_field(at)) {
    fields++;
    while (!ends_field(l, at))
      at++;
  }
  return fields;
}

static void note_fields(piece *p, int64_t fields, const char *at) {
  sl_edge_totals *t = &p->totals;
  t->cut += fields > 3;
  if (fields < t->fewest)
    t->fewest = fields;
  if (fields > t->most) {
    t->most = fields;
    t->most_at = at;
  }
}

/* Parses the line at `at` into entry e. */
static void parse_line(const list *l, piece *p, const char *at, int64_t e) {
  const sl_coo *coo = &l->coo;
  int64_t row, col;
  const char *row_at = at;
  if (!scan_number(l, p, &at, &row))
    return;
  const char *col_at = at = next_field(at);
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
  int64_t fields = 2;
  const char *gap = sl_skip_blanks(at);
  at = next_field(at);
  if (!ends_line(l, at)) {
    at = scan_value(l, p, at, is_separator(*gap) ? *gap : ' ', &value);
    if (!at)
      return;
    p->totals.valued = true;
    fields = 3 + count_fields(l, next_field(at));
  }
  note_fields(p, fields, row_at);
  sl_index_set(coo->row, coo->index, e, row);
  sl_index_set(coo->col, coo->index, e, col);
  if (!l->valued)
    return;
  sl_value_set(coo->val, coo->dtype, e, value);
}

/* Returns the totals of a text without lines. */
static sl_edge_totals no_totals(int64_t entries) {
  return (sl_edge_totals){
      .entries = entries, .least = INT64_MAX, .most_row = -1, .most_col = -1, .fewest = INT64_MAX};
}

static sley_status parse_pieces(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  list *l = context;
  SL_TRY(sl_interrupted());
  for (int64_t i = begin; i < end; i++) {
    piece *p = &l->piece[i];
    int64_t e = p->totals.entries;
    *p = (piece){.totals = no_totals(e)};
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
  case COMMA:
    return sl_text_fail(
        l->part, p->at,
        "a comma in the value: if it is the decimal point, write a point, or divide the fields "
        "by semicolons");
  default:
    return sl_text_fail(l->part, p->at,
                        "a line of an edge list starts with two whole numbers, row and column");
  }
}

/* Adds up the totals of the pieces; reports the first problem. */
static sley_status gather(const list *l, sl_edge_totals *total) {
  *total = no_totals(l->coo.count);
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
    if (p->most > total->most) {
      total->most = p->most;
      total->most_at = p->most_at;
    }
    total->fewest = p->fewest < total->fewest ? p->fewest : total->fewest;
    total->cut += p->cut;
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

/* Reports a number beyond the size in the header. at NULL: the number is in another part, whose rank reports
   it. */
static sley_status beyond(const list *l, const char *at, const char *what, int64_t limit) {
  if (!at)
    return SLEY_OK;
  return sl_text_fail(l->part, at, "the %s is above the %" PRId64 " that the header states", what, limit);
}

/* Decides the number of the first row and column, and records the reason. */
static void choose_base(list *l, const sl_edge_totals *totals, int64_t most) {
  const bool counted = l->nodes > 0 && totals->least == 1; /* the number of nodes can decide */
  if (l->head->base != SL_BASE_ANY) {
    l->base = l->head->base == SL_BASE_1;
    l->why = SL_WHY_ASKED;
  } else if (l->from_one) {
    l->base = 1;
    l->why = l->one_direction ? SL_WHY_HEADER_SYM : SL_WHY_HEADER;
  } else if (counted && (most == l->nodes || most == l->nodes - 1)) {
    l->base = most == l->nodes;
    l->why = SL_WHY_NODES;
  } else {
    l->base = totals->least == 1;
    l->why = totals->least == 0 ? SL_WHY_ZERO : totals->least == 1 ? SL_WHY_ONE : SL_WHY_ABOVE;
  }
}

/* Checks that the lines before the first entry agree with the entries. */
static sley_status check_promises(const list *l, const sl_edge_totals *totals) {
  if (l->names_wrong)
    return sl_text_fail(l->head, l->names_wrong,
                        "the line is neither an entry, which starts with two whole numbers, nor names of "
                        "columns, for it holds words and numbers");
  if (l->promised >= 0 && l->promised != totals->entries)
    return sl_text_fail(l->head, l->promised_at,
                        "the header counts %" PRId64 " entries, but %" PRId64 " lines follow", l->promised,
                        totals->entries);
  if (l->head->guess && totals->fewest != totals->most && totals->entries > 0)
    return totals->most_at
               ? sl_text_fail(l->part, totals->most_at,
                              "%" PRId64 " fields, where other lines have %" PRId64
                              ": no edge list for sure, and no other format fits; name it (--format)",
                              totals->most, totals->fewest)
               : SLEY_OK;
  return SLEY_OK;
}

sley_status sl_edge_shape(sl_edge_lines *l, const sl_edge_totals *totals, bool *wrong) {
  int64_t most = totals->most_row > totals->most_col ? totals->most_row : totals->most_col;
  const char *most_at = totals->most_row == most ? totals->row_at : totals->col_at;
  bool declared = l->rows >= 0;
  *wrong = true;
  SL_TRY(check_promises(l, totals));
  if (l->head->guess && totals->fewest != totals->most && totals->entries > 0)
    return SLEY_OK; /* only the rank that has the line reports the error */
  choose_base(l, totals, most);
  if (l->base == 1 && totals->least < 1)
    return totals->least_at
               ? sl_text_fail(l->part, totals->least_at, "a row or column 0, but %s",
                              l->why == SL_WHY_ASKED ? "they were said to start from 1 (base 1)"
                                                     : "the file's header says that they start from 1")
               : SLEY_OK;
  if (most == INT64_MAX)
    return most_at ? sl_text_fail(l->part, most_at, "a row or column is too large") : SLEY_OK;
  if (totals->entries == 0 && !declared)
    return sl_text_fail(l->head, l->head->begin, "no line holds an entry: two whole numbers, row and column");
  int64_t last = l->base - 1; /* with n rows counted from base, the last one is n + base - 1 */
  if (declared && totals->most_row > l->rows + last)
    return beyond(l, totals->row_at, "row", l->rows + last);
  if (declared && totals->most_col > l->cols + last)
    return beyond(l, totals->col_at, "column", l->cols + last);
  l->coo.rows = declared ? l->rows : (l->two_sides ? totals->most_row : most) - last;
  l->coo.cols = declared ? l->cols : (l->two_sides ? totals->most_col : most) - last;
  if (declared || most_at)
    SL_TRY(sl_input_check_size(declared ? l->head : l->part, declared ? l->head->begin : most_at, l->coo.rows,
                               l->coo.cols));
  *wrong = false;
  return SLEY_OK;
}

void sl_edge_tell(const sl_edge_lines *l, const sl_edge_totals *totals, sl_source *out) {
  out->base = l->base;
  out->why = l->why;
  out->unread = totals->cut;
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

/* Parses into triplets with 32-bit indices, and without values unless the first line has a value; if the text
 * needs more, parses a second time. */
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
  sl_edge_tell(&l, &total, &input->source);
  sl_input_close(input);
  SL_TRY_GOTO(status, sl_edge_rebase(&l, team), done);
  status = sl_coo_to_csr(&l.coo, SL_GENERAL, SL_SUM_REPEATS, team, out);
done:
  sl_edge_lines_free(&l);
  return status;
}
