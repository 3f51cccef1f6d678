/* SPDX-License-Identifier: Apache-2.0 */
/* Reader of METIS graphs: a header "vertices edges [fmt [ncon]]", then a line for each vertex: its size (fmt
 * 1xx), its ncon weights (x1x), and its neighbours, counted from 1, each with the edge's weight (xx1). Lines
 * that start with % are comments, an empty line is a vertex without neighbours. Every edge must be in the
 * lines of both its vertices, which is checked. Vertex sizes and weights are skipped. Source: METIS manual
 * 5.1, section 4.1.1. */
#include <inttypes.h>
#include <string.h>

#include "base/interrupt.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/value.h"
#include "io/format.h"
#include "io/literal.h"
#include "io/pieces.h"

typedef enum problem { FINE, BAD_NUMBER, BAD_VERTEX, BAD_WEIGHT, NO_WEIGHT, TOO_MANY_LINES } problem;

/* The contents of one piece of the text, and its first error. */
typedef struct piece {
  int64_t lines, entries; /* numbers of lines and entries in the piece; later, numbers before it */
  uint64_t balance;       /* a sum over its entries that is zero for a symmetric graph */
  bool sorted;
  problem problem;
  const char *at;
} piece;

typedef struct graph {
  const sl_input *input;
  const char *header, *body;
  int64_t vertices, edges, skipped; /* skipped: number of values before the neighbours in a line */
  bool weighted;
  sley_index index;
  sley_dtype dtype;
  sl_value_rule rule; /* rule for edge weights */
  int64_t pieces;
  piece *piece;
  sl_csr_arrays arrays;
} graph;

/* Returns whether the number is a format: up to three digits that are 0 or 1, read as a decimal number. */
static bool is_format(int64_t number) {
  return number >= 0 && number <= 111 && number % 10 <= 1 && number / 10 % 10 <= 1;
}

/* Scans the header's numbers; returns false if the first line of data is not a header. */
static bool scan_header(const sl_input *input, graph *out) {
  sl_text text = sl_text_start(input);
  int64_t number[4] = {0, 0, 0, 0};
  int count = 0;
  if (!sl_text_next_data(&text, "%"))
    return false;
  out->input = input;
  out->header = text.at;
  for (const char *at = text.at; *at && *at != '\n'; at = sl_skip_blanks(at)) {
    if (count == 4 || !(at = sl_scan_int(at, &number[count])) || !sl_token_ends(at) || number[count] < 0)
      return false;
    count++;
  }
  if (count < 2 || !is_format(number[2]) || (count == 4 && number[2] / 10 % 10 == 0 && number[3] > 1))
    return false;
  bool vertex_weights = number[2] / 10 % 10 == 1;
  int64_t weights = vertex_weights ? (count == 4 ? number[3] : 1) : 0;
  if (weights > 1 << 20)
    return false;
  out->vertices = number[0];
  out->edges = number[1];
  out->weighted = number[2] % 10 == 1;
  out->skipped = weights + number[2] / 100;
  out->body = sl_next_line(text.at, input->end);
  return true;
}

static bool is_blank_line(const char *at, const char *end) {
  at = sl_skip_blanks(at);
  return *at == '\n' || at >= end;
}

static bool is_comment(const char *at) {
  return *sl_skip_blanks(at) == '%';
}

/* Counts the tokens from `at` to the end of its line. */
static int64_t tokens_of(const char *at) {
  int64_t count = 0;
  for (at = sl_skip_blanks(at); !sl_token_ends(at); at = sl_skip_blanks(at)) {
    count++;
    while (!sl_token_ends(at))
      at++;
  }
  return count;
}

/* Returns whether only the empty line of the last vertex, which has no neighbours, is missing. */
static bool lacks_last_line(const graph *g, int64_t lines) {
  return lines == g->vertices - 1 && g->body[-1] == '\n' && g->input->end[-1] == '\n';
}

bool sl_metis_guess(const sl_input *input) {
  graph g = {0};
  if (!scan_header(input, &g))
    return false;
  int64_t lines = 0, tokens = 0;
  for (const char *at = g.body; at < input->end; at = sl_next_line(at, input->end)) {
    if (is_comment(at))
      continue;
    if (lines == g.vertices) {
      if (!is_blank_line(at, input->end))
        return false;
      continue;
    }
    tokens += tokens_of(at);
    lines++;
  }
  if ((lines != g.vertices && !lacks_last_line(&g, lines)) || lines == 0 || g.edges == 0)
    return false;
  /* the number of lines matches the vertices, and the number of neighbours the edges */
  int64_t per_entry = g.weighted ? 2 : 1, left = tokens - lines * g.skipped;
  return left >= 0 && left / 2 / per_entry == g.edges && left % (2 * per_entry) == 0;
}

bool sl_metis_head(const sl_input *head, int64_t *lines, const char **body) {
  graph g = {0};
  if (!scan_header(head, &g))
    return false;
  *lines = g.vertices;
  *body = g.body;
  return true;
}

static void note(piece *p, problem found, const char *at) {
  p->problem = found;
  p->at = at;
}

