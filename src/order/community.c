/* SPDX-License-Identifier: Apache-2.0 */
/* Incremental aggregation, as described by Arai et al., "Rabbit Order", IPDPS 2016. Vertices are visited in
 * ascending order of strength. Each merges into the neighbour u with the greatest gain of modularity,
 *
 *     dQ(u, v) = 2 (w_uv / 2m - d(u) d(v) / (2m)^2),
 *
 * if that is positive; the edges of merged vertices are summed only when their community is itself visited.
 *
 * The published parallel version lets threads race for merges. Here they do not, so the result is the same
 * for any number of threads: vertices are taken in batches, each batch in two steps.
 *
 * First, in parallel, every vertex of the batch sums its edges and proposes a merge, based on the communities
 * at the start of the batch.
 *
 * Then the proposals are carried out one after the other in the order of visits. A vertex into which another
 * has merged in this step waits for the next batch, because its list of edges is no longer complete. A vertex
 * whose target grew or merged merges into the target's root if modularity still gains by that, else it waits
 * too. The first vertex of a batch never waits, so every batch makes progress.
 *
 * Passes over the remaining roots follow until none merges. */
#include "order/community.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/interrupt.h"
#include "base/memory.h"

enum { BATCHES = 64, GRAIN = 64, FLATTEN_GRAIN = 65536 };

typedef struct aggregation {
  const sl_community_input *input;
  sl_team *team;
  sl_dendrogram tree;
  _Atomic int32_t *owner; /* for each vertex: a vertex nearer to the root, or for a root the vertex itself;
                             written only between the phases of proposals */
  int64_t *strength;      /* strength of the community around a root */
  double inverse_total;   /* 1 / 2m */
  int32_t *folded;        /* the last child whose edges are already included in the vertex's list */
  uint32_t *touched;      /* for each vertex: the number of the batch in which another vertex last merged into
                             it */
  uint32_t round;
  int32_t *batch, *target; /* vertices of the batch, and the targets that they propose; -1: no target */
  int32_t batch_count;
  int64_t merges;
  bool joining; /* the phase that joins communities, in which modularity no longer counts */
} aggregation;

static int32_t find_root(const aggregation *a, int32_t v) {
  for (;;) {
    int32_t up = atomic_load_explicit(&a->owner[v], memory_order_relaxed);
    if (up == v)
      return v;
    v = up;
  }
}

/* Returns dQ(u, v) times m; in the phase that joins, the link's weight relative to u's strength. Only signs
 * and comparisons of the results are used. */
static double gain_of(const aggregation *a, int32_t v, int32_t u, int64_t weight) {
  if (a->joining)
    return (double)weight / (double)a->strength[u];
  if (a->input->most > 0 && a->strength[u] > a->input->most - a->strength[v])
    return -1;
  return (double)weight - (double)a->strength[u] * (double)a->strength[v] * a->inverse_total;
}

static sley_status add_edge(const aggregation *a, sl_arc_sum *sum, int32_t v, int32_t end, int32_t weight) {
  int32_t u = find_root(a, end);
  return u == v ? SLEY_OK : sl_arc_sum_add(sum, u, weight);
}

/* Adds the edges of one vertex, from its list or the graph, and drops the list. */
static sley_status add_edges(const aggregation *a, sl_arc_sum *sum, int32_t v, int32_t part) {
  const sl_undirected *graph = a->input->graph;
  sl_arc_list list = a->input->links->list[part];
  if (graph && !list.items) {
    for (int64_t e = graph->begin[part]; e < graph->begin[part + 1]; e++)
      SL_TRY(add_edge(a, sum, v, graph->neighbour[e], 1));
    return SLEY_OK;
  }
  for (int32_t i = 0; i < list.count; i++)
    SL_TRY(add_edge(a, sum, v, list.items[i].to, list.items[i].weight));
  sl_adjacency_drop(a->input->links, sum, part);
  return SLEY_OK;
}

/* Sums the edges of the community around v: its own edges, and edges of the children that merged since the
 * last time. */
static sley_status sum_edges(aggregation *a, sl_arc_sum *sum, int32_t v) {
  SL_TRY(add_edges(a, sum, v, v));
  for (int32_t c = a->tree.child[v]; c != a->folded[v]; c = a->tree.sibling[c])
    SL_TRY(add_edges(a, sum, v, c));
  a->folded[v] = a->tree.child[v];
  return SLEY_OK;
}

