/* SPDX-License-Identifier: Apache-2.0 */
/* LOA, the layout of HC-SpMM (Li and others, ICDE 2025): rows that share columns are put into one window of
 * SLEY_WINDOW_ROWS rows, so that a window has many entries and few distinct columns: its intensity is high.
 *
 * The vertices are listed by their smallest neighbour. Each window begins with the first vertex of the list
 * that has no place yet. Then vertices are added one by one: among the next AHEAD vertices of the list
 * without a place, the one with which the window's intensity is highest; among equal ones the one of highest
 * degree, then the first in the list. Vertices without neighbours come last. One thread does it, so the
 * result does not depend on the number of threads.
 *
 * loa-parts does the same in each part of a division with few cut edges, part by part, so that blocks of
 * consecutive rows also need few rows of X from each other. A window that a part does not fill continues in
 * the next part.
 *
 * Intensities are computed from counters, not from unions. A candidate's counter is the number of its columns
 * that the window already has. When a vertex brings a new column, the counters of the candidates that have
 * the column are raised. They are found in the column's own list of vertices, which is in the order of the
 * sorted list, so the candidates' range is a consecutive part of it. The published method raises the counters
 * of all neighbours of the column, which takes the square of a hub's degree over all windows.
 *
 * Bound of the work. A candidate moves forward in every window, so it waits for at most AHEAD windows, in
 * each of which 15 vertices behind it get places: the candidates' range of the list holds at most 16 AHEAD
 * vertices. A column is new at most once for each of its entries. So all counting takes at most 16 AHEAD
 * steps per entry, even for hubs, and all choosing AHEAD steps per vertex: both grow linearly. */
#include <string.h>

#include "base/interrupt.h"
#include "base/memory.h"
#include "order/builtin.h"
#include "order/divided.h"
#include "order/undirected.h"

enum { AHEAD = SL_LOA_AHEAD };

