/* SPDX-License-Identifier: Apache-2.0 */
/* Reader of Rutherford-Boeing and Harwell-Boeing files: compressed columns, in fixed columns of text.
 *
 * Line 1 is a title, line 2 counts lines (Harwell-Boeing has a fifth number, the lines of right-hand sides,
 * which are ignored), line 3 has the type and the sizes, line 4 the Fortran formats; then pointers, row
 * numbers and values, each starting on a new line. The type's letters: r, i or p (values real, integer,
 * none); u, s, z, r (unsymmetric, symmetric, skew, rectangular; for s and z one triangle is stored); a
 * (assembled). Sources: Duff, Grimes, Lewis, Users' guide for the Harwell-Boeing sparse matrix collection,
 * 1992; The Rutherford-Boeing sparse matrix collection, 1997. */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "base/interrupt.h"
#include "base/memory.h"
#include "base/value.h"
#include "io/format.h"
#include "io/fortran.h"
#include "io/literal.h"
#include "io/text.h"

typedef struct header {
  char type[4];
  bool pattern;
  sl_symmetry symmetry;
  int64_t rows, cols, nnz, rhs_lines;
  sl_fortran_format pointers, indices, values;
  const char *body;
} header;

/* The numbers of one section, field by field. */
typedef struct section {
  const sl_input *input;
  const char *what;
  const sl_fortran_format *format;
  int next;                 /* current item of the format */
  int scale;                /* scale factor that an item of the format has set */
  bool zeros;               /* true: an item of the format has set that blanks count as zeros */
  const char *line, *ended; /* the current line, and its newline; line is NULL before the first line */
  const char *after;        /* the line after the current one */
  int64_t column, furthest; /* column of the next field; furthest column examined */
} section;

static const char *line_end(const char *at, const char *end) {
  const char *newline = at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;
  return newline ? newline : end;
}

/* Reads at most `most` whole numbers from `at` to the end of the line. Returns their number, or -1 if the
 * line has anything else. */
static int scan_ints(const char *at, int most, int64_t *out) {
  int count = 0;
  for (at = sl_skip_blanks(at); *at && *at != '\n'; at = sl_skip_blanks(at)) {
    if (count == most || !(at = sl_scan_int(at, &out[count])) || !sl_token_ends(at) || out[count] < 0)
      return -1;
    count++;
  }
  return count;
}

/* Reads the three letters of a matrix type, in lower case; returns false if they are not valid. */
static bool scan_type(const char *at, const char *end, char type[4]) {
  static const char *const letters[] = {"ripcq", "usrzh", "ae"};
  memset(type, 0, 4);
  for (int i = 0; i < 3; i++) {
    if (at + i >= end || !isalpha((unsigned char)at[i]))
      return false;
    type[i] = (char)tolower((unsigned char)at[i]);
    if (!strchr(letters[i], type[i]))
      return false;
  }
  return at + 3 < end && (at[3] == ' ' || at[3] == '\t');
}

bool sl_rb_banner(const sl_input *input) {
  int64_t numbers[5];
  char type[4];
  const char *counts = sl_next_line(input->begin, input->end), *sizes = sl_next_line(counts, input->end);
  const char *formats = sl_next_line(sizes, input->end);
  return scan_ints(counts, 5, numbers) >= 3 && scan_type(sizes, input->end, type) &&
         scan_ints(sizes + 3, 4, numbers) >= 3 && *sl_skip_blanks(formats) == '(';
}

static sley_status parse_type(const sl_input *input, const char *at, header *out) {
  const char *type = out->type;
  if (type[0] == 'c')
    return sl_text_fail_as(SLEY_ERR_UNSUPPORTED, input, at,
                           "complex values (type %s) cannot be read; save the real part", type);
  if (type[0] == 'q')
    return sl_text_fail_as(SLEY_ERR_UNSUPPORTED, input, at,
                           "values in a second file (type %s) cannot be read", type);
  if (type[2] == 'e')
    return sl_text_fail_as(SLEY_ERR_UNSUPPORTED, input, at,
                           "an unassembled matrix (type %s) cannot be read; assemble it", type);
  out->pattern = type[0] == 'p';
  out->symmetry = type[1] == 's' || type[1] == 'h' ? SL_SYMMETRIC : (type[1] == 'z' ? SL_SKEW : SL_GENERAL);
  return SLEY_OK;
}

