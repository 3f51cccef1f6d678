/* SPDX-License-Identifier: Apache-2.0 */
/* get_tile: reads a tile of any rank, blocking or as a future, for the host or for the comm's device. If the
 * reader can load the tile's memory, the tile is used in place, unless it is read often; any other tile is
 * copied into memory of the fetch. In both cases traffic counts as if the tile had been copied. */
#ifndef SLEY_TILE_FETCH_H
#define SLEY_TILE_FETCH_H

#include "tile/tiled.h"

/* The reader of tiles. On the cpu the device is the host too. */
typedef enum sl_tile_reader {
  SL_TILE_FOR_HOST,
  SL_TILE_FOR_DEVICE,      /* work that is enqueued on the comm's queue before the next begin */
  SL_TILE_FOR_DEVICE_OFTEN /* like SL_TILE_FOR_DEVICE, for work that reads entries many times: another rank's
                            * tile is always copied, because otherwise each read would cross the link between
                            * devices */
} sl_tile_reader;

/* Fetches one tile at a time. The struct must not move while a tile is being fetched. */
typedef struct sl_tile_fetch {
  const sl_tiled *of;
  bool on_device; /* tiles go to a device whose memory the host cannot address */
  bool often;     /* the device reads each tile many times */
  char *room;     /* memory for the largest tile that must be copied, where the reader can read it; NULL: no
                   * tile must be copied */
  char *seen;     /* host memory in which a tile for the device is checked first; or NULL */
  int64_t i, j;
  const char *at;
  bool in_flight;
  sl_rma rma;
} sl_tile_fetch;

/* Allocates the memory. `of` must outlive the fetch. Errors: SLEY_ERR_MEMORY. Not collective. */
sley_status sl_tile_fetch_open(sl_tile_fetch *fetch, const sl_tiled *of, sl_tile_reader reader);

/* Opens a fetch without memory, for tiles of this rank only. It need not be closed. */
void sl_tile_fetch_open_own(sl_tile_fetch *fetch, const sl_tiled *of, sl_tile_reader reader);

/* Opens a fetch for the host, with memory for tile (i, j) only. */
sley_status sl_tile_fetch_open_one(sl_tile_fetch *fetch, const sl_tiled *of, int64_t i, int64_t j);

/* Starts to fetch tile (i, j), and returns at once. No other fetch may be in progress. Errors: SLEY_ERR_PEER.
 * Not collective. */
sley_status sl_tile_begin(sl_tile_fetch *fetch, int64_t i, int64_t j);

/* Waits for the tile that was begun, but not for the comm's queue. *out is valid until the next begin or
 * close. Tiles that other processes have sent are checked: row pointers, row numbers and columns. A tile that
 * a device reads directly in another device's memory is not checked: it belongs to the user's own processes
 * on the host, which could change it after a check. Errors: SLEY_ERR_PEER. Not collective. */
sley_status sl_tile_wait(sl_tile_fetch *fetch, sl_tile *out);

/* Checks row pointers, row numbers and columns of tile (i, j) of a sparse matrix, which its owner, another
 * process, has sent to host memory at `at`. Errors: SLEY_ERR_PEER. Not collective. */
sley_status sl_tile_check(const sl_tiled *of, int64_t i, int64_t j, const char *at);

/* Calls sl_tile_begin and sl_tile_wait. */
sley_status sl_tile_get(sl_tile_fetch *fetch, int64_t i, int64_t j, sl_tile *out);

/* Waits for a fetch in progress and frees the memory. Does nothing if all bytes are zero. */
void sl_tile_fetch_close(sl_tile_fetch *fetch);

#endif