/* Counts the lines of vertices and their entries. */
static sley_status count_pieces(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  graph *g = context;
  SL_TRY(sl_interrupted());
  for (int64_t i = begin; i < end; i++) {
    piece *p = &g->piece[i];
    const char *at = sl_piece_start(g->body, g->input->end, i, g->pieces);
    const char *stop = sl_piece_start(g->body, g->input->end, i + 1, g->pieces);
    for (; at < stop; at = sl_next_line(at, stop)) {
      if (is_comment(at))
        continue;
      int64_t tokens = tokens_of(at) - g->skipped;
      p->lines++;
      p->entries += tokens <= 0 ? 0 : (g->weighted ? tokens / 2 : tokens);
    }
  }
  return SLEY_OK;
}

/* Returns the contribution of entry (row, col) to the balance, which is the negative of the contribution of
   (col, row). */
static uint64_t balance_of(int64_t row, int64_t col, double weight) {
  uint64_t bits, low = (uint64_t)(row < col ? row : col), high = (uint64_t)(row < col ? col : row);
  memcpy(&bits, &weight, sizeof bits);
  uint64_t hash = sl_mix(sl_mix(sl_mix(low) + high) + bits);
  return row < col ? hash : (row > col ? -hash : 0);
}

/* Parses the line of vertex v into the entries from *e on, and advances *e; stops at the first problem. */
static void parse_line(graph *g, piece *p, const char *at, int64_t v, int64_t *e) {
  int64_t before = -1;
  for (int64_t i = 0; i < g->skipped; i++) {
    double weight;
    const char *start = sl_skip_blanks(at);
    at = sl_scan_real(start, false, &weight);
    if (!at || !sl_token_ends(at)) {
      note(p, BAD_WEIGHT, start);
      return;
    }
  }
  for (at = sl_skip_blanks(at); *at != '\n' && at < g->input->end; at = sl_skip_blanks(at)) {
    const char *start = at;
    int64_t neighbour;
    double weight = 1;
    at = sl_scan_int(start, &neighbour);
    if (!at || !sl_token_ends(at)) {
      note(p, BAD_NUMBER, start);
      return;
    }
    if (neighbour < 1 || neighbour > g->vertices) {
      note(p, BAD_VERTEX, start);
      return;
    }
    if (g->weighted) {
      start = sl_skip_blanks(at);
      at = sl_scan_value(&g->rule, start, &weight);
      if (!at || !sl_token_ends(at)) {
        note(p, *start == '\n' || start >= g->input->end ? NO_WEIGHT : BAD_WEIGHT, start);
        return;
      }
    }
    p->sorted &= neighbour - 1 >= before;
    before = neighbour - 1;
    p->balance += balance_of(v, before, weight);
    sl_index_set(g->arrays.col, g->index, *e, before);
    sl_value_set(g->arrays.val, g->dtype, *e, weight);
    ++*e;
  }
}

static sley_status parse_pieces(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  graph *g = context;
  SL_TRY(sl_interrupted());
  for (int64_t i = begin; i < end; i++) {
    piece *p = &g->piece[i];
    int64_t v = p->lines, e = p->entries;
    p->sorted = true;
    const char *at = sl_piece_start(g->body, g->input->end, i, g->pieces);
    const char *stop = sl_piece_start(g->body, g->input->end, i + 1, g->pieces);
    for (; at < stop && !p->problem; at = sl_next_line(at, stop)) {
      if (is_comment(at))
        continue;
      if (v < g->vertices) {
        g->arrays.rowptr[v] = e;
        parse_line(g, p, at, v, &e);
      } else if (!is_blank_line(at, stop)) {
        note(p, TOO_MANY_LINES, at);
      }
      v++;
    }
  }
  return SLEY_OK;
}

static sley_status report(const graph *g, const piece *p) {
  const char *at = p->at;
  switch (p->problem) {
  case BAD_VERTEX:
    return sl_text_fail(g->input, at, "a neighbour is outside 1 .. %" PRId64, g->vertices);
  case BAD_WEIGHT:
    return sl_value_fail(g->input, at, &g->rule, "a weight is missing or not a number");
  case NO_WEIGHT:
    return sl_text_fail(g->input, at,
                        "the last neighbour has no edge weight, which the header's format asks for");
  case TOO_MANY_LINES:
    return sl_text_fail(g->input, at, "a line follows the line of the last vertex, %" PRId64, g->vertices);
  default:
    return sl_text_fail(g->input, at, "a neighbour is not a whole number");
  }
}

/* Returns the line of vertex v, counted from 0. */
static const char *line_of(const graph *g, int64_t v) {
  const char *at = g->body;
  for (; at < g->input->end; at = sl_next_line(at, g->input->end))
    if (!is_comment(at) && v-- == 0)
      break;
  return at;
}

/* Returns the number of entries of the sorted row that have this column, and in *sum the sum of their values.
 */
static int64_t find_entries(const graph *g, int64_t row, int64_t col, double *sum) {
  int64_t low = g->arrays.rowptr[row], high = g->arrays.rowptr[row + 1], end = high, count = 0;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (sl_index_at(g->arrays.col, g->index, middle) < col)
      low = middle + 1;
    else
      high = middle;
  }
  *sum = 0;
  for (; low < end && sl_index_at(g->arrays.col, g->index, low) == col; low++, count++)
    *sum += sl_value_at(g->arrays.val, g->dtype, low);
  return count;
}

