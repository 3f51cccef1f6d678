/* SPDX-License-Identifier: Apache-2.0 */
/* Traffic, time and memory of several algorithms for the same matrix. */
#ifndef SLEY_OPS_COMPARE_H
#define SLEY_OPS_COMPARE_H

#include "ops/spmm.h"

struct sley_comparison {
  const char *const *names; /* NULL-terminated; "auto" is the algorithm predicted fastest */
  int count;
  char reason[SL_REASON]; /* reason of auto's choice */
  sley_plan_info *info;   /* count entries; their texts are static, or the reason above */
};

/* Fills info for all names. The same as sley_plan_compare. */
sley_status sl_spmm_compare(sl_comm *comm, const sley_matrix *block, const int64_t *row_begin,
                            const int64_t *col_begin, int64_t k, const sley_plan_options *options,
                            sley_comparison *comparison);

/* The same for an existing inspection; handle: its plan is replaced by each plan in turn. Collective. */
sley_status sl_spmm_compare_all(sley_plan *handle, sl_inspection *ins, const sley_plan_options *options,
                                sley_comparison *comparison);

#endif
