/* SPDX-License-Identifier: Apache-2.0 */
/* Inspection: what a rank's row block needs of the others, found once and shared by every algorithm's
 * planner. */
#ifndef SLEY_PLAN_INSPECT_H
#define SLEY_PLAN_INSPECT_H

#include "matrix/matrix.h"
#include "plan/colset.h"
#include "plan/halo.h"
#include "plan/wishes.h"
#include "transport/transport.h"

enum { SL_WINDOWS = 3 };

typedef struct sl_inspection {
  sl_comm *comm;
  const sl_plan_wishes *wishes;         /* the user's, which outlive the inspection */
  const sley_matrix *block;             /* columns numbered globally */
  const int64_t *row_begin, *col_begin; /* the caller's, size + 1 entries each */
  int64_t rows;                         /* of the block */
  int64_t first_col, x_rows;            /* this rank's rows of X are first_col .. first_col + x_rows - 1 */
  int64_t remote_nnz;                   /* this rank's */
  int64_t *owner_nnz;                   /* of the block, by the owner of the row of X they name */
  int64_t nnz_all, remote_nnz_all, halo_all; /* summed over ranks */

  double local_within[SL_WINDOWS], remote_within[SL_WINDOWS]; /* see sl_locality */

  /* The distinct remote columns: as a set, by which a column's place in the halo is found, and as the halo,
   * which others may hold beyond the inspection. */
  sl_colset halo_set;
  sl_halo *halo;

  /* Which halo entries a least cover takes as rows of X (1) and which as partial rows of Y (0); NULL until
   * sl_cover_choose. cover_rows: weight of the covers of all remote blocks between ranks in rows of X, summed
   * over ranks. */
  uint8_t *cover_use;
  int64_t cover_rows;

  struct sl_resident *resident; /* the block in the device's memory; NULL: planning is done on the host */
} sl_inspection;

/* The checks that sl_inspect begins with: each rank's block fits the partitions, and all ranks were given the
 * same k, dtype and partitions. Collective, agreed. Errors: SLEY_ERR_ARG, SLEY_ERR_OVERFLOW. */
sley_status sl_inspect_check(sl_comm *comm, const sley_matrix *block, const int64_t *row_begin,
                             const int64_t *col_begin, const sl_plan_wishes *wishes);

/* sl_inspect without these: for the transpose of what was checked, with the partitions swapped. */
sley_status sl_inspect_checked(sl_comm *comm, const sley_matrix *block, const int64_t *row_begin,
                               const int64_t *col_begin, const sl_plan_wishes *wishes, sl_inspection *out);

/* Inspects; row_begin, col_begin, block and wishes must outlive the result.
 * Collective, agreed: ranks that differ in k, dtype, sizes or partition get SLEY_ERR_ARG. */
sley_status sl_inspect(sl_comm *comm, const sley_matrix *block, const int64_t *row_begin,
                       const int64_t *col_begin, const sl_plan_wishes *wishes, sl_inspection *out);

/* *out: the block of A^T has its entries where the inspected one of A has them, on every rank, and the
 * partitions are equal: what was inspected is then true of both. Collective. */
sley_status sl_has_pattern_of(const sl_inspection *ins, const sley_matrix *transposed, bool *out);

void sl_inspection_free(sl_inspection *inspection);

/* Whether a column's row of X is another rank's. */
static inline bool sl_is_remote(const sl_inspection *ins, int64_t col) {
  return col < ins->first_col || col >= ins->first_col + ins->x_rows;
}

/* The rank's threads, for planning. */
static inline sl_team *sl_plan_team(const sl_inspection *ins) {
  return ins->comm->team;
}

#endif
