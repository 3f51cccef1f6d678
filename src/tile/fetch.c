/* SPDX-License-Identifier: Apache-2.0 */
#include "tile/fetch.h"

#include "base/memory.h"

/* Address of a rank's block if its tiles are read in place, else NULL. */
static const char *block_of(const sl_tile_fetch *fetch, int rank) {
  if (fetch->often && rank != fetch->of->comm->rank)
    return NULL;
  return fetch->on_device ? fetch->of->blocks[rank] : sl_tiled_block(fetch->of, rank);
}

/* Bytes of tile n if it must be copied, else 0. */
static int64_t copied_bytes(const sl_tile_fetch *fetch, int64_t n) {
  const sl_tile_pointer *p = &fetch->of->pointers[n];
  return block_of(fetch, p->rank) ? 0 : p->bytes;
}

/* Returns whether a tile for the device comes from another process as a message, so that the host must check
 * it first. */
static bool is_seen_first(const sl_tile_fetch *fetch, int rank) {
  const sl_tiled *of = fetch->of;
  return fetch->on_device && of->comm->processes && of->sparse && !of->blocks[rank];
}

/* Allocates memory for a tile that must be copied, and for a tile that the host checks first. */
static sley_status take_room(sl_tile_fetch *fetch, int64_t bytes, int64_t seen_bytes) {
  const sl_comm *comm = fetch->of->comm;
  static const char what[] = "room for a tile";
  if (bytes == 0)
    return SLEY_OK;
  if (fetch->on_device)
    SL_TRY(comm->device->ops->alloc(comm->device, bytes, what, (void **)&fetch->room));
  else if (!(fetch->room = sl_alloc(bytes, 1, what)))
    return SLEY_ERR_MEMORY;
  if (seen_bytes > 0 && !(fetch->seen = sl_alloc(seen_bytes, 1, what)))
    return SLEY_ERR_MEMORY;
  return SLEY_OK;
}

void sl_tile_fetch_open_own(sl_tile_fetch *fetch, const sl_tiled *of, sl_tile_reader reader) {
  const bool on_device = reader != SL_TILE_FOR_HOST && !of->comm->device->ops->host_addresses;
  *fetch = (sl_tile_fetch){
      .of = of, .on_device = on_device, .often = on_device && reader == SL_TILE_FOR_DEVICE_OFTEN};
}

sley_status sl_tile_fetch_open(sl_tile_fetch *fetch, const sl_tiled *of, sl_tile_reader reader) {
  int64_t most = 0, most_seen = 0;
  sl_tile_fetch_open_own(fetch, of, reader);
  for (int64_t n = 0; n < sl_tiles(&of->tiling); n++) {
    const int64_t bytes = copied_bytes(fetch, n);
    most = bytes > most ? bytes : most;
    if (is_seen_first(fetch, of->pointers[n].rank))
      most_seen = bytes > most_seen ? bytes : most_seen;
  }
  return take_room(fetch, most, most_seen);
}

sley_status sl_tile_fetch_open_one(sl_tile_fetch *fetch, const sl_tiled *of, int64_t i, int64_t j) {
  sl_tile_fetch_open_own(fetch, of, SL_TILE_FOR_HOST);
  return take_room(fetch, copied_bytes(fetch, sl_tile_number(&of->tiling, i, j)), 0);
}

sley_status sl_tile_begin(sl_tile_fetch *fetch, int64_t i, int64_t j) {
  const sl_tiled *of = fetch->of;
  const sl_tile_pointer *p = sl_tile_at(of, i, j);
  const char *block = block_of(fetch, p->rank);
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
  const bool seen_first = is_seen_first(fetch, p->rank);
  if (fetch->on_device && !seen_first)
    SL_TRY(sl_rma_after(of->symm, of->comm->queue)); /* the queue may still read the previous tile */
  SL_TRY(sl_get_begin(of->symm, p->rank, p->offset, seen_first ? fetch->seen : fetch->room, p->bytes,
                      &fetch->rma));
  fetch->in_flight = true;
  return SLEY_OK;
}

/* Returns whether the tile comes from another process and is in host memory, so that it must be checked. */
static bool is_doubted(const sl_tile_fetch *fetch, int owner) {
  const sl_comm *comm = fetch->of->comm;
  return fetch->of->sparse && comm->processes && owner != comm->rank &&
         (!fetch->on_device || is_seen_first(fetch, owner));
}

sley_status sl_tile_check(const sl_tiled *of, int64_t i, int64_t j, const char *at) {
  const sl_tile tile = sl_tile_view(of, i, j, at);
  if (tile.entries > 0 && !sl_sparse_tile_is_csr(&tile, of->index))
    return sl_fail_peer(sl_tile_at(of, i, j)->rank, "its tile (%lld, %lld) is not a CSR matrix", (long long)i,
                        (long long)j);
  return SLEY_OK;
}

sley_status sl_tile_wait(sl_tile_fetch *fetch, sl_tile *out) {
  const sl_tiled *of = fetch->of;
  const sl_tile_pointer *p = sl_tile_at(of, fetch->i, fetch->j);
  if (fetch->in_flight) {
    fetch->in_flight = false;
    SL_TRY(sl_rma_wait(&fetch->rma));
  }
  if (is_doubted(fetch, p->rank))
    SL_TRY(sl_tile_check(of, fetch->i, fetch->j, is_seen_first(fetch, p->rank) ? fetch->seen : fetch->at));
  if (is_seen_first(fetch, p->rank) && p->bytes > 0)
    SL_TRY(
        of->comm->device->ops->copy(of->comm->queue, SL_COPY_TO_DEVICE, fetch->room, fetch->seen, p->bytes));
  *out = sl_tile_view(of, fetch->i, fetch->j, fetch->at);
  return SLEY_OK;
}

sley_status sl_tile_get(sl_tile_fetch *fetch, int64_t i, int64_t j, sl_tile *out) {
  SL_TRY(sl_tile_begin(fetch, i, j));
  return sl_tile_wait(fetch, out);
}

void sl_tile_fetch_close(sl_tile_fetch *fetch) {
  if (fetch->in_flight)
    (void)sl_rma_wait(&fetch->rma);
  if (fetch->on_device && fetch->room)
    fetch->of->comm->device->ops->free(fetch->of->comm->device, fetch->room);
  else
    sl_free(fetch->room);
  sl_free(fetch->seen);
  *fetch = (sl_tile_fetch){0};
}
