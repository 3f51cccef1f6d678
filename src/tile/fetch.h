/* SPDX-License-Identifier: Apache-2.0 */
/* get_tile: a tile of any rank, blocking or as a future, for the host or for the comm's device to read. A
 * tile whose memory the reader can load is used where it lies, unless it is read often; another is copied
 * into room of the fetch.
 * Either way traffic counts as if it had been copied. */
#ifndef SLEY_TILE_FETCH_H
#define SLEY_TILE_FETCH_H

#include "tile/tiled.h"

/* Who reads tiles; on the cpu both are the host. */
typedef enum sl_tile_reader {
  SL_TILE_FOR_HOST,
  SL_TILE_FOR_DEVICE,      /* work that the comm's queue is given before the next begin */
  SL_TILE_FOR_DEVICE_OFTEN /* the same, which reads entries many times: another rank's tile is always copied,
                              for between devices each of these reads would cross the link */
} sl_tile_reader;

/* One tile at a time; does not move while a tile is on its way. */
typedef struct sl_tile_fetch {
  const sl_tiled *of;
  bool on_device; /* tiles are for a device whose memory the host cannot address */
  bool often;     /* which reads them many times */
  char *room;     /* for the largest tile that must be copied, in the reader's memory; NULL: there is none */
  char *seen;     /* room in the host's memory, where what comes for a device is checked first; or NULL */
  int64_t i, j;
  const char *at;
  bool in_flight;
  sl_rma rma;
} sl_tile_fetch;

/* Takes the room. of outlives the fetch. Errors: SLEY_ERR_MEMORY. Not collective. */
sley_status sl_tile_fetch_open(sl_tile_fetch *fetch, const sl_tiled *of, sl_tile_reader reader);

/* The same without room, for tiles of this rank alone; need not be closed. */
void sl_tile_fetch_open_own(sl_tile_fetch *fetch, const sl_tiled *of, sl_tile_reader reader);

/* The same for the host, with room for tile (i, j) alone. */
sley_status sl_tile_fetch_open_one(sl_tile_fetch *fetch, const sl_tiled *of, int64_t i, int64_t j);

/* Begins to get tile (i, j), and returns at once. Nothing may be on its way. Errors: SLEY_ERR_PEER. Not
 * collective. */
sley_status sl_tile_begin(sl_tile_fetch *fetch, int64_t i, int64_t j);

/* Waits for what was begun, but not for the comm's queue. *out is valid until the next begin or close. What
 * other processes have sent is checked: row pointers, row numbers and columns. Not checked is what a device
 * reads in the memory of another that it can load: those are the user's processes of one host, and could
 * change it after a check. Errors: SLEY_ERR_PEER. Not collective. */
sley_status sl_tile_wait(sl_tile_fetch *fetch, sl_tile *out);

/* begin and wait in one. */
sley_status sl_tile_get(sl_tile_fetch *fetch, int64_t i, int64_t j, sl_tile *out);

/* Waits for what is on its way. Of a fetch of zeros: nothing. */
void sl_tile_fetch_close(sl_tile_fetch *fetch);

#endif