static sley_status parse_format(const sl_input *input, const char **at, const char *what,
                                sl_fortran_format *out) {
  const char *start = sl_skip_blanks(*at);
  const char *after = sl_fortran_parse(start, out);
  if (!after)
    return sl_text_fail(input, start, "no format of %s that is known, such as (16I5) or (1P,4E20.12)", what);
  *at = after;
  return SLEY_OK;
}

static sley_status parse_header(const sl_input *input, header *out) {
  const char *end = input->end, *counts = sl_next_line(input->begin, end), *sizes = sl_next_line(counts, end);
  const char *at = sl_next_line(sizes, end);
  int64_t lines[5] = {0}, numbers[4] = {0};
  if (scan_ints(counts, 5, lines) < 3)
    return sl_text_fail(input, counts, "the second line must count the lines that follow, in 3 to 5 numbers");
  if (!scan_type(sizes, end, out->type))
    return sl_text_fail(input, sizes, "the third line must start with a matrix type such as rua or psa");
  if (scan_ints(sizes + 3, 4, numbers) < 3)
    return sl_text_fail(input, sizes, "rows, columns and entries must follow the matrix type");
  SL_TRY(parse_type(input, sizes, out));
  out->rhs_lines = lines[4];
  out->rows = numbers[0];
  out->cols = numbers[1];
  out->nnz = numbers[2];
  if (out->symmetry != SL_GENERAL && out->rows != out->cols)
    return sl_text_fail(input, sizes, "a matrix of type %s must be square", out->type);
  if (out->cols >= end - at || out->nnz > end - at)
    return sl_text_fail(
        input, sizes, "%" PRId64 " columns and %" PRId64 " entries cannot be in a file of %" PRId64 " bytes",
        out->cols, out->nnz, (int64_t)(end - input->begin));
  SL_TRY(sl_input_check_size(input, sizes, out->rows, out->cols));
  SL_TRY(parse_format(input, &at, "pointers", &out->pointers));
  SL_TRY(parse_format(input, &at, "row numbers", &out->indices));
  if (!out->pattern)
    SL_TRY(parse_format(input, &at, "values", &out->values));
  if (!out->pointers.integers || !out->indices.integers)
    return sl_text_fail(input, at, "pointers and row numbers need an I format");
  const char *rest = sl_skip_blanks(at); /* formats for other sections may follow */
  if (*rest != '(' && *rest != '\n' && rest < end)
    return sl_text_fail(input, rest, "no format, but '%.*s'", (int)strcspn(rest, " \r\n"), rest);
  out->body = sl_next_line(at, end);
  if (out->rhs_lines > 0)
    out->body = sl_next_line(out->body, end);
  return SLEY_OK;
}

static section section_start(const sl_input *input, const char *what, const sl_fortran_format *format,
                             const char *at) {
  return (section){.input = input, .what = what, .format = format, .after = at};
}

/* Checks that the columns from furthest up to `column` are blank, and advances furthest. */
static sley_status pass_blanks(section *s, int64_t column) {
  int64_t length = s->ended - s->line;
  for (; s->furthest < column && s->furthest < length; s->furthest++)
    if (s->line[s->furthest] != ' ' && s->line[s->furthest] != '\t')
      return sl_text_fail(s->input, s->line + s->furthest,
                          "there is more on the line than the format of the %s takes: '%.*s'", s->what,
                          (int)(length - s->furthest > 40 ? 40 : length - s->furthest),
                          s->line + s->furthest);
  return SLEY_OK;
}

static sley_status end_line(section *s) {
  return s->line ? pass_blanks(s, INT64_MAX) : SLEY_OK;
}

static sley_status next_line(section *s) {
  SL_TRY(sl_interrupted());
  SL_TRY(end_line(s));
  if (s->after >= s->input->end)
    return sl_text_fail(s->input, s->input->end, "the file ends among the %s", s->what);
  s->line = s->after;
  s->ended = line_end(s->line, s->input->end);
  s->after = sl_next_line(s->line, s->input->end);
  while (s->ended > s->line && s->ended[-1] == '\r')
    s->ended--;
  s->column = s->furthest = 0;
  return SLEY_OK;
}

