/* SPDX-License-Identifier: Apache-2.0 */
/* The cost model: what an execute takes, by phase. Ranks whose threads move their own rows do transfers and
 * sums one after the other; on machines that overlap them, such as GPUs, a plan that sums its local part
 * while rows are in flight takes max(transfers, local part) + remote part. Where the ranks' threads are more
 * than the cores, they take turns: then the work of all ranks by the cores counts, if it is more than the
 * slowest rank's. */
#include "plan/algorithm.h"
#include "plan/machine.h"

/* What a rank's work is predicted from. */
typedef struct prediction {
  const sl_machine *m;
  const sl_inspection *ins;
  const sl_plan *plan;
  double threads; /* of the rank */
} prediction;

/* Seconds of the lists one rank sends (packing) or receives. */
static double list_seconds(const prediction *p, const sl_exchange_spec *spec, bool receiving) {
  const sl_row_list *lists = receiving ? spec->recv : spec->send;
  int count = receiving ? spec->recvs : spec->sends;
  double seconds = 0;
  for (int i = 0; i < count; i++) {
    double bytes = (double)lists[i].count * (double)lists[i].bytes;
    sl_link link = sl_link_to(p->ins->comm, lists[i].peer);
    bool by_row = spec->grain == SL_GRAIN_ROW && link == SL_LINK_MESSAGE;
    double messages = by_row ? (double)lists[i].count : 1;
    if (receiving)
      seconds += sl_machine_link_seconds(p->m, link, messages, bytes / messages);
    else if (link == SL_LINK_MESSAGE)
      seconds += bytes / p->m->pack_bandwidth;
  }
  return seconds;
}

/* Whether the plan reads the exchange's rows in place. */
static bool is_borrowed(const sl_plan *plan, int exchange) {
  for (int i = 0; i < plan->steps.count; i++)
    if (SL_STEP(plan, i)->kind == SL_STEP_BORROW && SL_STEP(plan, i)->index == exchange)
      return true;
  return false;
}

/* Times that the ranks wait for each other. Exchanges of a GPU that are begun together wait as one. */
static int meetings(const sl_machine *m, const sl_plan *plan) {
  int count = m->overlaps ? 0 : plan->exchanges.count;
  for (int i = 0; i < plan->steps.count && m->overlaps; i++)
    count +=
        SL_STEP(plan, i)->kind == SL_STEP_BEGIN && (i == 0 || SL_STEP(plan, i - 1)->kind != SL_STEP_BEGIN);
  return count;
}

static void move_seconds(const prediction *p, double *pack, double *transfer) {
  *pack = *transfer = 0;
  for (int i = 0; i < p->plan->exchanges.count; i++) {
    const sl_exchange_spec *spec = &SL_EXCHANGE(p->plan, i)->spec;
    /* What the host's threads read in place is part of their sums; a GPU reads it over its links. */
    if (!p->m->overlaps && is_borrowed(p->plan, i))
      continue;
    *transfer += list_seconds(p, spec, true);
    *pack += list_seconds(p, spec, false);
  }
  for (int i = 0; i < p->plan->fetches.count; i++) {
    const sl_fetch *fetch = SL_FETCH(p->plan, i);
    double rows[SL_LINK_COUNT] = {0};
    for (int64_t n = 0; n < fetch->count; n++)
      rows[sl_link_to(p->ins->comm, fetch->owner[n])]++;
    for (int link = 0; link < SL_LINK_COUNT; link++)
      *transfer += sl_machine_link_seconds(p->m, (sl_link)link, rows[link], (double)p->ins->row_bytes);
  }
}

/* Seconds of products over so many entries that name `reach` distinct rows of X. */
static double entry_seconds(const prediction *p, int64_t entries, int64_t reach) {
  const sley_matrix *block = p->ins->block;
  double entry_bytes = (double)(sl_index_bytes(block->index) + sley_dtype_bytes(block->dtype));
  double row_bytes = (double)p->ins->row_bytes;
  double rate = sl_machine_spmm_rate(p->m, row_bytes, (double)reach * row_bytes);
  return (double)entries * (entry_bytes + row_bytes) / (rate * p->threads);
}

/* Rows of Y that a pass stores. A part stores only rows it has entries for: all rows once, then at most the
 * remote entries. */
static double passed_rows(const prediction *p, bool again) {
  int parts = 0;
  for (int i = 0; i < p->plan->steps.count; i++)
    parts += SL_STEP(p->plan, i)->kind == SL_STEP_SPMM;
  double rows = (double)p->ins->rows, remote = (double)p->ins->remote_nnz;
  if (!again)
    return parts > 0 ? rows : 0;
  return parts < 2 ? 0 : rows < remote ? rows : remote;
}

/* Partial rows of Y are written by who computes them, and read and written once more where they are added. */
static double partial_bytes(const sl_plan *plan) {
  double bytes = 0;
  for (int i = 0; i < plan->exchanges.count; i++) {
    const sl_exchange_spec *spec = &SL_EXCHANGE(plan, i)->spec;
    for (int p = 0; p < spec->sends && spec->add; p++)
      bytes += (double)spec->send[p].count * (double)spec->send[p].bytes;
    for (int p = 0; p < spec->recvs && spec->add; p++)
      bytes += 2 * (double)spec->recv[p].count * (double)spec->recv[p].bytes;
  }
  return bytes;
}