static sley_status propose(void *context, int64_t begin, int64_t end, int thread) {
  aggregation *a = context;
  sl_arc_sum *sum = &a->input->links->sums[thread];
  for (int64_t i = begin; i < end; i++) {
    int32_t v = a->batch[i], best = -1;
    double most = 0;
    SL_TRY(sum_edges(a, sum, v));
    for (int32_t j = 0; j < sum->count; j++) {
      int32_t u = sum->items[j].to;
      double gain = gain_of(a, v, u, sum->items[j].weight);
      if (gain > most || (gain == most && u < best)) {
        most = gain;
        best = u;
      }
    }
    a->target[i] = best;
    if (a->input->graph && a->tree.child[v] < 0)
      sl_arc_sum_clear(sum); /* the graph has the same edges, so no list is needed */
    else
      SL_TRY(sl_adjacency_keep(a->input->links, sum, v));
  }
  return SLEY_OK;
}

/* The current weight between the community around v, summed in this batch, and the community with that
 * root. */
static int64_t weight_between(const aggregation *a, int32_t v, int32_t root) {
  const sl_undirected *graph = a->input->graph;
  sl_arc_list list = a->input->links->list[v];
  int64_t weight = 0;
  for (int32_t i = 0; i < list.count; i++)
    if (find_root(a, list.items[i].to) == root)
      weight += list.items[i].weight;
  if (graph && !list.items)
    for (int64_t e = graph->begin[v]; e < graph->begin[v + 1]; e++)
      weight += find_root(a, graph->neighbour[e]) == root;
  return weight;
}

static void merge(aggregation *a, int32_t v, int32_t into) {
  atomic_store_explicit(&a->owner[v], into, memory_order_relaxed);
  a->strength[into] += a->strength[v];
  a->tree.parent[v] = into;
  a->tree.sibling[v] = a->tree.child[into];
  a->tree.child[into] = v;
  a->touched[into] = a->round;
  a->merges++;
}

/* Performs the proposed merges. Moves the waiting vertices to the front of the batch and returns their
 * number. */
static int32_t carry_out(aggregation *a) {
  int32_t waiting = 0;
  for (int32_t i = 0; i < a->batch_count; i++) {
    int32_t v = a->batch[i], u = a->target[i];
    bool whole = a->touched[v] != a->round;
    if (whole && u < 0)
      continue;
    int32_t root = u < 0 ? -1 : find_root(a, u);
    bool changed = u >= 0 && (root != u || a->touched[u] == a->round);
    if (!whole || (changed && gain_of(a, v, root, weight_between(a, v, root)) <= 0))
      a->batch[waiting++] = v;
    else
      merge(a, v, root);
  }
  return waiting;
}

static sley_status flatten(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  aggregation *a = context;
  for (int64_t v = begin; v < end; v++)
    atomic_store_explicit(&a->owner[v], find_root(a, (int32_t)v), memory_order_relaxed);
  return SLEY_OK;
}

/* Makes one pass: visits every vertex of the list. */
static sley_status visit(aggregation *a, const int32_t *list, int32_t count) {
  int32_t size = count / BATCHES + 1, next = 0, waiting = 0;
  int64_t flat = a->merges;
  while (next < count || waiting > 0) {
    SL_TRY(sl_interrupted());
    a->round++;
    a->batch_count = waiting;
    while (a->batch_count < size && next < count)
      a->batch[a->batch_count++] = list[next++];
    SL_TRY(sl_team_for(a->team, a->batch_count, GRAIN, propose, a));
    waiting = carry_out(a);
    SL_TRY(sl_adjacency_tidy(a->input->links, a->team));
    if (a->merges - flat > a->input->count / BATCHES) {
      SL_TRY(sl_team_for(a->team, a->input->count, FLATTEN_GRAIN, flatten, a));
      flat = a->merges;
    }
  }
  return sl_team_for(a->team, a->input->count, FLATTEN_GRAIN, flatten, a);
}

typedef struct ranked {
  int64_t strength;
  int32_t vertex;
} ranked;

static int compare_ranked(const void *x, const void *y) {
  const ranked *a = x, *b = y;
  if (a->strength != b->strength)
    return a->strength < b->strength ? -1 : 1;
  return (a->vertex > b->vertex) - (a->vertex < b->vertex);
}

/* Fills list with the roots that have edges, by ascending strength; roots of equal strength are in the order
   of their numbers. */
