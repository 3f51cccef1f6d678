/* SPDX-License-Identifier: Apache-2.0 */
/* Divisions of rows among ranks, and the owner of a row. */
#include "partition/partition.h"

void sl_partition_equal(int64_t rows, int ranks, int64_t *begin) {
  int64_t each = rows / ranks, more = rows % ranks;
  for (int r = 0; r <= ranks; r++)
    begin[r] = r * each + (r < more ? r : more);
}

/* Returns the first split s in [0, rows] such that ranks times the nonzeros before it is at least value. */
static int64_t first_split(const int64_t *rowptr, int64_t rows, __int128 value, int ranks) {
  int64_t low = 0, high = rows;
  while (low < high) {
    int64_t mid = low + (high - low) / 2;
    if ((__int128)(rowptr[mid] - rowptr[0]) * ranks >= value)
      high = mid;
    else
      low = mid + 1;
  }
  return low;
}

/* MGG walks the rows and cuts as soon as a rank holds nnz / ranks, so that all cuts deviate in the same
 * direction and the deviations add up on the last rank. Here each cut is the split nearest to its own
 * multiple of nnz / ranks, so errors do not add up. Among splits between empty rows, which are all equally
 * near, the one nearest to equal rows is taken. */
void sl_partition_nnz(const sley_matrix *matrix, int ranks, int64_t *begin) {
  const int64_t *rowptr = matrix->rowptr;
  int64_t rows = matrix->rows, nnz = matrix->nnz;
  sl_partition_equal(rows, ranks, begin);
  for (int r = 1; r < ranks && rows > 0; r++) {
    __int128 target = (__int128)nnz * r;
    int64_t split = first_split(rowptr, rows, target, ranks);
    __int128 above = (__int128)(rowptr[split] - rowptr[0]) * ranks - target;
    if (split > 0 && target - (__int128)(rowptr[split - 1] - rowptr[0]) * ranks <= above)
      split--;
    int64_t before = rowptr[split] - rowptr[0];
    int64_t first = first_split(rowptr, rows, (__int128)before * ranks, ranks);
    int64_t last = before == nnz ? rows : first_split(rowptr, rows, (__int128)before * ranks + 1, ranks) - 1;
    if (begin[r] < first)
      begin[r] = first;
    else if (begin[r] > last)
      begin[r] = last;
  }
}

int sl_partition_owner(const int64_t *begin, int ranks, int64_t row) {
  int low = 0, high = ranks; /* begin[low] <= row < begin[high] */
  while (high - low > 1) {
    int mid = low + (high - low) / 2;
    if (begin[mid] <= row)
      low = mid;
    else
      high = mid;
  }
  return low;
}

int64_t sl_partition_hash(const int64_t *begin, int ranks) {
  uint64_t hash = 0;
  for (int r = 0; r <= ranks; r++)
    hash = hash * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)begin[r] + 1;
  return (int64_t)(hash >> 1);
}