/* Whether a part is summed while an exchange is in flight. */
static bool sums_in_flight(const sl_plan *plan) {
  int flying = 0;
  for (int i = 0; i < plan->steps.count; i++) {
    sl_step_kind kind = SL_STEP(plan, i)->kind;
    flying += (kind == SL_STEP_BEGIN) - (kind == SL_STEP_END);
    if (kind == SL_STEP_SPMM && flying > 0)
      return true;
  }
  return false;
}

/* This rank's phases but the wait. */
static void predict_rank(const prediction *p, double phase[SL_PHASES]) {
  const sl_inspection *ins = p->ins;
  double row_bytes = (double)ins->row_bytes, stream = p->m->stream_bandwidth * p->threads;
  move_seconds(p, &phase[SL_PHASE_PACK], &phase[SL_PHASE_TRANSFER]);
  phase[SL_PHASE_LOCAL] = entry_seconds(p, ins->block->nnz - ins->remote_nnz, ins->x_rows);
  phase[SL_PHASE_LOCAL] += passed_rows(p, false) * row_bytes / stream;
  phase[SL_PHASE_REMOTE] = entry_seconds(p, ins->remote_nnz, ins->halo_set.count);
  phase[SL_PHASE_REMOTE] += (passed_rows(p, true) * row_bytes + partial_bytes(p->plan)) / stream;
}

/* Bytes that a rank's sums take from memory at least: entries, distinct rows of X, Y. */
static double least_bytes(const prediction *p) {
  const sl_inspection *ins = p->ins;
  double entry_bytes = (double)(sl_index_bytes(ins->block->index) + sley_dtype_bytes(ins->block->dtype));
  return (double)ins->block->nnz * entry_bytes +
         (double)(ins->x_rows + ins->halo_set.count + ins->rows) * (double)ins->row_bytes;
}

/* Seconds that the ranks of a node take at least, by its cores and its memory, from sums over all ranks. */
static double node_seconds(const prediction *p, double work, double bytes) {
  const sl_machine *m = p->m;
  int64_t ranks = p->ins->comm->size, a_node = m->ranks_per_node > 0 ? m->ranks_per_node : ranks;
  double nodes = (double)((ranks + a_node - 1) / a_node), seconds = 0;
  if (m->cores > 0 && !m->overlaps)
    seconds = work * p->threads / ((double)m->cores * nodes);
  if (m->memory_bandwidth > 0 && bytes / (m->memory_bandwidth * nodes) > seconds)
    seconds = bytes / (m->memory_bandwidth * nodes);
  return seconds;
}

enum {
  NANO = SL_PHASES,
  FIELDS
}; /* sums over ranks: phases, but least bytes in the place of the wait; work */

sley_status sl_plan_predict(const sl_inspection *ins, sl_plan *plan) {
  const sl_machine *m = ins->machine;
  sl_comm *comm = ins->comm;
  if (!m)
    SL_TRY(sl_agree(comm, sl_machine_find(sl_machine_of(comm->device), &m)));
  double own_threads = m->overlaps ? 1 : sl_team_size(sl_plan_team(ins));
  prediction p = {m, ins, plan, ins->machine && m->threads > 0 ? (double)m->threads : own_threads};
  double phase[SL_PHASES] = {0}, own = 0, hidden = 0;
  predict_rank(&p, phase);
  double moving = phase[SL_PHASE_PACK] + phase[SL_PHASE_TRANSFER];
  if (m->overlaps && sums_in_flight(plan)) {
    double transfer = phase[SL_PHASE_TRANSFER], local = phase[SL_PHASE_LOCAL];
    hidden = transfer < local ? transfer : local;
    phase[SL_PHASE_TRANSFER] -= hidden;
  }
  int64_t sum[FIELDS], most[2];
  for (int i = 0; i < SL_PHASE_WAIT; i++) {
    own += phase[i];
    sum[i] = (int64_t)(phase[i] * 1e9);
  }
  sum[SL_PHASE_WAIT] = (int64_t)least_bytes(&p);
  sum[NANO] = (int64_t)(own * 1e9);
  most[0] = sum[NANO];
  most[1] = (int64_t)(moving * 1e9);
  SL_TRY(comm->ops->allreduce(comm, SL_SUM, sum, FIELDS));
  SL_TRY(comm->ops->allreduce(comm, SL_MAX, most, 2));
  double slowest = (double)most[0] * 1e-9;
  double node = node_seconds(&p, (double)sum[NANO] * 1e-9, (double)sum[SL_PHASE_WAIT]);
  double meet = meetings(m, plan) * m->meeting, mean = (double)sum[NANO] * 1e-9 / comm->size;
  double working = slowest > node ? slowest : node;
  plan->threads = (int64_t)p.threads;
  plan->predicted_seconds = working + meet;
  plan->transfer_seconds = (double)most[1] * 1e-9 + meet;
  /* Where ranks take turns on cores or share a memory, all phases are longer alike. */
  double stretch = node > mean && mean > 0 ? node / mean : 1, spent = 0;
  for (int i = 0; i < SL_PHASE_WAIT; i++) {
    plan->phase_seconds[i] = (double)sum[i] * 1e-9 / comm->size * stretch;
    spent += plan->phase_seconds[i];
  }
  plan->phase_seconds[SL_PHASE_WAIT] = plan->predicted_seconds > spent ? plan->predicted_seconds - spent : 0;
  return SLEY_OK;
}
