/* SPDX-License-Identifier: Apache-2.0 */
/* The passes over a plain division, in order. The first pass that applies changes the division, which is then
   not plain any more. */
#include "algo/passes.h"

#include "base/memory.h"
#include "plan/in_place.h"
#include "plan/parts.h"
#include "plan/step.h"
#include "plan/travel.h"

/* ---- steps */

static sley_status append(sl_plan *plan, const sl_step *steps) {
  for (; steps->kind; steps++)
    SL_TRY(sl_plan_append_step(plan, steps));
  return SLEY_OK;
}

/* The steps that replace a step; NULL: the step stays. */
static const sl_step *replacement(const sl_plan *plan, const sl_plain_steps *steps, const sl_step *step) {
  const sl_division *d = &plan->division;
  unsigned acts = step->kind->acts;
  if (acts & SL_ACT_SUM)
    return step->index == d->map.local ? steps->local : step->index == d->map.remote ? steps->remote : NULL;
  if (step->index != d->exchange)
    return NULL;
  return acts & SL_ACT_BEGIN ? steps->begin : acts & SL_ACT_END ? steps->end : NULL;
}

sley_status sl_pass_replace(sl_plan *plan, const sl_plain_steps *steps, const sl_division *division) {
  sl_list before = plan->steps;
  sley_status status = SLEY_OK;
  plan->steps = (sl_list){0};
  for (int i = 0; i < before.count && status == SLEY_OK; i++) {
    const sl_step *step = &((const sl_step *)before.items)[i], *others = replacement(plan, steps, step);
    status = others ? append(plan, others) : sl_plan_append_step(plan, step);
  }
  sl_free(before.items);
  sl_plan_divide_anew(plan, division);
  return status;
}

void sl_pass_resize(sl_plan *plan, int buffer, int64_t rows, int64_t row_bytes) {
  sl_buffer *b = SL_BUFFER(plan, buffer);
  plan->memory_bytes += rows * row_bytes - b->rows * b->row_bytes;
  b->rows = rows;
  b->row_bytes = row_bytes;
}

/* ---- passes */

/* Only one rank: nothing moves, and the block is one part. The exchange and its buffer are removed. */
static sley_status alone(const sl_inspection *ins, sl_plan *plan) {
  if (ins->comm->size > 1)
    return SLEY_OK;
  const sl_plain_steps steps = {.local = {{.kind = SL_STEP_SPMM, .index = 0}}};
  const sl_division block = {.count = 1,
                             .frame = {{.name = "block", .x = plan->division.frame[0].x, .whole = true}}};
  plan->exchanges.count--;
  plan->buffers.count--;
  sl_plan_drop_halo(plan);
  return sl_pass_replace(plan, &steps, &block);
}

/* In place: if all links are direct and ranks can read each other's host memory, rows are read where they
 * are, and the block is summed in one pass. In each row the rank's own columns come first, so the bits equal
 * the bits of the two parts of other transports. If ranks could read in place but do not, the sums begin with
 * beta Y too, for the same bits. */
static sley_status in_place(const sl_inspection *ins, sl_plan *plan) {
  const sl_comm *comm = ins->comm;
  const int exchange = plan->division.exchange;
  if (comm->workgroup < comm->size || !comm->device->ops->host_addresses ||
      SL_EXCHANGE(plan, exchange)->src != SL_BUFFER_X)
    return SLEY_OK;
  plan->begins_with_y = !ins->wishes->reproducible;
  if (!comm->zero_copy || ins->wishes->keeps_input)
    return SLEY_OK;
  const sl_plain_steps steps = {
      .begin = {{.kind = SL_STEP_BEGIN, .index = exchange}, {.kind = SL_STEP_MAP, .index = exchange}},
      .end = {{.kind = SL_STEP_SPMM, .index = 0}, {.kind = SL_STEP_END, .index = exchange}}};
  const int buffer = SL_EXCHANGE(plan, exchange)->dst;
  sl_pass_resize(plan, buffer, 0, SL_BUFFER(plan, buffer)->row_bytes);
  SL_TRY(sl_pass_replace(plan, &steps, &(sl_division){.count = 0}));
  return sl_divide_in_place(plan, ins, !ins->wishes->reproducible);
}

/* In column order: when all rows have arrived, sums the remote columns below the rank's own, the own columns,
 * and the remote columns above. */
static sley_status in_order(const sl_inspection *ins, sl_plan *plan) {
  enum { BELOW, OWN, ABOVE };
  int32_t *part;
  if (!ins->wishes->reproducible)
    return SLEY_OK;
  SL_TRY(sl_parts_around_own(ins, BELOW, ABOVE, &part));
  const sl_part_frame *plain = plan->division.frame;
  sl_division ordered = {.count = 3,
                         .map = {.local = OWN, .part = part},
                         .owned = {part},
                         .frame = {plain[1], plain[0], plain[1]}};
  ordered.frame[BELOW].name = "remote below";
  ordered.frame[ABOVE].name = "remote above";
  ordered.frame[BELOW].whole = true; /* it is summed first, so it applies the caller's beta */
  ordered.frame[OWN].whole = false;
  const int exchange = plan->division.exchange;
  const sl_plain_steps steps = {.begin = {{.kind = SL_STEP_BEGIN, .index = exchange}},
                                .end = {{.kind = SL_STEP_END, .index = exchange}},
                                .remote = {{.kind = SL_STEP_SPMM, .index = BELOW},
                                           {.kind = SL_STEP_SPMM, .index = OWN},
                                           {.kind = SL_STEP_SPMM, .index = ABOVE}}};
  return sl_pass_replace(plan, &steps, &ordered);
}

static sley_status (*const passes[])(const sl_inspection *ins, sl_plan *plan) = {alone, sl_pass_pieces,
                                                                                 in_place, in_order};

sley_status sl_passes_run(const sl_inspection *ins, sl_plan *plan) {
  for (size_t i = 0; i < sizeof passes / sizeof *passes && plan->division.plain; i++)
    SL_TRY(passes[i](ins, plan));
  SL_TRY(sl_plan_cut(plan, ins));
  return sl_asks_to_travel(ins) ? sl_plan_travel(ins, plan) : SLEY_OK;
}
