/* SPDX-License-Identifier: Apache-2.0 */
/* Caches: every rank reads its rows by their offset. */
#include "io/cache.h"

#include "base/memory.h"
#include "partition/partition.h"
#include "parallel_io/pio_balance.h"
#include "parallel_io/pio_readers.h"

/* Balances nonzeros: every rank reads an equal share of the row pointers. Collective, agreed. */
static sley_status balance(sl_pio_reading *r, const sl_file *file, const sl_cache_header *header) {
  sl_comm *comm = r->comm;
  int64_t *rowptr = NULL, *from = NULL;
  sley_status status = SL_NEW(from, comm->size + 1, "a partition");
  if (status == SLEY_OK) {
    sl_partition_equal(header->rows, comm->size, from);
    int64_t first = from[comm->rank], count = from[comm->rank + 1] - first;
    status = SL_NEW(rowptr, count + 1, "row pointers");
    if (status == SLEY_OK)
      status = sl_cache_pointers(file, first, count, comm->team, rowptr);
    for (int64_t i = 0; i < count && status == SLEY_OK; i++)
      if (rowptr[i] > rowptr[i + 1])
        status = sl_fail(SLEY_ERR_INPUT, "the row pointers of a .sley cache descend");
    if (status == SLEY_OK && (rowptr[0] < 0 || rowptr[count] > header->nnz))
      status = sl_fail(SLEY_ERR_INPUT, "the row pointers of a .sley cache do not span its entries");
  }
  status = sl_agree_alike(comm, status);
  if (status == SLEY_OK) {
    int64_t rows = from[comm->rank + 1] - from[comm->rank];
    sley_matrix pointers = {.rows = rows, .nnz = rowptr[rows] - rowptr[0], .rowptr = rowptr};
    status = sl_pio_partition_nnz(comm, &pointers, from, r->begin);
  }
  for (int i = 0; i < comm->size && status == SLEY_OK; i++)
    if (r->begin[i] > r->begin[i + 1])
      status = sl_fail(SLEY_ERR_INPUT, "the row pointers of a .sley cache descend"); /* descend from one
                                                                                        rank's rows to the
                                                                                        next's */
  sl_free(rowptr);
  sl_free(from);
  return status;
}

sley_status sl_pio_cache(sl_pio_reading *r, const sl_file *file) {
  sl_comm *comm = r->comm;
  sl_cache_header header;
  SL_TRY(sl_agree_alike(comm, sl_cache_look(file, &header)));
  if (r->by_nonzeros)
    SL_TRY(balance(r, file, &header));
  else
    sl_partition_equal(header.rows, comm->size, r->begin);
  int64_t first = r->begin[comm->rank], count = r->begin[comm->rank + 1] - first;
  r->entries_stored = header.entries_stored;
  sley_status status = sl_cache_read_rows(file, &header, first, count, r->dtype, comm->team, &r->block);
  SL_TRY(sl_agree_alike(comm, status));
  int64_t nnz = r->block->nnz;
  SL_TRY(comm->ops->allreduce(comm, SL_SUM, &nnz, 1));
  r->settled = nnz == header.nnz; /* otherwise repeats were summed, and the balanced partition is different */
  return SLEY_OK;
}
