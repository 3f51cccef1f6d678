/* SPDX-License-Identifier: Apache-2.0 */
/* Two changes to a plan that apply to every algorithm, so that no builder has code for them.
 *
 * Wire: rows are rounded to the narrow type when they are gathered, message by message. They are sent from
 * the gathered rows and received in buffers of that type. They are widened just before a part reads them, and
 * partial sums when they are added. Relays forward the narrow rows unchanged. Rows that a rank sends itself,
 * and rows that are read in place, are not rounded.
 *
 * Keep input: every buffer except Y is filled once per execute (keep.c), and rows that are added to Y are
 * first received in a buffer of their own. An execute with the same X runs only steps that write Y. */
#include "plan/travel.h"

#include <string.h>

#include "base/memory.h"
#include "base/value.h"
#include "plan/step.h"

/* An exchange as the builder made it, and its changes. */
typedef struct leg {
  bool changed;
  int src, dst;             /* buffers as built */
  sley_dtype values;        /* type of its values, as built */
  sl_row_list *send, *recv; /* lists as built, without the rank's own */
  int sends, recvs;
  sl_row_list own_send, own_recv; /* the rank's own lists; no rows if there are none */
  bool add;
  int gathered; /* buffer in which its rows are gathered; 0: they are sent from where they are */
  int staged;   /* buffer that receives the rows for dst; 0: dst itself or its narrow twin receives them */
  bool pending; /* it has ended, and its rows are not widened yet */
} leg;

typedef struct journey {
  sl_plan *plan;
  bool has_wire;
  sley_dtype wire;
  leg *legs;
  int *twin; /* for each buffer as built: the narrow buffer that receives its rows; 0: none */
} journey;

/* The type of a buffer's values. The type of Y is decided later, but the rows received for it are sums. */
static sley_dtype type_of(const sl_plan *plan, int buffer) {
  return buffer == SL_BUFFER_Y ? plan->sum_dtype : SL_BUFFER(plan, buffer)->dtype;
}

static int64_t resize(int64_t bytes, sley_dtype from, sley_dtype to) {
  return bytes / (int64_t)sley_dtype_bytes(from) * (int64_t)sley_dtype_bytes(to);
}

/* Adds a buffer of `rows` rows with the columns of another buffer, in type dtype. */
static sley_status add_like(sl_plan *plan, const char *name, int like, int64_t rows, sley_dtype dtype,
                            int *index) {
  const sl_buffer model = *SL_BUFFER(plan, like);
  SL_TRY(sl_plan_add_buffer(plan, name, rows, resize(model.row_bytes, model.dtype, dtype), index));
  SL_BUFFER(plan, *index)->dtype = dtype;
  SL_BUFFER(plan, *index)->first_column = model.first_column;
  return SLEY_OK;
}

/* ---- lists */

static bool same_rows(const sl_row_list *a, const sl_row_list *b) {
  return a->rows == b->rows && a->first == b->first && a->count == b->count && a->offset == b->offset &&
         a->bytes == b->bytes;
}

/* The plan owns its lists, so they may be changed. */
static sl_row_list *lists_of(const sl_row_list *lists) {
  return (sl_row_list *)lists;
}

static void resize_list(sl_row_list *list, sley_dtype from, sley_dtype to) {
  list->offset = resize(list->offset, from, to);
  list->bytes = resize(list->bytes, from, to);
}

/* Makes the list name rows at, at + 1, ... of a buffer that holds only these rows. */
static void point_at(sl_row_list *list, int64_t at, sley_dtype from, sley_dtype to) {
  list->rows = NULL;
  list->first = at;
  resize_list(list, from, to);
}

/* Removes the rank's own list, and copies it to *own. */
static void take_own(sl_row_list *lists, int *count, int rank, sl_row_list *own) {
  int kept = 0;
  for (int i = 0; i < *count; i++) {
    if (lists[i].peer == rank)
      *own = lists[i];
    else
      lists[kept++] = lists[i];
  }
  *count = kept;
}

/* The first list with the same rows: rows that go to several peers are gathered once. */
static int first_same(const sl_row_list *lists, int i) {
  int same = 0;
  while (!same_rows(&lists[same], &lists[i]))
    same++;
  return same;
}

/* ---- exchanges */

static sley_status copy_lists(const sl_row_list *lists, int count, sl_row_list **out) {
  SL_TRY(SL_NEW(*out, count, "lists of rows"));
  if (count > 0)
    memcpy(*out, lists, (size_t)count * sizeof **out);
  return SLEY_OK;
}

