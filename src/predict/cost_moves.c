/* SPDX-License-Identifier: Apache-2.0 */
/* The costs of moving rows in a plan: messages, gathering, fetches, conversions. */
#include "predict/cost_moves.h"

#include <math.h>

#include "base/memory.h"
#include "plan/step.h"

/* The costs of moving rows for one rank. */
typedef struct moving {
  double pack, wait; /* pack: seconds to gather rows; wait: seconds of the link, if this rank were the only
                        one that uses the link of its host */
  double work;       /* the part of the link's time in which the rank's core works */
  double in, sent;   /* bytes received and bytes sent over the link of its host */
} moving;

/* The bytes that a rank sends or receives over message links in an exchange. */
static double message_bytes(const sl_prediction *p, const sl_row_list *lists, int count) {
  double bytes = 0;
  for (int i = 0; i < count; i++)
    if (sl_link_to(p->ins->comm, lists[i].peer) == SL_LINK_MESSAGE)
      bytes += (double)lists[i].count * (double)lists[i].bytes;
  return bytes;
}

/* Seconds of one message. If ranks share a core, the data of all their messages are as far from it as the
 * data of one message of their total size. */
static double message_seconds(const sl_prediction *p, sl_link link, double bytes) {
  return fmax(sl_machine_link_seconds(p->m, link, 1, bytes),
              sl_machine_link_seconds(p->m, link, 1, bytes * p->crowd) / p->crowd);
}

/* Seconds of a list in one message. */
static double list_time(const sl_prediction *p, sl_link link, const sl_row_list *list) {
  return message_seconds(p, link, (double)list->count * (double)list->bytes);
}

/* Returns whether each row of a list is a message, according to the transport. */
static bool is_by_row(const sl_prediction *p, const sl_exchange_spec *spec, const sl_row_list *list) {
  const sl_comm *comm = p->ins->comm;
  return spec->grain == SL_GRAIN_ROW && sl_link_to(comm, list->peer) == SL_LINK_MESSAGE &&
         comm->ops->list_messages(comm, list, spec->grain) == list->count;
}

/* Seconds of lists over their links; working: seconds of processor work for messages between hosts, which is
 * assumed to be the same as for messages inside a host. */
static double list_seconds(const sl_prediction *p, const sl_exchange_spec *spec, bool receiving,
                           bool working) {
  const sl_row_list *lists = receiving ? spec->recv : spec->send;
  int count = receiving ? spec->recvs : spec->sends;
  double seconds = 0;
  for (int i = 0; i < count; i++) {
    double bytes = (double)lists[i].count * (double)lists[i].bytes;
    sl_link link = sl_link_to(p->ins->comm, lists[i].peer);
    bool by_row = is_by_row(p, spec, &lists[i]);
    if (working && link == SL_LINK_MESSAGE)
      link = SL_LINK_DIRECT;
    seconds += by_row ? sl_machine_link_seconds(p->m, link, (double)lists[i].count, (double)lists[i].bytes)
                      : message_seconds(p, link, bytes);
  }
  return seconds;
}

/* Returns whether a list's rows are copied one by one from, or to, a buffer. */
static bool is_scattered(const sl_prediction *p, const sl_row_list *list, int buffer) {
  return list->rows || list->bytes != SL_BUFFER(p->plan, buffer)->row_bytes;
}

/* Seconds to copy a list's rows one by one. */
static double copy_seconds(const sl_prediction *p, const sl_row_list *list) {
  double bytes = (double)list->count * (double)list->bytes;
  return sl_machine_pack_seconds(p->m, (double)list->bytes, bytes * p->crowd) / p->crowd;
}

/* Seconds of gathering. Rows that travel over message links are gathered, except consecutive rows, which are
 * sent in place, and rows that are separate messages, whose time includes gathering. Ranks that are processes
 * also gather for direct links, and strided rows too. */
static double pack_seconds(const sl_prediction *p, const sl_plan_exchange *x) {
  bool every = p->ins->comm->processes && p->m->gathers > 0;
  double seconds = 0;
  for (int i = 0; i < x->spec.sends; i++) {
    const sl_row_list *list = &x->spec.send[i];
    sl_link link = sl_link_to(p->ins->comm, list->peer);
    bool gathers =
        every ? link != SL_LINK_SELF && is_scattered(p, list, x->src) : link == SL_LINK_MESSAGE && list->rows;
    if (gathers && !is_by_row(p, &x->spec, list))
      seconds += copy_seconds(p, list);
  }
  return seconds;
}

/* Additional seconds because rows are not contiguous at the receiver, or, if ranks are threads, which read
 * rows in place, at either end. */
