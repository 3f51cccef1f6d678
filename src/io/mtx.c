/* SPDX-License-Identifier: Apache-2.0 */
/* Recognises Matrix Market files, and reads their headers. Source: Boisvert, Pozo, Remington, The Matrix
 * Market exchange formats: initial design, NISTIR 5935, 1996. Lines of the form %%GraphBLAS are comments: the
 * types in them are not used. */
#include "io/mtx.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "io/text.h"

static const char banner[] = "%%MatrixMarket";
enum {
  RECOGNISED = 4 + 2,     /* characters of the banner, "%%Matr", that suffice in a first line */
  BANNER_BYTES = 1 << 16, /* lines that begin within that many bytes may be the banner */
  WORD = 24
};

/* Scans the whole numbers of a line, at most `most`; returns -1 if the line has anything else or more
   numbers. */
static int line_of_ints(const char *at, const char *end, int64_t *values, int most) {
  int count = 0;
  for (at = sl_skip_blanks(at); at < end && *at != '\n'; at = sl_skip_blanks(at)) {
    const char *after = count < most ? sl_scan_int(at, &values[count]) : NULL;
    if (!after || !sl_token_ends(after))
      return -1;
    count++;
    at = after;
  }
  return count;
}

/* Copies the next word of a line, in lower case; "" at the line's end. */
static void next_word(const char **at, const char *end, char *word, size_t room) {
  size_t length = 0;
  const char *p = sl_skip_blanks(*at);
  for (; p < end && !sl_token_ends(p); p++)
    if (length + 1 < room)
      word[length++] = (char)tolower((unsigned char)*p);
  word[length] = 0;
  *at = p;
}

/* Skips marks before the first word of a line. */
static const char *behind_marks(const char *line, const char *end) {
  while (line < end && *line != 0 && strchr("%#\"' \t", *line))
    line++;
  return line;
}

/* Advances *at beyond "MatrixMarket", in one word or two, ignoring case; returns false if the line has
 * another text there. */
static bool skip_market(const char **at, const char *end) {
  char word[WORD];
  const char *p = *at;
  next_word(&p, end, word, sizeof word);
  if (strcmp(word, "matrix") == 0)
    next_word(&p, end, word + strlen(word), sizeof word - strlen(word));
  if (strcmp(word, "matrixmarket") != 0 && strcmp(word, "matrix-market") != 0 &&
      strcmp(word, "matrix_market") != 0)
    return false;
  *at = p;
  return true;
}

/* Returns whether a line is the banner or nearly the banner: MatrixMarket and the next word, or "matrix
 * coordinate" or "matrix array" as the first words or after another word. */
static bool is_banner(const char *line, const char *end) {
  char word[WORD], before[WORD] = "";
  const char *at = behind_marks(line, end), *first = at;
  bool market = skip_market(&at, end);
  next_word(&at, end, word, sizeof word);
  if (market &&
      (strcmp(word, "matrix") == 0 || strcmp(word, "coordinate") == 0 || strcmp(word, "array") == 0))
    return true;
  for (int w = 0; w < 3; w++) {
    next_word(&first, end, word, sizeof word);
    if (strcmp(before, "matrix") == 0 && (strcmp(word, "coordinate") == 0 || strcmp(word, "array") == 0))
      return true;
    memcpy(before, word, sizeof before);
  }
  return false;
}

/* Finds the banner's line: among blank lines and comments before any data, or as the first line of data
 * itself. Returns NULL if there is none. */
static const char *find_banner(const sl_input *input) {
  const char *end = input->end;
  if (end - input->begin >= RECOGNISED && strncasecmp(input->begin, banner, RECOGNISED) == 0)
    return input->begin;
  for (const char *line = input->begin; line < end && line - input->begin < BANNER_BYTES;
       line = sl_next_line(line, end)) {
    if (is_banner(line, end))
      return line;
    const char *at = sl_skip_blanks(line);
    if (at < end && *at != '\n' && *at != '%' && *at != '#')
      return NULL;
  }
  return NULL;
}

bool sl_mtx_banner(const sl_input *input) {
  return find_banner(input) != NULL;
}

