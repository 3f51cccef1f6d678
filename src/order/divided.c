/* SPDX-License-Identifier: Apache-2.0 */
/* Parts from a library that divides a graph, numbered one after another. */
#include "order/divided.h"

#include <math.h>
#include <pthread.h>

#include "base/memory.h"

enum { LEAST_ROWS_A_PART = 8 };

/* An estimate of the numbers that such a library keeps at once, for each entry and each vertex of a graph and
 * its coarser versions: in generated graphs of 0.8 and 2 million entries SCOTCH took 10 per entry and 42 per
 * vertex, METIS 14 per entry and few per vertex. SCOTCH 7.0 crashes if it gets no memory. */
enum { OF_AN_ENTRY = 14, OF_A_VERTEX = 48 };

/* A lock, because such libraries have global state. */
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

static void put(void *numbers, size_t bytes, int64_t at, int64_t value) {
  if (bytes == sizeof(int32_t))
    ((int32_t *)numbers)[at] = (int32_t)value;
  else
    ((int64_t *)numbers)[at] = value;
}

static int64_t get(const void *numbers, size_t bytes, int64_t at) {
  return bytes == sizeof(int32_t) ? ((const int32_t *)numbers)[at] : ((const int64_t *)numbers)[at];
}

/* The largest weight of an edge, and the largest sum of all weights, which such libraries keep in 32 bits. */
enum { LARGEST_WEIGHT = 1000, LARGEST_SUM = 1 << 30 };

/* Returns the weight of edge (v, w), 1 to `unit`: less if one row, of its end with more edges, may serve many
 * edges. The root is a compromise, because few of these edges lead to the same part. */
static int64_t weight_of(const sl_undirected *graph, int64_t unit, int32_t v, int32_t w) {
  int64_t at_v = graph->begin[v + 1] - graph->begin[v], at_w = graph->begin[w + 1] - graph->begin[w];
  int64_t weight = (int64_t)((double)unit / sqrt((double)(at_v > at_w ? at_v : at_w)));
  return weight > 0 ? weight : 1;
}

/* Writes the graph without loops and repeats, and the weights of its edges if weight is not NULL. */
static void write_plain(const sl_undirected *graph, size_t bytes, void *begin, void *neighbour,
                        void *weight) {
  int64_t placed = 0, edges = graph->begin[graph->count] - graph->begin[0];
  int64_t unit = edges > LARGEST_SUM / LARGEST_WEIGHT ? LARGEST_SUM / edges : LARGEST_WEIGHT;
  for (int32_t v = 0; v < graph->count; v++) {
    put(begin, bytes, v, placed);
    for (int64_t e = graph->begin[v]; e < graph->begin[v + 1]; e++) {
      int32_t w = graph->neighbour[e];
      if (w == v || (e > graph->begin[v] && w == graph->neighbour[e - 1]))
        continue;
      if (weight)
        put(weight, bytes, placed, weight_of(graph, unit, v, w));
      put(neighbour, bytes, placed++, w);
    }
  }
  put(begin, bytes, graph->count, placed);
}

/* Fills part, which is initially 0 everywhere. */
static sley_status divide(const sl_undirected *graph, const sl_divider *divider, bool weighted, uint64_t seed,
                          void *part) {
  int64_t edges = graph->begin[graph->count] - graph->begin[0], parts = SL_PARTS;
  int64_t bytes = (int64_t)divider->number_bytes;
  while (parts > 1 && parts * LEAST_ROWS_A_PART > graph->count)
    parts /= 2;
  if (parts == 1)
    return SLEY_OK;
  if (bytes == sizeof(int32_t) && edges > INT32_MAX)
    return sl_fail(SLEY_ERR_UNSUPPORTED,
                   "%s with 32-bit numbers takes at most %d entries, not %lld: use rabbit", divider->name,
                   INT32_MAX, (long long)edges);
  char *begin = NULL, *neighbour = NULL, *weight = NULL;
  sley_status status;
  SL_TRY_GOTO(status, SL_NEW(begin, ((int64_t)graph->count + 1) * bytes, "a graph to divide"), done);
  SL_TRY_GOTO(status, SL_NEW(neighbour, edges * bytes, "a graph to divide"), done);
  if (weighted)
    SL_TRY_GOTO(status, SL_NEW(weight, edges * bytes, "a graph to divide"), done);
  write_plain(graph, divider->number_bytes, begin, neighbour, weight);
  SL_TRY_GOTO(status,
              sl_memory_room((edges * OF_AN_ENTRY + graph->count * OF_A_VERTEX) * bytes, divider->name),
              done);
  pthread_mutex_lock(&turn);
  status = divider->divide(graph->count, begin, neighbour, weight, parts, seed, part);
  pthread_mutex_unlock(&turn);
done:
  sl_free(weight);
  sl_free(neighbour);
  sl_free(begin);
  return status;
}

void sl_number_parts(const int32_t *part, int64_t count, int64_t *perm) {
  int64_t place[SL_PARTS + 1] = {0};
  for (int64_t v = 0; v < count; v++)
    place[part[v] + 1]++;
  for (int p = 0; p < SL_PARTS; p++)
    place[p + 1] += place[p];
  for (int64_t v = 0; v < count; v++)
    perm[v] = place[part[v]]++;
}

sley_status sl_order_divided(const sley_matrix *matrix, const sl_divider *divider, bool weighted,
                             uint64_t seed, sl_team *team, int64_t *perm) {
  sl_undirected graph;
  char *numbers = NULL;
  int32_t *part = NULL;
  SL_TRY(sl_undirected_create(matrix, team, &graph));
  size_t bytes = divider->number_bytes;
  sley_status status;
  SL_TRY_GOTO(status, SL_NEW(part, graph.count, "the parts of a graph"), done);
  SL_TRY_GOTO(status, SL_NEW_ZERO(numbers, graph.count * (int64_t)bytes, "the parts of a graph"), done);
  SL_TRY_GOTO(status, divide(&graph, divider, weighted, seed, numbers), done);
  for (int32_t v = 0; v < graph.count; v++)
    part[v] = (int32_t)get(numbers, bytes, v);
  sl_number_parts(part, graph.count, perm);
done:
  sl_free(numbers);
  sl_free(part);
  sl_undirected_free(&graph);
  return status;
}
