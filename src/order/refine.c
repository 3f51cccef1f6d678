/* SPDX-License-Identifier: Apache-2.0 */
/* Local moving (Blondel et al. 2008, the Louvain method): a vertex v moves to the community C, among its own
 * and its neighbours' communities, with the greatest w(v, C) - d(v) d(C) / 2m, where d(C) does not include v.
 * A sweep takes the vertices in SHARES shares, drawn by a hash so that neighbours are seldom in the same
 * share. All vertices of a share choose in parallel, based on the communities at its start, then all move: so
 * the result does not depend on the number of threads. */
#include "order/refine.h"

#include <stdatomic.h>

#include "base/interrupt.h"
#include "base/memory.h"
#include "base/random.h"

/* A sweep that moves at most 1 / STILL of the vertices is the last. */
enum { SHARES = 8, GRAIN = 8192, STILL = 1000 };

typedef struct refinement {
  const sl_undirected *graph;
  const sl_refine_rule *rule;
  const int64_t *vertex_strength;
  int32_t *label, *chosen;
  _Atomic int64_t *strength; /* strength of every label */
  int32_t *first_label;      /* first label of every group */
  double inverse_total;
  uint64_t share;
  _Atomic int64_t moves;
  sl_adjacency sums;
} refinement;

static bool in_share(const refinement *r, int64_t v) {
  return sl_mix((uint64_t)v + 1) % SHARES == r->share;
}

static bool allowed(const refinement *r, int64_t v, int32_t label) {
  return !r->rule->within || r->rule->home[label] == r->rule->within[v];
}

/* Returns the gain if v is in a community of that strength. */
static double value_of(const refinement *r, int64_t v, int64_t weight, int64_t strength) {
  return (double)weight - (double)r->vertex_strength[v] * (double)strength * r->inverse_total;
}

static sley_status choose_label(refinement *r, int64_t v, sl_arc_sum *sum) {
  const sl_undirected *graph = r->graph;
  int32_t own = r->label[v], to = own;
  int64_t inside = 0, added = r->vertex_strength[v];
  for (int64_t e = graph->begin[v]; e < graph->begin[v + 1]; e++) {
    int32_t u = graph->neighbour[e];
    if (u == v)
      continue;
    if (r->label[u] == own)
      inside++;
    else
      SL_TRY(sl_arc_sum_add(sum, r->label[u], 1));
  }
  bool stay = allowed(r, v, own);
  double best = value_of(r, v, inside, atomic_load_explicit(&r->strength[own], memory_order_relaxed) - added);
  if (!stay)
    to = r->first_label[r->rule->within[v]];
  bool found = stay;
  for (int32_t i = 0; i < sum->count; i++) {
    int32_t label = sum->items[i].to;
    int64_t strength = atomic_load_explicit(&r->strength[label], memory_order_relaxed);
    if (!allowed(r, v, label) || (stay && r->rule->most > 0 && strength > r->rule->most - added))
      continue;
    double value = value_of(r, v, sum->items[i].weight, strength);
    if (!found || value > best || (value == best && to != own && label < to)) {
      best = value;
      to = label;
      found = true;
    }
  }
  sl_arc_sum_clear(sum);
  r->chosen[v] = to;
  return SLEY_OK;
}

static sley_status choose(void *context, int64_t begin, int64_t end, int thread) {
  refinement *r = context;
  for (int64_t v = begin; v < end; v++)
    if (in_share(r, v))
      SL_TRY(choose_label(r, v, &r->sums.sums[thread]));
  return SLEY_OK;
}

static sley_status move(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  refinement *r = context;
  int64_t moves = 0;
  for (int64_t v = begin; v < end; v++) {
    if (!in_share(r, v) || r->chosen[v] == r->label[v])
      continue;
    atomic_fetch_sub_explicit(&r->strength[r->label[v]], r->vertex_strength[v], memory_order_relaxed);
    atomic_fetch_add_explicit(&r->strength[r->chosen[v]], r->vertex_strength[v], memory_order_relaxed);
    r->label[v] = r->chosen[v];
    moves++;
  }
  atomic_fetch_add(&r->moves, moves);
  return SLEY_OK;
}

