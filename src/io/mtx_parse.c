/* SPDX-License-Identifier: Apache-2.0 */
/* The entries of a Matrix Market file, parsed in parallel: the text is divided into pieces at line ends; the
 * lines of each piece are counted, which determines the positions of its entries; then all pieces are
 * parsed. */
#include <string.h>

#include "base/interrupt.h"
#include "base/memory.h"
#include "base/value.h"
#include "io/mtx.h"
#include "io/text.h"

enum { PIECE_BYTES = 1 << 20, MAX_PIECES = 1 << 16, INDEX_DIGITS = 18 };

typedef enum fault_kind {
  NO_FAULT,
  BAD_ROW,
  BAD_COL,
  ROW_RANGE,
  COL_RANGE,
  BAD_VALUE,
  EXTRA,
  DIAGONAL
} fault_kind;

typedef struct sl_mtx_piece {
  const char *begin, *end;
  int64_t count; /* number of entries in the piece */
  int64_t first; /* number of entries of the part before the piece */
  fault_kind fault;
  const char *fault_at, *value_at; /* the line with the fault, and the wrong value in it */
  int64_t below, above;            /* entries on either side of the diagonal */
  uint64_t least;                  /* least index, for files that do not state the number of the first row */
} text_piece;

/* --------------------------------------------------------------------------------------------------- cut and
 * count */

sley_status sl_mtx_cut(const sl_input *head, const sl_mtx_header *header, const sl_input *part,
                       const char *begin, sl_mtx_lines *out) {
  *out = (sl_mtx_lines){.head = head, .part = part, .header = header, .comments = header->bare ? "%#" : "%"};
  const char *end = part->end;
  int64_t bytes = end - begin, pieces = bytes / PIECE_BYTES + 1;
  if (pieces > MAX_PIECES)
    pieces = MAX_PIECES;
  SL_TRY(SL_NEW_ZERO(out->pieces, pieces, "pieces of a text"));
  out->piece_count = pieces;
  const char *at = begin;
  for (int64_t p = 0; p < pieces; p++) {
    out->pieces[p].begin = at;
    const char *until = p + 1 == pieces ? end : begin + bytes / pieces * (p + 1);
    if (until > at)
      at = until == end ? end : sl_next_line(until, end);
    out->pieces[p].end = at;
  }
  return SLEY_OK;
}

static sley_status count_piece(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  sl_mtx_lines *job = context;
  SL_TRY(sl_interrupted());
  for (int64_t p = begin; p < end; p++) {
    text_piece *piece = &job->pieces[p];
    piece->count = job->blank_lines ? sl_count_data_lines(piece->begin, piece->end, job->comments)
                                    : sl_count_lines(piece->begin, piece->end);
  }
  return SLEY_OK;
}

sley_status sl_mtx_count(sl_mtx_lines *lines, bool blank_lines, sl_team *team) {
  lines->blank_lines = blank_lines;
  lines->count = 0;
  SL_TRY(sl_team_for(team, lines->piece_count, 1, count_piece, lines));
  for (int64_t p = 0; p < lines->piece_count; p++) {
    lines->pieces[p].first = lines->count;
    lines->count += lines->pieces[p].count;
  }
  return SLEY_OK;
}

const char *sl_mtx_line_of(const sl_mtx_lines *lines, int64_t e) {
  const text_piece *piece = lines->pieces;
  while (piece->first + piece->count <= e)
    piece++;
  sl_text text = {lines->part, piece->begin};
  for (int64_t before = e - piece->first; sl_text_next_data(&text, lines->comments) && before > 0; before--)
    text.at = sl_next_line(text.at, piece->end);
  return text.at;
}

sley_status sl_mtx_check_count(const sl_mtx_lines *lines, int64_t found) {
  int64_t promised = lines->header->count, own = promised - lines->before;
  if (found < promised)
    return sl_text_fail(lines->head, lines->header->sizes, "%lld entries are promised but %lld lines follow",
                        (long long)promised, (long long)found);
  if (found == promised || own < 0 || own >= lines->count)
    return SLEY_OK;
  return sl_text_fail(lines->part, sl_mtx_line_of(lines, own),
                      "the promised %lld entries end before this line; remove what follows",
                      (long long)promised);
}

/* -----------------------------------------------------------------------------------------------------------
 * parse */

/* Returns the start of the next line of data in a piece, or the piece's end. */
static inline const char *next_data(const char *at, const char *end, const char *comments) {
  for (;;) {
    if ((unsigned)(unsigned char)*at - '0' < 10)
      return at;
    at = sl_skip_blanks(at);
    if (at >= end)
      return end;
    if (*at == '\n')
      at++;
    else if (*at != 0 && strchr(comments, *at))
      at = sl_next_line(at, end);
    else
      return at;
  }
}

