/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/describe.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/memory.h"
#include "plan/step.h"

/* Text that grows. failed: memory was not sufficient. */
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

sley_status sl_plan_describe(const sl_plan *plan, char **out) {
  text t = {0};
  add(&t, "rank %d of %d: %s (%s)\n", plan->comm->rank, plan->comm->size, plan->algo, plan->reason);
  for (int i = 0; i < plan->buffers.count; i++)
    add(&t, "  buffer %d, %s: %lld rows of %lld bytes\n", i, SL_BUFFER(plan, i)->name,
        (long long)SL_BUFFER(plan, i)->rows, (long long)SL_BUFFER(plan, i)->row_bytes);
  for (int i = 0; i < plan->steps.count; i++) {
    const sl_step *step = SL_STEP(plan, i);
    char line[480] = "";
    step->kind->describe(plan, step, line, sizeof line);
    add(&t, "  %3d%c %s\n", i + 1, step->concurrent ? '*' : ' ', line);
  }
  if (plan->updates)
    add(&t, "  update: %s\n",
        plan->fuses ? "fused: rows of Y are multiplied by W as soon as they are summed, and Y is not stored"
                    : "apart: all of Y is stored in a buffer of sums, which is multiplied by W at the end");
  if (t.failed) {
    sl_free(t.bytes);
    return SLEY_ERR_MEMORY;
  }
  *out = t.bytes;
  return SLEY_OK;
}
