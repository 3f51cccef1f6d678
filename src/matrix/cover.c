/* SPDX-License-Identifier: Apache-2.0 */
/* Minimum vertex covers, in three steps without recursion:
 *
 * 1. A nearly maximum matching (Karp and Sipser 1981). A vertex with one live neighbour is matched with it,
 * which is always part of some maximum matching. If there is no such vertex, the row with the fewest edges is
 * matched with its neighbour with the fewest live edges.
 *
 * 2. Completion by Hopcroft and Karp 1973. Each phase is a breadth-first search from the free rows and a
 * maximal set of shortest augmenting paths, found depth-first with one pass over every adjacency.
 *
 * 3. Konig's theorem. Let Z be the vertices that the free rows reach along alternating paths. The rows
 * outside Z and the columns inside Z cover every edge, and their number is the number of edges of the
 * matching. Z is the same for every maximum matching (Dulmage and Mendelsohn 1958), so the cover depends only
 * on the graph. */
#include "matrix/cover.h"

#include <string.h>

#include "base/interrupt.h"
#include "base/memory.h"

/* One side of the graph during the first matching. */
typedef struct side {
  int32_t count;
  const int64_t *begin;     /* count + 1 positions in neighbour */
  const int32_t *neighbour; /* vertices of the other side */
  int32_t *match;           /* -1: free */
  uint32_t *live;           /* number of edges to free vertices */
  int32_t *single;          /* stack of vertices that had one live edge */
  int32_t singles;
} side;

/* Transposes the adjacency. begin has cols + 1 elements, row one per edge, ascending within a column. */
static void transpose(const sl_bipartite *graph, int64_t *begin, int32_t *row) {
  memset(begin, 0, ((size_t)graph->cols + 1) * sizeof *begin);
  for (int64_t e = graph->rowptr[0]; e < graph->rowptr[graph->rows]; e++)
    begin[graph->adjacency[e]]++;
  for (int64_t c = 0, sum = 0; c <= graph->cols; c++) {
    sum += begin[c];
    begin[c] = sum;
  }
  for (int32_t i = graph->rows; i-- > 0;)
    for (int64_t e = graph->rowptr[i + 1]; e-- > graph->rowptr[i];)
      row[--begin[graph->adjacency[e]]] = i;
}

/* Removes one live edge from every free neighbour of a matched vertex of s. */
static void retire(const side *s, int32_t vertex, side *t) {
  for (int64_t e = s->begin[vertex]; e < s->begin[vertex + 1]; e++) {
    int32_t w = s->neighbour[e];
    if (t->match[w] < 0 && t->live[w] > 0 && --t->live[w] == 1)
      t->single[t->singles++] = w;
  }
}

static void join(side *s, int32_t u, side *t, int32_t v) {
  s->match[u] = v;
  t->match[v] = u;
  retire(s, u, t);
  retire(t, v, s);
}

/* Matches a vertex with the first of its free neighbours with the fewest live edges. Returns false if none is
 * free. */
static bool take_poorest(side *s, int32_t vertex, side *t) {
  int32_t best = -1;
  for (int64_t e = s->begin[vertex]; e < s->begin[vertex + 1]; e++) {
    int32_t w = s->neighbour[e];
    if (t->match[w] < 0 && (best < 0 || t->live[w] < t->live[best])) {
      best = w;
      if (t->live[w] <= 1)
        break;
    }
  }
  if (best >= 0)
    join(s, vertex, t, best);
  return best >= 0;
}

static void settle_singles(side *rows, side *cols) {
  while (rows->singles > 0 || cols->singles > 0) {
    side *s = rows->singles > 0 ? rows : cols, *t = s == rows ? cols : rows;
    int32_t vertex = s->single[--s->singles];
    if (s->match[vertex] < 0)
      take_poorest(s, vertex, t);
  }
}

enum { DEGREE_BUCKETS = 256 };

/* Fills order with the rows by ascending degree. Rows of degree DEGREE_BUCKETS - 1 or more come last, in
 * their own order. */