/* Records an exchange as it was built. With a wire type, removes the lists from the rank to itself. */
static sley_status note(journey *j, int index) {
  sl_plan_exchange *x = SL_EXCHANGE(j->plan, index);
  leg *l = &j->legs[index];
  bool staged = x->dst == SL_BUFFER_Y || x->spec.add;
  *l = (leg){.src = x->src, .dst = x->dst, .values = type_of(j->plan, x->src), .add = x->spec.add};
  if (SL_BUFFER(j->plan, x->src)->first_column == SL_NO_COLUMNS || sl_plan_maps(j->plan, index) ||
      !(j->has_wire || staged))
    return SLEY_OK;
  l->changed = true;
  if (j->has_wire) {
    take_own(lists_of(x->spec.send), &x->spec.sends, j->plan->comm->rank, &l->own_send);
    take_own(lists_of(x->spec.recv), &x->spec.recvs, j->plan->comm->rank, &l->own_recv);
    x->spec.dtype = j->wire;
    j->plan->roundings += staged;
  }
  l->sends = x->spec.sends;
  l->recvs = x->spec.recvs;
  SL_TRY(copy_lists(x->spec.send, l->sends, &l->send));
  return copy_lists(x->spec.recv, l->recvs, &l->recv);
}

/* Changes the buffer that receives the rows of an exchange. */
static sley_status change_receipt(journey *j, int index) {
  sl_plan *plan = j->plan;
  leg *l = &j->legs[index];
  sley_dtype to = j->has_wire ? j->wire : l->values;
  int64_t rows = 0;
  int dst = 0;
  if (l->dst == SL_BUFFER_Y || l->add) {
    for (int i = 0; i < l->recvs; i++)
      rows += l->recv[i].count;
    SL_TRY(add_like(plan, "rows received", l->dst, rows, to, &l->staged));
    dst = l->staged;
  } else {
    if (j->twin[l->dst] == 0)
      SL_TRY(add_like(plan, "rows received", l->dst, SL_BUFFER(plan, l->dst)->rows, to, &j->twin[l->dst]));
    dst = j->twin[l->dst];
  }
  sl_plan_exchange *x = SL_EXCHANGE(plan, index);
  x->dst = dst;
  x->spec.add = false;
  rows = 0;
  for (int i = 0; i < l->recvs; i++) {
    sl_row_list *list = &lists_of(x->spec.recv)[i];
    if (l->staged)
      point_at(list, rows, l->values, to);
    else
      resize_list(list, l->values, to);
    rows += list->count;
  }
  return SLEY_OK;
}

/* Changes the buffer from which the rows are sent. The receiving buffers of all exchanges are changed
 * before. */
static sley_status change_despatch(journey *j, int index) {
  sl_plan *plan = j->plan;
  leg *l = &j->legs[index];
  int64_t rows = 0;
  sl_row_list *send = lists_of(SL_EXCHANGE(plan, index)->spec.send);
  if (!j->has_wire)
    return SLEY_OK;
  if (j->twin[l->src] > 0) { /* rows are relayed */
    SL_EXCHANGE(plan, index)->src = j->twin[l->src];
    for (int i = 0; i < l->sends; i++)
      resize_list(&send[i], l->values, j->wire);
    return SLEY_OK;
  }
  for (int i = 0; i < l->sends; i++) {
    int same = first_same(l->send, i);
    point_at(&send[i], same < i ? send[same].first : rows, l->values, j->wire);
    rows += same < i ? 0 : l->send[i].count;
  }
  SL_TRY(add_like(plan, "rows to send", l->src, rows, j->wire, &l->gathered));
  SL_EXCHANGE(plan, index)->src = l->gathered;
  return SLEY_OK;
}

/* ---- steps */

/* Adds the conversion of the rows of one list to the rows of another, by copying or adding. */
static sley_status convert(sl_plan *plan, int src, const sl_row_list *from, sley_dtype from_type, int dst,
                           const sl_row_list *to, sley_dtype to_type, bool add) {
  return sl_plan_add_conversion(plan,
                                &(sl_conversion){.src = src,
                                                 .dst = dst,
                                                 .count = from->count,
                                                 .k = from->bytes / (int64_t)sley_dtype_bytes(from_type),
                                                 .src_rows = from->rows,
                                                 .src_first = from->first,
                                                 .src_offset = from->offset,
                                                 .from = from_type,
                                                 .dst_rows = to->rows,
                                                 .dst_first = to->first,
                                                 .dst_offset = to->offset,
                                                 .to = to_type,
                                                 .add = add});
}

static sley_status begin(journey *j, int index) {
  const leg *l = &j->legs[index];
  const sl_row_list *send = SL_EXCHANGE(j->plan, index)->spec.send;
  for (int i = 0; i < l->sends && l->gathered; i++)
    if (first_same(l->send, i) == i)
      SL_TRY(convert(j->plan, l->src, &l->send[i], l->values, l->gathered, &send[i], j->wire, false));
  return SLEY_OK;
}

