/* SPDX-License-Identifier: Apache-2.0 */
/* Reverse Cuthill-McKee. Sources: Cuthill and McKee 1969 (breadth-first, neighbours by ascending degree);
 * George 1971 (reversed); George and Liu 1979 (a start far from the middle: repeatedly go to a vertex of
 * least degree in the last level of a breadth-first search, as long as that increases the number of levels).
 * Components follow each other, the one with the vertex of least degree first. */
#include <stdlib.h>

#include "base/interrupt.h"
#include "base/memory.h"
#include "order/builtin.h"
#include "order/undirected.h"

typedef struct rcm {
  sl_undirected graph;
  uint32_t *seen;  /* number of the last search that visited a vertex */
  uint32_t search; /* number of the current search */
  int32_t *queue;
  uint64_t *keys; /* degree, then vertex, of neighbours that are sorted */
  uint8_t *placed;
} rcm;

static int64_t degree_of(const rcm *r, int32_t v) {
  return r->graph.begin[v + 1] - r->graph.begin[v];
}

/* Fills the queue with the levels around start; *last: position where the last level begins; *size: number of
 * visited vertices. Returns the number of levels. */
static int32_t search_levels(rcm *r, int32_t start, int32_t *last, int32_t *size) {
  int32_t tail = 1, levels = 0;
  uint32_t mark = ++r->search;
  r->queue[0] = start;
  r->seen[start] = mark;
  for (int32_t head = 0; head < tail; levels++) {
    *last = head;
    for (int32_t end = tail; head < end; head++) {
      int32_t v = r->queue[head];
      for (int64_t e = r->graph.begin[v]; e < r->graph.begin[v + 1]; e++) {
        int32_t w = r->graph.neighbour[e];
        if (r->seen[w] != mark) {
          r->seen[w] = mark;
          r->queue[tail++] = w;
        }
      }
    }
  }
  *size = tail;
  return levels;
}

static int32_t far_vertex(rcm *r, int32_t start) {
  int32_t last, size;
  int32_t levels = search_levels(r, start, &last, &size);
  for (;;) {
    int32_t far = r->queue[last];
    for (int32_t i = last + 1; i < size; i++)
      if (degree_of(r, r->queue[i]) < degree_of(r, far))
        far = r->queue[i];
    if (far == start)
      return start;
    int32_t more = search_levels(r, far, &last, &size);
    if (more <= levels)
      return start;
    levels = more;
    start = far;
  }
}

static int compare_keys(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

/* Puts the component of start into queue in Cuthill and McKee's order; returns the number of vertices. */
static int32_t number_component(rcm *r, int32_t start) {
  int32_t tail = 1;
  r->queue[0] = start;
  r->placed[start] = 1;
  for (int32_t head = 0; head < tail; head++) {
    int32_t v = r->queue[head];
    size_t found = 0;
    for (int64_t e = r->graph.begin[v]; e < r->graph.begin[v + 1]; e++) {
      int32_t w = r->graph.neighbour[e];
      if (!r->placed[w]) {
        int64_t degree = degree_of(r, w);
        r->placed[w] = 1;
        r->keys[found++] = (uint64_t)(degree < UINT32_MAX ? degree : UINT32_MAX) << 32 | (uint32_t)w;
      }
    }
    qsort(r->keys, found, sizeof *r->keys, compare_keys);
    for (size_t i = 0; i < found; i++)
      r->queue[tail++] = (int32_t)(r->keys[i] & UINT32_MAX);
  }
  return tail;
}

static sley_status order_rcm(const sley_matrix *matrix, uint64_t seed, sl_team *team, int64_t *perm) {
  (void)seed;
  rcm r = {0};
  int32_t *order = NULL;
  sley_status status;
  SL_TRY(sl_undirected_create(matrix, team, &r.graph));
  int32_t count = r.graph.count, done = 0;
  SL_TRY_GOTO(status, SL_NEW(order, count, "an ordering"), out);
  SL_TRY_GOTO(status, SL_NEW_ZERO(r.seen, count, "an ordering's marks"), out);
  SL_TRY_GOTO(status, SL_NEW_ZERO(r.placed, count, "an ordering's marks"), out);
  SL_TRY_GOTO(status, SL_NEW(r.queue, count, "an ordering's queue"), out);
  SL_TRY_GOTO(status, SL_NEW(r.keys, count, "an ordering's queue"), out);
  SL_TRY_GOTO(status, sl_undirected_by_degree(&r.graph, order), out);
  for (int32_t i = 0; i < count; i++) {
    if (r.placed[order[i]])
      continue;
    SL_TRY_GOTO(status, sl_interrupted(), out);
    int32_t size = number_component(&r, far_vertex(&r, order[i]));
    for (int32_t j = 0; j < size; j++)
      perm[r.queue[j]] = count - 1 - (done + j);
    done += size;
  }
out:
  sl_free(r.keys);
  sl_free(r.queue);
  sl_free(r.placed);
  sl_free(r.seen);
  sl_free(order);
  sl_undirected_free(&r.graph);
  return status;
}

const sl_ordering sl_order_rcm = {"rcm", "reverse Cuthill-McKee: entries near the diagonal", order_rcm};
