/* SPDX-License-Identifier: Apache-2.0 */
/* The cost model: the time of an execute, by phase. Ranks whose threads move their own rows do transfers and
 * sums one after the other. On machines that overlap them, such as GPUs, a plan that sums its local part
 * while rows are in flight takes about max(transfers, local part) + remote part, and one whose rows arrive in
 * pieces max(transfers, both parts). Exchanges that follow each other each take as long as on their slowest
 * rank. If the ranks have more threads than there are cores, the ranks take turns: then the work of all ranks
 * divided by the cores counts, if it is more than the slowest rank's; the time of links between hosts is not
 * work. If messages between hosts move while parts are summed, a plan that sums in flight takes the longer of
 * its cores' work and its links' time, plus its sums over the rows that come last. */
#include "predict/cost.h"

#include <math.h>

#include "base/value.h"
#include "bootstrap/place.h"
#include "plan/step.h"
#include "predict/locality.h"

/* Additional meetings of a plan that moves partial sums, compared with one that moves only rows; in pieces
 * there is no collection. */
enum { COVER_MEETINGS = 2, COVER_MEETINGS_IN_PIECES = 1 };

/* On machines that overlap transfers and sums, the share of the transfers that is hidden; the rest is memory
 * time that both need. Measured on H200s, by products with and without their halo's bytes. */
static const double HIDDEN = 0.85;

/* Factor by which entries take longer if their rows of X are read in place in other ranks' memory of the
 * host: these rows lie farther apart than in a buffer of the halo alone. Measured on real matrices, where it
 * was 1.2 to 1.3. */
static const double IN_PLACE = 1.2;

/* The entries of a rank's sums. */
typedef struct entries {
  double count, reach;  /* reach: number of distinct rows of X that they use */
  const double *within; /* shares by locality, see sl_locality */
} entries;

/* Returns the seconds of products over these entries, with rows of X of that many bytes. */
static double entry_seconds(const sl_prediction *p, const entries *e, double row_bytes) {
  const sley_matrix *block = p->ins->block;
  double entry_bytes = (double)(sl_index_bytes(block->index) + sley_dtype_bytes(block->dtype));
  double rate = sl_machine_mixed_rate(p->m, row_bytes, e->reach * row_bytes * p->crowd,
                                      &(sl_nearness){SL_WINDOWS, sl_window_bytes, e->within});
  return e->count * (entry_bytes + row_bytes) / (rate * p->threads);
}

/* The share of the halo that arrives as rows of X; the other remote entries are summed by the owners of their
 * rows of X. */
static double share_brought(const sl_prediction *p) {
  int64_t rows = 0;
  bool sums = false;
  for (int i = 0; i < p->plan->exchanges.count; i++) {
    const sl_plan_exchange *x = SL_EXCHANGE(p->plan, i);
    sums |= x->gives;
    for (int r = 0; r < x->spec.recvs && x->src == SL_BUFFER_X; r++)
      rows += x->spec.recv[r].count;
  }
  double halo = (double)p->ins->halo_set.count;
  return sums && halo > 0 && (double)rows < halo ? (double)rows / halo : 1;
}

/* Returns whether this rank reads other ranks' rows of X in place. */
static bool reads_in_place(const sl_prediction *p) {
  return !p->m->overlaps && sl_plan_does(p->plan, SL_ACT_MAP);
}

/* Returns whether rows arrive in pieces, and each row of the block is summed once its piece has arrived; or
 * the own columns are summed first, which is chosen only where it is expected to take less time. */
static bool comes_in_pieces(const sl_plan *plan) {
  for (int i = 0; i < plan->exchanges.count; i++)
    if (SL_EXCHANGE(plan, i)->spec.pieces > 0)
      return true;
  return false;
}

/* Returns the costs of the steps besides entries and traffic. */
static sl_step_cost steps_cost(const sl_plan *plan) {
  sl_step_cost sum = {0};
  for (int i = 0; i < plan->steps.count; i++)
    SL_STEP(plan, i)->kind->cost(plan, SL_STEP(plan, i), &sum);
  return sum;
}