static void note_fault(text_piece *piece, fault_kind fault, const char *at) {
  piece->fault = fault;
  piece->fault_at = at;
}

static void note_value(text_piece *piece, const char *at, const char *value) {
  note_fault(piece, BAD_VALUE, at);
  piece->value_at = value;
}

static inline bool line_ends(const char *at, const char *end) {
  return *at == '\n' || at >= end;
}

/* Parses lines "row col [value]"; the constant arguments create a separate loop for each combination of
   types. */
static inline __attribute__((always_inline)) void
parse_triplets(sl_mtx_lines *job, text_piece *piece, sley_index index, sley_dtype dtype, bool pattern) {
  const sl_mtx_header *header = job->header;
  sl_coo *coo = &job->coo;
  uint64_t lowest = header->bare ? 0 : 1; /* lowest index; settle_base decides for files without a header */
  uint64_t rows = (uint64_t)header->rows + 1 - lowest, cols = (uint64_t)header->cols + 1 - lowest;
  uint64_t least = UINT64_MAX;
  const sl_value_rule rule = sl_value_rule_of(header->literal, coo->dtype);
  bool skew = header->symmetry == SL_SKEW;
  int64_t below = 0, above = 0;
  const char *at = piece->begin, *end = piece->end, *start, *from;
  for (int64_t e = piece->first, last = piece->first + piece->count; e < last; e++) {
    at = next_data(at, end, job->comments);
    if (at == end) /* blank lines were counted as entries */
      return note_fault(piece, BAD_ROW, at);
    uint64_t row = 0, col = 0;
    double value = 1;
    start = at;
    at = sl_scan_digits(from = at, &row);
    if (at == from || at - from > INDEX_DIGITS || !(*at == ' ' || *at == '\t'))
      return note_fault(piece, BAD_ROW, start);
    at = sl_skip_blanks(at);
    at = sl_scan_digits(from = at, &col);
    if (at == from || at - from > INDEX_DIGITS || !sl_token_ends(at))
      return note_fault(piece, BAD_COL, start);
    if (row - lowest >= rows)
      return note_fault(piece, ROW_RANGE, start);
    if (col - lowest >= cols)
      return note_fault(piece, COL_RANGE, start);
    at = sl_skip_blanks(at);
    if (!pattern) {
      at = sl_scan_value(&rule, from = at, &value);
      if (!at || !sl_token_ends(at))
        return note_value(piece, start, from);
      at = sl_skip_blanks(at);
    }
    if (!line_ends(at, end))
      return note_fault(piece, EXTRA, start);
    if (skew && row == col && value != 0)
      return note_fault(piece, DIAGONAL, start);
    if (header->bare) {
      least = row < least ? row : least;
      least = col < least ? col : least;
    }
    below += row > col;
    above += row < col;
    at += at < end;
    sl_index_set(coo->row, index, e, (int64_t)(row - lowest));
    sl_index_set(coo->col, index, e, (int64_t)(col - lowest));
    if (!pattern)
      sl_value_set(coo->val, dtype, e, value);
  }
  piece->least = least;
  piece->below = below;
  piece->above = above;
}

/* The position (row, column) of entry e of an array. */
static void array_place(const sl_mtx_header *header, int64_t e, int64_t *row, int64_t *col) {
  int64_t n = header->rows, low = 0, high = header->cols - 1;
  if (header->symmetry == SL_GENERAL) {
    *row = e % n;
    *col = e / n;
    return;
  }
  int64_t skew = header->symmetry == SL_SKEW;
  while (low < high) { /* finds the last column that starts at or before e; j columns hold j n - j (j - 1) / 2
                          - skew j entries */
    int64_t j = low + (high - low + 1) / 2;
    if (j * n - j * (j - 1) / 2 - skew * j <= e)
      low = j;
    else
      high = j - 1;
  }
  *col = low;
  *row = low + skew + e - (low * n - low * (low - 1) / 2 - skew * low);
}

/* Parses lines of one value each. */
static void parse_values(sl_mtx_lines *job, text_piece *piece) {
  const sl_mtx_header *header = job->header;
  sl_coo *coo = &job->coo;
  const char *at = piece->begin, *end = piece->end;
  int64_t row = 0, col = 0, skew = header->symmetry == SL_SKEW;
  const sl_value_rule rule = sl_value_rule_of(header->literal, coo->dtype);
  if (piece->count > 0)
    array_place(header, job->before + piece->first, &row, &col);
  for (int64_t e = piece->first, last = piece->first + piece->count; e < last; e++) {
    at = next_data(at, end, job->comments);
    const char *start = at;
    double value;
    at = at == end ? NULL : sl_scan_value(&rule, at, &value);
    if (!at || !sl_token_ends(at))
      return note_value(piece, start, start);
    at = sl_skip_blanks(at);
    if (!line_ends(at, end))
      return note_fault(piece, EXTRA, start);
    at += at < end;
    sl_index_set(coo->row, coo->index, e, row);
    sl_index_set(coo->col, coo->index, e, col);
    sl_value_set(coo->val, coo->dtype, e, value);
    if (++row == header->rows) {
      col++;
      row = header->symmetry == SL_GENERAL ? 0 : col + skew;
    }
  }
}

