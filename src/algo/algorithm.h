/* SPDX-License-Identifier: Apache-2.0 */
/* The distributed algorithms. Each is a builder: it adds buffers, exchanges, parts and steps to an empty
 * plan. */
#ifndef SLEY_ALGO_ALGORITHM_H
#define SLEY_ALGO_ALGORITHM_H

#include "plan/plan.h"

typedef struct sl_algorithm sl_algorithm;

/* The state of the choice, for algorithms that may exclude themselves from it. */
typedef struct sl_rivals {
  const sl_figures *best; /* figures of the best algorithm so far, among the algorithms that are always
                           * considered; NULL: none yet */
  double bandwidth;       /* bytes/s of the fastest link of any rank */
  /* Predicts another algorithm. Errors: as sl_algorithm_build. Collective, agreed. */
  sley_status (*predict)(void *context, const sl_algorithm *algorithm, const sl_figures **out);
  void *context;
} sl_rivals;

/* Parameters of an algorithm that users may set. */
typedef struct sl_algorithm_parameters {
  const sley_parameter *table; /* ends with a NULL key */
  /* Reads the parameters in the text "NAME:KEY=VALUE,..." into the wishes. Errors: SLEY_ERR_ARG. */
  sley_status (*read)(const char *text, sl_plan_wishes *wishes);
} sl_algorithm_parameters;

/* An algorithm. No slot is NULL except parameters. */
struct sl_algorithm {
  const char *name, *summary;
  /* Called by the choice. *considered is false before the call; if the algorithm sets it, the choice predicts
   * a dry plan of it. *why_not: static text for the reason of the choice, or NULL. Both are the same on all
   * ranks. Collective, agreed. */
  sley_status (*consider)(sl_inspection *ins, const sl_rivals *rivals, bool *considered,
                          const char **why_not);
  /* Adds data to the inspection that only this algorithm needs; called before build. Collective, agreed. */
  sley_status (*prepare)(sl_inspection *ins);
  sley_status (*build)(const sl_inspection *ins, sl_plan *plan); /* Collective. */
  bool serves_one_rank; /* the algorithm can be the choice for one rank; the choice is the first such
                           algorithm in the table */
  /* Parameters in "NAME:KEY=VALUE,..."; NULL: none. */
  const sl_algorithm_parameters *parameters;
};

/* Slots of algorithms that are always considered, and of algorithms that need no additional inspection. */
sley_status sl_consider_always(sl_inspection *ins, const sl_rivals *rivals, bool *considered,
                               const char **why_not);
sley_status sl_prepare_no_more(sl_inspection *ins);

/* bcast-1.5d builds this plan if the ranks cannot be divided into teams. */
extern const sl_algorithm sl_algo_bcast_1d;
/* cover is compared with one of these algorithms, which move all rows of the halo. */
extern const sl_algorithm sl_algo_halo, sl_algo_halo_pipelined;

/* All algorithms, NULL-terminated. An algorithm that compares itself with others comes after them. */
extern const sl_algorithm *const sl_algorithms[];

/* The names of the algorithms, NULL-terminated; static. */
const char *const *sl_algorithm_names(void);

/* Returns the position in the table of the algorithm that the text NAME or NAME:KEY=VALUE,... names; -1:
 * none. */
int sl_algorithm_place(const char *text);

/* As sl_algorithm_place, but an unknown name is an error, which lists the names. Errors: SLEY_ERR_ARG. */
sley_status sl_algorithm_find(const char *text, int *out);

/* Reads the parameters in such a text into the wishes. NULL and "auto" have no parameters. Errors:
 * SLEY_ERR_ARG. */
sley_status sl_algorithm_read_parameters(const char *text, sl_plan_wishes *wishes);

/* Builds a plan by an algorithm, without counting. The inspection may be used again. Freed by sl_plan_free,
 * also on error. Errors: of this rank's build, on which the ranks have not yet agreed; on all ranks,
 * SLEY_ERR_UNSUPPORTED if the algorithm does not support the wished wire, keep_input or renewable.
 * Collective. */
sley_status sl_algorithm_draft(const sl_algorithm *algorithm, sl_inspection *ins, bool dry, sl_plan *out);

/* As sl_algorithm_draft, but agreed and counted; times are not predicted. On error *out is an empty plan.
 * Collective. */
sley_status sl_algorithm_build(const sl_algorithm *algorithm, sl_inspection *ins, bool dry, sl_plan *out);

#endif