/* Rows of Y that a pass stores. A part stores only rows in which it has entries: all rows once; then, for
 * each further part, at most as many as there are remote entries. A part exists only for a rank that owns
 * some of its rows of X; a part of partial sums is counted separately. Batches of fetched rows pass through Y
 * once, all together, and a step that scales Y first passes through it too. */
static double passed_rows(const sl_prediction *p, bool again, double remote) {
  sl_step_cost steps = steps_cost(p->plan);
  int parts = steps.products, owners = 0;
  for (int i = 0; i < p->plan->exchanges.count; i++)
    parts -= SL_EXCHANGE(p->plan, i)->gives;
  for (int r = 0; r < p->ins->comm->size; r++)
    owners += p->ins->halo->begin[r] < p->ins->halo->begin[r + 1];
  int most = p->plan->fetches.count > 0 ? 2 : 1 + owners;
  parts = parts > most ? most : parts;
  double rows = (double)p->ins->rows;
  if (!again)
    return parts > 0 ? rows : 0;
  return steps.passes * rows +
         (parts > 1 && !comes_in_pieces(p->plan) ? fmin((parts - 1) * rows, remote) : 0);
}

/* Bytes of partial rows of Y. They are written by the rank that computes them, and added at their owner;
 * ranks that are threads of the host add them when they take them, which is part of the transfer's time.
 * Rows that arrive in a buffer are added by conversions, which are counted there. */
static double partial_bytes(const sl_prediction *p) {
  bool apart = p->m->overlaps || p->ins->comm->processes;
  double bytes = 0;
  for (int i = 0; i < p->plan->exchanges.count; i++) {
    const sl_exchange_spec *spec = &SL_EXCHANGE(p->plan, i)->spec;
    const bool gives = SL_EXCHANGE(p->plan, i)->gives;
    for (int n = 0; n < spec->sends && (spec->add || gives); n++)
      bytes += (double)spec->send[n].count * (double)spec->send[n].bytes;
    for (int n = 0; n < spec->recvs && spec->add && apart; n++)
      bytes += (double)spec->recv[n].count * (double)spec->recv[n].bytes;
  }
  return bytes;
}

/* Seconds of converting rows to and from the type in which they travel: as fast as rows are gathered; on GPUs
 * one pass through their memory, which also reads the rows to which others are added. */
static void conversion_seconds(const sl_prediction *p, double *before, double *after) {
  double rate = p->m->overlaps ? p->m->stream_bandwidth : p->m->pack_bandwidth * p->threads;
  for (int i = 0; i < p->plan->conversions.count; i++) {
    const sl_conversion *c = SL_CONVERSION(p->plan, i);
    size_t value = sley_dtype_bytes(c->from) + sley_dtype_bytes(c->to);
    if (c->add && p->m->overlaps)
      value += sley_dtype_bytes(c->to);
    double bytes = (double)c->count * (double)c->k * (double)value / 2;
    *(sl_is_16_bit(c->to) ? before : after) += bytes / rate;
  }
}

/* Returns whether a part is summed while an exchange is in flight. */
static bool sums_in_flight(const sl_plan *plan) {
  int flying = 0;
  for (int i = 0; i < plan->steps.count; i++) {
    unsigned acts = SL_STEP(plan, i)->kind->acts;
    flying += ((acts & SL_ACT_BEGIN) != 0) - ((acts & SL_ACT_END) != 0);
    if (acts & SL_ACT_SUM && flying > 0)
      return true;
  }
  return false;
}

/* Seconds of further passes over Y, of that many rows in all, which read and write the rows like a copy. */
static double again_seconds(const sl_prediction *p, double rows, double store) {
  double row_bytes = p->row_bytes, all = (double)p->ins->rows * row_bytes;
  if (p->m->gathers == 0 || all <= 0)
    return rows * row_bytes / store;
  double pass = sl_machine_pack_seconds(p->m, row_bytes, all * p->crowd) / p->crowd;
  return rows * row_bytes / all * pass / p->threads;
}