static sley_status list_roots(const aggregation *a, int32_t *list, int32_t *count) {
  ranked *roots;
  int32_t found = 0;
  for (int32_t v = 0; v < a->input->count; v++)
    found += a->tree.parent[v] < 0 && a->strength[v] > 0;
  SL_TRY(SL_NEW(roots, found, "the roots of a dendrogram"));
  *count = found;
  for (int32_t v = a->input->count; v-- > 0;)
    if (a->tree.parent[v] < 0 && a->strength[v] > 0)
      roots[--found] = (ranked){a->strength[v], v};
  qsort(roots, (size_t)*count, sizeof *roots, compare_ranked);
  for (int32_t i = 0; i < *count; i++)
    list[i] = roots[i].vertex;
  sl_free(roots);
  return SLEY_OK;
}

static void label_communities(aggregation *a) {
  sl_dendrogram *tree = &a->tree;
  for (int32_t v = 0; v < tree->count; v++)
    if (tree->parent[v] < 0)
      tree->label[v] = tree->labels++;
  for (int32_t v = 0; v < tree->count; v++)
    if (tree->parent[v] >= 0)
      tree->label[v] = tree->label[find_root(a, v)];
}

/* Makes passes until no vertex merges. */
static sley_status visit_all(aggregation *a) {
  int32_t *list, count;
  SL_TRY(SL_NEW(list, a->input->count, "communities"));
  sley_status status = SLEY_OK;
  for (int64_t before = -1; status == SLEY_OK && before != a->merges;) {
    before = a->merges;
    status = list_roots(a, list, &count);
    if (status == SLEY_OK)
      status = visit(a, list, count);
  }
  sl_free(list);
  return status;
}

static sley_status start(aggregation *a) {
  int32_t count = a->input->count;
  sl_dendrogram *tree = &a->tree;
  tree->count = count;
  SL_TRY(SL_NEW(tree->parent, count, "a dendrogram"));
  SL_TRY(SL_NEW(tree->child, count, "a dendrogram"));
  SL_TRY(SL_NEW(tree->sibling, count, "a dendrogram"));
  SL_TRY(SL_NEW(tree->label, count, "a dendrogram"));
  SL_TRY(SL_NEW(a->owner, count, "communities"));
  SL_TRY(SL_NEW(a->strength, count, "communities"));
  SL_TRY(SL_NEW(a->folded, count, "communities"));
  SL_TRY(SL_NEW_ZERO(a->touched, count, "communities"));
  SL_TRY(SL_NEW(a->batch, count, "communities"));
  SL_TRY(SL_NEW(a->target, count, "communities"));
  int64_t total = 0;
  for (int32_t v = 0; v < count; v++) {
    tree->parent[v] = tree->child[v] = tree->sibling[v] = a->folded[v] = -1;
    atomic_init(&a->owner[v], v);
    a->strength[v] = a->input->strength[v];
    total += a->strength[v];
  }
  a->inverse_total = total > 0 ? 1.0 / (double)total : 0;
  return SLEY_OK;
}

sley_status sl_merge_communities(const sl_community_input *input, sl_team *team, sl_dendrogram *out) {
  aggregation a = {.input = input, .team = team};
  sley_status status;
  SL_TRY_GOTO(status, start(&a), done);
  SL_TRY_GOTO(status, visit_all(&a), done);
  label_communities(&a);
  if (input->join) {
    a.joining = true;
    SL_TRY_GOTO(status, visit_all(&a), done);
  }
done:
  sl_free(a.target);
  sl_free(a.batch);
  sl_free(a.touched);
  sl_free(a.folded);
  sl_free(a.strength);
  sl_free(a.owner);
  if (status != SLEY_OK)
    sl_dendrogram_free(&a.tree);
  *out = a.tree;
  return status;
}

void sl_dendrogram_free(sl_dendrogram *dendrogram) {
  sl_free(dendrogram->label);
  sl_free(dendrogram->sibling);
  sl_free(dendrogram->child);
  sl_free(dendrogram->parent);
  *dendrogram = (sl_dendrogram){0};
}

sley_status sl_dendrogram_number(const sl_dendrogram *dendrogram, int32_t *place) {
  int32_t *stack, placed = 0;
  SL_TRY(SL_NEW(stack, dendrogram->count, "a walk over a dendrogram"));
  for (int32_t root = 0; root < dendrogram->count; root++) {
    if (dendrogram->parent[root] >= 0)
      continue;
    int32_t depth = 0;
    stack[depth++] = root;
    while (depth > 0) {
      int32_t v = stack[--depth];
      place[v] = placed++;
      for (int32_t c = dendrogram->child[v]; c >= 0; c = dendrogram->sibling[c])
        stack[depth++] = c;
    }
  }
  sl_free(stack);
  return SLEY_OK;
}
