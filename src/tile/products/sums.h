/* SPDX-License-Identifier: Apache-2.0 */
/* The tiles of Y that a rank owns, while they are summed from the rank's own products and from the products
 * that other ranks push. Pushed products are added in the order of sl_task_place, so that the bits do not
 * depend on timing; a product that arrives too early stays in the buffer of the rank that computed it. */
#ifndef SLEY_TILE_PRODUCTS_SUMS_H
#define SLEY_TILE_PRODUCTS_SUMS_H

#include "tile/products/walk.h"
#include "tile/tile_queue.h"

/* The products expected for one tile of Y. */
typedef struct sl_expected {
  int64_t first, count; /* range of the list */
  int64_t added;
} sl_expected;

typedef struct sl_tile_sums {
  const sl_tile_operands *o;
  sl_comm *comm;
  sley_dtype dtype; /* type of the sums: Y's, or f32 if Y has 16 bits */
  char *wide;       /* sums of 16-bit tiles, in device memory; NULL: sums are computed in Y */
  /* Fields for pushed products; NULL if no products are pushed. */
  sl_tile_queue *queue;
  sl_expected *tiles; /* one per tile of this rank */
  int64_t *l;         /* for each product, in the order of addition: its number l */
  int64_t *holder;    /* for each product: maker * buffers + buffer once it has arrived, where maker is the
                         rank that computed it; else -1 */
  int64_t expected, added;
  int64_t *rows; /* row numbers of a product in device memory, copied for the host to check; NULL: not
                  * needed */
} sl_tile_sums;

/* All work on tiles is enqueued on the comm's queue; the calls do not wait for it.
 *
 * Allocates all memory. buffers: number of each rank's buffers for products. Errors: SLEY_ERR_MEMORY,
 * SLEY_ERR_OVERFLOW. Collective, agreed. */
sley_status sl_tile_sums_create(const sl_tile_operands *o, int buffers, sl_tile_sums **out);
void sl_tile_sums_destroy(sl_tile_sums *sums); /* Accepts NULL. Collective. */

/* begin sets this rank's tiles to beta Y; end stores the sums in Y. */
sley_status sl_tile_sums_begin(sl_tile_sums *sums, double beta);
sley_status sl_tile_sums_end(sl_tile_sums *sums, double beta);

/* Address of the sums of tile (i, j), which this rank owns: rows of the tile's width. */
void *sl_tile_sums_at(const sl_tile_sums *sums, int64_t i, int64_t j);

/* Bytes of a task's product: the stored rows of its tile of A times X, then their numbers if only some rows
 * are stored. */
int64_t sl_product_bytes(const sl_tile_sums *sums, const sl_tile_task *task);
int64_t *sl_product_rows(const sl_tile_sums *sums, const sl_tile_task *task, const void *product);

/* Sets *buffer to a free buffer of this rank, or to -1 if there is none; with waits it waits for one. While
 * it waits, this rank adds products that others have pushed, because they may be waiting for buffers, too.
 * Errors: as sl_tile_sums_drain. */
sley_status sl_tile_sums_buffer(sl_tile_sums *sums, bool waits, int *buffer);

/* Pushes a task's product, which the comm's queue writes to a buffer, to the owner of its tile
 * (sl_tile_queue_push). */
sley_status sl_tile_sums_push(sl_tile_sums *sums, const sl_tile_task *task, int buffer);

/* Takes the products that have arrived and adds those whose turn it is. Sets *any to whether a product had
 * arrived, unless any is NULL. Errors: SLEY_ERR_PEER (also: an invalid product), SLEY_ERR_INTERNAL (an
 * invalid entry). */
sley_status sl_tile_sums_drain(sl_tile_sums *sums, bool *any);

#endif
