/* SPDX-License-Identifier: Apache-2.0 */
/* LOA, the layout of HC-SpMM (Li and others, ICDE 2025): rows that share columns come into one window of
 * SLEY_WINDOW_ROWS rows, so that a window has many entries and few distinct columns: its intensity is high.
 *
 * The vertices are listed by their smallest neighbour. Each window begins with the first vertex of the list
 * that has no place yet. One by one it takes, of the next AHEAD of the list without a place, the vertex with
 * which its intensity is highest, then the one of highest degree, then the first in the list. Vertices
 * without neighbours come last. One thread does it, in the same way however many there are.
 *
 * Intensities are computed from counters, not from unions. A candidate's counter holds how many of its columns the window
 * has already. Where a vertex brings a new column, the candidates that have it are counted up. They are found
 * in the column's own list of vertices, in the sequence of the sorted list, of which the candidates' stretch
 * is a consecutive part. The published method counts up all neighbours of the column, the square of a hub's
 * degree over all windows.
 *
 * Bound of the work. A vertex among the candidates moves forward in every window, so it waits for AHEAD
 * windows at most, in which 15 vertices behind it get places: the candidates' stretch of the list holds 16
 * AHEAD vertices at most. A column is new once for each of its entries at most. So all counting takes at most
 * 16 AHEAD steps an entry, on hubs too, and all choosing AHEAD steps a vertex: both grow linearly. */
#include <string.h>

#include "base/interrupt.h"
#include "base/memory.h"
#include "order/builtin.h"
#include "order/undirected.h"

enum { AHEAD = SL_LOA_AHEAD };

typedef struct layout {
  sl_undirected graph;
  int32_t listed; /* vertices that have neighbours */
  /* By the vertex's number in the list. */
  int32_t *vertex;
  int32_t *degree; /* distinct neighbours */
  int32_t *shared; /* columns that a candidate has in common with the window */
  /* By column: the vertices that have it are list[first .. end), as numbers in the list that ascend; those
   * before first have their places. */
  int64_t *first, *end;
  int32_t *list;
  int32_t *covered; /* by column: the last window that has it, counted from 1 */
  /* The window. */
  int32_t window;
  int64_t entries, columns;
  /* The candidates, in the sequence of the list, of which all from next on have still to become some. */
  int32_t candidate[AHEAD + 1], candidates, next;
} layout;

static void free_layout(layout *l) {
  sl_free(l->covered);
  sl_free(l->list);
  sl_free(l->end);
  sl_free(l->first);
  sl_free(l->shared);
  sl_free(l->degree);
  sl_free(l->vertex);
  sl_undirected_free(&l->graph);
}

/* Whether entry e of vertex v stands in the column of the one before it. */
static bool repeats(const sl_undirected *graph, int32_t v, int64_t e) {
  return e > graph->begin[v] && graph->neighbour[e] == graph->neighbour[e - 1];
}

/* The list: a sort by counting of the vertices by smallest neighbour, equal ones by number. */
static sley_status list_vertices(layout *l) {
  const sl_undirected *graph = &l->graph;
  int32_t *place;
  SL_TRY(SL_NEW(l->vertex, graph->count, "an ordering's list"));
  SL_TRY(SL_NEW_ZERO(place, (int64_t)graph->count + 1, "an ordering's list"));
  for (int32_t v = 0; v < graph->count; v++)
    if (graph->begin[v] < graph->begin[v + 1]) {
      place[graph->neighbour[graph->begin[v]] + 1]++;
      l->listed++;
    }
  for (int32_t c = 0; c < graph->count; c++)
    place[c + 1] += place[c];
  for (int32_t v = 0; v < graph->count; v++)
    if (graph->begin[v] < graph->begin[v + 1])
      l->vertex[place[graph->neighbour[graph->begin[v]]]++] = v;
  sl_free(place);
  return SLEY_OK;
}

/* Degrees, and the vertices of each column. */
static sley_status list_columns(layout *l) {
  const sl_undirected *graph = &l->graph;
  int64_t count = graph->count;
  SL_TRY(SL_NEW(l->degree, l->listed, "an ordering's degrees"));
  SL_TRY(SL_NEW_ZERO(l->first, count + 1, "an ordering's columns"));
  SL_TRY(SL_NEW(l->end, count, "an ordering's columns"));
  for (int32_t i = 0; i < l->listed; i++) {
    int32_t v = l->vertex[i];
    l->degree[i] = 0;
    for (int64_t e = graph->begin[v]; e < graph->begin[v + 1]; e++)
      if (!repeats(graph, v, e)) {
        l->first[graph->neighbour[e] + 1]++;
        l->degree[i]++;
      }
  }
  for (int64_t c = 0; c < count; c++) {
    l->first[c + 1] += l->first[c];
    l->end[c] = l->first[c];
  }
  SL_TRY(SL_NEW(l->list, l->first[count], "an ordering's columns"));
  for (int32_t i = 0; i < l->listed; i++) {
    int32_t v = l->vertex[i];
    for (int64_t e = graph->begin[v]; e < graph->begin[v + 1]; e++)
      if (!repeats(graph, v, e))
        l->list[l->end[graph->neighbour[e]]++] = i;
  }
  return SLEY_OK;
}

