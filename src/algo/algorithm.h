/* SPDX-License-Identifier: Apache-2.0 */
/* The distributed algorithms. Each is a builder: it adds buffers, exchanges, parts and steps to an empty
 * plan. */
#ifndef SLEY_ALGO_ALGORITHM_H
#define SLEY_ALGO_ALGORITHM_H

#include "plan/plan.h"

typedef struct sl_algorithm sl_algorithm;

/* What an algorithm is told that may leave itself out of the choice. */
typedef struct sl_rivals {
  const sl_figures *best; /* of the best so far, those always considered first; NULL: none */
  double bandwidth;       /* of the fastest link of any rank, bytes a second */
  /* Figures of another algorithm. Errors: those of sl_algorithm_build. Collective, agreed. */
  sley_status (*predict)(void *context, const sl_algorithm *algorithm, const sl_figures **out);
  void *context;
} sl_rivals;

/* What users may set of an algorithm. */
typedef struct sl_algorithm_parameters {
  const sley_parameter *table; /* ended by a key NULL */
  /* Reads them from the text "NAME:KEY=VALUE,..." into the wishes. Errors: SLEY_ERR_ARG. */
  sley_status (*read)(const char *text, sl_plan_wishes *wishes);
} sl_algorithm_parameters;

/* No slot is NULL but parameters. */
struct sl_algorithm {
  const char *name, *summary;
  /* For the choice, which plans each algorithm without building it unless *considered is false, as it is
   * before. *why_not, for the reason of the choice: static text, or NULL where there is nothing to say. The
   * same on all ranks. Collective, agreed. */
  sley_status (*consider)(sl_inspection *ins, const sl_rivals *rivals, bool *considered,
                          const char **why_not);
  /* What it needs of the inspection beside what all do; called before build. Collective, agreed. */
  sley_status (*prepare)(sl_inspection *ins);
  sley_status (*build)(const sl_inspection *ins, sl_plan *plan); /* Collective. */
  bool serves_one_rank; /* the one to take where nothing travels, the first in the table */
  /* Of "NAME:KEY=VALUE,...". NULL: it takes none. */
  const sl_algorithm_parameters *parameters;
};

/* Of algorithms that are always considered, and that need nothing else of the inspection. */
sley_status sl_consider_always(sl_inspection *ins, const sl_rivals *rivals, bool *considered,
                               const char **why_not);
sley_status sl_prepare_no_more(sl_inspection *ins);

/* What bcast-1.5d is where ranks cannot be divided into teams. */
extern const sl_algorithm sl_algo_bcast_1d;
/* What cover is with the halo's rows instead of fewer. */
extern const sl_algorithm sl_algo_halo_pipelined;

/* All of them, NULL-terminated. Those that compare themselves with others come after them. */
extern const sl_algorithm *const sl_algorithms[];

/* The names of the algorithms, NULL-terminated; static. */
const char *const *sl_algorithm_names(void);

/* Returns the place in the table of the algorithm that a text NAME or NAME:KEY=VALUE,... names; -1: none. */
int sl_algorithm_place(const char *text);

/* The same, with an error that lists the names. Errors: SLEY_ERR_ARG. */
sley_status sl_algorithm_find(const char *text, int *out);

/* Reads the parameters in such a text (NULL or "auto": it has none) into the wishes. Errors: SLEY_ERR_ARG. */
sley_status sl_algorithm_read_parameters(const char *text, sl_plan_wishes *wishes);

/* Builds a plan by one algorithm, of which nothing is counted yet. The inspection may be used again. Ended by
 * sl_plan_free, also on error. Errors: those of this rank's build, on which the ranks have not agreed yet;
 * SLEY_ERR_UNSUPPORTED, on all ranks, where the algorithm cannot do what is wished of how values travel, or
 * of new values. Collective. */
sley_status sl_algorithm_draft(const sl_algorithm *algorithm, sl_inspection *ins, bool dry, sl_plan *out);

/* The same, agreed on and counted; its times are not predicted. Without a plan on errors. Collective. */
sley_status sl_algorithm_build(const sl_algorithm *algorithm, sl_inspection *ins, bool dry, sl_plan *out);

#endif
