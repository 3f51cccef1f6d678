/* SPDX-License-Identifier: Apache-2.0 */
/* The table of algorithms, and the building of a plan by one of them. */
#include <string.h>

#include "algo/algorithm.h"
#include "algo/passes.h"
#include "base/names.h"
#include "base/spec.h"
#include "plan/count.h"

/* Each algorithm is defined in a file algo_*.c, or in stages.c. */
extern const sl_algorithm sl_algo_bcast_1d_pipelined;
extern const sl_algorithm sl_algo_bcast_15d;
extern const sl_algorithm sl_algo_summa_2d;
extern const sl_algorithm sl_algo_rowwise;
extern const sl_algorithm sl_algo_halo_fused, sl_algo_halo_coalesced;
extern const sl_algorithm sl_algo_cover;

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
enum { ALGORITHMS = sizeof sl_algorithms / sizeof *sl_algorithms - 1 };

static const char *name_of(int algorithm) {
  return sl_algorithms[algorithm]->name;
}

const char *const *sl_algorithm_names(void) {
  static const char *names[ALGORITHMS + 1];
  return sl_names_fill(names, ALGORITHMS, name_of);
}

sley_status sl_consider_always(sl_inspection *ins, const sl_rivals *rivals, bool *considered,
                               const char **why_not) {
  (void)ins, (void)rivals, (void)why_not;
  *considered = true;
  return SLEY_OK;
}

sley_status sl_prepare_no_more(sl_inspection *ins) {
  (void)ins;
  return SLEY_OK;
}

int sl_algorithm_place(const char *text) {
  const size_t length = strcspn(text, ":");
  for (int i = 0; sl_algorithms[i]; i++)
    if (strlen(sl_algorithms[i]->name) == length && strncmp(sl_algorithms[i]->name, text, length) == 0)
      return i;
  return -1;
}

sley_status sl_algorithm_find(const char *text, int *out) {
  char names[256] = "auto";
  const int place = sl_algorithm_place(text);
  if (place >= 0) {
    *out = place;
    return SLEY_OK;
  }
  for (int i = 0; sl_algorithms[i]; i++) {
    strncat(names, ", ", sizeof names - strlen(names) - 1);
    strncat(names, sl_algorithms[i]->name, sizeof names - strlen(names) - 1);
  }
  return sl_fail(SLEY_ERR_ARG, "there is no algorithm '%.*s'; choose one of: %s", (int)strcspn(text, ":"),
                 text, names);
}

sley_status sl_algorithm_read_parameters(const char *text, sl_plan_wishes *wishes) {
  static const sley_parameter none[] = {{NULL, NULL, NULL}};
  int place;
  if (!text || strcmp(text, "auto") == 0)
    return SLEY_OK;
  SL_TRY(sl_algorithm_find(text, &place));
  const sl_algorithm_parameters *parameters = sl_algorithms[place]->parameters;
  return parameters ? parameters->read(text, wishes) : sl_spec_read(text, none, NULL);
}

/* Refuses renewable plans if entries of A go to other ranks, because new values would have to follow them. */
static sley_status refuse_travelled(const sl_plan *plan) {
  if (!plan->entries_travel)
    return SLEY_OK;
  return sl_fail(SLEY_ERR_UNSUPPORTED,
                 "%s sends entries of the matrix to other ranks, so its plans cannot take new values "
                 "(renewable): choose another algorithm, such as halo",
                 plan->algo);
}

sley_status sl_algorithm_draft(const sl_algorithm *algorithm, sl_inspection *ins, bool dry, sl_plan *out) {
  *out = (sl_plan){0};
  SL_TRY(algorithm->prepare(ins));
  SL_TRY(sl_agree(ins->comm, sl_plan_begin(ins, algorithm->name, dry, out)));
  sley_status status = algorithm->build(ins, out);
  SL_TRY(sl_passes_meet(ins) ? sl_agree(ins->comm, status) : status);
  if (ins->wishes->renewable)
    SL_TRY(refuse_travelled(out));
  SL_TRY(sl_passes_run(ins, out));
  out->cover_rows = ins->cover_rows;
  return SLEY_OK;
}

sley_status sl_algorithm_build(const sl_algorithm *algorithm, sl_inspection *ins, bool dry, sl_plan *out) {
  sley_status status = sl_agree(ins->comm, sl_algorithm_draft(algorithm, ins, dry, out));
  if (status == SLEY_OK)
    status = sl_plan_finish(out);
  if (status != SLEY_OK)
    sl_plan_free(out);
  return status;
}
