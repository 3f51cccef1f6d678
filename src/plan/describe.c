/* SPDX-License-Identifier: Apache-2.0 */
/* A plan in words. */
#include "plan/describe.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/memory.h"

/* Text that grows; failed once memory was short. */
typedef struct text {
  char *bytes;
  int64_t count, room;
  bool failed;
} text;

static void add(text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(text *t, const char *format, ...) {
  char line[512];
  va_list args;
  va_start(args, format);
  int length = vsnprintf(line, sizeof line, format, args);
  va_end(args);
  if (t->failed || length < 0)
    return;
  if (length >= (int)sizeof line)
    length = (int)sizeof line - 1;
  if (t->count + length + 1 > t->room) {
    int64_t room = 2 * t->room + length + 1024;
    char *bytes = sl_realloc(t->bytes, room, 1, "a plan's description");
    if (!bytes) {
      t->failed = true;
      return;
    }
    t->bytes = bytes;
    t->room = room;
  }
  for (int i = 0; i <= length; i++)
    t->bytes[t->count + i] = line[i];
  t->count += length;
}

static int64_t list_rows(const sl_row_list *lists, int count) {
  int64_t rows = 0;
  for (int i = 0; i < count; i++)
    rows += lists[i].count;
  return rows;
}

static void add_step(text *t, const sl_plan *plan, const sl_step *step) {
  switch (step->kind) {
  case SL_STEP_PUBLISH:
    add(t, "publish X for one-sided fetches\n");
    break;
  case SL_STEP_FETCH:
    add(t, "fetch %lld rows one by one into %s\n", (long long)SL_FETCH(plan, step->index)->count,
        SL_BUFFER(plan, SL_FETCH(plan, step->index)->dst)->name);
    break;
  case SL_STEP_BEGIN:
  case SL_STEP_END: {
    const sl_plan_exchange *x = SL_EXCHANGE(plan, step->index);
    add(t, "%s exchange %d, %s: send %lld rows of %s to %d ranks, receive %lld from %d into %s%s\n",
        step->kind == SL_STEP_BEGIN ? "begin" : "end", step->index, x->spec.name,
        (long long)list_rows(x->spec.send, x->spec.sends), SL_BUFFER(plan, x->src)->name, x->spec.sends,
        (long long)list_rows(x->spec.recv, x->spec.recvs), x->spec.recvs, SL_BUFFER(plan, x->dst)->name,
        x->spec.add ? " (added)" : "");
    break;
  }
  case SL_STEP_BORROW:
    add(t, "borrow exchange %d, %s: its rows are read in place until its end\n", step->index,
        SL_EXCHANGE(plan, step->index)->spec.name);
    break;
  case SL_STEP_ARRIVE:
    add(t, "arrive exchange %d, %s: its first piece is there\n", step->index,
        SL_EXCHANGE(plan, step->index)->spec.name);
    break;
  case SL_STEP_SPMM: {
    if (plan->dry) {
      add(t, "sum part %d\n", step->index);
      break;
    }
    const sl_part *p = SL_PART(plan, step->index);
    char arrives[64] = "";
    if (p->stages > 0)
      snprintf(arrives, sizeof arrives, " as %d pieces of exchange %d arrive", p->stages, p->exchange);
    add(t, "sum part %d, %s%s: %lld rows, %lld entries, %s%s%s -> %s%s\n", step->index, p->name, arrives,
        (long long)p->a.rows, (long long)p->nnz, SL_BUFFER(plan, p->x)->name, p->far ? " and " : "",
        p->far ? SL_BUFFER(plan, p->far)->name : "", SL_BUFFER(plan, p->y)->name,
        p->beta == SL_BETA_USER   ? " (after beta Y)"
        : p->beta == SL_BETA_ZERO ? " (overwriting)"
                                  : "");
    break;
  }
  case SL_STEP_FORK:
    add(t, "fork: steps with a star do not wait for the others\n");
    break;
  case SL_STEP_JOIN:
    add(t, "join\n");
    break;
  case SL_STEP_SCALE:
    add(t, "Y = beta Y\n");
    break;
  case SL_STEP_ZERO:
    add(t, "%s = 0\n", SL_BUFFER(plan, step->index)->name);
    break;
  case SL_STEP_CONVERT: {
    const sl_conversion *c = SL_CONVERSION(plan, step->index);
    add(t, "%lld rows of %s %s %s%s\n", (long long)c->count, SL_BUFFER(plan, c->src)->name,
        c->add ? "are added to" : "become rows of", SL_BUFFER(plan, c->dst)->name,
        c->from == c->to ? "" : ", in another type");
    break;
  }
  case SL_STEP_RETIRE:
    add(t, "wait until no rank fetches any more\n");
    break;
  }
}

sley_status sl_plan_describe(const sl_plan *plan, char **out) {
  text t = {0};
  add(&t, "rank %d of %d: %s (%s)\n", plan->comm->rank, plan->comm->size, plan->algo, plan->reason);
  for (int i = 0; i < plan->buffers.count; i++)
    add(&t, "  buffer %d, %s: %lld rows of %lld bytes\n", i, SL_BUFFER(plan, i)->name,
        (long long)SL_BUFFER(plan, i)->rows, (long long)SL_BUFFER(plan, i)->row_bytes);
  for (int i = 0; i < plan->steps.count; i++) {
    add(&t, "  %3d%c ", i + 1, SL_STEP(plan, i)->beside ? '*' : ' ');
    add_step(&t, plan, SL_STEP(plan, i));
  }
  if (t.failed) {
    sl_free(t.bytes);
    return SLEY_ERR_MEMORY;
  }
  *out = t.bytes;
  return SLEY_OK;
}