static void sort_by_degree(const sl_bipartite *graph, int32_t *order) {
  int32_t place[DEGREE_BUCKETS + 1] = {0};
  for (int pass = 0; pass < 2; pass++) {
    for (int32_t i = 0; i < graph->rows; i++) {
      int64_t degree = graph->rowptr[i + 1] - graph->rowptr[i];
      int bucket = degree < DEGREE_BUCKETS ? (int)degree : DEGREE_BUCKETS - 1;
      if (pass == 0)
        place[bucket + 1]++;
      else
        order[place[bucket]++] = i;
    }
    for (int b = 0; pass == 0 && b < DEGREE_BUCKETS; b++)
      place[b + 1] += place[b];
  }
}

static void init_side(side *s) {
  for (int32_t v = 0; v < s->count; v++) {
    s->match[v] = -1;
    s->live[v] = (uint32_t)(s->begin[v + 1] - s->begin[v]);
    if (s->live[v] == 1)
      s->single[s->singles++] = v;
  }
}

/* Fills the arrays of the first matching, which have graph->rows and graph->cols elements. */
static sley_status first_matching(const sl_bipartite *graph, int32_t *row_match, int32_t *col_match) {
  sley_status status;
  int64_t *begin = NULL;
  int32_t *neighbour = NULL, *order = NULL;
  side rows = {
      .count = graph->rows, .begin = graph->rowptr, .neighbour = graph->adjacency, .match = row_match};
  side cols = {.count = graph->cols, .match = col_match};
  SL_TRY_GOTO(status, SL_NEW(begin, (int64_t)graph->cols + 1, "a cover's transpose"), out);
  SL_TRY_GOTO(status, SL_NEW(neighbour, graph->rowptr[graph->rows] - graph->rowptr[0], "a cover's transpose"),
              out);
  SL_TRY_GOTO(status, SL_NEW(order, graph->rows, "a cover's row order"), out);
  SL_TRY_GOTO(status, SL_NEW(rows.live, graph->rows, "a cover's degrees"), out);
  SL_TRY_GOTO(status, SL_NEW(cols.live, graph->cols, "a cover's degrees"), out);
  SL_TRY_GOTO(status, SL_NEW(rows.single, graph->rows, "a cover's stack"), out);
  SL_TRY_GOTO(status, SL_NEW(cols.single, graph->cols, "a cover's stack"), out);
  transpose(graph, begin, neighbour);
  cols.begin = begin;
  cols.neighbour = neighbour;
  sort_by_degree(graph, order);
  init_side(&rows);
  init_side(&cols);
  settle_singles(&rows, &cols);
  for (int32_t i = 0; i < graph->rows; i++)
    if (row_match[order[i]] < 0 && take_poorest(&rows, order[i], &cols))
      settle_singles(&rows, &cols);
out:
  sl_free(cols.single);
  sl_free(rows.single);
  sl_free(cols.live);
  sl_free(rows.live);
  sl_free(order);
  sl_free(neighbour);
  sl_free(begin);
  return status;
}

/* State of the search of Hopcroft and Karp. */
typedef struct search {
  const sl_bipartite *graph;
  int32_t *row_match, *col_match;
  int32_t *level; /* number of matched edges on the path from a free row to each row; -1: not reached */
  int64_t *arc;   /* next edge of each row to be tried */
  int32_t *rows;  /* queue of the breadth-first search, then stack of the depth-first searches */
} search;

/* Sets the levels. Returns true if an augmenting path exists. Rows beyond the level of the shortest path are
 * not expanded. */
static bool layer_rows(search *s) {
  const sl_bipartite *graph = s->graph;
  int32_t head = 0, tail = 0, limit = INT32_MAX;
  for (int32_t i = 0; i < graph->rows; i++) {
    bool root = s->row_match[i] < 0 && graph->rowptr[i] < graph->rowptr[i + 1];
    s->level[i] = root ? 0 : -1;
    if (root)
      s->rows[tail++] = i;
  }
  for (; head < tail && s->level[s->rows[head]] <= limit; head++) {
    int32_t i = s->rows[head];
    for (int64_t e = graph->rowptr[i]; e < graph->rowptr[i + 1]; e++) {
      int32_t mate = s->col_match[graph->adjacency[e]];
      if (mate < 0) {
        limit = s->level[i];
        break;
      }
      if (s->level[mate] < 0) {
        s->level[mate] = s->level[i] + 1;
        s->rows[tail++] = mate;
      }
    }
  }
  return limit != INT32_MAX;
}

