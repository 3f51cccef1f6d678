/* SPDX-License-Identifier: Apache-2.0 */
/* Inspection: finds which rows of X a rank's row block needs from other ranks. It is done once and shared by
 * the builders of all algorithms. */
#ifndef SLEY_PLAN_INSPECT_H
#define SLEY_PLAN_INSPECT_H

#include "matrix/matrix.h"
#include "plan/colset.h"
#include "plan/halo.h"
#include "plan/wishes.h"
#include "transport/transport.h"

enum { SL_WINDOWS = 3 };

/* Weights of minimum covers, in rows of X, summed over ranks; -1: not computed. */
typedef struct sl_cover_rows {
  int64_t all;     /* of the blocks between every two ranks */
  int64_t between; /* of the blocks between every two workgroups */
  int64_t inside;  /* of the blocks between every two ranks of a workgroup */
} sl_cover_rows;
#define SL_COVER_ROWS_UNKNOWN ((sl_cover_rows){-1, -1, -1})

/* What the rows of the block need of a halo in pieces (algo/halo_pieces.h). Found once, for all drafts of
 * plans and for the plan. */
typedef struct sl_needs {
  int pieces;     /* 0: not found */
  int32_t *row;   /* for each row of the block, whether it needs the halo */
  int32_t *piece; /* for each halo entry, the first piece that needs it */
} sl_needs;

typedef struct sl_inspection {
  sl_comm *comm;
  const sl_plan_wishes *wishes; /* the user's wishes, which outlive the inspection */
  const sley_matrix *block;     /* row block with global column numbers */
  bool brief; /* the block is freed when the plan has been built, so parts must not share its arrays */
  const int64_t *row_begin, *col_begin; /* partitions; the caller's arrays, size + 1 entries each */
  int64_t rows;                         /* rows of the block */
  int64_t first_col, x_rows;            /* this rank's rows of X are first_col .. first_col + x_rows - 1 */
  int64_t remote_nnz;                   /* remote nonzeros of this rank */
  int64_t *owner_nnz;                   /* number of entries of the block for each owner of their rows of X */
  int64_t nnz_all, remote_nnz_all, halo_all; /* summed over ranks */

  double local_within[SL_WINDOWS], remote_within[SL_WINDOWS]; /* see sl_locality */

  /* The distinct remote columns: as a set that finds a column's place in the halo, and as the halo, which may
   * outlive the inspection. */
  sl_colset halo_set;
  sl_halo *halo;

  /* The minimum cover, for each halo entry: 1 if it moves as a row of X, 0 if its entries of A are served by
   * partial rows of Y. NULL before sl_cover_choose. */
  uint8_t *cover_use;
  sl_cover_rows cover_rows;

  sl_needs *needs;
  struct sl_resident *resident; /* the block in device memory; NULL: planning uses the host */
} sl_inspection;

/* Makes the checks with which sl_inspect begins: each rank's block fits the partitions, and all ranks have
 * the same k, dtype, partitions and option `reproducible`. Errors: SLEY_ERR_ARG, SLEY_ERR_OVERFLOW.
 * Collective, agreed. */
sley_status sl_inspect_check(sl_comm *comm, const sley_matrix *block, const int64_t *row_begin,
                             const int64_t *col_begin, const sl_plan_wishes *wishes);

/* As sl_inspect, without these checks: for the transpose of a checked matrix, with the partitions swapped. */
sley_status sl_inspect_checked(sl_comm *comm, const sley_matrix *block, const int64_t *row_begin,
                               const int64_t *col_begin, const sl_plan_wishes *wishes, sl_inspection *out);

/* Inspects the block. row_begin, col_begin, block and wishes must outlive the result. Errors: also
 * SLEY_ERR_ARG on all ranks if they differ in k, dtype, sizes or partitions. Collective, agreed. */
sley_status sl_inspect(sl_comm *comm, const sley_matrix *block, const int64_t *row_begin,
                       const int64_t *col_begin, const sl_plan_wishes *wishes, sl_inspection *out);

/* Sets *out if, on every rank, the block of A^T has its entries at the same positions as the inspected block
 * of A, and the partitions are equal. Then the inspection is valid for both. Collective. */
sley_status sl_has_pattern_of(const sl_inspection *ins, const sley_matrix *transposed, bool *out);

void sl_inspection_free(sl_inspection *inspection);

/* Returns whether another rank owns the row of X that a column names. */
static inline bool sl_is_remote(const sl_inspection *ins, int64_t col) {
  return col < ins->first_col || col >= ins->first_col + ins->x_rows;
}

/* The rank's threads, which planning uses. */
static inline sl_team *sl_plan_team(const sl_inspection *ins) {
  return ins->comm->team;
}

#endif
