/* SPDX-License-Identifier: Apache-2.0 */
/* The choice among the algorithms: each algorithm that could be the fastest gets a dry plan, whose traffic is
 * counted and whose time is predicted. */
#include "predict/choice.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "machine/machine.h"
#include "plan/travel.h"
#include "predict/cost.h"

static int64_t bytes_of(const sl_forecast *f) {
  return f->figures.predicted.direct_bytes + f->figures.predicted.message_bytes;
}

/* Returns whether a is better than b. If their times differ by at most 1 %, the one that moves fewer bytes is
 * better, because its time depends less on estimates. */
static bool is_better(const sl_forecast *a, const sl_forecast *b) {
  if (!b || a->figures.predicted_seconds < 0.99 * b->figures.predicted_seconds)
    return true;
  return a->figures.predicted_seconds <= 1.01 * b->figures.predicted_seconds && bytes_of(a) < bytes_of(b);
}

/* Plans one more candidate and keeps the best two candidates (NULL: none). Of equal candidates the earlier
 * one is better. Candidates that do not support the requested options are left out. */
static sley_status consider(sl_forecasts *forecasts, int i, const sl_forecast **best,
                            const sl_forecast **next) {
  const sl_plan_wishes *wishes = forecasts->ins->wishes;
  const sl_forecast *forecast;
  sley_status status = sl_forecast_get(forecasts, i, &forecast);
  if (status == SLEY_ERR_UNSUPPORTED &&
      (sl_asks_to_travel(forecasts->ins) || wishes->renewable || wishes->kernel)) /* then the error is the
                                                                                     same on all ranks */
    return SLEY_OK;
  SL_TRY(status);
  if (is_better(forecast, *best)) {
    *next = *best;
    *best = forecast;
  } else if (is_better(forecast, *next)) {
    *next = forecast;
  }
  return SLEY_OK;
}

/* Returns the algorithm for one rank, where nothing travels. */
static int for_one_rank(void) {
  int i = 0;
  while (sl_algorithms[i + 1] && !sl_algorithms[i]->serves_one_rank)
    i++;
  return i;
}

/* The highest bandwidth of any rank's links, for messages of any size, in bytes/s. Collective, agreed. */
static sley_status fastest_link(const sl_inspection *ins, double *out) {
  static const sl_link links[] = {SL_LINK_DIRECT, SL_LINK_MESSAGE};
  const sl_machine *machine;
  double most = 0;
  SL_TRY(sl_agree(ins->comm, sl_cost_machine(ins, &machine)));
  for (int l = 0; l < 2; l++)
    for (double bytes = 1024; bytes <= (1 << 30); bytes *= 4)
      most = fmax(most, bytes / sl_machine_link_seconds(machine, links[l], 1, bytes));
  int64_t agreed = most < 1e18 ? (int64_t)most : INT64_MAX;
  SL_TRY(ins->comm->ops->allreduce(ins->comm, SL_MAX, &agreed, 1));
  *out = (double)agreed;
  return SLEY_OK;
}

static sley_status predict_rival(void *context, const sl_algorithm *algorithm, const sl_figures **out) {
  const sl_forecast *forecast;
  int i = 0;
  while (sl_algorithms[i] != algorithm)
    i++;
  SL_TRY(sl_forecast_get(context, i, &forecast));
  *out = &forecast->figures;
  return SLEY_OK;
}

/* Asks an algorithm whether it should be considered; if not, appends the reason to `left_out`. Collective,
 * agreed. */
static sley_status ask(sl_inspection *ins, const sl_algorithm *algorithm, const sl_rivals *rivals,
                       bool *considered, char *left_out, size_t bytes) {
  const char *why_not = NULL;
  size_t used = strlen(left_out);
  *considered = false;
  SL_TRY(algorithm->consider(ins, rivals, considered, &why_not));
  if (!*considered && why_not)
    snprintf(left_out + used, bytes - used, "; %s not considered: %s", algorithm->name, why_not);
  return SLEY_OK;
}

