/* SPDX-License-Identifier: Apache-2.0 */
/* Passes over a plan that a builder has made. They change how a plain division (plan/division.h) is brought
 * and summed, so that no builder asks for the number of ranks, the device, the links or the order of sums. */
#ifndef SLEY_ALGO_PASSES_H
#define SLEY_ALGO_PASSES_H

#include "plan/plan.h"

/* Whether the passes are collective: then the ranks agree on the builder's status first. The same on all
 * ranks. */
bool sl_passes_meet(const sl_inspection *ins);

/* Runs all passes, cuts the division, and changes how values travel, as the user wishes. Errors: this rank's,
 * on which the ranks have not agreed yet; SLEY_ERR_UNSUPPORTED, on all ranks, as sl_algorithm_draft. */
sley_status sl_passes_run(const sl_inspection *ins, sl_plan *plan);

/* ---- What the passes share. */

enum { SL_PLAIN_STEPS_MOST = 3 };

/* The steps that replace each of the four of a plain division, none where the array is empty. A step without
 * a kind ends an array. */
typedef struct sl_plain_steps {
  sl_step begin[SL_PLAIN_STEPS_MOST + 1], local[SL_PLAIN_STEPS_MOST + 1], end[SL_PLAIN_STEPS_MOST + 1],
      remote[SL_PLAIN_STEPS_MOST + 1];
} sl_plain_steps;

/* Puts steps and a division in place of the plain ones; other steps stay where they are. Errors:
 * SLEY_ERR_MEMORY. Local. */
sley_status sl_pass_replace(sl_plan *plan, const sl_plain_steps *steps, const sl_division *division);

/* Changes the size of a buffer, and the plan's memory with it. */
void sl_pass_resize(sl_plan *plan, int buffer, int64_t rows, int64_t row_bytes);

/* pass_pieces.c: devices that load rows over direct links sum rows while the halo comes in pieces.
 * Collective, where sl_passes_meet. */
sley_status sl_pass_pieces(const sl_inspection *ins, sl_plan *plan);

#endif
