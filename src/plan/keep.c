/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a plan keep the rows that an execute receives: a buffer that several exchanges fill in turn is split
 * into several, so that every buffer except Y is filled once. */
#include "plan/travel.h"

#include "base/memory.h"
#include "plan/step.h"

typedef struct filling {
  int now;       /* buffer that replaces the original one */
  uint8_t *rows; /* 1: the row is filled; NULL: no row is filled */
} filling;

static int64_t row_of(const sl_row_list *list, int64_t i) {
  return list->rows ? list->rows[i] : list->first + i;
}

static bool meets(const filling *f, const sl_exchange_spec *spec) {
  for (int p = 0; p < spec->recvs && f->rows; p++)
    for (int64_t i = 0; i < spec->recv[p].count; i++)
      if (f->rows[row_of(&spec->recv[p], i)])
        return true;
  return false;
}

static sley_status mark(filling *f, const sl_exchange_spec *spec, int64_t rows) {
  if (!f->rows)
    SL_TRY(SL_NEW_ZERO(f->rows, rows, "a plan's buffers"));
  for (int p = 0; p < spec->recvs; p++)
    for (int64_t i = 0; i < spec->recv[p].count; i++)
      f->rows[row_of(&spec->recv[p], i)] = 1;
  return SLEY_OK;
}

static sley_status copy_buffer(sl_plan *plan, int index, int *copy) {
  sl_buffer like = *SL_BUFFER(plan, index);
  SL_TRY(sl_plan_add_buffer(plan, like.name, like.rows, like.row_bytes, copy));
  SL_BUFFER(plan, *copy)->first_column = like.first_column;
  SL_BUFFER(plan, *copy)->dtype = like.dtype;
  return SLEY_OK;
}

static sley_status separate_exchange(sl_plan *plan, filling *fillings, int index) {
  sl_plan_exchange *x = SL_EXCHANGE(plan, index);
  filling *f = &fillings[x->dst];
  x->src = fillings[x->src].now;
  if (x->dst == SL_BUFFER_Y || x->spec.add) {
    x->dst = f->now;
    return SLEY_OK;
  }
  if (meets(f, &x->spec)) {
    SL_TRY(copy_buffer(plan, f->now, &f->now));
    sl_free(f->rows);
    f->rows = NULL;
  }
  x = SL_EXCHANGE(plan, index);
  x->dst = f->now;
  return mark(f, &x->spec, SL_BUFFER(plan, f->now)->rows);
}

static void separate_step(sl_plan *plan, const filling *fillings, sl_step *step) {
  int *used[SL_STEP_USES], count = step->kind->uses(plan, step, used);
  for (int i = 0; i < count; i++)
    *used[i] = fillings[*used[i]].now;
}

sley_status sl_plan_separate(sl_plan *plan) {
  int buffers = plan->buffers.count;
  filling *fillings;
  sley_status status;
  SL_TRY(SL_NEW_ZERO(fillings, buffers, "a plan's buffers"));
  for (int i = 0; i < buffers; i++)
    fillings[i].now = i;
  for (int i = 0; i < plan->steps.count; i++) {
    sl_step *step = SL_STEP(plan, i);
    if (step->kind->acts & SL_ACT_BEGIN)
      SL_TRY_GOTO(status, separate_exchange(plan, fillings, step->index), done);
    if (!plan->dry)
      separate_step(plan, fillings, step);
  }
  status = SLEY_OK;
done:
  for (int i = 0; i < buffers; i++)
    sl_free(fillings[i].rows);
  sl_free(fillings);
  return status;
}