/* Counts column c, which is new in the window, in the candidates that have it: those from front to back. */
static void count_shared(layout *l, int32_t c, int32_t front, int32_t back) {
  int64_t at = l->first[c], end = l->end[c];
  while (at < end && l->list[at] < front)
    at++;
  l->first[c] = at;
  for (; at < end && l->list[at] <= back; at++)
    l->shared[l->list[at]]++;
}

/* Puts vertex i of the list into the window. The candidates of the window stand from front to back. */
static void take(layout *l, int32_t i, int32_t front, int32_t back) {
  const sl_undirected *graph = &l->graph;
  int32_t v = l->vertex[i];
  l->entries += l->degree[i];
  for (int64_t e = graph->begin[v]; e < graph->begin[v + 1]; e++) {
    int32_t c = graph->neighbour[e];
    if (l->covered[c] == l->window)
      continue;
    l->covered[c] = l->window;
    l->columns++;
    count_shared(l, c, front, back);
  }
}

/* The place in `candidate` of the one that the window takes next; there is one. */
static int32_t choose(const layout *l) {
  int32_t best = 0, best_degree = 0;
  int64_t best_entries = 0, best_columns = 1;
  for (int32_t n = 0; n < l->candidates; n++) {
    int32_t i = l->candidate[n], degree = l->degree[i];
    int64_t entries = l->entries + degree, columns = l->columns + degree - l->shared[i];
    /* entries / columns against the best, as whole numbers: below 2^36 each */
    __int128 mine = (__int128)entries * best_columns, its = (__int128)best_entries * columns;
    if (mine > its || (mine == its && degree > best_degree)) {
      best = n;
      best_degree = degree;
      best_entries = entries;
      best_columns = columns;
    }
  }
  return best;
}

/* Takes a candidate away. */
static int32_t remove_candidate(layout *l, int32_t n) {
  int32_t i = l->candidate[n];
  l->candidates--;
  memmove(l->candidate + n, l->candidate + n + 1, (size_t)(l->candidates - n) * sizeof *l->candidate);
  return i;
}

/* Fills the next window: gives its vertices the places from `place` on, and returns the first that is free.
 */
static int64_t fill_window(layout *l, int64_t place, int64_t *perm) {
  while (l->candidates <= AHEAD && l->next < l->listed)
    l->candidate[l->candidates++] = l->next++;
  for (int32_t n = 0; n < l->candidates; n++)
    l->shared[l->candidate[n]] = 0;
  int32_t front = l->candidate[0], back = l->candidate[l->candidates - 1];
  l->window++;
  l->entries = l->columns = 0;
  for (int rows = 0; rows < SLEY_WINDOW_ROWS && l->candidates > 0; rows++) {
    int32_t i = remove_candidate(l, rows == 0 ? 0 : choose(l));
    take(l, i, front, back);
    perm[l->vertex[i]] = place++;
  }
  return place;
}

static sley_status order_loa(const sley_matrix *matrix, uint64_t seed, sl_team *team, int64_t *perm) {
  (void)seed;
  layout l = {0};
  int64_t place = 0;
  sley_status status;
  SL_TRY(sl_undirected_create(matrix, team, &l.graph));
  SL_TRY_GOTO(status, list_vertices(&l), done);
  SL_TRY_GOTO(status, list_columns(&l), done);
  SL_TRY_GOTO(status, SL_NEW(l.shared, l.listed, "an ordering's counters"), done);
  SL_TRY_GOTO(status, SL_NEW_ZERO(l.covered, l.graph.count, "an ordering's marks"), done);
  while (place < l.listed) {
    SL_TRY_GOTO(status, sl_interrupted(), done);
    place = fill_window(&l, place, perm);
  }
  for (int32_t v = 0; v < l.graph.count; v++)
    if (l.graph.begin[v] == l.graph.begin[v + 1])
      perm[v] = place++;
done:
  free_layout(&l);
  return status;
}

const sl_ordering sl_order_loa = {"loa", "LOA: rows that share columns in windows of 16", order_loa};
