/* SPDX-License-Identifier: Apache-2.0 */
/* The cost model: what an execute takes on the slowest rank. Transfers and sums follow each other, since
 * ranks that are threads move their own rows. */
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

/* Seconds of the products: every entry once, plus a pass over Y for each part summed into it. */
static double product_seconds(const sl_machine *m, const sl_inspection *ins, const sl_plan *plan) {
  double threads = sl_team_size(sl_plan_team(ins));
  double entry_bytes = (double)(sl_index_bytes(ins->block->index) + sley_dtype_bytes(ins->block->dtype));
  double seconds =
      (double)ins->block->nnz * (entry_bytes + (double)ins->row_bytes) / (m->spmm_bandwidth * threads);
  int parts = 0;
  for (int i = 0; i < plan->steps.count; i++)
    parts += SL_STEP(plan, i)->kind == SL_STEP_SPMM;
  /* A part stores only rows it has entries for: all rows once, then at most the remote entries. */
  double rows = (double)ins->rows * (parts < 2 ? parts : 2);
  if (rows > (double)ins->rows + (double)ins->remote_nnz)
    rows = (double)ins->rows + (double)ins->remote_nnz;
  return seconds + rows * (double)ins->row_bytes / (m->stream_bandwidth * threads);
}

sley_status sl_plan_predict(const sl_inspection *ins, sl_plan *plan) {
  const sl_machine *m = &sl_machine_threads;
  double transfer = 0;
  for (int i = 0; i < plan->exchanges.count; i++) {
    const sl_exchange_spec *spec = &SL_EXCHANGE(plan, i)->spec;
    transfer += m->exchange_latency;
    if (!is_borrowed(plan, i))
      transfer += list_seconds(m, ins->comm, spec, true) + list_seconds(m, ins->comm, spec, false);
  }
  for (int i = 0; i < plan->fetches.count; i++)
    transfer += (double)SL_FETCH(plan, i)->count *
                (m->message_latency / 4 + (double)ins->row_bytes / m->direct_bandwidth);
  int64_t nanoseconds[2] = {(int64_t)((product_seconds(m, ins, plan) + transfer) * 1e9),
                            (int64_t)(transfer * 1e9)};
  SL_TRY(ins->comm->ops->allreduce(ins->comm, SL_MAX, nanoseconds, 2));
  plan->predicted_seconds = (double)nanoseconds[0] * 1e-9;
  plan->transfer_seconds = (double)nanoseconds[1] * 1e-9;
  return SLEY_OK;
}
