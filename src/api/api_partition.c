/* SPDX-License-Identifier: Apache-2.0 */
/* Argument checks of the partitions. */
#include <string.h>

#include "partition/partition.h"

static sley_status check_ranks(int ranks, const int64_t *begin) {
  if (ranks < 1)
    return sl_fail(SLEY_ERR_ARG, "cannot divide rows among %d ranks: give at least 1", ranks);
  if (!begin)
    return sl_fail(SLEY_ERR_ARG, "begin is NULL: give an array of ranks + 1 entries");
  return SLEY_OK;
}

sley_status sley_partition_rows(const sley_matrix *matrix, const char *name, int ranks, int64_t *begin) {
  if (!matrix)
    return sl_fail(SLEY_ERR_ARG, "cannot divide the rows of a matrix that is NULL");
  SL_TRY(check_ranks(ranks, begin));
  if (!name)
    return sl_fail(SLEY_ERR_ARG, "the partition's name is NULL: give rows or nnz");
  if (strcmp(name, "rows") == 0)
    sl_partition_equal(matrix->rows, ranks, begin);
  else if (strcmp(name, "nnz") == 0)
    sl_partition_nnz(matrix, ranks, begin);
  else
    return sl_fail(SLEY_ERR_ARG, "there is no partition '%s': give rows or nnz", name);
  return SLEY_OK;
}

sley_status sley_partition_equal(int64_t rows, int ranks, int64_t *begin) {
  if (rows < 0)
    return sl_fail(SLEY_ERR_ARG, "cannot divide %lld rows: their number is negative", (long long)rows);
  SL_TRY(check_ranks(ranks, begin));
  sl_partition_equal(rows, ranks, begin);
  return SLEY_OK;
}
