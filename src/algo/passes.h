/* SPDX-License-Identifier: Apache-2.0 */
/* Passes over a plan that a builder has made. They change how the rows of a plain division (plan/division.h)
 * are moved and summed. So builders need not consider the number of ranks, the device, the links or the order
 * of sums. */
#ifndef SLEY_ALGO_PASSES_H
#define SLEY_ALGO_PASSES_H

#include "plan/plan.h"

/* Returns whether the passes are collective; then the ranks must agree on the builder's status first. The
 * same on all ranks. */
bool sl_passes_meet(const sl_inspection *ins);

/* Runs all passes, cuts the division, and changes how values travel if the user wishes it. Errors: of this
 * rank, on which the ranks have not yet agreed; SLEY_ERR_UNSUPPORTED on all ranks, as sl_algorithm_draft. */
sley_status sl_passes_run(const sl_inspection *ins, sl_plan *plan);

/* ---- shared by the passes */

enum { SL_PLAIN_STEPS_MOST = 3 };

/* The steps that replace each of the four steps of a plain division; an empty array removes the step. A step
 * without a kind ends an array. */
typedef struct sl_plain_steps {
  sl_step begin[SL_PLAIN_STEPS_MOST + 1], local[SL_PLAIN_STEPS_MOST + 1], end[SL_PLAIN_STEPS_MOST + 1],
      remote[SL_PLAIN_STEPS_MOST + 1];
} sl_plain_steps;

/* Replaces the plain steps and the division; other steps stay where they are. Errors: SLEY_ERR_MEMORY.
 * Local. */
sley_status sl_pass_replace(sl_plan *plan, const sl_plain_steps *steps, const sl_division *division);

/* Changes the size of a buffer, and the plan's memory accordingly. */
void sl_pass_resize(sl_plan *plan, int buffer, int64_t rows, int64_t row_bytes);

/* Sets *out to whether sl_pass_pieces applies to plain divisions: if sl_passes_meet and all ranks use Sley's
 * kernels, which can sum over two memories. Collective, if sl_passes_meet. */
sley_status sl_pieces_suit(const sl_inspection *ins, bool *out);

/* pass_pieces.c: on devices that load rows over direct links, sums rows while the halo arrives in pieces.
 * Collective, if sl_passes_meet. */
sley_status sl_pass_pieces(const sl_inspection *ins, sl_plan *plan);

#endif
