/* SPDX-License-Identifier: Apache-2.0 */
/* The table of algorithms, and the choice among them. */
#include <stdio.h>
#include <string.h>

#include "plan/algorithm.h"
#include "plan/cover_choice.h"

const sl_algorithm *const sl_algorithms[] = {&sl_algo_bcast_1d,
                                             &sl_algo_bcast_1d_pipelined,
                                             &sl_algo_bcast_15d,
                                             &sl_algo_summa_2d,
                                             &sl_algo_rowwise,
                                             &sl_algo_halo,
                                             &sl_algo_halo_fused,
                                             &sl_algo_halo_coalesced,
                                             &sl_algo_halo_pipelined,
                                             &sl_algo_cover,
                                             NULL};

sley_status sl_algorithm_find(const char *name, const sl_algorithm **out) {
  char names[256] = "auto";
  for (int i = 0; sl_algorithms[i]; i++) {
    if (strcmp(sl_algorithms[i]->name, name) == 0) {
      *out = sl_algorithms[i];
      return SLEY_OK;
    }
    strncat(names, ", ", sizeof names - strlen(names) - 1);
    strncat(names, sl_algorithms[i]->name, sizeof names - strlen(names) - 1);
  }
  return sl_fail(SLEY_ERR_ARG, "there is no algorithm '%s'; choose one of: %s", name, names);
}

static sley_status build_one(sl_inspection *ins, const sl_algorithm *algorithm, bool dry, sl_plan *out) {
  if (algorithm->needs_cover)
    SL_TRY(sl_cover_choose(ins));
  sley_status status = sl_plan_begin(ins, algorithm->name, dry, out);
  status = sl_agree(ins->comm, status);
  if (status == SLEY_OK)
    status = sl_agree(ins->comm, algorithm->build(ins, out));
  if (status == SLEY_OK)
    status = sl_plan_finish(out);
  if (status == SLEY_OK)
    status = sl_plan_predict(ins, out);
  if (status != SLEY_OK) {
    sl_plan_free(out);
    return status;
  }
  out->cover_rows = ins->cover_rows;
  return SLEY_OK;
}

/* rowwise moves what halo moves and more, so that it can never be the fastest. */
static bool is_candidate(const sl_algorithm *algorithm) {
  return algorithm != &sl_algo_rowwise;
}

/* Plans all candidates without building them and takes the one predicted fastest; of equals the first. */
static sley_status choose(sl_inspection *ins, const sl_algorithm **best, char *reason, size_t reason_bytes) {
  if (ins->comm->size == 1) {
    *best = &sl_algo_halo;
    snprintf(reason, reason_bytes, "one rank: no row moves, all algorithms are the same");
    return SLEY_OK;
  }
  double best_seconds = 0, next_seconds = 0;
  int64_t best_bytes = 0, next_bytes = 0;
  const sl_algorithm *next = NULL;
  *best = NULL;
  for (int i = 0; sl_algorithms[i]; i++) {
    if (!is_candidate(sl_algorithms[i]))
      continue;
    sl_plan plan;
    SL_TRY(build_one(ins, sl_algorithms[i], true, &plan));
    double seconds = plan.predicted_seconds;
    int64_t bytes = plan.predicted.direct_bytes + plan.predicted.message_bytes;
    sl_plan_free(&plan);
    if (!*best || seconds < best_seconds) {
      next = *best;
      next_seconds = best_seconds;
      next_bytes = best_bytes;
      *best = sl_algorithms[i];
      best_seconds = seconds;
      best_bytes = bytes;
    } else if (!next || seconds < next_seconds) {
      next = sl_algorithms[i];
      next_seconds = seconds;
      next_bytes = bytes;
    }
  }
  snprintf(reason, reason_bytes,
           "%s is predicted fastest: %.3g ms moving %.2f MiB; next %s: %.3g ms, %.2f MiB", (*best)->name,
           1e3 * best_seconds, (double)best_bytes / 1048576, next->name, 1e3 * next_seconds,
           (double)next_bytes / 1048576);
  return SLEY_OK;
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
