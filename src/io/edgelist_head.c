/* SPDX-License-Identifier: Apache-2.0 */
/* The lines before the first entry of an edge list: KONECT's and SNAP's headers, names of columns. */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "io/edgelist.h"
#include "io/text.h"

/* Copies the word at *at, in at most room - 1 characters, and advances *at beyond it; "" at the line's end.
 */
static void next_word(const char **at, const char *end, char *word, size_t room) {
  size_t length = 0;
  const char *p = sl_skip_blanks(*at);
  for (; p < end && !sl_token_ends(p); p++)
    if (length + 1 < room)
      word[length++] = *p;
  word[length] = 0;
  *at = p;
}

static bool is_one_of(const char *word, const char *const *list) {
  for (; *list; list++)
    if (strcasecmp(word, *list) == 0)
      return true;
  return false;
}

/* Returns whether a line is a header of KONECT: "% sym|asym|bip", followed by one of its words for weights or
 * nothing; in the first line of a file any word may follow. *letter: 's', 'a' or 'b'. */
static bool is_konect(const char *line, const char *end, bool first, char *letter) {
  static const char *const kinds[] = {"sym", "asym", "bip", NULL};
  static const char *const weights[] = {"unweighted",       "weighted",    "positive", "posweighted",
                                        "signed",           "multisigned", "dynamic",  "multiweighted",
                                        "multiposweighted", NULL};
  char word[32];
  const char *at = line;
  while (*at == '%' || *at == '#' || *at == ' ' || *at == '\t')
    at++;
  next_word(&at, end, word, sizeof word);
  if (!is_one_of(word, kinds))
    return false;
  *letter = (char)tolower((unsigned char)word[0]);
  next_word(&at, end, word, sizeof word);
  return !word[0] || is_one_of(word, weights) || (first && *line == '%' && line[1] == ' ');
}

/* Scans the whole numbers of a comment, at most `most`; returns -1 if the comment has anything else. */
static int comment_numbers(const char *line, const char *end, int64_t *out, int most) {
  int count = 0;
  for (line = sl_skip_blanks(line + 1); line < end && *line != '\n'; line = sl_skip_blanks(line), count++)
    if (count == most || !(line = sl_scan_int(line, &out[count])) || !sl_token_ends(line) || out[count] < 0)
      return -1;
  return count;
}

/* Returns the number after a word of the line, such as "Nodes: 5"; 0 if there is none. */
static int64_t number_after(const char *line, const char *end, const char *wanted) {
  char word[32];
  int64_t number;
  do {
    next_word(&line, end, word, sizeof word);
    const char *at = sl_skip_blanks(line);
    if (strcasecmp(word, wanted) == 0)
      return sl_scan_int(at, &number) && number > 0 ? number : 0;
  } while (word[0]);
  return 0;
}

/* Examines a comment. */
static void look_at(sl_edge_lines *l, const char *line) {
  const char *end = l->head->end;
  char letter;
  int64_t number[3];
  if (!l->from_one && is_konect(line, end, line == l->head->begin, &letter)) {
    l->from_one = true;
    l->one_direction = letter == 's';
    l->two_sides = letter == 'b';
  } else if (l->from_one && l->rows < 0 && comment_numbers(line, end, number, 3) == 3) {
    l->promised = number[0];
    l->promised_at = line;
    l->rows = number[1];
    l->cols = number[2];
  } else if (!l->from_one && l->nodes == 0) {
    l->nodes = number_after(line, end, "Nodes:");
  }
}

/* Examines all comments before the first line that is neither blank nor a comment, and returns that line. */
static const char *look_at_comments(sl_edge_lines *l) {
  const char *end = l->head->end;
  for (const char *line = l->head->begin; line < end; line = sl_next_line(line, end)) {
    const char *at = sl_skip_blanks(line);
    if (*at == '%' || *at == '#')
      look_at(l, at);
    else if (at < end && *at != '\n')
      return at;
  }
  return end;
}

