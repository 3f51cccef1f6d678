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
typedef struct original {
  bool changed;
  int src, dst;             /* buffers as built */
  sley_dtype values;        /* type of its values, as built */
  sl_row_list *send, *recv; /* lists as built, without the lists from the rank to itself */
  int sends, recvs;
  sl_row_list own_send, own_recv; /* the rank's own lists; no rows if there are none */
  bool add;
  int gathered; /* buffer in which its rows are gathered; 0: they are sent from their original place */
  int staged;   /* buffer that receives the rows for dst; 0: dst itself or its narrow twin receives them */
  bool pending; /* it has ended, and its rows are not widened yet */
} original;

/* The plan that is changed. */
typedef struct rewrite {
  sl_plan *plan;
  bool has_wire;
  sley_dtype wire;
  original *originals;
  int *twin; /* for each buffer as built: the narrow buffer that receives its rows; 0: none */
} rewrite;

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

/* Returns the lists for writing: they belong to the plan, so they may be changed. */
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

/* Returns the first list with the same rows, because rows that go to several peers are gathered once. */
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
static sley_status note(rewrite *r, int index) {
  sl_plan_exchange *x = SL_EXCHANGE(r->plan, index);
  original *o = &r->originals[index];
  bool staged = x->dst == SL_BUFFER_Y || x->spec.add;
  *o = (original){.src = x->src, .dst = x->dst, .values = type_of(r->plan, x->src), .add = x->spec.add};
  if (SL_BUFFER(r->plan, x->src)->first_column == SL_NO_COLUMNS || sl_plan_maps(r->plan, index) ||
      !(r->has_wire || staged))
    return SLEY_OK;
  o->changed = true;
  if (r->has_wire) {
    take_own(lists_of(x->spec.send), &x->spec.sends, r->plan->comm->rank, &o->own_send);
    take_own(lists_of(x->spec.recv), &x->spec.recvs, r->plan->comm->rank, &o->own_recv);
    x->spec.dtype = r->wire;
    r->plan->roundings += staged;
  }
  o->sends = x->spec.sends;
  o->recvs = x->spec.recvs;
  SL_TRY(copy_lists(x->spec.send, o->sends, &o->send));
  return copy_lists(x->spec.recv, o->recvs, &o->recv);
}

/* Changes the buffer that receives the rows of an exchange to a narrow or a separate buffer. */
static sley_status change_receipt(rewrite *r, int index) {
  sl_plan *plan = r->plan;
  original *o = &r->originals[index];
  sley_dtype to = r->has_wire ? r->wire : o->values;
  int64_t rows = 0;
  int dst = 0;
  if (o->dst == SL_BUFFER_Y || o->add) {
    for (int i = 0; i < o->recvs; i++)
      rows += o->recv[i].count;
    SL_TRY(add_like(plan, "rows received", o->dst, rows, to, &o->staged));
    dst = o->staged;
  } else {
    if (r->twin[o->dst] == 0)
      SL_TRY(add_like(plan, "rows received", o->dst, SL_BUFFER(plan, o->dst)->rows, to, &r->twin[o->dst]));
    dst = r->twin[o->dst];
  }
  sl_plan_exchange *x = SL_EXCHANGE(plan, index);
  x->dst = dst;
  x->spec.add = false;
  rows = 0;
  for (int i = 0; i < o->recvs; i++) {
    sl_row_list *list = &lists_of(x->spec.recv)[i];
    if (o->staged)
      point_at(list, rows, o->values, to);
    else
      resize_list(list, o->values, to);
    rows += list->count;
  }
  return SLEY_OK;
}

/* Changes the buffer from which the rows are sent. The receiving buffers of all exchanges have been changed
 * already. */
