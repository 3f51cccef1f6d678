/* SPDX-License-Identifier: Apache-2.0 */
/* The choice among the algorithms: each that could be the fastest is planned without being built, its traffic
 * counted and its time predicted. */
#include "predict/choice.h"

#include <stdio.h>
#include <string.h>

#include "machine/machine.h"
#include "plan/travel.h"
#include "predict/cost.h"

static sley_status build_one(sl_inspection *ins, const sl_algorithm *algorithm, bool dry, sl_plan *out) {
  SL_TRY(sl_algorithm_build(algorithm, ins, dry, out));
  sley_status status = sl_plan_predict(ins, out);
  if (status != SLEY_OK)
    sl_plan_free(out);
  return status;
}

/* An algorithm that was planned without being built. */
typedef struct candidate {
  const sl_algorithm *algorithm; /* NULL: none */
  double seconds, spare_seconds; /* see sl_plan */
  int64_t bytes;
} candidate;

/* Of two within a hundredth, the one that moves less: its time hangs on less that was guessed. */
static bool is_better(const candidate *a, const candidate *b) {
  if (!b->algorithm || a->seconds < 0.99 * b->seconds)
    return true;
  return a->seconds <= 1.01 * b->seconds && a->bytes < b->bytes;
}

/* Plans one more candidate and keeps the best two; of equals the first stays ahead. Those that cannot do what
 * is asked of how values travel are left out. */
static sley_status consider(sl_inspection *ins, const sl_algorithm *algorithm, candidate *best,
                            candidate *next) {
  sl_plan plan;
  sley_status status = build_one(ins, algorithm, true, &plan);
  if (status == SLEY_ERR_UNSUPPORTED && (sl_asks_to_travel(ins) || ins->wishes->renewable)) /* on all ranks */
    return SLEY_OK;
  SL_TRY(status);
  candidate c = {algorithm, plan.predicted_seconds, plan.spare_seconds,
                 plan.predicted.direct_bytes + plan.predicted.message_bytes};
  sl_plan_free(&plan);
  if (is_better(&c, best)) {
    *next = *best;
    *best = c;
  } else if (is_better(&c, next)) {
    *next = c;
  }
  return SLEY_OK;
}

/* Where nothing travels. */
static const sl_algorithm *for_one_rank(void) {
  int i = 0;
  while (sl_algorithms[i + 1] && !sl_algorithms[i]->serves_one_rank)
    i++;
  return sl_algorithms[i];
}

/* Asks an algorithm whether it is to be considered; if not, why, at the end of `left_out`. */
static bool is_considered(const sl_inspection *ins, const sl_algorithm *algorithm, const candidate *best,
                          char *left_out, size_t bytes) {
  const char *why_not = NULL;
  size_t used = strlen(left_out);
  if (algorithm->considered(ins, &(sl_best_so_far){best->seconds, best->spare_seconds}, &why_not))
    return true;
  if (why_not)
    snprintf(left_out + used, bytes - used, "; %s not considered: %s", algorithm->name, why_not);
  return false;
}

/* Adds that the figures are typical ones, where they are. */
static sley_status say_whose_figures(const sl_inspection *ins, char *reason, size_t reason_bytes) {
  const sl_machine *machine = ins->wishes->machine;
  size_t used = strlen(reason);
  if (!machine)
    SL_TRY(sl_machine_find(sl_machine_of(ins->comm->device), &machine));
  if (sl_machine_is_built_in(machine))
    snprintf(reason + used, reason_bytes - used, " (built-in figures; run sley tune)");
  return SLEY_OK;
}

/* Takes the algorithm predicted fastest. */
static sley_status choose(sl_inspection *ins, const sl_algorithm **chosen, char *reason,
                          size_t reason_bytes) {
  if (ins->comm->size == 1) {
    *chosen = for_one_rank();
    snprintf(reason, reason_bytes, "one rank: no row moves, all algorithms are the same");
    return SLEY_OK;
  }
  candidate best = {0}, next = {0};
  char left_out[128] = "";
  for (int i = 0; sl_algorithms[i]; i++)
    if (is_considered(ins, sl_algorithms[i], &best, left_out, sizeof left_out))
      SL_TRY(consider(ins, sl_algorithms[i], &best, &next));
  *chosen = best.algorithm;
  snprintf(reason, reason_bytes,
           "%s is predicted fastest: %.3g ms moving %.2f MiB; next %s: %.3g ms, %.2f MiB%s",
           best.algorithm->name, 1e3 * best.seconds, (double)best.bytes / 1048576, next.algorithm->name,
           1e3 * next.seconds, (double)next.bytes / 1048576, left_out);
  return say_whose_figures(ins, reason, reason_bytes);
}

sley_status sl_plan_build(sl_inspection *ins, const char *name, bool dry, sl_plan *out) {
  *out = (sl_plan){0};
  const sl_algorithm *algorithm = NULL;
  char reason[sizeof out->reason] = "asked for";
  if (name && strcmp(name, "auto") != 0)
    SL_TRY(sl_agree(ins->comm, sl_algorithm_find(name, &algorithm)));
  else
    SL_TRY(choose(ins, &algorithm, reason, sizeof reason));
  SL_TRY(build_one(ins, algorithm, dry, out));
  memcpy(out->reason, reason, sizeof reason);
  return SLEY_OK;
}