static sley_status sweep(refinement *r, sl_team *team) {
  atomic_store(&r->moves, 0);
  for (r->share = 0; r->share < SHARES; r->share++) {
    SL_TRY(sl_interrupted());
    SL_TRY(sl_team_for(team, r->graph->count, GRAIN, choose, r));
    SL_TRY(sl_team_for(team, r->graph->count, GRAIN, move, r));
  }
  return SLEY_OK;
}

sley_status sl_refine(const sl_undirected *graph, const int64_t *strength, const sl_refine_rule *rule,
                      int32_t *label, int32_t labels, sl_team *team) {
  refinement r = {.graph = graph, .rule = rule, .vertex_strength = strength, .label = label};
  sley_status status;
  SL_TRY_GOTO(status, SL_NEW(r.chosen, graph->count, "communities"), done);
  SL_TRY_GOTO(status, SL_NEW(r.strength, labels, "communities"), done);
  SL_TRY_GOTO(status, SL_NEW(r.first_label, rule->groups, "communities"), done);
  SL_TRY_GOTO(status, sl_adjacency_create(0, sl_team_size(team), &r.sums), done);
  for (int32_t l = 0; l < labels; l++)
    atomic_init(&r.strength[l], 0);
  for (int32_t l = labels; rule->within && l-- > 0;)
    r.first_label[rule->home[l]] = l;
  int64_t total = 0;
  for (int32_t v = 0; v < graph->count; v++) {
    atomic_fetch_add_explicit(&r.strength[label[v]], strength[v], memory_order_relaxed);
    total += strength[v];
  }
  r.inverse_total = total > 0 ? 1.0 / (double)total : 0;
  for (int s = 0; s < rule->sweeps; s++) {
    SL_TRY_GOTO(status, sweep(&r, team), done);
    if (atomic_load(&r.moves) <= graph->count / STILL)
      break;
  }
done:
  sl_adjacency_free(&r.sums);
  sl_free(r.first_label);
  sl_free(r.strength);
  sl_free(r.chosen);
  return status;
}

typedef struct contraction {
  const sl_undirected *graph;
  const int32_t *label;
  int32_t *member; /* vertices, label by label */
  int64_t *first;  /* start of each label in member */
  sl_adjacency *links;
} contraction;

static sley_status contract_labels(void *context, int64_t begin, int64_t end, int thread) {
  contraction *c = context;
  sl_arc_sum *sum = &c->links->sums[thread];
  for (int64_t l = begin; l < end; l++) {
    for (int64_t i = c->first[l]; i < c->first[l + 1]; i++) {
      int32_t v = c->member[i];
      for (int64_t e = c->graph->begin[v]; e < c->graph->begin[v + 1]; e++) {
        int32_t other = c->label[c->graph->neighbour[e]];
        if (other != l)
          SL_TRY(sl_arc_sum_add(sum, other, 1));
      }
    }
    SL_TRY(sl_adjacency_keep(c->links, sum, (int32_t)l));
  }
  return SLEY_OK;
}

sley_status sl_contract(const sl_undirected *graph, const int64_t *strength, const int32_t *label,
                        int32_t labels, sl_team *team, sl_adjacency *links, int64_t *strength_of) {
  contraction c = {.graph = graph, .label = label, .links = links};
  sley_status status;
  SL_TRY_GOTO(status, SL_NEW(c.member, graph->count, "communities"), done);
  SL_TRY_GOTO(status, SL_NEW_ZERO(c.first, (int64_t)labels + 2, "communities"), done);
  for (int32_t l = 0; l < labels; l++)
    strength_of[l] = 0;
  for (int32_t v = 0; v < graph->count; v++) {
    c.first[label[v] + 2]++;
    strength_of[label[v]] += strength[v];
  }
  for (int64_t l = 0; l < labels; l++)
    c.first[l + 2] += c.first[l + 1];
  for (int32_t v = 0; v < graph->count; v++)
    c.member[c.first[label[v] + 1]++] = v;
  status = sl_team_for(team, labels, 1, contract_labels, &c);
done:
  sl_free(c.first);
  sl_free(c.member);
  return status;
}
