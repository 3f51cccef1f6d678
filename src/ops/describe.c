/* SPDX-License-Identifier: Apache-2.0 */
/* A plan in words: its steps, the kernels that sum it, what these have settled. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "device/asked_kernel.h"
#include "ops/kernel_use.h"
#include "ops/spmm.h"
#include "plan/describe.h"

/* A line for each shape, the one chosen marked. Returns the length, as snprintf does. */
static size_t describe_trials(const sley_trial *trials, int count, char *text, size_t bytes) {
  size_t used = 0;
  for (int i = 0; i < count; i++) {
    const sley_trial *t = &trials[i];
    used +=
        (size_t)snprintf(text + used, bytes - used, "  tried     ps %2d, dist %2d, wpb %2d: %10.4f ms%s\n",
                         t->ps, t->dist, t->wpb, t->ms, t->chosen ? ", chosen" : "");
  }
  return used;
}

/* The figures that row windows are chosen by, where a device may have kernels for them. */
static size_t describe_windows(const sley_plan *plan, char *text, size_t bytes) {
  const sl_plan *p = &plan->plan;
  if (!sl_kernel_is_there(plan->comm->device->ops->kernels, "hybrid") || p->dtype == SLEY_F64 ||
      p->reproducible)
    return 0;
  sl_window_figures figures = *sl_window_figures_of(&p->windows, p->dtype, p->tf32);
  size_t used = (size_t)snprintf(text, bytes, "  windows   %s figures of %s: Tensor cores",
                                 p->models_windows ? "the machine's" : "built-in",
                                 sl_window_kind_name(sl_window_kind_of(p->dtype, p->tf32)));
  for (int i = 0; i < SL_WINDOW_FIGURES && used < bytes; i++)
    used += (size_t)snprintf(text + used, bytes - used, " %.3g", figures.tensor[i]);
  for (int i = 0; i < SL_WINDOW_FIGURES && used < bytes; i++)
    used +=
        (size_t)snprintf(text + used, bytes - used, "%s %.3g", i == 0 ? "; streams" : "", figures.stream[i]);
  if (used < bytes)
    used += (size_t)snprintf(text + used, bytes - used, " ns\n");
  return used < bytes ? used : bytes - 1;
}

sley_status sl_spmm_describe(const sley_plan *plan, char **out) {
  enum { LINE = 80, WINDOWS_LINE = 384 };
  sley_trial trials[SL_NEIGHBOUR_TRIALS];
  char lines[SL_NEIGHBOUR_TRIALS * LINE + SL_KERNEL_LINES * SL_KERNEL_LINE + WINDOWS_LINE], *text;
  int count;
  *out = NULL;
  SL_TRY(sl_plan_describe(&plan->plan, &text));
  sl_spmm_trials(plan, trials, SL_NEIGHBOUR_TRIALS, &count);
  size_t length = strlen(text);
  size_t more =
      sl_kernel_use_describe(plan->comm->device, &plan->used, lines, SL_KERNEL_LINES * SL_KERNEL_LINE);
  more += describe_windows(plan, lines + more, WINDOWS_LINE);
  more += describe_trials(trials, count, lines + more, sizeof lines - more);
  char *longer = more > 0 ? sl_realloc(text, (int64_t)(length + more + 1), 1, "a plan's description") : text;
  if (!longer) {
    sl_free(text);
    return SLEY_ERR_MEMORY;
  }
  if (more > 0)
    memcpy(longer + length, lines, more + 1);
  *out = longer;
  return SLEY_OK;
}
