/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix Market: telling it, and its header. Source: Boisvert, Pozo, Remington, The Matrix Market exchange
 * formats: initial design, NISTIR 5935, 1996. Lines of the form %%GraphBLAS are comments: the types they name
 * are not used. */
#include "io/mtx.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "io/text.h"

static const char banner[] = "%%MatrixMarket";
enum { RECOGNISED = 4 + 2 }; /* a first line "%%Matr" is meant to be this banner */

/* The whole numbers of a line, up to most; -1 if there is something else on it or more of them. */
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

/* Edge lists exist that carry the banner with the size line as a comment, "%64 64 704". */
static bool is_edge_list_in_disguise(const sl_input *input) {
  sl_text text = sl_text_start(input);
  int64_t sizes[3];
  const char *second = sl_next_line(input->begin, input->end);
  if (second == input->end || *second != '%' || line_of_ints(second + 1, input->end, sizes, 3) != 3)
    return false;
  return sl_text_next_data(&text, "%") && line_of_ints(text.at, input->end, sizes, 3) == 2;
}

bool sl_mtx_sniff(const sl_input *input) {
  return input->end - input->begin >= RECOGNISED && strncasecmp(input->begin, banner, RECOGNISED) == 0 &&
         !is_edge_list_in_disguise(input);
}

/* The next word of a line, in small letters; "" at its end. */
static void next_word(const char **at, const char *end, char *word, size_t room) {
  size_t length = 0;
  const char *p = sl_skip_blanks(*at);
  for (; p < end && !sl_token_ends(p); p++)
    if (length + 1 < room)
      word[length++] = (char)tolower((unsigned char)*p);
  word[length] = 0;
  *at = p;
}

static sley_status parse_banner(const sl_input *input, sl_mtx_header *header) {
  char word[24];
  const char *start = input->begin, *at = start, *end = input->end;
  next_word(&at, end, word, sizeof word);
  if (strcasecmp(word, banner) != 0)
    return sl_text_fail(input, start, "the first line must start with '%%%%MatrixMarket', not '%s'", word);
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
    header->symmetry = SL_SYMMETRIC; /* real values are their own conjugates */
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

int64_t sl_mtx_array_entries(int64_t rows, int64_t cols, sl_symmetry symmetry) {
  int64_t entries, longer = symmetry == SL_GENERAL ? cols : symmetry == SL_SYMMETRIC ? rows + 1 : rows - 1;
  if (__builtin_mul_overflow(rows, longer, &entries))
    return -1;
  return symmetry == SL_GENERAL ? entries : entries / 2;
}

static sley_status parse_sizes(const sl_input *input, sl_text *text, sl_mtx_header *header) {
  int64_t sizes[3] = {0};
  if (!sl_text_next_data(text, "%"))
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
  header->count = header->array ? sl_mtx_array_entries(sizes[0], sizes[1], header->symmetry) : sizes[2];
  if (header->count < 0)
    return sl_text_fail(input, text->at, "the number of entries is %s",
                        header->array ? "too large" : "negative");
  header->body = sl_next_line(text->at, input->end);
  return SLEY_OK;
}

sley_status sl_mtx_read_header(const sl_input *input, sl_mtx_header *out) {
  *out = (sl_mtx_header){0};
  sl_text text = sl_text_start(input);
  SL_TRY(parse_banner(input, out));
  text.at = sl_next_line(input->begin, input->end);
  return parse_sizes(input, &text, out);
}

sley_status sl_mtx_read(sl_input *input, sley_dtype dtype, sl_team *team, sley_matrix **out) {
  sl_mtx_header header;
  SL_TRY(sl_mtx_read_header(input, &header));
  return sl_mtx_parse(input, &header, dtype, team, out);
}

/* ---------------------------------------------------------------------------------------- files without a
 * header */

static const char bare_comments[] = "%#";

/* Whether exactly count lines of data follow at. */
static bool has_lines(const char *at, const char *end, int64_t count) {
  int64_t lines = sl_count_lines(at, end);
  return lines >= count && (lines == count || sl_count_data_lines(at, end, bare_comments) == count);
}

/* Understands the shapes "m n nnz" + triplets, "m n" + values, and a column of values alone, by the first two
 * lines of data; whether count entries follow is not looked at (-1: as many as there are lines). */
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
  if (found == 3 && on_second == 3) {
    header->count = sizes[2];
    return sizes[2] == 0 || (sizes[0] > 0 && sizes[1] > 0);
  }
  header->array = true;
  header->count = found == 2 ? sl_mtx_array_entries(sizes[0], sizes[1], SL_GENERAL) : -1;
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

bool sl_mtx_bare_sniff(const sl_input *input) {
  sl_mtx_header header;
  return bare_header(input, &header);
}

sley_status sl_mtx_bare_read(sl_input *input, sley_dtype dtype, sl_team *team, sley_matrix **out) {
  sl_mtx_header header;
  if (!bare_header(input, &header))
    return sl_text_fail(input, input->begin, "no sizes that fit the lines after them");
  SL_TRY(sl_input_check_size(input, header.sizes, header.rows, header.cols));
  return sl_mtx_parse(input, &header, dtype, team, out);
}
