/* SPDX-License-Identifier: Apache-2.0 */
/* Describes a plan in words: its steps, the kernels that sum it, and the kernels' choices. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "device/asked_kernel.h"
#include "ops/kernel_report.h"
#include "ops/spmm.h"
#include "plan/describe.h"

enum { TRIAL_LINE = 256, MOST_TRIAL_LINES = SL_NEIGHBOUR_TRIALS + 1 };

/* Writes the switches, and a line for each shape: the model's figures and the time, with the chosen shape
 * marked. Returns the length, like snprintf. */
static size_t describe_trials(const sley_plan *plan, char *text, size_t bytes) {
  sley_trial trials[SL_NEIGHBOUR_TRIALS];
  char choice[SL_ROWWISE_CHOICE_BYTES];
  int count;
  sl_spmm_trials(plan, trials, SL_NEIGHBOUR_TRIALS, &count);
  if (count == 0)
    return 0;
  sl_rowwise_choice_describe(&plan->plan.rowwise, choice);
  size_t used = (size_t)snprintf(text, bytes, "  rowwise   %s\n", choice);
  for (int i = 0; i < count; i++) {
    const sley_trial *t = &trials[i];
    char ps[16] = "whole";
    if (t->ps > 0)
      snprintf(ps, sizeof ps, "%2d", t->ps);
    used += (size_t)snprintf(text + used, bytes - used,
                             "  tried     ps %s, dist %2d, wpb %2d: %10.4f ms%s; model: WPW %lld, SMEM %lld "
                             "bytes, %lld warps, %lld blocks, %.3g a multiprocessor\n",
                             ps, t->dist, t->wpb, t->ms, t->chosen ? ", chosen" : "", (long long)t->workload,
                             (long long)t->shared_bytes, (long long)t->warps, (long long)t->blocks,
                             t->blocks_per_sm);
  }
  return used;
}

/* Writes the figures for choosing row windows, if a device may have kernels for them. */
static size_t describe_windows(const sley_plan *plan, char *text, size_t bytes) {
  const sl_plan *p = &plan->plan;
  if (!sl_kernel_is_there(plan->comm->device->ops->kernels, "hybrid") || p->dtype == SLEY_F64 ||
      p->reproducible)
    return 0;
  sl_window_figures figures = *sl_window_figures_of(&p->device_figures.windows, p->dtype, p->tf32);
  const bool built_in = memcmp(&p->device_figures.windows, &p->comm->device->figures.windows,
                               sizeof p->device_figures.windows) == 0;
  size_t used = (size_t)snprintf(text, bytes, "  windows   %s figures of %s: Tensor cores",
                                 built_in ? "built-in" : "the machine's",
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
  enum { WINDOWS_LINE = 384 };
  char lines[MOST_TRIAL_LINES * TRIAL_LINE + SL_KERNEL_LINES * SL_KERNEL_LINE + WINDOWS_LINE], *text;
  *out = NULL;
  SL_TRY(sl_plan_describe(&plan->plan, &text));
  size_t length = strlen(text);
  size_t more =
      sl_kernel_use_describe(plan->comm->device, &plan->used, lines, SL_KERNEL_LINES * SL_KERNEL_LINE);
  more += describe_windows(plan, lines + more, WINDOWS_LINE);
  more += describe_trials(plan, lines + more, sizeof lines - more);
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