static sley_status parse_banner(const sl_input *input, const char *start, sl_mtx_header *header) {
  char word[WORD];
  const char *end = input->end, *at = behind_marks(start, end);
  if (!skip_market(&at, end)) {
    at = start;
    next_word(&at, end, word, sizeof word);
    return sl_text_fail(input, start, "the first line must start with '%%%%MatrixMarket', not '%s'", word);
  }
  next_word(&at, end, word, sizeof word);
  if (strcmp(word, "matrix") != 0)
    return sl_text_fail(input, start, "object '%s' is unknown; Sley reads 'matrix'", word);
  next_word(&at, end, word, sizeof word);
  header->array = strcmp(word, "array") == 0;
  if (!header->array && strcmp(word, "coordinate") != 0)
    return sl_text_fail(input, start, "format '%s' is unknown; it must be coordinate or array", word);
  next_word(&at, end, word, sizeof word);
  bool complex = strcmp(word, "complex") == 0;
  header->pattern = strcmp(word, "pattern") == 0;
  static const struct {
    const char *name;
    sl_literal literal;
  } fields[] = {{"real", SL_LITERAL_REAL},     {"double", SL_LITERAL_REAL},
                {"integer", SL_LITERAL_WHOLE}, {"unsigned-integer", SL_LITERAL_UNSIGNED},
                {"pattern", SL_LITERAL_REAL},  {"complex", SL_LITERAL_REAL}};
  bool known = false;
  for (size_t f = 0; f < sizeof fields / sizeof *fields && !known; f++) {
    known = strcmp(word, fields[f].name) == 0;
    header->literal = fields[f].literal;
  }
  if (!known)
    return sl_text_fail(input, start, "field '%s' is unknown; it must be real, integer, pattern or complex",
                        word);
  next_word(&at, end, word, sizeof word);
  bool hermitian = strcmp(word, "hermitian") == 0;
  if (strcmp(word, "general") == 0)
    header->symmetry = SL_GENERAL;
  else if (strcmp(word, "symmetric") == 0 || hermitian)
    header->symmetry = SL_SYMMETRIC; /* for real values hermitian means symmetric */
  else if (strcmp(word, "skew-symmetric") == 0)
    header->symmetry = SL_SKEW;
  else
    return sl_text_fail(
        input, start, "symmetry '%s' is unknown; it must be general, symmetric, skew-symmetric or hermitian",
        word);
  if (header->pattern && (header->array || header->symmetry == SL_SKEW))
    return sl_text_fail(input, start,
                        "a pattern cannot be %s; give values, or write coordinate pattern general",
                        header->array ? "an array" : "skew-symmetric");
  next_word(&at, end, word, sizeof word);
  if (word[0])
    return sl_text_fail(input, start, "'%s' after the symmetry is not understood; remove it", word);
  if (complex)
    return sl_text_fail_as(SLEY_ERR_UNSUPPORTED, input, start,
                           "complex values are not supported; convert the matrix to real ones");
  return SLEY_OK;
}

/* Returns the number of entries that an array of this size and symmetry stores; -1 if that overflows. A
 * symmetric array stores its lower triangle, a skew-symmetric array its lower triangle without the diagonal.
 */
static int64_t array_entries(int64_t rows, int64_t cols, sl_symmetry symmetry) {
  int64_t entries, longer = symmetry == SL_GENERAL ? cols : symmetry == SL_SYMMETRIC ? rows + 1 : rows - 1;
  if (__builtin_mul_overflow(rows, longer, &entries))
    return -1;
  return symmetry == SL_GENERAL ? entries : entries / 2;
}

/* Finds sizes in a comment. Some files have their sizes in the comment after the banner, "%64 64 704". Then
 * the first line of data is an entry of two numbers, which cannot be sizes. */
static const char *sizes_in_comment(const sl_input *input, const char *at, const sl_mtx_header *header) {
  sl_text text = {input, at};
  int64_t sizes[3];
  if (at >= input->end || *at != '%' || header->array || line_of_ints(at + 1, input->end, sizes, 3) != 3)
    return NULL;
  return sl_text_next_data(&text, "%") && line_of_ints(text.at, input->end, sizes, 3) == 2 ? at + 1 : NULL;
}

/* Parses the sizes, after the banner's line at `at`. */
static sley_status parse_sizes(const sl_input *input, const char *at, sl_mtx_header *header) {
  int64_t sizes[3] = {0};
  sl_text at_sizes = {input, at}, *text = &at_sizes;
  const char *comment = sizes_in_comment(input, at, header);
  if (comment)
    text->at = comment;
  else if (!sl_text_next_data(text, "%"))
    return sl_text_fail(input, input->end, "the file ends before its size line");
  header->sizes = text->at;
  int found = line_of_ints(text->at, input->end, sizes, 3);
  if (found != (header->array ? 2 : 3))
    return sl_text_fail(input, text->at, "the size line must be %s",
                        header->array ? "two whole numbers: rows and columns"
                                      : "three whole numbers: rows, columns and entries");
  header->rows = sizes[0];
  header->cols = sizes[1];
  SL_TRY(sl_input_check_size(input, text->at, header->rows, header->cols));
  if (header->symmetry != SL_GENERAL && header->rows != header->cols)
    return sl_text_fail(input, text->at, "a symmetric matrix must be square, not %lld x %lld",
                        (long long)header->rows, (long long)header->cols);
  header->count = header->array ? array_entries(sizes[0], sizes[1], header->symmetry) : sizes[2];
  if (header->count < 0)
    return sl_text_fail(input, text->at, "the number of entries is %s",
                        header->array ? "too large" : "negative");
  header->body = sl_next_line(text->at, input->end);
  return SLEY_OK;
}

