/* SPDX-License-Identifier: Apache-2.0 */
/* The cost model: what an execute takes on the slowest rank. Ranks that are threads move their own rows, so
 * transfers and sums follow each other; on GPUs a plan that sums its local part while rows are in flight
 * takes max(transfers, local part) + remote part. */
#include "plan/algorithm.h"
#include "plan/machine.h"

/* Seconds of the lists one rank sends or receives. */
static double list_seconds(const sl_machine *m, const sl_comm *comm, const sl_exchange_spec *spec,
                           bool receiving) {
  const sl_row_list *lists = receiving ? spec->recv : spec->send;
  int count = receiving ? spec->recvs : spec->sends;
  double seconds = 0;
  for (int i = 0; i < count; i++) {
    double bytes = (double)lists[i].count * (double)lists[i].bytes;
    if (sl_link_to(comm, lists[i].peer) == SL_LINK_MESSAGE) {
      double messages = spec->grain == SL_GRAIN_ROW ? (double)lists[i].count : 1;
      seconds += bytes / (2 * m->message_bandwidth) + messages * m->message_latency;
    } else if (receiving) {
      seconds += bytes / m->direct_bandwidth;
    }
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

static double transfer_seconds(const sl_machine *m, const sl_inspection *ins, const sl_plan *plan) {
  double seconds = meetings(m, plan) * m->exchange_latency;
  for (int i = 0; i < plan->exchanges.count; i++) {
    const sl_exchange_spec *spec = &SL_EXCHANGE(plan, i)->spec;
    /* What the host's threads read in place is part of their sums; a GPU reads it over its links. */
    if (m->overlaps || !is_borrowed(plan, i))
      seconds += list_seconds(m, ins->comm, spec, true) + list_seconds(m, ins->comm, spec, false);
  }
  for (int i = 0; i < plan->fetches.count; i++)
    seconds += (double)SL_FETCH(plan, i)->count *
               (m->message_latency / 4 + (double)ins->row_bytes / m->direct_bandwidth);
  return seconds;
}

/* Seconds of products over so many entries. */
static double entry_seconds(const sl_machine *m, const sl_inspection *ins, double threads, int64_t entries) {
  double entry_bytes = (double)(sl_index_bytes(ins->block->index) + sley_dtype_bytes(ins->block->dtype));
  return (double)entries * (entry_bytes + (double)ins->row_bytes) / (m->spmm_bandwidth * threads);
}

/* Seconds of the passes over Y: one for each part summed into it. */
static double pass_seconds(const sl_machine *m, const sl_inspection *ins, const sl_plan *plan,
                           double threads) {
  int parts = 0;
  for (int i = 0; i < plan->steps.count; i++)
    parts += SL_STEP(plan, i)->kind == SL_STEP_SPMM;
  /* A part stores only rows it has entries for: all rows once, then at most the remote entries. */
  double rows = (double)ins->rows * (parts < 2 ? parts : 2);
  if (rows > (double)ins->rows + (double)ins->remote_nnz)
    rows = (double)ins->rows + (double)ins->remote_nnz;
  return rows * (double)ins->row_bytes / (m->stream_bandwidth * threads);
}

/* Partial rows of Y are written by who computes them, and read and written once more where they are added. */
static double partial_seconds(const sl_machine *m, const sl_plan *plan) {
  double bytes = 0;
  for (int i = 0; i < plan->exchanges.count; i++) {
    const sl_exchange_spec *spec = &SL_EXCHANGE(plan, i)->spec;
    for (int p = 0; p < spec->sends && spec->add; p++)
      bytes += (double)spec->send[p].count * (double)spec->send[p].bytes;
    for (int p = 0; p < spec->recvs && spec->add; p++)
      bytes += 2 * (double)spec->recv[p].count * (double)spec->recv[p].bytes;
  }
  return bytes / m->stream_bandwidth;
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

sley_status sl_plan_predict(const sl_inspection *ins, sl_plan *plan) {
  const sl_machine *m = sl_machine_of(ins->comm->device);
  double threads = m->overlaps ? 1 : sl_team_size(sl_plan_team(ins)),
         transfer = transfer_seconds(m, ins, plan);
  double local = entry_seconds(m, ins, threads, ins->block->nnz - ins->remote_nnz),
         remote = entry_seconds(m, ins, threads, ins->remote_nnz) + pass_seconds(m, ins, plan, threads),
         hidden = 0;
  if (m->overlaps) {
    remote += partial_seconds(m, plan);
    if (sums_in_flight(plan))
      hidden = transfer < local ? transfer : local;
  }
  int64_t nanoseconds[2] = {(int64_t)((transfer + local + remote - hidden) * 1e9), (int64_t)(transfer * 1e9)};
  SL_TRY(ins->comm->ops->allreduce(ins->comm, SL_MAX, nanoseconds, 2));
  plan->predicted_seconds = (double)nanoseconds[0] * 1e-9;
  plan->transfer_seconds = (double)nanoseconds[1] * 1e-9;
  return SLEY_OK;
}