/* Searches a path from a free row to a free column on which each row is one level higher, and augments along
 * it. */
static void augment_from(search *s, int32_t root) {
  const sl_bipartite *graph = s->graph;
  int32_t depth = 0;
  s->rows[0] = root;
  while (depth >= 0) {
    int32_t i = s->rows[depth], next = -1;
    bool reached = false;
    while (s->arc[i] < graph->rowptr[i + 1]) {
      int32_t mate = s->col_match[graph->adjacency[s->arc[i]++]];
      reached = mate < 0;
      if (reached || s->level[mate] == s->level[i] + 1) {
        next = mate;
        break;
      }
    }
    if (reached) {
      for (; depth >= 0; depth--) {
        int32_t row = s->rows[depth], col = graph->adjacency[s->arc[row] - 1];
        s->row_match[row] = col;
        s->col_match[col] = row;
      }
    } else if (next >= 0) {
      s->rows[++depth] = next;
    } else {
      s->level[i] = -1; /* there is no path from this row in this phase */
      depth--;
    }
  }
}

/* Makes the matching maximum. On return level is 0 or more for exactly the rows in Z. */
static sley_status complete_matching(search *s) {
  const sl_bipartite *graph = s->graph;
  while (layer_rows(s)) {
    SL_TRY(sl_interrupted());
    memcpy(s->arc, graph->rowptr, (size_t)graph->rows * sizeof *s->arc);
    for (int32_t i = 0; i < graph->rows; i++)
      if (s->row_match[i] < 0 && s->level[i] == 0)
        augment_from(s, i);
  }
  return SLEY_OK;
}

static void read_cover(const search *s, sl_cover *cover) {
  const sl_bipartite *graph = s->graph;
  cover->size = 0;
  memset(cover->col_in, 0, (size_t)graph->cols);
  for (int32_t i = 0; i < graph->rows; i++) {
    int32_t col = cover->row_match[i];
    bool reached = s->level[i] >= 0;
    cover->row_in[i] = col >= 0 && !reached;
    if (col >= 0) {
      cover->col_in[col] = reached;
      cover->size++;
    }
  }
}

sley_status sl_min_vertex_cover(const sl_bipartite *graph, sl_cover *out) {
  sley_status status;
  search s = {.graph = graph};
  *out = (sl_cover){0};
  SL_TRY_GOTO(status, SL_NEW(out->row_in, graph->rows, "a cover"), fail);
  SL_TRY_GOTO(status, SL_NEW(out->col_in, graph->cols, "a cover"), fail);
  SL_TRY_GOTO(status, SL_NEW(out->row_match, graph->rows, "a matching"), fail);
  SL_TRY_GOTO(status, SL_NEW(s.col_match, graph->cols, "a matching"), fail);
  s.row_match = out->row_match;
  SL_TRY_GOTO(status, first_matching(graph, s.row_match, s.col_match), fail);
  SL_TRY_GOTO(status, SL_NEW(s.level, graph->rows, "a matching's levels"), fail);
  SL_TRY_GOTO(status, SL_NEW(s.arc, graph->rows, "a matching's arcs"), fail);
  SL_TRY_GOTO(status, SL_NEW(s.rows, graph->rows, "a matching's queue"), fail);
  SL_TRY_GOTO(status, complete_matching(&s), fail);
  read_cover(&s, out);
  goto done;
fail:
  sl_cover_free(out);
done:
  sl_free(s.rows);
  sl_free(s.arc);
  sl_free(s.level);
  sl_free(s.col_match);
  return status;
}

void sl_cover_free(sl_cover *cover) {
  sl_free(cover->row_match);
  sl_free(cover->col_in);
  sl_free(cover->row_in);
  *cover = (sl_cover){0};
}