sley_status sl_mtx_read_header(const sl_input *input, sl_mtx_header *out) {
  const char *line = find_banner(input);
  *out = (sl_mtx_header){0};
  if (!line)
    line = input->begin;
  SL_TRY(parse_banner(input, line, out));
  return parse_sizes(input, sl_next_line(line, input->end), out);
}

sley_status sl_mtx_read(sl_input *input, sley_dtype dtype, sl_team *team, sley_matrix **out) {
  sl_mtx_header header;
  SL_TRY(sl_mtx_read_header(input, &header));
  return sl_mtx_parse(input, &header, dtype, team, out);
}

/* ---------------------------------------------------------------------------------------- files without a
 * header */

static const char bare_comments[] = "%#";

/* Returns whether exactly count lines of data follow `at`. */
static bool has_lines(const char *at, const char *end, int64_t count) {
  int64_t lines = sl_count_lines(at, end);
  return lines >= count && (lines == count || sl_count_data_lines(at, end, bare_comments) == count);
}

/* Recognises the shapes "m n nnz" + triplets, "m n" + values, and a column of values alone, by the first two
 * lines of data; does not check that count entries follow. A count of -1 stands for the number of lines. */
static bool bare_shape(const sl_input *input, sl_mtx_header *header) {
  const char *end = input->end;
  sl_text text = sl_text_start(input);
  if (!sl_text_next_data(&text, bare_comments))
    return false;
  const char *first = text.at;
  int64_t sizes[3];
  double value;
  int on_first = sl_count_tokens(first, end, 4), found = line_of_ints(first, end, sizes, 3);
  const char *body = text.at = sl_next_line(first, end), *after;
  int on_second = sl_text_next_data(&text, bare_comments) ? sl_count_tokens(text.at, end, 4) : 0;
  *header = (sl_mtx_header){.bare = true, .literal = SL_LITERAL_UNTYPED, .sizes = first, .body = body};
  if (on_first == 1 && on_second <= 1) {
    after = sl_scan_real(first, false, &value);
    if (!after || !sl_token_ends(after))
      return false;
    header->array = true;
    header->count = header->rows = -1;
    header->cols = 1;
    header->body = first;
    return true;
  }
  for (int i = 0; i < found; i++)
    if (sizes[i] < 0)
      return false;
  if (found >= 2) {
    header->rows = sizes[0];
    header->cols = sizes[1];
  }
  if (found == 3 && on_second == (sizes[2] == 0 ? 0 : 3)) {
    header->count = sizes[2];
    return sizes[2] == 0 || (sizes[0] > 0 && sizes[1] > 0);
  }
  header->array = true;
  header->count = found == 2 ? array_entries(sizes[0], sizes[1], SL_GENERAL) : -1;
  return found == 2 && on_second == 1 && header->count >= 0;
}

static bool bare_header(const sl_input *input, sl_mtx_header *header) {
  if (!bare_shape(input, header))
    return false;
  if (header->count >= 0)
    return has_lines(header->body, input->end, header->count);
  header->count = header->rows = sl_count_data_lines(header->body, input->end, bare_comments);
  return true;
}

bool sl_mtx_bare_head(const sl_input *head, int64_t *lines, const char **body) {
  sl_mtx_header header;
  if (!bare_shape(head, &header))
    return false;
  *lines = header.count;
  *body = header.body;
  return true;
}

bool sl_mtx_bare_guess(const sl_input *input) {
  sl_mtx_header header;
  return bare_header(input, &header);
}

/* Returns whether every line is a whole number, as in a file of labels. */
static bool all_whole(const sl_input *input) {
  sl_text text = sl_text_start(input);
  int64_t number;
  for (; sl_text_next_data(&text, bare_comments); text.at = sl_next_line(text.at, input->end)) {
    const char *after = sl_scan_int(text.at, &number);
    if (!after || !sl_token_ends(after))
      return false;
  }
  return true;
}

sley_status sl_mtx_bare_read(sl_input *input, sley_dtype dtype, sl_team *team, sley_matrix **out) {
  sl_mtx_header header;
  if (!bare_header(input, &header))
    return sl_text_fail(
        input, input->begin,
        "no Matrix Market banner leads the file, and it starts with no sizes that fit the lines "
        "after them; if it is another format, name it (--format)");
  SL_TRY(sl_input_check_size(input, header.sizes, header.rows, header.cols));
  bool column = header.body == header.sizes;
  input->source.shape = !header.array      ? SL_SHAPE_TRIPLETS
                        : !column          ? SL_SHAPE_ARRAY
                        : all_whole(input) ? SL_SHAPE_INTEGERS
                                           : SL_SHAPE_COLUMN;
  return sl_mtx_parse(input, &header, dtype, team, out);
}