/* Returns the number of rows of X, out of `rows`, whose first load from memory must be added. On machines
 * that overlap transfers and sums, the rate of entries holds for rows in caches, so all rows count. On other
 * machines the rates already distinguish cached rows from others, so no row counts. */
static double first_loads(const sl_prediction *p, double rows) {
  return p->m->overlaps ? rows : 0;
}

/* The costs of this rank's sums. If ranks divide rows of Y into slices of columns, each rank processes the
 * entries of all these ranks, and the slices of Y are joined at the end. */
static sl_sums sums_of(const sl_prediction *p, double pack) {
  const sl_inspection *ins = p->ins;
  sl_sums s = {.pack = pack};
  double slices = p->plan->slices > 1 ? p->plan->slices : 1, brought = share_brought(p);
  double row_bytes = p->row_bytes, slice_bytes = row_bytes / slices;
  double store =
      sl_machine_store_rate(p->m, row_bytes, (double)ins->rows * row_bytes * p->crowd) * p->threads;
  double remote_nnz = (double)ins->remote_nnz, halo = (double)ins->halo_set.count;
  entries own = {((double)ins->block->nnz - remote_nnz) * slices, (double)ins->x_rows, ins->local_within};
  entries come = {remote_nnz * brought * slices, halo * brought, ins->remote_within};
  entries partial = {remote_nnz * (1 - brought), halo * (1 - brought), ins->remote_within};
  s.local = entry_seconds(p, &own, slice_bytes) +
            (passed_rows(p, false, 0) + first_loads(p, (double)ins->x_rows)) * row_bytes / store;
  s.partial = entry_seconds(p, &partial, row_bytes);
  double shared = slices > 1 ? 2 * (double)ins->rows * row_bytes : 0;
  s.remote_entries = entry_seconds(p, &come, slice_bytes) * (reads_in_place(p) ? IN_PLACE : 1);
  s.remote =
      s.remote_entries + again_seconds(p, passed_rows(p, true, come.count), store) +
      (first_loads(p, halo * brought) * row_bytes + shared + partial_bytes(p) + steps_cost(p->plan).bytes) /
          store;
  conversion_seconds(p, &s.pack, &s.remote);
  return s;
}

/* Least bytes that a rank's sums read and write in memory: entries, distinct rows of X, Y. */
static double least_bytes(const sl_prediction *p) {
  const sl_inspection *ins = p->ins;
  double entry_bytes = (double)(sl_index_bytes(ins->block->index) + sley_dtype_bytes(ins->block->dtype));
  return (double)ins->block->nnz * entry_bytes +
         (double)(ins->x_rows + ins->halo_set.count + ins->rows) * p->row_bytes;
}

/* The number of hosts that the ranks fill. The built-in machine is this host, for which the launcher states
 * the number of ranks. */
static double nodes_of(const sl_prediction *p) {
  int64_t ranks = p->ins->comm->size, a_node = p->m->ranks_per_node > 0 ? p->m->ranks_per_node : ranks;
  if (p->ins->comm->processes && sl_machine_is_built_in(p->m))
    a_node = sl_place_neighbours((int)ranks);
  return (double)((ranks + a_node - 1) / a_node);
}

/* Cores of all hosts; 0: enough cores for the threads of every rank. */
static double cores_of(const sl_prediction *p) {
  double cores = (double)p->m->cores * nodes_of(p);
  return p->m->overlaps || cores >= p->threads * p->ins->comm->size ? 0 : cores;
}

/* Computes the time in which all ranks sum. If exchanges end only when the receivers have taken their rows,
 * each section takes as long as on its slowest rank; if there are fewer cores than threads, ranks take turns
 * in each section. Collective. */