/* Reports the first edge that differs between the lines of its two vertices. */
static sley_status report_asymmetry(const graph *g) {
  for (int64_t v = 0; v < g->vertices; v++)
    for (int64_t e = g->arrays.rowptr[v]; e < g->arrays.rowptr[v + 1]; e++) {
      int64_t u = sl_index_at(g->arrays.col, g->index, e);
      double here, there;
      int64_t times = find_entries(g, v, u, &here), back = find_entries(g, u, v, &there);
      if (times != back)
        return sl_text_fail(g->input, line_of(g, v),
                            "vertex %" PRId64 " names %" PRId64 " %" PRId64
                            " times, but is named by it %" PRId64 " times",
                            v + 1, u + 1, times, back);
      if (here != there)
        return sl_text_fail(g->input, line_of(g, v),
                            "the edge of %" PRId64 " and %" PRId64 " has two weights, %g and %g", v + 1,
                            u + 1, here, there);
    }
  return sl_text_fail(g->input, g->header, "an edge has different weights in its two vertices' lines");
}

/* Turns the pieces' counts into the counts before each piece, and checks the totals against the header. */
static sley_status check_counts(graph *g) {
  int64_t lines = 0, entries = 0;
  for (int64_t i = 0; i < g->pieces; i++) {
    piece *p = &g->piece[i];
    int64_t l = p->lines, e = p->entries;
    p->lines = lines;
    p->entries = entries;
    lines += l;
    entries += e;
  }
  if (lines < g->vertices && !(lacks_last_line(g, lines) && g->skipped == 0))
    return sl_text_fail(g->input, g->input->end, "the file ends after %" PRId64 " of %" PRId64 " vertices",
                        lines, g->vertices);
  return SLEY_OK;
}

static sley_status parse_graph(graph *g, sl_team *team) {
  SL_TRY(sl_team_for(team, g->pieces, 1, count_pieces, g));
  const piece *last = &g->piece[g->pieces - 1];
  int64_t of_last = last->entries;
  SL_TRY(check_counts(g));
  int64_t nnz = last->entries + of_last;
  SL_TRY(SL_NEW(g->arrays.rowptr, g->vertices + 1, "row pointers"));
  if (g->vertices > 0)
    g->arrays.rowptr[g->vertices - 1] = nnz; /* the file may lack the line of the last vertex */
  g->arrays.col = sl_alloc(nnz, sl_index_bytes(g->index), "columns");
  g->arrays.val = g->arrays.col ? sl_alloc(nnz, sley_dtype_bytes(g->dtype), "values") : NULL;
  if (!g->arrays.val)
    return SLEY_ERR_MEMORY;
  SL_TRY(sl_team_for(team, g->pieces, 1, parse_pieces, g));
  uint64_t balance = 0;
  bool sorted = true;
  for (int64_t i = 0; i < g->pieces; i++) {
    if (g->piece[i].problem)
      return report(g, &g->piece[i]);
    balance += g->piece[i].balance;
    sorted &= g->piece[i].sorted;
  }
  if (nnz % 2 != 0 || nnz / 2 != g->edges)
    return sl_text_fail(g->input, g->header,
                        "the header counts %" PRId64 " edges, but the lines hold %" PRId64
                        " neighbours; each edge makes two",
                        g->edges, nnz);
  g->arrays.rowptr[g->vertices] = nnz;
  if (!sorted)
    SL_TRY(sl_csr_sort_rows(g->vertices, g->arrays.rowptr, g->index, g->arrays.col, g->dtype, g->arrays.val,
                            team));
  return balance == 0 ? SLEY_OK : report_asymmetry(g);
}

sley_status sl_metis_read(sl_input *input, sley_dtype dtype, sl_team *team, sley_matrix **out) {
  graph g = {.dtype = dtype, .rule = sl_value_rule_of(SL_LITERAL_UNTYPED, dtype)};
  if (!scan_header(input, &g)) {
    sl_text text = sl_text_start(input);
    sl_text_next_data(&text, "%");
    return sl_text_fail(input, text.at,
                        "no METIS header: two to four whole numbers, vertices edges [fmt [ncon]]");
  }
  if (g.vertices > input->end - g.body)
    return sl_text_fail(input, g.header, "%" PRId64 " vertices cannot be in a file of %" PRId64 " bytes",
                        g.vertices, (int64_t)(input->end - input->begin));
  g.index = sl_index_for(g.vertices);
  g.pieces = sl_piece_count(g.body, input->end);
  SL_TRY(SL_NEW_ZERO(g.piece, g.pieces, "pieces of a text"));
  sley_status status = parse_graph(&g, team);
  sl_free(g.piece);
  if (status != SLEY_OK) {
    sl_csr_arrays_free(&g.arrays);
    return status;
  }
  sl_input_close(input);
  return sl_matrix_adopt(g.vertices, g.vertices, g.index, dtype, g.arrays, -1, out);
}
