/* SPDX-License-Identifier: Apache-2.0 */
#include "tile/fetch.h"

#include "base/memory.h"

/* Bytes of tile n if it must be copied. */
static int64_t copied_bytes(const sl_tiled *of, int64_t n) {
  return of->blocks[of->pointers[n].rank] ? 0 : of->pointers[n].bytes;
}

static sley_status open_for(sl_tile_fetch *fetch, const sl_tiled *of, int64_t bytes) {
  *fetch = (sl_tile_fetch){.of = of};
  if (bytes > 0 && !(fetch->room = sl_alloc(bytes, 1, "room for a tile")))
    return SLEY_ERR_MEMORY;
  return SLEY_OK;
}

sley_status sl_tile_fetch_open(sl_tile_fetch *fetch, const sl_tiled *of) {
  int64_t most = 0;
  for (int64_t n = 0; n < sl_tiles(&of->tiling); n++)
    if (copied_bytes(of, n) > most)
      most = copied_bytes(of, n);
  return open_for(fetch, of, most);
}

sley_status sl_tile_fetch_open_one(sl_tile_fetch *fetch, const sl_tiled *of, int64_t i, int64_t j) {
  return open_for(fetch, of, copied_bytes(of, sl_tile_number(&of->tiling, i, j)));
}

sley_status sl_tile_begin(sl_tile_fetch *fetch, int64_t i, int64_t j) {
  const sl_tiled *of = fetch->of;
  const sl_tile_pointer *p = sl_tile_at(of, i, j);
  const char *block = of->blocks[p->rank];
  fetch->i = i;
  fetch->j = j;
  if (block) {
    fetch->at = block + p->offset;
    of->comm->ops->counters_add(of->comm, sl_link_to(of->comm, p->rank), p->bytes, p->bytes > 0);
    return SLEY_OK;
  }
  fetch->at = fetch->room;
  if (p->bytes == 0)
    return SLEY_OK;
  SL_TRY(sl_get_begin(of->symm, p->rank, p->offset, fetch->room, p->bytes, &fetch->rma));
  fetch->in_flight = true;
  return SLEY_OK;
}

sley_status sl_tile_wait(sl_tile_fetch *fetch, sl_tile *out) {
  const sl_tiled *of = fetch->of;
  const int owner = sl_tile_owner(&of->tiling, fetch->i, fetch->j);
  if (fetch->in_flight) {
    fetch->in_flight = false;
    SL_TRY(sl_rma_wait(&fetch->rma));
  }
  *out = sl_tile_view(of, fetch->i, fetch->j, fetch->at);
  if (of->sparse && out->entries > 0 && of->comm->processes && owner != of->comm->rank &&
      !sl_sparse_tile_is_csr(out, of->index))
    return sl_fail_peer(owner, "its tile (%lld, %lld) is not a CSR matrix", (long long)fetch->i,
                        (long long)fetch->j);
  return SLEY_OK;
}

sley_status sl_tile_get(sl_tile_fetch *fetch, int64_t i, int64_t j, sl_tile *out) {
  SL_TRY(sl_tile_begin(fetch, i, j));
  return sl_tile_wait(fetch, out);
}

void sl_tile_fetch_close(sl_tile_fetch *fetch) {
  if (fetch->in_flight)
    (void)sl_rma_wait(&fetch->rma);
  sl_free(fetch->room);
  *fetch = (sl_tile_fetch){0};
}