static sley_status summing_seconds(const sl_estimate *e, double *seconds) {
  int64_t most[SL_SECTIONS], all[SL_SECTIONS];
  sl_comm *comm = e->p.ins->comm;
  for (int i = 0; i < e->sections; i++)
    most[i] = all[i] = (int64_t)(e->section[i] * 1e9);
  SL_TRY(comm->ops->allreduce(comm, SL_MAX, most, e->sections));
  SL_TRY(comm->ops->allreduce(comm, SL_SUM, all, e->sections));
  *seconds = 0;
  for (int i = 0; i < e->sections; i++)
    *seconds += fmax((double)most[i], e->cores > 0 ? (double)all[i] * e->p.threads / e->cores : 0) * 1e-9;
  return SLEY_OK;
}

/* Indices of numbers that are summed over ranks, in nanoseconds except for the bytes; and of numbers whose
 * maximum over the ranks is used. */
enum { SUM_PACK, SUM_LOCAL, SUM_REMOTE, SUM_REMOTE_ENTRIES, SUM_BYTES, SUMS };
enum { MOST_MEETINGS, MOST_STAGES, MOSTS };

/* Uses the longest time of any rank for all ranks, because hosts may differ in cores or in figures, and all
 * ranks must make the same choice. Collective. */
static sley_status agree_on_times(sl_comm *comm, sl_figures *f) {
  double *seconds[] = {&f->predicted_seconds, &f->spare_seconds, &f->least_seconds, &f->row_seconds};
  enum { TIMES = sizeof seconds / sizeof *seconds };
  int64_t most[TIMES];
  for (int i = 0; i < TIMES; i++)
    most[i] = (int64_t)(*seconds[i] * 1e12);
  SL_TRY(comm->ops->allreduce(comm, SL_MAX, most, TIMES));
  for (int i = 0; i < TIMES; i++)
    *seconds[i] = (double)most[i] * 1e-12;
  return SLEY_OK;
}

sley_status sl_cost_machine(const sl_inspection *ins, const sl_machine **out) {
  *out = ins->wishes->machine;
  return *out ? SLEY_OK : sl_machine_find(sl_machine_of(ins->comm->device), out);
}

sley_status sl_plan_estimate(const sl_inspection *ins, const sl_plan *plan, sl_estimate *out) {
  const sl_machine *m;
  *out = (sl_estimate){0};
  sl_comm *comm = ins->comm;
  SL_TRY(sl_cost_machine(ins, &m));
  double own_threads = m->overlaps ? 1 : sl_team_size(sl_plan_team(ins));
  sl_prediction *p = &out->p;
  *p = (sl_prediction){.m = m,
                       .ins = ins,
                       .plan = plan,
                       .row_bytes = (double)SL_BUFFER(plan, SL_BUFFER_X)->row_bytes,
                       .threads = ins->wishes->machine && m->threads > 0 ? (double)m->threads : own_threads,
                       .crowd = 1};
  out->cores = cores_of(p);
  p->crowd = out->cores > 0 ? p->threads * comm->size / out->cores : 1;
  SL_TRY(sl_cost_own_moves(p, &out->moves));
  out->sums = sums_of(p, out->moves.pack);
  out->sections = sl_cost_sections(p, &out->sums, out->section);
  out->meetings = sl_cost_meetings(p);
  out->stages = sl_cost_stages(p);
  out->least_bytes = least_bytes(p);
  out->in_pieces = comes_in_pieces(plan);
  out->in_flight = sums_in_flight(plan);
  p->plan = NULL;
  return SLEY_OK;
}

void sl_estimate_free(sl_estimate *estimate) {
  sl_cost_own_moves_free(&estimate->moves);
}