static double scatter_seconds(const sl_prediction *p, const sl_plan_exchange *x) {
  const sl_comm *comm = p->ins->comm;
  double seconds = 0;
  if (p->m->gathers == 0)
    return 0;
  for (int i = 0; i < x->spec.recvs; i++) {
    const sl_row_list *list = &x->spec.recv[i];
    sl_link link = sl_link_to(comm, list->peer);
    double moved = comm->processes && link != SL_LINK_SELF ? 0 : list_time(p, link, list);
    if (!x->spec.add && is_scattered(p, list, x->dst))
      seconds += fmax(copy_seconds(p, list) - moved, 0);
  }
  for (int i = 0; i < x->spec.sends && !comm->processes; i++) {
    const sl_row_list *list = &x->spec.send[i];
    sl_link link = sl_link_to(comm, list->peer);
    if (is_scattered(p, list, x->src) && (link == SL_LINK_DIRECT || !list->rows))
      seconds += fmax(copy_seconds(p, list) - list_time(p, link, list), 0);
  }
  return seconds;
}

/* Costs of one exchange. Threads fetch rows; processes share the work of a message; a GPU's link carries
 * received rows in one direction and the peers' rows in the other, at the same time. */
static moving exchange_seconds(const sl_prediction *p, const sl_plan_exchange *x) {
  const sl_machine *m = p->m;
  const sl_exchange_spec *spec = &x->spec;
  moving out = {.pack = pack_seconds(p, x)};
  bool shared = p->ins->comm->processes && !m->overlaps;
  double receive = list_seconds(p, spec, true, false), send = list_seconds(p, spec, false, false);
  double scatter = scatter_seconds(p, x), link = m->overlaps ? fmax(receive, send) : receive;
  out.wait = (shared ? (receive + send) / 2 : link) + scatter;
  out.work = out.wait;
  if (m->node_bandwidth > 0) {
    out.work = (list_seconds(p, spec, true, true) + list_seconds(p, spec, false, true)) / 2 + scatter;
    out.in = message_bytes(p, spec->recv, spec->recvs);
    out.sent = message_bytes(p, spec->send, spec->sends);
  }
  return out;
}

/* Returns whether this rank exchanges rows with another rank. */
static bool takes_part(const sl_prediction *p, const sl_exchange_spec *spec) {
  int rank = p->ins->comm->rank;
  for (int i = 0; i < spec->sends; i++)
    if (spec->send[i].peer != rank)
      return true;
  for (int i = 0; i < spec->recvs; i++)
    if (spec->recv[i].peer != rank)
      return true;
  return false;
}

int64_t sl_cost_meetings(const sl_prediction *p) {
  const sl_plan *plan = p->plan;
  int64_t count = 0;
  bool together = false;
  for (int i = 0; i < plan->steps.count; i++) {
    const sl_step *step = SL_STEP(plan, i);
    bool begins = step->kind->acts & SL_ACT_BEGIN;
    const sl_exchange_spec *spec = begins ? &SL_EXCHANGE(plan, step->index)->spec : NULL;
    if (begins && takes_part(p, spec) && !together) {
      count++; /* an exchange that adds rows on a device is waited for separately */
      together = p->m->messages_move || (p->m->overlaps && !spec->add);
    } else if (!begins) {
      together = false;
    }
  }
  return count + (plan->fetches.count > 0 ? 2 : 0); /* waits at the beginning and at the end of the peers'
                                                       access to X */
}

/* Seconds to fetch rows one by one. Each fetch takes the time measured for cached rows, but all together take
 * at least the time to copy that many bytes. */
static double rows_seconds(const sl_prediction *p, sl_link link, double rows) {
  double reach = (double)p->ins->halo_set.count * p->row_bytes * p->crowd;
  double copy = p->m->gathers > 0 && reach > 0
                    ? rows * p->row_bytes * sl_machine_pack_seconds(p->m, p->row_bytes, reach) / reach
                    : 0;
  return fmax(sl_machine_fetch_seconds(p->m, link, rows, p->row_bytes), copy);
}

/* Costs of row-wise fetches, one batch and owner at a time. X is first copied to memory that all can read. */
static moving fetch_seconds(const sl_prediction *p) {
  double x_bytes = (double)p->ins->x_rows * p->row_bytes;
  moving out = {0};
  for (int i = 0; i < p->plan->fetches.count; i++) {
    const sl_fetch *fetch = SL_FETCH(p->plan, i);
    double rows[SL_LINK_COUNT] = {0};
    for (int64_t n = 0; n < fetch->count; n++)
      rows[sl_link_to(p->ins->comm, fetch->owner[n])]++;
    for (int link = 0; link < SL_LINK_COUNT; link++)
      out.wait += rows_seconds(p, (sl_link)link, rows[link]);
  }
  if (p->plan->fetches.count > 0)
    out.wait += sl_machine_link_seconds(p->m, SL_LINK_SELF, 1, x_bytes);
  out.work = out.wait;
  return out;
}