/* Applies an item of the format that is not a number. */
static sley_status obey(section *s, const sl_fortran_item *item) {
  switch (item->kind) {
  case SL_FORTRAN_LINE:
    return next_line(s);
  case SL_FORTRAN_SCALE:
    s->scale = item->width;
    return SLEY_OK;
  case SL_FORTRAN_ZEROS:
    s->zeros = item->width != 0;
    return SLEY_OK;
  default:
    s->column = item->kind == SL_FORTRAN_COLUMN ? item->width : s->column + item->width;
    s->column = s->column < 0 ? 0 : s->column;
    return SLEY_OK;
  }
}

/* Finds the next number: *item is its descriptor, and [*from, *to) its columns. */
static sley_status next_field(section *s, const sl_fortran_item **item, const char **from, const char **to) {
  const sl_fortran_format *f = s->format;
  if (!s->line)
    SL_TRY(next_line(s));
  for (;; s->next++) {
    if (s->next == f->count) {
      SL_TRY(next_line(s));
      s->next = f->again;
    }
    if (f->item[s->next].kind <= SL_FORTRAN_REAL)
      break;
    SL_TRY(obey(s, &f->item[s->next]));
  }
  *item = &f->item[s->next++];
  SL_TRY(pass_blanks(s, s->column));
  int64_t length = s->ended - s->line, begin = s->column < length ? s->column : length;
  s->column += (*item)->width;
  s->furthest = s->furthest < s->column ? s->column : s->furthest;
  *from = s->line + begin;
  *to = s->line + (s->column < length ? s->column : length);
  return SLEY_OK;
}

/* Ends a section after its last number; *at receives the line after it. */
static sley_status section_end(section *s, const char **at) {
  for (; s->line && s->next < s->format->count && s->format->item[s->next].kind > SL_FORTRAN_REAL; s->next++)
    if (s->format->item[s->next].kind != SL_FORTRAN_LINE || s->after < s->input->end)
      SL_TRY(obey(s, &s->format->item[s->next]));
  SL_TRY(end_line(s));
  *at = s->after;
  return SLEY_OK;
}

static sley_status bad_field(const section *s, const char *from, const char *to, const char *wanted) {
  while (from < to && *from == ' ')
    from++;
  while (to > from && to[-1] == ' ')
    to--;
  return sl_text_fail(s->input, from, "'%.*s' among the %s is not %s", to - from > 40 ? 40 : (int)(to - from),
                      from, s->what, wanted);
}

/* Reads a whole number in [low, high]. */
static sley_status next_int(section *s, int64_t low, int64_t high, int64_t *out) {
  const sl_fortran_item *item;
  const char *from = NULL, *to = NULL;
  SL_TRY(next_field(s, &item, &from, &to));
  if (!sl_fortran_int(s->zeros, from, to, out))
    return bad_field(s, from, to, "a whole number");
  if (*out < low || *out > high)
    return sl_text_fail(s->input, from, "%" PRId64 " among the %s is outside %" PRId64 " .. %" PRId64, *out,
                        s->what, low, high);
  return SLEY_OK;
}

/* Sets the column numbers of the entries, from the pointers. */
static sley_status read_pointers(const sl_input *input, const header *h, const char **at, sl_coo *coo) {
  section s = section_start(input, "pointers", &h->pointers, *at);
  int64_t before = 1, pointer = 1;
  SL_TRY(next_int(&s, 1, 1, &before));
  for (int64_t j = 0; j < h->cols; j++) {
    int64_t high = h->nnz + 1;
    SL_TRY(next_int(&s, before, high, &pointer));
    for (int64_t e = before; e < pointer; e++)
      sl_index_set(coo->col, coo->index, e - 1, j);
    before = pointer;
  }
  if (pointer != h->nnz + 1)
    return sl_text_fail(input, s.line,
                        "the last pointer is %" PRId64 ", but %" PRId64 " entries need %" PRId64, pointer,
                        h->nnz, h->nnz + 1);
  return section_end(&s, at);
}

/* Reads the row numbers of the entries. In a symmetric or skew matrix all must lie in one triangle. */
static sley_status read_indices(const sl_input *input, const header *h, const char **at, sl_coo *coo) {
  section s = section_start(input, "row numbers", &h->indices, *at);
  bool lower = false, upper = false;
  for (int64_t e = 0; e < h->nnz; e++) {
    int64_t row;
    SL_TRY(next_int(&s, 1, h->rows, &row));
    sl_index_set(coo->row, coo->index, e, row - 1);
    int64_t col = sl_index_at(coo->col, coo->index, e);
    lower |= row - 1 > col;
    upper |= row - 1 < col;
    if (h->symmetry != SL_GENERAL && lower && upper)
      return sl_text_fail(input, s.line,
                          "entry (%" PRId64 ", %" PRId64 ") lies in the other triangle; type %s has one only",
                          row, col + 1, h->type);
  }
  return section_end(&s, at);
}

