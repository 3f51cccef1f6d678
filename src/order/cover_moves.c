/* SPDX-License-Identifier: Apache-2.0 */
/* Simulated annealing (Kirkpatrick, Gelatt and Vecchi 1983) of a division, with the number of rows in the
 * covers as its energy.
 *
 * The covers change with every move, so that they stay covers: when v moves from p to q, v is sent to the
 * parts for which a neighbour's row does not serve the entries, and a neighbour's row is no longer sent to p
 * if only v needed it. The gain of the move is the number of rows that this saves. The covers are minimum
 * again from time to time (sl_cover_parts_solve); they then never have more rows than before. */
#include "order/cover_moves.h"

#include <math.h>
#include <string.h>

#include "base/interrupt.h"
#include "base/memory.h"
#include "base/random.h"

/* Heat and slack fall to 0 in SWEEPS sweeps; COLD_SWEEPS follow, and the covers are minimum again after every
 * SOLVE_EVERY sweeps. TARGETS: the number of parts that are tried for a vertex, those with most links.
 * LONG_LIST: a row that has more entries is assumed to be needed by others too. CHECK_EVERY: vertices between
 * checks for an interrupt. WORDS: the most words of bits for 256 parts. */
enum {
  SWEEPS = 30,
  COLD_SWEEPS = 3,
  SOLVE_EVERY = 10,
  TARGETS = 4,
  LONG_LIST = 256,
  CHECK_EVERY = 1 << 16,
  WORDS = 4
};

/* In rows: a loss of HEAT is accepted with probability 1 / e at the start. A part that is
 * larger than its target by SLACK of it gains PRESSURE by losing a vertex. On 19 real matrices heats of 0.2
 * to 0.5, slacks of 0.02 to 0.05 and pressures of 0.1 to 1 led to numbers of rows within 5 % of each other.
 */
static const double HEAT = 0.2, SLACK = 0.03, PRESSURE = 0.4;

typedef struct mover {
  sl_cover_parts *s;
  int siblings;
  const int64_t *target;
  uint64_t seed;
  int32_t *links; /* links to each part of the vertex at hand; 0 between vertices */
  int32_t *met;   /* parts with links */
  int mets;
  double heat, slack; /* at present */
} mover;

static void meet_parts(mover *m, int32_t v) {
  const sl_pattern *p = m->s->pattern;
  for (int side = 0; side < p->sides; side++)
    for (int64_t e = p->begin[side][v]; e < p->begin[side][v + 1]; e++) {
      int part = m->s->part[p->neighbour[side][e]];
      if (m->links[part]++ == 0)
        m->met[m->mets++] = part;
    }
}

static void forget_parts(mover *m) {
  for (int i = 0; i < m->mets; i++)
    m->links[m->met[i]] = 0;
  m->mets = 0;
}

/* Returns whether v is the only vertex of part p that needs what u sends to p. v is in u's list of the other
 * side. */
static bool only_one_served(const sl_cover_parts *s, int side, int32_t u, int p, int32_t v) {
  const sl_pattern *pattern = s->pattern;
  const int64_t begin = pattern->begin[1 - side][u], end = pattern->begin[1 - side][u + 1];
  if (end - begin > LONG_LIST)
    return false;
  for (int64_t e = begin; e < end; e++) {
    int32_t w = pattern->neighbour[1 - side][e];
    if (w != v && s->part[w] == p && !sl_is_sent(s, side, w, s->part[u]))
      return false;
  }
  return true;
}

/* Returns the number of rows that need not be sent if v has left its part, v's own rows included. With
 * `drop` they are no longer sent. */
static int leave(mover *m, int32_t v, bool drop) {
  const sl_cover_parts *s = m->s;
  const sl_pattern *pattern = s->pattern;
  const int p = s->part[v];
  int saved = 0;
  for (int side = 0; side < pattern->sides; side++) {
    uint64_t *own = sl_sent_bits(s, side, v);
    for (int64_t e = pattern->begin[side][v]; e < pattern->begin[side][v + 1]; e++) {
      int32_t u = pattern->neighbour[side][e];
      int r = s->part[u];
      if (r == p || !sl_is_sent(s, 1 - side, u, p) || own[r >> 6] >> (r & 63) & 1 ||
          !only_one_served(s, side, u, p, v))
        continue;
      saved++;
      if (drop)
        sl_sent_bits(s, 1 - side, u)[p >> 6] ^= UINT64_C(1) << (p & 63);
    }
    for (int w = 0; w < s->words; w++)
      saved += __builtin_popcountll(own[w]);
  }
  return saved;
}

/* Returns the number of v's own rows that must be sent if v is in part q. needed: the bits, for each side. */
static int enter(mover *m, int32_t v, int q, uint64_t needed[2][WORDS]) {
  const sl_cover_parts *s = m->s;
  const sl_pattern *pattern = s->pattern;
  int cost = 0;
  for (int side = 0; side < pattern->sides; side++) {
    uint64_t *bits = needed[side];
    memset(bits, 0, sizeof needed[side]);
    for (int64_t e = pattern->begin[side][v]; e < pattern->begin[side][v + 1]; e++) {
      int32_t u = pattern->neighbour[side][e];
      int r = s->part[u];
      if (r != q && !sl_is_sent(s, 1 - side, u, q))
        bits[r >> 6] |= UINT64_C(1) << (r & 63);
    }
    for (int w = 0; w < s->words; w++)
      cost += __builtin_popcountll(bits[w]);
  }
  return cost;
}

