/* SPDX-License-Identifier: Apache-2.0 */
/* Computes the seconds of ranks from what they sum and move, by a machine's figures. */
#include <math.h>

#include "roofline/roofline.h"

/* Bandwidth of large messages, bytes/s. */
static double bandwidth_of(const sl_link_speed *link) {
  if (link->points == 0)
    return link->bandwidth;
  const sl_link_point *last = &link->point[link->points - 1];
  return last->bytes / last->seconds;
}

static sl_link link_of(sl_reach reach) {
  return reach == SL_REACH_INSIDE ? SL_LINK_DIRECT : SL_LINK_MESSAGE;
}

/* Returns whether this reach is the network of the roofline. */
static bool is_network(const sl_roofline_speeds *s, sl_reach reach) {
  return (reach == SL_REACH_BETWEEN) == (s->nodes > 1);
}

/* Memory bandwidth of a rank: the lesser of its threads' and of its share of the node's. */
static double memory_of(const sl_roofline_speeds *s) {
  const double own = s->machine->stream_bandwidth * s->threads / s->crowd;
  return s->machine->memory_bandwidth > 0 ? fmin(own, s->machine->memory_bandwidth / s->ranks_per_node) : own;
}

sl_roofline_speeds sl_roofline_speeds_of(const sley_roofline_options *o) {
  const sl_machine *m = o->machine;
  sl_roofline_speeds s = {.machine = m, .ranks = o->ranks, .peak = o->peak, .latency = o->latency};
  const int64_t per_node = o->ranks_per_node > 0 ? o->ranks_per_node : m->ranks_per_node;
  s.ranks_per_node = per_node > 0 && per_node < o->ranks ? (int)per_node : o->ranks;
  s.nodes = (o->ranks - 1) / s.ranks_per_node + 1;
  s.threads = o->threads > 0 ? o->threads : m->threads > 0 ? (double)m->threads : 1;
  s.crowd = m->cores > 0 ? fmax(1, s.ranks_per_node * s.threads / (double)m->cores) : 1;
  s.sums_known = o->memory_bandwidth <= 0;
  s.memory = s.sums_known ? memory_of(&s) : o->memory_bandwidth;
  s.given = o->network_bandwidth;
  s.node = s.nodes == 1 ? 0 : s.given > 0 ? s.given : m->node_bandwidth;
  s.share = s.given > 0 ? s.given : bandwidth_of(&m->link[s.nodes > 1 ? SL_LINK_MESSAGE : SL_LINK_DIRECT]);
  if (s.node > 0)
    s.share = fmin(s.share, s.node / s.ranks_per_node);
  s.inside_overlaps = m->overlaps || (s.nodes == 1 && s.given > 0);
  s.between_overlaps = m->overlaps || s.given > 0 || (m->messages_move && s.node > 0);
  return s;
}

/* Seconds in which a rank receives, or sends, whichever takes longer. */
static double link_seconds(const sl_roofline_speeds *s, const sl_rank_tally *t, sl_reach reach) {
  const double in = t->in[reach], out = t->out[reach], messages = t->messages[reach];
  const sl_link_speed *link = &s->machine->link[link_of(reach)];
  if (is_network(s, reach) && (s->given > 0 || s->latency > 0)) {
    const double bandwidth = s->given > 0 ? s->given : bandwidth_of(link);
    return fmax(in / bandwidth + messages * s->latency, out / bandwidth);
  }
  return fmax(messages > 0 ? sl_machine_link_seconds(s->machine, link_of(reach), messages, in / messages) : 0,
              out / bandwidth_of(link));
}

/* Returns the seconds in which the link of a rank's node carries the data that all its ranks receive, or
   send. */
static double node_seconds(const sl_roofline_speeds *s, const sl_rank_tally *tally, int rank) {
  const int first = rank / s->ranks_per_node * s->ranks_per_node;
  double in = 0, out = 0;
  if (s->node <= 0)
    return 0;
  for (int r = first; r < first + s->ranks_per_node && r < s->ranks; r++) {
    in += tally[r].in[SL_REACH_BETWEEN];
    out += tally[r].out[SL_REACH_BETWEEN];
  }
  return fmax(in, out) / s->node;
}

static sl_rank_seconds seconds_of(const sl_roofline_speeds *s, const sl_rank_tally *tally, int rank,
                                  double at_node, bool in_turn) {
  const sl_rank_tally *t = &tally[rank];
  sl_rank_seconds out = {.memory = t->local_bytes / s->memory,
                         .sums = s->sums_known ? t->sums * s->crowd / s->threads : 0,
                         .arithmetic = s->peak > 0 ? t->flops / s->peak : 0};
  const double inside = link_seconds(s, t, SL_REACH_INSIDE);
  const double between = fmax(link_seconds(s, t, SL_REACH_BETWEEN), at_node);
  out.local = fmax(fmax(out.memory, out.sums), out.arithmetic);
  out.network = s->nodes > 1 ? between : inside;
  const double beside = (s->inside_overlaps ? inside : 0) + (s->between_overlaps ? between : 0);
  const double work = out.local + inside + between - beside;
  out.predicted = in_turn ? work + beside : sl_overlapped_seconds(work, beside, (double)t->tasks);
  return out;
}

void sl_roofline_seconds(const sl_roofline_speeds *s, const sl_rank_tally *tally, bool in_turn,
                         sl_rank_seconds *out) {
  double at_node = 0;
  for (int r = 0; r < s->ranks; r++) {
    if (r % s->ranks_per_node == 0)
      at_node = node_seconds(s, tally, r);
    out[r] = seconds_of(s, tally, r, at_node, in_turn);
  }
}