static sley_status parse_piece(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  sl_mtx_lines *job = context;
  SL_TRY(sl_interrupted());
  for (int64_t p = begin; p < end; p++) {
    text_piece *piece = &job->pieces[p];
    if (job->header->array)
      parse_values(job, piece);
    else if (job->coo.index == SLEY_I64)
      parse_triplets(job, piece, SLEY_I64, job->coo.dtype, job->header->pattern);
    else if (job->header->pattern)
      parse_triplets(job, piece, SLEY_I32, SLEY_F32, true);
    else if (job->coo.dtype == SLEY_F32)
      parse_triplets(job, piece, SLEY_I32, SLEY_F32, false);
    else if (job->coo.dtype == SLEY_F64)
      parse_triplets(job, piece, SLEY_I32, SLEY_F64, false);
    else
      parse_triplets(job, piece, SLEY_I32, job->coo.dtype, false);
  }
  return SLEY_OK;
}

/* Returns whether the piece has fewer entries than were counted. */
static bool is_short(const text_piece *piece) {
  return piece->fault != NO_FAULT && piece->fault_at == piece->end;
}

sley_status sl_mtx_tell_missing(const sl_mtx_lines *lines) {
  const sl_mtx_header *header = lines->header;
  return sl_text_fail(lines->head, header->sizes, "fewer than the promised %lld %s follow",
                      (long long)header->count, header->array ? "values" : "entries");
}

static sley_status tell_fault(const sl_mtx_lines *job, const text_piece *piece) {
  const char *at = piece->fault_at;
  const sl_mtx_header *header = job->header;
  int lowest = !header->bare;
  switch (piece->fault) {
  case NO_FAULT:
    break;
  case BAD_ROW:
    return sl_text_fail(job->part, at, "the row is not a whole number of at least %d", lowest);
  case BAD_COL:
    return sl_text_fail(job->part, at, "the column is not a whole number of at least %d", lowest);
  case ROW_RANGE:
    return sl_text_fail(job->part, at, "the row is outside %d..%lld", lowest, (long long)header->rows);
  case COL_RANGE:
    return sl_text_fail(job->part, at, "the column is outside %d..%lld", lowest, (long long)header->cols);
  case BAD_VALUE:
    return sl_value_fail(job->part, piece->value_at, &(sl_value_rule){header->literal, job->coo.dtype, 0},
                         header->array
                             ? "the value is missing or not a number; each line is 'value'"
                             : "the value is missing or not a number; each line is 'row column value'");
  case EXTRA:
    return sl_text_fail(job->part, at, "there is more on the line than '%s'",
                        header->array     ? "value"
                        : header->pattern ? "row column"
                                          : "row column value");
  case DIAGONAL:
    return sl_text_fail(job->part, at, "the diagonal of a skew-symmetric matrix is zero; remove the entry");
  }
  return SLEY_OK;
}

/* Decides the base of a file without a header: 0 if the caller says so, an index is 0 or the name ends in
 * .smat, else 1. */
static sley_status settle_base(sl_mtx_lines *job, sl_input *input) {
  const sl_mtx_header *header = job->header;
  bool smat = sl_name_ends(input->name, ".smat");
  int64_t base = input->base != SL_BASE_ANY ? input->base == SL_BASE_1 : job->least != 0 && !smat;
  input->source.base = base;
  input->source.why = input->base != SL_BASE_ANY ? SL_WHY_ASKED
                      : smat                     ? SL_WHY_ENDING
                      : base == 0                ? SL_WHY_ZERO
                                                 : SL_WHY_NO_ZERO;
  if (base == 1 && job->least == 0)
    return sl_text_fail(job->head, header->sizes,
                        "an index is 0, but they were said to start from 1 (base 1)");
  for (int64_t e = 0; e < header->count; e++) {
    int64_t row = sl_index_at(job->coo.row, job->coo.index, e) - base;
    int64_t col = sl_index_at(job->coo.col, job->coo.index, e) - base;
    if (row >= header->rows || col >= header->cols)
      return sl_text_fail(job->head, header->sizes,
                          "entry %lld, (%lld, %lld), is outside %lld x %lld counted from %d",
                          (long long)e + 1, (long long)(row + base), (long long)(col + base),
                          (long long)header->rows, (long long)header->cols, (int)base);
    sl_index_set(job->coo.row, job->coo.index, e, row);
    sl_index_set(job->coo.col, job->coo.index, e, col);
  }
  return SLEY_OK;
}