static void move(mover *m, int32_t v, int q) {
  sl_cover_parts *s = m->s;
  uint64_t needed[2][WORDS];
  leave(m, v, true);
  enter(m, v, q, needed);
  for (int side = 0; side < s->pattern->sides; side++)
    memcpy(sl_sent_bits(s, side, v), needed[side], (size_t)s->words * sizeof(uint64_t));
  s->size[s->part[v]]--;
  s->size[q]++;
  s->part[v] = q;
}

/* Fills list with the sibling parts to which v has most links; equal ones in the order in which they were
 * met. Returns their number. */
static int list_targets(const mover *m, int32_t v, int list[TARGETS]) {
  const int own = m->s->part[v];
  int count = 0;
  for (int i = 0; i < m->mets; i++) {
    int part = m->met[i], at = count;
    if (part == own || part / m->siblings != own / m->siblings)
      continue;
    while (at > 0 && m->links[list[at - 1]] < m->links[part])
      at--;
    if (at == TARGETS)
      continue;
    count += count < TARGETS;
    memmove(list + at + 1, list + at, (size_t)(count - 1 - at) * sizeof *list);
    list[at] = part;
  }
  return count;
}

/* Returns the vertices of a part above its target; negative: below. */
static int64_t excess_of(const mover *m, int part) {
  return m->s->size[part] - m->target[part];
}

/* Returns the pressure, in rows, on a part to lose a vertex. */
static double pressure_on(const mover *m, int part) {
  return PRESSURE * (double)excess_of(m, part) / (1 + (double)m->target[part] * m->slack);
}

/* Finds the part in which v gains most: rows saved, with `press` also the pressure that is relieved; of equal
 * ones that with most links. Without `press` only moves that bring sizes nearer to the targets count. Returns
 * -1 if there is none. */
static int best_target(mover *m, int32_t v, bool press, double *gain) {
  int list[TARGETS], best = -1, saved = 0, own = m->s->part[v];
  uint64_t needed[2][WORDS];
  int count = list_targets(m, v, list);
  for (int i = 0; i < count; i++) {
    if (!press && excess_of(m, own) < excess_of(m, list[i]) + 2)
      continue;
    if (best < 0)
      saved = leave(m, v, false);
    double now = saved - enter(m, v, list[i], needed);
    if (press)
      now += pressure_on(m, own) - pressure_on(m, list[i]);
    if (best >= 0 && now <= *gain)
      continue;
    *gain = now;
    best = list[i];
  }
  return best;
}

/* Visits every vertex, and moves it if that gains, or with a probability that falls with the loss. */
static sley_status sweep(mover *m, int number) {
  sl_cover_parts *s = m->s;
  for (int32_t v = 0; v < s->pattern->count; v++) {
    if (v % CHECK_EVERY == 0)
      SL_TRY(sl_interrupted());
    double gain = 0;
    meet_parts(m, v);
    int to = best_target(m, v, true, &gain);
    forget_parts(m);
    if (to >= 0 && (gain > 0 || (m->heat > 0 && sl_unit(sl_random(m->seed, (uint64_t)number, (uint64_t)v)) <
                                                    exp(gain / m->heat))))
      move(m, v, to);
  }
  return SLEY_OK;
}

static sley_status anneal(mover *m) {
  for (int i = 0; i < SWEEPS + COLD_SWEEPS; i++) {
    double left = i < SWEEPS ? (double)(SWEEPS - i) / SWEEPS : 0;
    m->heat = HEAT * left;
    m->slack = SLACK * left;
    SL_TRY(sweep(m, i));
    if (i % SOLVE_EVERY == SOLVE_EVERY - 1)
      SL_TRY(sl_cover_parts_solve(m->s));
  }
  return SLEY_OK;
}

/* Returns the first sibling of part `from` that is below its target. */
static int sibling_below(const mover *m, int from) {
  int to = from / m->siblings * m->siblings;
  while (m->s->size[to] >= m->target[to])
    to++;
  return to;
}

/* Moves vertices out of parts above their targets, at first only those that lose nothing, then also those
 * that lose more. They move to parts with links that are nearer below their targets; with `force` to any part
 * below its target, until all parts have their targets. */
static sley_status approach_targets(mover *m, bool force) {
  sl_cover_parts *s = m->s;
  uint64_t needed[2][WORDS];
  int64_t moves;
  for (int64_t most = 0; most <= INT32_MAX; most = 2 * most + 1)
    do {
      moves = 0;
      SL_TRY(sl_interrupted());
      for (int32_t v = 0; v < s->pattern->count; v++) {
        double gain = 0;
        int own = s->part[v], to;
        if (s->size[own] <= m->target[own])
          continue;
        if (force) {
          to = sibling_below(m, own);
          gain = leave(m, v, false) - enter(m, v, to, needed);
        } else {
          meet_parts(m, v);
          to = best_target(m, v, false, &gain);
          forget_parts(m);
        }
        if (to < 0 || -gain > (double)most)
          continue;
        move(m, v, to);
        moves++;
      }
    } while (moves > 0);
  return SLEY_OK;
}

sley_status sl_cover_refine(sl_cover_parts *parts, int siblings, const int64_t *target, uint64_t seed) {
  mover m = {.s = parts, .siblings = siblings, .target = target, .seed = seed};
  sley_status status;
  SL_TRY_GOTO(status, SL_NEW_ZERO(m.links, parts->parts, "moves between parts"), done);
  SL_TRY_GOTO(status, SL_NEW(m.met, parts->parts, "moves between parts"), done);
  SL_TRY_GOTO(status, anneal(&m), done);
  SL_TRY_GOTO(status, approach_targets(&m, false), done);
  SL_TRY_GOTO(status, approach_targets(&m, true), done);
  status = sl_cover_parts_solve(parts);
done:
  sl_free(m.met);
  sl_free(m.links);
  return status;
}