/* Returns the declaration of the values: whole numbers if the type or the format says so. */
static sl_literal literal_of(const header *h) {
  return h->type[0] == 'i' ? SL_LITERAL_WHOLE : h->values.integers ? SL_LITERAL_UNTYPED : SL_LITERAL_REAL;
}

/* Reads a value and sets *from to its position. */
static sley_status next_value(section *s, const sl_value_rule *rule, const char **from, double *out) {
  const sl_fortran_item *item;
  const char *to = NULL;
  int64_t whole;
  char text[SL_FORTRAN_TEXT];
  SL_TRY(next_field(s, &item, from, &to));
  if (item->kind == SL_FORTRAN_INTEGER && !sl_fortran_int(s->zeros, *from, to, &whole))
    return bad_field(s, *from, to, "a whole number");
  if (!sl_fortran_real(item, item->kind == SL_FORTRAN_REAL ? s->scale : 0, s->zeros, *from, to, text, out))
    return bad_field(s, *from, to, "a number");
  if (fabs(*out) < rule->sure)
    return SLEY_OK;
  const char *reason = sl_value_reason(rule, text, text + strlen(text), *out);
  return reason ? sl_text_fail(s->input, *from, "the value %s %s", text, reason) : SLEY_OK;
}

static sley_status read_values(const sl_input *input, const header *h, const char **at, sl_coo *coo) {
  section s = section_start(input, "values", &h->values, *at);
  const sl_value_rule rule = sl_value_rule_of(literal_of(h), coo->dtype);
  for (int64_t e = 0; e < h->nnz; e++) {
    const char *from = NULL;
    double value;
    SL_TRY(next_value(&s, &rule, &from, &value));
    if (h->symmetry == SL_SKEW && value != 0 &&
        sl_index_at(coo->row, coo->index, e) == sl_index_at(coo->col, coo->index, e))
      return sl_text_fail(input, from, "a skew-symmetric matrix has zeros on its diagonal");
    sl_value_set(coo->val, coo->dtype, e, value);
  }
  return section_end(&s, at);
}

/* Checks that only right-hand sides follow, which are ignored: at most as many lines as the header declares.
 */
static sley_status check_rest(const sl_input *input, const header *h, const char *at) {
  sl_text rest = {input, at};
  for (int64_t line = 0; line <= h->rhs_lines; line++) {
    if (!sl_text_next_data(&rest, ""))
      return SLEY_OK;
    if (line < h->rhs_lines)
      rest.at = sl_next_line(rest.at, input->end);
  }
  return sl_text_fail(input, rest.at, "more lines follow than %" PRId64 " entries%s need", h->nnz,
                      h->rhs_lines > 0 ? " and the promised right-hand sides" : "");
}

sley_status sl_rb_read(sl_input *input, sley_dtype dtype, sl_team *team, sley_matrix **out) {
  header h = {0};
  SL_TRY(parse_header(input, &h));
  sl_coo coo = {.rows = h.rows, .cols = h.cols, .count = h.nnz, .dtype = dtype};
  coo.index = sl_index_for(h.rows > h.cols ? h.rows : h.cols);
  sley_status status = SLEY_ERR_MEMORY;
  const char *at = h.body;
  coo.row = sl_alloc(h.nnz, sl_index_bytes(coo.index), "row numbers");
  coo.col = sl_alloc(h.nnz, sl_index_bytes(coo.index), "column numbers");
  if (!h.pattern)
    coo.val = sl_alloc(h.nnz, sley_dtype_bytes(dtype), "values");
  if (!coo.row || !coo.col || (!h.pattern && !coo.val))
    goto done;
  SL_TRY_GOTO(status, read_pointers(input, &h, &at, &coo), done);
  SL_TRY_GOTO(status, read_indices(input, &h, &at, &coo), done);
  if (!h.pattern)
    SL_TRY_GOTO(status, read_values(input, &h, &at, &coo), done);
  SL_TRY_GOTO(status, check_rest(input, &h, at), done);
  status = sl_coo_to_csr(&coo, h.symmetry, SL_SUM_REPEATS, team, out);
done:
  sl_coo_free(&coo);
  return status;
}