static sley_status allocate(sl_mtx_lines *job, sley_dtype dtype) {
  const sl_mtx_header *header = job->header;
  int64_t larger = header->rows > header->cols ? header->rows : header->cols;
  sl_coo *coo = &job->coo;
  *coo = (sl_coo){.rows = header->rows, .cols = header->cols, .count = job->count, .dtype = dtype};
  coo->index = sl_index_for(larger);
  coo->row = sl_alloc(job->count, sl_index_bytes(coo->index), "rows of entries");
  coo->col = sl_alloc(job->count, sl_index_bytes(coo->index), "columns of entries");
  if (!coo->row || !coo->col)
    return SLEY_ERR_MEMORY;
  if (header->pattern)
    return SLEY_OK;
  coo->val = sl_alloc(job->count, sley_dtype_bytes(dtype), "values of entries");
  return coo->val ? SLEY_OK : SLEY_ERR_MEMORY;
}

sley_status sl_mtx_parse_lines(sl_mtx_lines *lines, sley_dtype dtype, sl_team *team) {
  lines->least = UINT64_MAX;
  SL_TRY(allocate(lines, dtype));
  SL_TRY(sl_team_for(team, lines->piece_count, 1, parse_piece, lines));
  for (int64_t p = 0; p < lines->piece_count; p++) {
    const text_piece *piece = &lines->pieces[p];
    lines->missing |= is_short(piece);
    lines->below += piece->below;
    lines->above += piece->above;
    if (!is_short(piece))
      SL_TRY(tell_fault(lines, piece));
    if (piece->count > 0 && piece->least < lines->least)
      lines->least = piece->least;
  }
  return SLEY_OK;
}

void sl_mtx_lines_free(sl_mtx_lines *lines) {
  sl_coo_free(&lines->coo);
  sl_free(lines->pieces);
  lines->pieces = NULL;
}

/* Counts the entries. If the number of all lines equals the promised number although some lines are blank,
 * entries are missing, and the piece with the blank line detects that. */
static sley_status count(sl_mtx_lines *lines, sl_team *team) {
  SL_TRY(sl_mtx_count(lines, false, team));
  if (lines->count > lines->header->count)
    SL_TRY(sl_mtx_count(lines, true, team));
  return sl_mtx_check_count(lines, lines->count);
}

/* Checks that no entry is stored together with its mirror image. */
static sley_status check_triangles(const sl_mtx_lines *lines, sl_team *team) {
  sl_coo places = {0};
  sley_matrix *triangle[2] = {NULL, NULL};
  sley_status status = SLEY_OK;
  for (int above = 0; above < 2 && status == SLEY_OK; above++) {
    status = sl_mtx_triangle(lines, above, &places);
    if (status == SLEY_OK)
      status = sl_coo_to_csr(&places, SL_GENERAL, SL_SUM_REPEATS, team, &triangle[above]);
    sl_coo_free(&places);
  }
  int64_t row, col;
  if (status == SLEY_OK && sl_mtx_in_both(triangle[0], triangle[1], &row, &col))
    status = sl_mtx_tell_both(lines, row, col);
  sl_matrix_destroy(triangle[0]);
  sl_matrix_destroy(triangle[1]);
  return status;
}

sley_status sl_mtx_parse(sl_input *input, const sl_mtx_header *header, sley_dtype dtype, sl_team *team,
                         sley_matrix **out) {
  sl_mtx_lines lines;
  sley_status status;
  SL_TRY(sl_mtx_cut(input, header, input, header->body, &lines));
  SL_TRY_GOTO(status, count(&lines, team), done);
  SL_TRY_GOTO(status, sl_mtx_parse_lines(&lines, dtype, team), done);
  if (lines.missing)
    SL_TRY_GOTO(status, sl_mtx_tell_missing(&lines), done);
  if (header->bare && !header->array)
    SL_TRY_GOTO(status, settle_base(&lines, input), done);
  bool sides = header->symmetry != SL_GENERAL && lines.below > 0 && lines.above > 0;
  if (!sides)
    sl_input_close(input); /* freed early, because decompressed text may be larger than the matrix */
  SL_TRY_GOTO(status, sl_coo_to_csr(&lines.coo, header->symmetry, SL_SUM_REPEATS, team, out), done);
  if (sides && (*out)->nnz < lines.count + lines.below + lines.above) /* some entries were merged */
    status = check_triangles(&lines, team);
  if (status != SLEY_OK) {
    sl_matrix_destroy(*out);
    *out = NULL;
  }
done:
  sl_mtx_lines_free(&lines);
  return status;
}
