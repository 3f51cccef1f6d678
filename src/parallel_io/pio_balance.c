/* SPDX-License-Identifier: Apache-2.0 */
/* Computes the splits of partition/partition.c, all at once: instead of looking up row pointers of the whole
 * matrix, each rank looks them up in its own rows, and the ranks combine the results. */
#include "parallel_io/pio_balance.h"

#include "base/memory.h"
#include "partition/partition.h"
#include "parallel_io/pio_alltoall.h"

typedef struct pointers {
  sl_comm *comm;
  const int64_t *rowptr;
  int64_t first, count,
      rows;            /* number of this rank's first row, number of its rows, and number of all rows */
  int64_t before, nnz; /* number of entries before these rows, and number of all entries */
} pointers;

/* The whole matrix's row pointer of a split in this rank's range. */
static int64_t pointer(const pointers *p, int64_t split) {
  return p->before + p->rowptr[split - p->first] - p->rowptr[0];
}

/* Computes splits[i]: the first split such that size times the nonzeros before it is at least value[i]. */
static sley_status find(const pointers *p, const __int128 *value, int count, int64_t *splits) {
  for (int i = 0; i < count; i++) {
    int64_t low = p->first, high = p->first + p->count + 1;
    while (low < high) {
      int64_t mid = low + (high - low) / 2;
      if ((__int128)pointer(p, mid) * p->comm->size >= value[i])
        high = mid;
      else
        low = mid + 1;
    }
    splits[i] = low > p->first + p->count ? p->rows : low;
  }
  return p->comm->ops->allreduce(p->comm, SL_MIN, splits, count);
}

/* Replaces each split at[i] by its row pointer. */
static sley_status look_up(const pointers *p, int count, int64_t *at) {
  for (int i = 0; i < count; i++)
    at[i] = at[i] >= p->first && at[i] <= p->first + p->count ? pointer(p, at[i]) : -1;
  return p->comm->ops->allreduce(p->comm, SL_MAX, at, count);
}

typedef struct tables {
  __int128 *value;
  int64_t *split, *above, *below; /* count entries each */
} tables;

static sley_status cut(const pointers *p, const tables *t, int64_t *begin) {
  int count = p->comm->size - 1, ranks = p->comm->size;
  for (int i = 0; i < count; i++)
    t->value[i] = (__int128)p->nnz * (i + 1);
  SL_TRY(find(p, t->value, count, t->split));
  for (int i = 0; i < count; i++) {
    t->above[i] = t->split[i];
    t->below[i] = t->split[i] > 0 ? t->split[i] - 1 : 0;
  }
  SL_TRY(look_up(p, count, t->above));
  SL_TRY(look_up(p, count, t->below));
  for (int i = 0; i < count; i++) {
    __int128 above = (__int128)t->above[i] * ranks - t->value[i];
    if (t->split[i] > 0 && t->value[i] - (__int128)t->below[i] * ranks <= above)
      t->above[i] = t->below[i];
    t->value[i] = (__int128)t->above[i] * ranks;
  }
  SL_TRY(find(p, t->value, count, t->split));
  for (int i = 0; i < count; i++)
    t->value[i]++;
  SL_TRY(find(p, t->value, count, t->below));
  for (int i = 0; i < count; i++) {
    int64_t first = t->split[i], last = t->above[i] == p->nnz ? p->rows : t->below[i] - 1;
    if (begin[i + 1] < first)
      begin[i + 1] = first;
    else if (begin[i + 1] > last)
      begin[i + 1] = last;
  }
  return SLEY_OK;
}

sley_status sl_pio_partition_nnz(sl_comm *comm, const sley_matrix *block, const int64_t *from,
                                 int64_t *begin) {
  int64_t count = comm->size - 1;
  pointers p = {.comm = comm,
                .rowptr = block->rowptr,
                .first = from[comm->rank],
                .count = block->rows,
                .rows = from[comm->size]};
  tables t = {0};
  SL_TRY(sl_prefix_sum(comm, block->nnz, &p.before, &p.nnz));
  sl_partition_equal(p.rows, comm->size, begin);
  if (count == 0 || p.rows == 0)
    return SLEY_OK;
  sley_status status = SL_NEW(t.value, count, "a partition");
  if (status == SLEY_OK)
    status = SL_NEW(t.split, 3 * count, "a partition");
  status = sl_agree(comm, status);
  if (status == SLEY_OK) {
    t.above = t.split + count;
    t.below = t.above + count;
    status = cut(&p, &t, begin);
  }
  sl_free(t.split);
  sl_free(t.value);
  return status;
}
