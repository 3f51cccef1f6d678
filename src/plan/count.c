/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/count.h"

#include "base/value.h"
#include "plan/problem.h"

/* Adds traffic that this rank will receive from a peer. */
static void add(const sl_comm *comm, int peer, int64_t bytes, int64_t messages, sley_traffic *traffic) {
  switch (sl_link_to(comm, peer)) {
  case SL_LINK_DIRECT:
    traffic->direct_bytes += bytes;
    traffic->direct_messages += messages;
    break;
  case SL_LINK_MESSAGE:
    traffic->message_bytes += bytes;
    traffic->message_messages += messages;
    break;
  default:
    traffic->self_bytes += bytes;
    traffic->self_messages += messages;
    break;
  }
}

/* Decides whether updates are fused and whether Y needs a wider buffer. */
static void settle_result(sl_plan *plan) {
  sl_buffer *y = SL_BUFFER(plan, SL_BUFFER_Y);
  plan->fuses = (plan->updates == SL_UPDATES_FUSED || plan->updates == SL_UPDATES_FUSED_ONLY) &&
                sl_plan_should_fuse(plan);
  if (plan->updates == SL_UPDATES_FUSED_ONLY && !plan->fuses)
    plan->updates = SL_UPDATES_NONE;
  bool apart = plan->updates && !plan->fuses; /* then Y is not rounded before it is multiplied */
  plan->wide_result =
      sl_is_16_bit(plan->dtype) && (plan->separate_result || apart || sl_plan_sums_in_steps(plan));
  if (!plan->wide_result)
    return;
  y->dtype = plan->sum_dtype;
  y->row_bytes = plan->k * (int64_t)sley_dtype_bytes(plan->sum_dtype);
}

sley_status sl_plan_count(sl_plan *plan, sl_plan_share *out) {
  if (plan->failed)
    return SLEY_ERR_MEMORY;
  const sl_comm *comm = plan->comm;
  settle_result(plan);
  *out = (sl_plan_share){.memory_bytes = plan->memory_bytes, .fuses = plan->fuses};
  for (int i = 0; i < plan->exchanges.count; i++) {
    const sl_exchange_spec *spec = &SL_EXCHANGE(plan, i)->spec;
    for (int p = 0; p < spec->recvs; p++) {
      const sl_row_list *list = &spec->recv[p];
      add(comm, list->peer, list->count * list->bytes, comm->ops->list_messages(comm, list, spec->grain),
          &out->received);
    }
  }
  int64_t row_bytes = SL_BUFFER(plan, SL_BUFFER_X)->row_bytes;
  for (int i = 0; i < plan->fetches.count && row_bytes > 0; i++) {
    const sl_fetch *fetch = SL_FETCH(plan, i);
    for (int64_t n = 0, end; n < fetch->count; n = end) { /* entries are in order of their owners */
      int owner = fetch->owner[n];
      for (end = n + 1; end < fetch->count && fetch->owner[end] == owner;)
        end++;
      add(comm, owner, (end - n) * row_bytes, comm->ops->row_messages(comm, owner, end - n, row_bytes),
          &out->received);
    }
  }
  return SLEY_OK;
}

sley_status sl_plan_sum_up(sl_comm *comm, const sl_plan_share *own, sl_figures *out) {
  const sley_traffic *t = &own->received;
  int64_t sums[6] = {t->direct_bytes,     t->direct_messages, t->message_bytes,
                     t->message_messages, t->self_bytes,      t->self_messages};
  SL_TRY(comm->ops->allreduce(comm, SL_SUM, sums, 6));
  out->predicted = (sley_traffic){sums[0], sums[1], sums[2], sums[3], sums[4], sums[5]};
  int64_t most[3] = {own->memory_bytes, t->direct_messages + t->message_messages, !own->fuses};
  SL_TRY(comm->ops->allreduce(comm, SL_MAX, most, 3));
  out->memory_bytes_most = most[0];
  out->messages_most = most[1];
  out->fuses = !most[2];
  return SLEY_OK;
}

sley_status sl_plan_finish(sl_plan *plan) {
  sl_plan_share own;
  SL_TRY(sl_agree(plan->comm, sl_plan_count(plan, &own)));
  return sl_plan_sum_up(plan->comm, &own, &plan->figures);
}