static bool divides(char c) {
  return c == ',' || c == ';' || c == ' ' || c == '\t' || c == '\r';
}

/* Returns whether a field of the line is a number, which is never the name of a column. */
static bool has_number(const char *line, const char *end) {
  for (const char *at = line; at < end && *at != '\n';) {
    double value;
    const char *after = isdigit((unsigned char)*at) || *at == '-' ? sl_scan_real(at, false, &value) : NULL;
    if (after && (divides(*after) || *after == '\n' || after >= end))
      return true;
    while (at < end && *at != '\n' && !divides(*at))
      at++;
    while (at < end && divides(*at))
      at++;
  }
  return false;
}

/* Returns whether the line has a third field. */
static bool has_value(const char *at, const char *end) {
  for (int field = 0; field < 2; field++) {
    while (at < end && *at != '\n' && !divides(*at))
      at++;
    at = sl_skip_blanks(at);
    at = sl_skip_blanks(at + (at < end && divides(*at)));
  }
  return at < end && *at != '\n' && *at != '#' && *at != '%';
}

void sl_edge_head(const sl_input *head, sley_dtype dtype, sl_edge_lines *out) {
  *out = (sl_edge_lines){
      .head = head, .part = head, .rows = -1, .cols = -1, .promised = -1, .coo = {.dtype = dtype}};
  out->rule = sl_value_rule_of(SL_LITERAL_UNTYPED, dtype);
  const char *first = look_at_comments(out);
  out->body = head->begin;
  if (isalpha((unsigned char)*first) || *first == '"' || *first == '_') {
    out->names_wrong = has_number(first, head->end) ? first : NULL;
    out->body = sl_next_line(first, head->end);
    sl_text text = {head, out->body};
    sl_text_next_data(&text, "#%");
    first = text.at;
  }
  out->begin = out->body;
  out->valued = has_value(first, head->end);
}

/* Comments before any data are examined if they begin within that many bytes. */
enum { HEADER_BYTES = 1 << 16 };

bool sl_edgelist_banner(const sl_input *input) {
  char letter, word[32];
  const char *end = input->end;
  for (const char *line = input->begin; line < end && line - input->begin < HEADER_BYTES;
       line = sl_next_line(line, end)) {
    const char *at = sl_skip_blanks(line);
    if (*at != '%' && *at != '#') {
      if (at < end && *at != '\n')
        return false;
      continue;
    }
    if (is_konect(at, end, at == input->begin, &letter))
      return true;
    if (*at++ != '#')
      continue;
    const char *rest = at;
    next_word(&rest, end, word, sizeof word);
    if (strcasecmp(word, "FromNodeId") == 0 ||
        (number_after(at, end, "Nodes:") && number_after(at, end, "Edges:")))
      return true;
  }
  return false;
}

bool sl_edgelist_marked(const sl_input *input) {
  const char *end = input->end;
  for (const char *line = input->begin; line < end && line - input->begin < HEADER_BYTES;
       line = sl_next_line(line, end)) {
    const char *at = sl_skip_blanks(line);
    if (*at == '#')
      return true;
    if (*at != '%' && *at != '\n' && at < end)
      return false;
  }
  return false;
}

bool sl_edgelist_guess(const sl_input *input) {
  sl_text text = sl_text_start(input);
  int64_t numbers[2], fields = -1;
  double value;
  while (sl_text_next_data(&text, "#%")) {
    const char *at = text.at;
    int64_t here = sl_count_tokens(at, input->end, 4);
    if (here < 2 || here > 3 || (fields >= 0 && here != fields))
      return false;
    fields = here;
    for (int i = 0; i < 2; i++, at = sl_skip_blanks(at))
      if (!(at = sl_scan_int(at, &numbers[i])) || !sl_token_ends(at) || numbers[i] < 0)
        return false;
    if (here == 3 && (!(at = sl_scan_real(at, false, &value)) || !sl_token_ends(at)))
      return false;
    text.at = sl_next_line(text.at, input->end);
  }
  return fields > 0;
}