static void add_moving(const sl_prediction *p, const moving *one, int group, sl_own_moves *out) {
  int host = sl_workgroup_of(p->ins->comm, p->ins->comm->rank) % SL_HOSTS_MOST;
  sl_busy *sum = &out->busy[group];
  out->wait[group] += (int64_t)(one->wait * 1e9);
  sum->work += (int64_t)(one->work * 1e9);
  sum->in[host] += (int64_t)one->in;
  sum->sent[host] += (int64_t)one->sent;
}

/* Seconds for which the links are busy. A host's link carries the traffic of all its ranks. */
static double link_seconds(const sl_prediction *p, int64_t wait, const sl_busy *sum) {
  double seconds = (double)wait * 1e-9, node = p->m->node_bandwidth, most = 0, all = 0;
  int hosts = sl_workgroups(p->ins->comm);
  for (int h = 0; h < SL_HOSTS_MOST; h++) {
    double bytes = (double)(sum->in[h] > sum->sent[h] ? sum->in[h] : sum->sent[h]);
    most = fmax(most, bytes);
    all += bytes;
  }
  double bytes = hosts > SL_HOSTS_MOST ? all / hosts : most;
  return node > 0 ? fmax(seconds, bytes / node) : seconds;
}

/* Returns whether all exchanges of rows of X begin before the first is waited for. */
static bool flies_at_once(const sl_plan *plan) {
  int begun = 0, all = 0;
  bool waits = false;
  for (int i = 0; i < plan->steps.count; i++) {
    const sl_step *step = SL_STEP(plan, i);
    waits |= (step->kind->acts & SL_ACT_END) != 0;
    if (!(step->kind->acts & SL_ACT_BEGIN) || SL_EXCHANGE(plan, step->index)->src != SL_BUFFER_X)
      continue;
    all++;
    begun += !waits;
  }
  return begun == all;
}

sley_status sl_cost_own_moves(const sl_prediction *p, sl_own_moves *out) {
  const sl_plan *plan = p->plan;
  int exchanges = plan->exchanges.count;
  bool maps = sl_plan_does(plan, SL_ACT_MAP), serial = exchanges <= SL_SERIAL_MOST;
  *out = (sl_own_moves){.groups = serial && exchanges > 0 ? exchanges : 1, .at_once = flies_at_once(plan)};
  SL_TRY(SL_NEW_ZERO(out->wait, out->groups + 1, "predicted moves"));
  SL_TRY(SL_NEW_ZERO(out->busy, out->groups + 1, "predicted moves"));
  for (int i = 0; i < exchanges; i++) {
    if (serial && SL_EXCHANGE(plan, i)->spec.add)
      out->adding |= UINT64_C(1) << i;
    /* Rows that the host's threads read in place are part of their sums; a GPU reads them over its links. */
    if (!p->m->overlaps && maps && sl_plan_maps(plan, i))
      continue;
    moving one = exchange_seconds(p, SL_EXCHANGE(plan, i));
    out->pack += one.pack;
    add_moving(p, &one, serial ? i : 0, out);
    add_moving(p, &one, out->groups, out);
  }
  moving fetched = fetch_seconds(p);
  add_moving(p, &fetched, out->groups - 1, out);
  add_moving(p, &fetched, out->groups, out);
  return SLEY_OK;
}

void sl_cost_own_moves_free(sl_own_moves *moves) {
  sl_free(moves->wait);
  sl_free(moves->busy);
}

sley_status sl_cost_all_moves(const sl_prediction *p, double cores, sl_own_moves *own, sl_all_moving *out) {
  sl_comm *comm = p->ins->comm;
  int all = own->groups;
  *out = (sl_all_moving){.pack = own->pack};
  SL_TRY(comm->ops->allreduce(comm, SL_MAX, own->wait, all + 1));
  SL_TRY(comm->ops->allreduce(comm, SL_SUM, (int64_t *)own->busy,
                              (all + 1) * (int)(sizeof *own->busy / sizeof own->busy->work)));
  double share = cores > 0 ? p->threads / cores : 1.0 / comm->size;
  for (int i = 0; i < all; i++) {
    double link = link_seconds(p, own->wait[i], &own->busy[i]),
           work = (double)own->busy[i].work * share * 1e-9;
    out->wait += cores > 0 ? fmax(link, work) : link;
    if (own->adding >> i & 1)
      out->added += link;
    out->link += link;
    out->work += work;
  }
  if (own->at_once)
    out->link = link_seconds(p, own->wait[all], &own->busy[all]);
  return SLEY_OK;
}

int64_t sl_cost_stages(const sl_prediction *p) {
  int64_t count = 0;
  for (int i = 0; i < p->plan->exchanges.count; i++) {
    const sl_plan_exchange *x = SL_EXCHANGE(p->plan, i);
    count += x->src == SL_BUFFER_X && message_bytes(p, x->spec.recv, x->spec.recvs) > 0;
  }
  return count;
}
