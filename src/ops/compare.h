/* SPDX-License-Identifier: Apache-2.0 */
/* What several algorithms would move, take and need on the same matrix. */
#ifndef SLEY_OPS_COMPARE_H
#define SLEY_OPS_COMPARE_H

#include "ops/spmm.h"

struct sley_comparison {
  const char *const *names; /* NULL-terminated; "auto" is the algorithm predicted fastest */
  int count;
  char reason[SL_REASON]; /* of auto's choice */
  sley_plan_info *info;   /* count entries; their texts are static, or the reason above */
};

/* Fills info for all names. As sley_plan_compare. */
sley_status sl_spmm_compare(sl_comm *comm, const sley_matrix *block, const int64_t *row_begin,
                            const int64_t *col_begin, int64_t k, const sley_plan_options *options,
                            sley_comparison *comparison);

/* The same of an inspection; handle: whose plan stands for each in turn. Collective. */
sley_status sl_spmm_compare_all(sley_plan *handle, sl_inspection *ins, const sley_plan_options *options,
                                sley_comparison *comparison);

#endif
