/* SPDX-License-Identifier: Apache-2.0 */
/* Generators: every rank generates a share of the edges, which go to the owners of their rows. */
#include "generate/generate.h"

#include "partition/partition.h"
#include "parallel_io/pio_entries.h"
#include "parallel_io/pio_readers.h"

typedef struct building {
  sl_pio_reading *reading;
  bool met; /* build was called; the ranks meet in it */
} building;

static sley_status build(void *context, const sl_edge_source *source, sley_dtype dtype, sl_team *team,
                         sley_matrix **out) {
  building *b = context;
  sl_pio_reading *r = b->reading;
  sl_comm *comm = r->comm;
  int64_t share = source->items / comm->size, more = source->items % comm->size;
  int64_t first = share * comm->rank + (comm->rank < more ? comm->rank : more);
  sl_coo edges = {0};
  sley_status status = SLEY_OK;
  if (source->rows == INT64_MAX)
    status = sl_fail(SLEY_ERR_OVERFLOW, "a matrix of %lld rows and %lld edges is too large",
                     (long long)source->rows, (long long)source->edges);
  else
    status = sl_edge_list(source, first, share + (comm->rank < more), dtype, team, &edges);
  b->met = true;
  status = sl_agree_alike(comm, status);
  if (status == SLEY_OK) {
    sl_partition_equal(source->rows, comm->size, r->begin);
    status = sl_entries_to_rows(comm, &edges, source->mirror ? SL_SYMMETRIC : SL_GENERAL, SL_DROP_REPEATS,
                                r->begin, out);
  }
  sl_coo_free(&edges);
  if (status == SLEY_OK)
    status = sl_agree(comm, sl_edge_values(source, r->begin[comm->rank], team, *out));
  return status;
}

sley_status sl_pio_generate(sl_pio_reading *r) {
  building b = {r, false};
  sley_status status = sl_generate_by(r->name, r->dtype, r->seed, r->comm->team, build, &b, &r->block);
  return b.met ? status : sl_agree_alike(r->comm, status); /* if build was called on one rank, it was called
                                                              on all */
}