/* Adds the conversions of received rows to the buffer for which they were sent. */
static sley_status settle(journey *j, int index) {
  leg *l = &j->legs[index];
  const sl_plan_exchange *x = SL_EXCHANGE(j->plan, index);
  sley_dtype from = j->has_wire ? j->wire : l->values;
  l->pending = false;
  for (int i = 0; i < l->recvs; i++)
    SL_TRY(convert(j->plan, x->dst, &x->spec.recv[i], from, l->dst, &l->recv[i], l->values, l->add));
  return SLEY_OK;
}

static sley_status end(journey *j, int index) {
  leg *l = &j->legs[index];
  if (!l->changed)
    return SLEY_OK;
  SL_TRY(convert(j->plan, l->src, &l->own_send, l->values, l->dst, &l->own_recv, l->values, l->add));
  l->pending = true;
  return l->staged || j->plan->dry ? settle(j, index) : SLEY_OK;
}

/* Widens the rows received for a buffer. */
static sley_status widen(journey *j, int buffer) {
  for (int i = 0; i < j->plan->exchanges.count; i++)
    if (j->legs[i].pending && j->legs[i].dst == buffer)
      SL_TRY(settle(j, i));
  return SLEY_OK;
}

/* Widens the rows received for the buffers that a step reads or writes. */
static sley_status widen_used(journey *j, sl_step *step) {
  int *used[SL_STEP_USES], count = step->kind->uses(j->plan, step, used);
  for (int i = 0; i < count; i++)
    SL_TRY(widen(j, *used[i]));
  return SLEY_OK;
}

static sley_status add_step(journey *j, sl_step *step) {
  unsigned acts = step->kind->acts;
  if (acts & SL_ACT_BEGIN) {
    if (j->legs[step->index].changed)
      SL_TRY(widen(j, j->legs[step->index].dst));
    SL_TRY(begin(j, step->index));
  }
  if (!j->plan->dry)
    SL_TRY(widen_used(j, step));
  SL_TRY(sl_plan_append_step(j->plan, step));
  return acts & SL_ACT_END ? end(j, step->index) : SLEY_OK;
}

static sley_status change_steps(journey *j) {
  sl_list steps = j->plan->steps;
  sley_status status = SLEY_OK;
  j->plan->steps = (sl_list){0};
  for (int i = 0; i < steps.count && status == SLEY_OK; i++)
    status = add_step(j, &((sl_step *)steps.items)[i]);
  sl_free(steps.items);
  return status;
}

static sley_status change(journey *j) {
  int exchanges = j->plan->exchanges.count;
  bool any = false, moves = false;
  for (int i = 0; i < exchanges; i++) {
    SL_TRY(note(j, i));
    any |= j->legs[i].changed;
    moves |= j->legs[i].changed && !(j->legs[i].add || j->legs[i].dst == SL_BUFFER_Y);
  }
  if (!any)
    return SLEY_OK;
  j->plan->roundings += moves;
  for (int i = 0; i < exchanges; i++)
    if (j->legs[i].changed)
      SL_TRY(change_receipt(j, i));
  for (int i = 0; i < exchanges; i++)
    if (j->legs[i].changed)
      SL_TRY(change_despatch(j, i));
  return change_steps(j);
}

/* Refuses plans with fetches, and plans with mapped rows if the rows would cross a link at each read: then no
 * row is rounded or kept. */
static sley_status refuse_fetches(const sl_inspection *ins, const sl_plan *plan) {
  bool maps = ins->wishes->keeps_input || !plan->comm->device->ops->host_addresses;
  if (!sl_plan_does(plan, maps ? SL_ACT_FETCH | SL_ACT_MAP : SL_ACT_FETCH))
    return SLEY_OK;
  return sl_fail(SLEY_ERR_UNSUPPORTED,
                 "%s reads a row in place each time it needs it, so %s: choose another algorithm", plan->algo,
                 ins->wishes->keeps_input ? "it cannot keep rows for an unchanged X (keep_input)"
                                          : "no row can travel in a narrower type (wire)");
}

sley_status sl_plan_travel(const sl_inspection *ins, sl_plan *plan) {
  journey j = {.plan = plan, .has_wire = ins->wishes->has_wire, .wire = ins->wishes->wire};
  SL_TRY(refuse_fetches(ins, plan));
  if (ins->wishes->keeps_input)
    SL_TRY(sl_plan_separate(plan));
  int exchanges = plan->exchanges.count;
  sley_status status = SL_NEW_ZERO(j.legs, exchanges, "a plan's exchanges");
  if (status == SLEY_OK)
    status = SL_NEW_ZERO(j.twin, plan->buffers.count, "a plan's buffers");
  if (status == SLEY_OK)
    status = change(&j);
  for (int i = 0; j.legs && i < exchanges; i++) {
    sl_free(j.legs[i].send);
    sl_free(j.legs[i].recv);
  }
  sl_free(j.twin);
  sl_free(j.legs);
  return status;
}