static sley_status change_despatch(rewrite *r, int index) {
  sl_plan *plan = r->plan;
  original *o = &r->originals[index];
  int64_t rows = 0;
  sl_row_list *send = lists_of(SL_EXCHANGE(plan, index)->spec.send);
  if (!r->has_wire)
    return SLEY_OK;
  if (r->twin[o->src] > 0) { /* rows are relayed */
    SL_EXCHANGE(plan, index)->src = r->twin[o->src];
    for (int i = 0; i < o->sends; i++)
      resize_list(&send[i], o->values, r->wire);
    return SLEY_OK;
  }
  for (int i = 0; i < o->sends; i++) {
    int same = first_same(o->send, i);
    point_at(&send[i], same < i ? send[same].first : rows, o->values, r->wire);
    rows += same < i ? 0 : o->send[i].count;
  }
  SL_TRY(add_like(plan, "rows to send", o->src, rows, r->wire, &o->gathered));
  SL_EXCHANGE(plan, index)->src = o->gathered;
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

static sley_status begin(rewrite *r, int index) {
  const original *o = &r->originals[index];
  const sl_row_list *send = SL_EXCHANGE(r->plan, index)->spec.send;
  for (int i = 0; i < o->sends && o->gathered; i++)
    if (first_same(o->send, i) == i)
      SL_TRY(convert(r->plan, o->src, &o->send[i], o->values, o->gathered, &send[i], r->wire, false));
  return SLEY_OK;
}

/* Adds the conversions of received rows to the buffer for which they were sent. */
static sley_status settle(rewrite *r, int index) {
  original *o = &r->originals[index];
  const sl_plan_exchange *x = SL_EXCHANGE(r->plan, index);
  sley_dtype from = r->has_wire ? r->wire : o->values;
  o->pending = false;
  for (int i = 0; i < o->recvs; i++)
    SL_TRY(convert(r->plan, x->dst, &x->spec.recv[i], from, o->dst, &o->recv[i], o->values, o->add));
  return SLEY_OK;
}

static sley_status end(rewrite *r, int index) {
  original *o = &r->originals[index];
  if (!o->changed)
    return SLEY_OK;
  SL_TRY(convert(r->plan, o->src, &o->own_send, o->values, o->dst, &o->own_recv, o->values, o->add));
  o->pending = true;
  return o->staged || r->plan->dry ? settle(r, index) : SLEY_OK;
}

/* Widens the rows received for a buffer. */
static sley_status widen(rewrite *r, int buffer) {
  for (int i = 0; i < r->plan->exchanges.count; i++)
    if (r->originals[i].pending && r->originals[i].dst == buffer)
      SL_TRY(settle(r, i));
  return SLEY_OK;
}

/* Widens the rows received for the buffers that a step reads or writes. */
static sley_status widen_used(rewrite *r, sl_step *step) {
  int *used[SL_STEP_USES], count = step->kind->uses(r->plan, step, used);
  for (int i = 0; i < count; i++)
    SL_TRY(widen(r, *used[i]));
  return SLEY_OK;
}

static sley_status add_step(rewrite *r, sl_step *step) {
  unsigned acts = step->kind->acts;
  if (acts & SL_ACT_BEGIN) {
    if (r->originals[step->index].changed)
      SL_TRY(widen(r, r->originals[step->index].dst));
    SL_TRY(begin(r, step->index));
  }
  if (!r->plan->dry)
    SL_TRY(widen_used(r, step));
  SL_TRY(sl_plan_append_step(r->plan, step));
  return acts & SL_ACT_END ? end(r, step->index) : SLEY_OK;
}

static sley_status change_steps(rewrite *r) {
  sl_list steps = r->plan->steps;
  sley_status status = SLEY_OK;
  r->plan->steps = (sl_list){0};
  for (int i = 0; i < steps.count && status == SLEY_OK; i++)
    status = add_step(r, &((sl_step *)steps.items)[i]);
  sl_free(steps.items);
  return status;
}

static sley_status change(rewrite *r) {
  int exchanges = r->plan->exchanges.count;
  bool any = false, moves = false;
  for (int i = 0; i < exchanges; i++) {
    SL_TRY(note(r, i));
    any |= r->originals[i].changed;
    moves |= r->originals[i].changed && !(r->originals[i].add || r->originals[i].dst == SL_BUFFER_Y);
  }
  if (!any)
    return SLEY_OK;
  r->plan->roundings += moves;
  for (int i = 0; i < exchanges; i++)
    if (r->originals[i].changed)
      SL_TRY(change_receipt(r, i));
  for (int i = 0; i < exchanges; i++)
    if (r->originals[i].changed)
      SL_TRY(change_despatch(r, i));
  return change_steps(r);
}

/* Refuses plans with fetches, and plans with mapped rows if the rows would cross a link at each read, because
 * such rows are neither rounded nor kept. */
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
  rewrite r = {.plan = plan, .has_wire = ins->wishes->has_wire, .wire = ins->wishes->wire};
  SL_TRY(refuse_fetches(ins, plan));
  if (ins->wishes->keeps_input)
    SL_TRY(sl_plan_separate(plan));
  int exchanges = plan->exchanges.count;
  sley_status status = SL_NEW_ZERO(r.originals, exchanges, "a plan's exchanges");
  if (status == SLEY_OK)
    status = SL_NEW_ZERO(r.twin, plan->buffers.count, "a plan's buffers");
  if (status == SLEY_OK)
    status = change(&r);
  for (int i = 0; r.originals && i < exchanges; i++) {
    sl_free(r.originals[i].send);
    sl_free(r.originals[i].recv);
  }
  sl_free(r.twin);
  sl_free(r.originals);
  return status;
}
