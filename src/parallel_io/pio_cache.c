/* SPDX-License-Identifier: Apache-2.0 */
/* Caches: every rank finds its rows by their offset. */
#include "io/cache.h"

#include "partition/partition.h"
#include "parallel_io/pio_readers.h"

/* Balanced nonzeros, by the row pointers in the file. Errors: SLEY_ERR_INPUT (they do not ascend). */
static sley_status balance(const sl_cache_header *header, const int64_t *rowptr, int ranks, int64_t *begin) {
  sley_matrix pointers = {.rows = header->rows, .nnz = header->nnz, .rowptr = rowptr};
  sl_partition_nnz(&pointers, ranks, begin);
  for (int r = 0; r < ranks; r++)
    if (begin[r] > begin[r + 1])
      return sl_fail(SLEY_ERR_INPUT, "the row pointers of a .sley cache descend");
  return SLEY_OK;
}

sley_status sl_pio_cache(sl_pio_reading *r, sl_input *file) {
  sl_comm *comm = r->comm;
  sl_cache_header header;
  const int64_t *rowptr;
  SL_TRY(sl_agree_alike(comm, sl_cache_look(file, &header, &rowptr)));
  sley_status status = SLEY_OK;
  if (r->by_nonzeros)
    status = balance(&header, rowptr, comm->size, r->begin);
  else
    sl_partition_equal(header.rows, comm->size, r->begin);
  SL_TRY(sl_agree_alike(comm, status));
  int64_t first = r->begin[comm->rank], count = r->begin[comm->rank + 1] - first;
  r->settled = true;
  r->entries_stored = header.entries_stored;
  return sl_agree_alike(comm, sl_cache_read_rows(file, first, count, r->dtype, comm->team, &r->block));
}