/* Adds to the reason, if figures are built in, that they are. */
static sley_status say_whose_figures(const sl_inspection *ins, char *reason, size_t reason_bytes) {
  const sl_machine *machine;
  size_t used = strlen(reason);
  SL_TRY(sl_cost_machine(ins, &machine));
  if (sl_machine_is_built_in(machine))
    snprintf(reason + used, reason_bytes - used, " (built-in figures; run sley tune)");
  return SLEY_OK;
}

sley_status sl_choose(sl_forecasts *forecasts, int *chosen, char reason[SL_REASON]) {
  const sl_inspection *ins = forecasts->ins;
  if (ins->comm->size == 1) {
    *chosen = for_one_rank();
    snprintf(reason, SL_REASON, "one rank: no row moves, and all algorithms are equal");
    return SLEY_OK;
  }
  const sl_forecast *best = NULL, *next = NULL;
  char left_out[256] = "";
  sl_rivals rivals = {.predict = predict_rival, .context = forecasts};
  SL_TRY(fastest_link(ins, &rivals.bandwidth));
  for (int i = 0; sl_algorithms[i]; i++)
    if (sl_algorithms[i]->consider == sl_consider_always)
      SL_TRY(consider(forecasts, i, &best, &next));
  /* Algorithms that compare themselves with the best are compared with all algorithms before them. */
  for (int i = 0; sl_algorithms[i]; i++) {
    bool considered;
    if (sl_algorithms[i]->consider == sl_consider_always)
      continue;
    rivals.best = best ? &best->figures : NULL;
    SL_TRY(ask(forecasts->ins, sl_algorithms[i], &rivals, &considered, left_out, sizeof left_out));
    if (considered)
      SL_TRY(consider(forecasts, i, &best, &next));
  }
  if (!best) /* no algorithm supports the requested kernel */
    return sl_fail_prefix(SLEY_ERR_UNSUPPORTED, "none of the algorithms that auto considers is possible: ");
  *chosen = (int)(best - forecasts->of);
  int used =
      snprintf(reason, SL_REASON, "%s is predicted fastest: %.3g ms moving %.2f MiB", best->algorithm->name,
               1e3 * best->figures.predicted_seconds, (double)bytes_of(best) / 1048576);
  if (next)
    used += snprintf(reason + used, (size_t)(SL_REASON - used), "; next %s: %.3g ms, %.2f MiB",
                     next->algorithm->name, 1e3 * next->figures.predicted_seconds,
                     (double)bytes_of(next) / 1048576);
  snprintf(reason + used, (size_t)(SL_REASON - used), "%s", left_out);
  return say_whose_figures(ins, reason, SL_REASON);
}

/* Makes the choice for a request. If it names an algorithm, that algorithm is the choice. */
static sley_status choose_for(sl_inspection *ins, const char *name, int *chosen, char reason[SL_REASON]) {
  snprintf(reason, SL_REASON, "asked for");
  if (name && strcmp(name, "auto") != 0)
    return sl_agree(ins->comm, sl_algorithm_find(name, chosen));
  sl_forecasts forecasts;
  sley_status status = sl_forecasts_begin(ins, &forecasts);
  if (status == SLEY_OK)
    status = sl_choose(&forecasts, chosen, reason);
  sl_forecasts_end(&forecasts);
  return status;
}

sley_status sl_plan_build(sl_inspection *ins, const char *name, bool dry, sl_plan *out) {
  int chosen;
  char reason[SL_REASON];
  *out = (sl_plan){0};
  SL_TRY(choose_for(ins, name, &chosen, reason));
  SL_TRY(sl_algorithm_build(sl_algorithms[chosen], ins, dry, out));
  memcpy(out->reason, reason, sizeof reason);
  sley_status status = sl_plan_predict(ins, out);
  if (status != SLEY_OK)
    sl_plan_free(out);
  return status;
}
