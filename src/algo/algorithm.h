/* SPDX-License-Identifier: Apache-2.0 */
/* The distributed algorithms. Each is a builder: it adds buffers, exchanges, parts and steps to an empty
 * plan. */
#ifndef SLEY_ALGO_ALGORITHM_H
#define SLEY_ALGO_ALGORITHM_H

#include "plan/plan.h"

typedef struct sl_algorithm {
  const char *name, *summary;
  bool needs_cover;                                              /* sl_cover_choose comes first */
  sley_status (*build)(const sl_inspection *ins, sl_plan *plan); /* Collective. */
} sl_algorithm;

extern const sl_algorithm sl_algo_bcast_1d, sl_algo_bcast_1d_pipelined, sl_algo_bcast_15d, sl_algo_summa_2d,
    sl_algo_rowwise, sl_algo_halo, sl_algo_halo_fused, sl_algo_halo_coalesced, sl_algo_halo_pipelined,
    sl_algo_cover;

/* All of them, NULL-terminated. */
extern const sl_algorithm *const sl_algorithms[];

/* Errors: SLEY_ERR_ARG listing the names. */
sley_status sl_algorithm_find(const char *name, const sl_algorithm **out);

/* Builds, agrees on and finishes a plan by one algorithm; its times are not predicted. The inspection may be
 * used again. Collective. */
sley_status sl_algorithm_build(const sl_algorithm *algorithm, sl_inspection *ins, bool dry, sl_plan *out);

#endif