typedef struct layout {
  sl_undirected graph;
  const int32_t *part; /* the part of each vertex, ascending from 0; NULL: there is one part */
  int32_t parts;
  int32_t listed; /* number of vertices that have neighbours */
  /* Arrays by the vertex's number in the list. */
  int32_t *vertex;
  int32_t *degree; /* number of distinct neighbours of each vertex */
  int32_t *shared; /* number of columns that a candidate shares with the window */
  /* Arrays by column: the vertices that have it are list[first .. end), as ascending numbers in the list; the
   * vertices before first have their places. */
  int64_t *first, *end;
  int32_t *list;
  int32_t *covered; /* for each column: the last window that has it, counted from 1 */
  /* The current window. */
  int32_t window;
  int64_t entries, columns;
  /* The candidates, in the order of the list; vertices from next on have not been candidates yet. */
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

/* Returns whether entry e of vertex v has the same column as the entry before it. */
static bool repeats(const sl_undirected *graph, int32_t v, int64_t e) {
  return e > graph->begin[v] && graph->neighbour[e] == graph->neighbour[e - 1];
}

/* Makes the list: a counting sort of the vertices by smallest neighbour; vertices with the same one are in
   the order of their numbers. */
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

/* Sorts the list by parts; vertices of a part keep their order. */
static sley_status sort_by_parts(layout *l) {
  int32_t *sorted, *place;
  if (!l->part)
    return SLEY_OK;
  SL_TRY(SL_NEW_ZERO(place, (int64_t)l->parts + 1, "an ordering's list"));
  sley_status status = SL_NEW(sorted, l->graph.count, "an ordering's list");
  if (status == SLEY_OK) {
    for (int32_t i = 0; i < l->listed; i++)
      place[l->part[l->vertex[i]] + 1]++;
    for (int32_t p = 0; p < l->parts; p++)
      place[p + 1] += place[p];
    for (int32_t i = 0; i < l->listed; i++)
      sorted[place[l->part[l->vertex[i]]]++] = l->vertex[i];
    sl_free(l->vertex);
    l->vertex = sorted;
  }
  sl_free(place);
  return status;
}

/* Computes degrees, and the vertices of each column. */
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

/* Counts column c, which is new in the window, in the candidates that have it: list numbers from front to
 * back. */
static void count_shared(layout *l, int32_t c, int32_t front, int32_t back) {
  int64_t at = l->first[c], end = l->end[c];
  while (at < end && l->list[at] < front)
    at++;
  l->first[c] = at;
  for (; at < end && l->list[at] <= back; at++)
    l->shared[l->list[at]]++;
}

/* Adds vertex i of the list to the window. The window's candidates have list numbers from front to back. */
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

/* Returns the position in `candidate` of the vertex that the window takes next; there must be a candidate. */
static int32_t choose(const layout *l) {
  int32_t best = 0, best_degree = 0;
  int64_t best_entries = 0, best_columns = 1;
  for (int32_t n = 0; n < l->candidates; n++) {
    int32_t i = l->candidate[n], degree = l->degree[i];
    int64_t entries = l->entries + degree, columns = l->columns + degree - l->shared[i];
    /* compares entries / columns with the best candidate in whole numbers; each factor is below 2^36 */
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

/* Removes a candidate and returns its list number. */
static int32_t remove_candidate(layout *l, int32_t n) {
  int32_t i = l->candidate[n];
  l->candidates--;
  memmove(l->candidate + n, l->candidate + n + 1, (size_t)(l->candidates - n) * sizeof *l->candidate);
  return i;
}

/* Lists the next vertices of the part as candidates, and sets their counters to 0. */
static void find_candidates(layout *l) {
  const int32_t *part = l->part;
  while (l->candidates <= AHEAD && l->next < l->listed &&
         (!part || l->candidates == 0 || part[l->vertex[l->next]] == part[l->vertex[l->candidate[0]]]))
    l->candidate[l->candidates++] = l->next++;
  for (int32_t n = 0; n < l->candidates; n++)
    l->shared[l->candidate[n]] = 0;
}

/* Fills the next window: assigns its vertices the places from `place` on, and returns the next free place. If
 * a part ends inside the window, the rest are vertices of the next part. */
static int64_t fill_window(layout *l, int64_t place, int64_t *perm) {
  int32_t front = 0, back = 0;
  l->window++;
  l->entries = l->columns = 0;
  for (int rows = 0; rows < SLEY_WINDOW_ROWS; rows++) {
    if (rows == 0 || l->candidates == 0) {
      find_candidates(l);
      if (l->candidates == 0)
        break;
      front = l->candidate[0];
      back = l->candidate[l->candidates - 1];
    }
    int32_t i = remove_candidate(l, rows == 0 ? 0 : choose(l));
    take(l, i, front, back);
    perm[l->vertex[i]] = place++;
  }
  return place;
}

static sley_status lay_out(const sley_matrix *matrix, const int32_t *part, int32_t parts, sl_team *team,
                           int64_t *perm) {
  layout l = {.part = part, .parts = parts};
  int64_t place = 0;
  sley_status status;
  SL_TRY(sl_undirected_create(matrix, team, &l.graph));
  SL_TRY_GOTO(status, list_vertices(&l), done);
  SL_TRY_GOTO(status, sort_by_parts(&l), done);
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

static sley_status order_loa(const sley_matrix *matrix, uint64_t seed, sl_team *team, int64_t *perm) {
  (void)seed;
  return lay_out(matrix, NULL, 1, team, perm);
}

/* Number of parts: a power of 2, so that METIS's parts are whole, and PART_ROWS rows each or more. */
static int32_t parts_of(int64_t rows) {
  enum { PART_ROWS = 64 };
  int32_t parts = 1;
  while (parts < SL_PARTS && rows / (2 * parts) >= PART_ROWS)
    parts *= 2;
  return parts;
}

/* Orders by METIS, or by Rabbit where METIS is not built in or cannot count the graph. */
static sley_status order_by_parts(const sley_matrix *matrix, uint64_t seed, sl_team *team, int64_t *perm) {
  const sley_status status = sl_order_metis.run(matrix, seed, team, perm);
  return status == SLEY_ERR_UNSUPPORTED ? sl_order_rabbit.run(matrix, seed, team, perm) : status;
}

static sley_status order_loa_parts(const sley_matrix *matrix, uint64_t seed, sl_team *team, int64_t *perm) {
  const int32_t parts = parts_of(matrix->rows);
  int32_t *part;
  SL_TRY(order_by_parts(matrix, seed, team, perm));
  SL_TRY(SL_NEW(part, matrix->rows, "parts"));
  for (int64_t i = 0; i < matrix->rows; i++)
    part[i] = (int32_t)(perm[i] * parts / matrix->rows);
  const sley_status status = lay_out(matrix, part, parts, team, perm);
  sl_free(part);
  return status;
}

const sl_ordering sl_order_loa = {"loa", "LOA: rows that share columns in windows of 16", order_loa};
const sl_ordering sl_order_loa_parts = {"loa-parts", "METIS's parts, and LOA inside each", order_loa_parts};