sley_status sl_estimate_sum_up(sl_estimate *own, sl_figures *out) {
  const sl_prediction *p = &own->p;
  const sl_machine *m = p->m;
  const sl_sums *sums = &own->sums;
  sl_comm *comm = p->ins->comm;
  double cores = own->cores, summing;
  sl_all_moving moved;
  SL_TRY(sl_cost_all_moves(p, cores, &own->moves, &moved));
  SL_TRY(summing_seconds(own, &summing));
  int64_t sum[SUMS] = {(int64_t)(sums->pack * 1e9), (int64_t)(sums->local * 1e9),
                       (int64_t)((sums->remote + sums->partial) * 1e9),
                       (int64_t)((sums->remote_entries + sums->partial) * 1e9), (int64_t)own->least_bytes};
  int64_t most[MOSTS] = {own->meetings, own->stages};
  SL_TRY(comm->ops->allreduce(comm, SL_SUM, sum, SUMS));
  SL_TRY(comm->ops->allreduce(comm, SL_MAX, most, MOSTS));
  double mean = (double)(sum[SUM_PACK] + sum[SUM_LOCAL] + sum[SUM_REMOTE]) * 1e-9 / comm->size;
  if (m->memory_bandwidth > 0)
    summing = fmax(summing, (double)sum[SUM_BYTES] / (m->memory_bandwidth * nodes_of(p)));
  double stretch = summing > mean && mean > 0 && cores > 0 ? summing / mean : 1;
  double meet =
      (double)most[MOST_MEETINGS] * (cores > 0 && m->crowded_meeting > 0 ? m->crowded_meeting : m->meeting);
  double transfer = moved.wait, hidden = 0;
  if (m->overlaps && own->in_pieces) {
    hidden = HIDDEN * fmin(transfer, (double)(sum[SUM_LOCAL] + sum[SUM_REMOTE]) * 1e-9 / comm->size);
  } else if (m->overlaps && own->in_flight) {
    hidden = HIDDEN * fmin(transfer - moved.added, (double)sum[SUM_LOCAL] * 1e-9 / comm->size);
  } else if (m->messages_move && m->node_bandwidth > 0 && own->in_flight) {
    double stages = most[MOST_STAGES] > 0 ? (double)most[MOST_STAGES] : 1;
    double last = (double)sum[SUM_REMOTE] * 1e-9 / comm->size * stretch / stages;
    hidden = fmax(summing + transfer - fmax(summing + moved.work, moved.link + last), 0);
  }
  out->predicted_seconds = summing + transfer - hidden + meet;
  out->phase_seconds[SL_PHASE_PACK] = (double)sum[SUM_PACK] * 1e-9 / comm->size * stretch;
  out->phase_seconds[SL_PHASE_TRANSFER] = transfer - hidden;
  out->phase_seconds[SL_PHASE_LOCAL] = (double)sum[SUM_LOCAL] * 1e-9 / comm->size * stretch;
  out->phase_seconds[SL_PHASE_REMOTE] = (double)sum[SUM_REMOTE] * 1e-9 / comm->size * stretch;
  double remote = out->phase_seconds[SL_PHASE_REMOTE];
  const int meetings = own->in_pieces ? COVER_MEETINGS_IN_PIECES : COVER_MEETINGS;
  if (m->overlaps)
    out->spare_seconds = fmax(transfer - hidden - meetings * m->meeting, 0) + (own->in_pieces ? 0 : remote);
  else
    out->spare_seconds = transfer + (double)sum[SUM_PACK] * 1e-9 / comm->size + meet + remote;
  out->least_seconds = transfer - hidden + out->phase_seconds[SL_PHASE_LOCAL] + remote + meet;
  out->row_seconds =
      transfer - hidden + remote - (double)sum[SUM_REMOTE_ENTRIES] * 1e-9 / comm->size * stretch;
  double spent = 0;
  for (int i = 0; i < SL_PHASE_WAIT; i++)
    spent += out->phase_seconds[i];
  SL_TRY(agree_on_times(comm, out));
  out->phase_seconds[SL_PHASE_WAIT] = fmax(out->predicted_seconds - spent, 0);
  return SLEY_OK;
}

sley_status sl_plan_predict(const sl_inspection *ins, sl_plan *plan) {
  sl_estimate own;
  sley_status status = sl_agree(ins->comm, sl_plan_estimate(ins, plan, &own));
  if (status == SLEY_OK)
    status = sl_estimate_sum_up(&own, &plan->figures);
  sl_estimate_free(&own);
  return status;
}
