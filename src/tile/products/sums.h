/* SPDX-License-Identifier: Apache-2.0 */
/* The tiles of Y that a rank owns, while they are summed: its own products, and those that other ranks push.
 * Those are added in the order of sl_task_place, so that the bits do not depend on timing; one that comes too
 * early stays in the buffer of the rank that has made it. */
#ifndef SLEY_TILE_PRODUCTS_SUMS_H
#define SLEY_TILE_PRODUCTS_SUMS_H

#include "tile/products/walk.h"
#include "tile/tile_queue.h"

/* What is expected for one tile of Y. */
typedef struct sl_expected {
  int64_t first, count; /* of the list */
  int64_t added;
} sl_expected;

typedef struct sl_tile_sums {
  const sl_tile_operands *o;
  sl_comm *comm;
  sley_dtype dtype; /* of sums: that of Y, or f32 where Y has 16 bits */
  char *wide;       /* sums of 16-bit tiles, in the device's memory; NULL: they are made in Y */
  /* Where products are pushed, else NULL: */
  sl_tile_queue *queue;
  sl_expected *tiles; /* of this rank */
  int64_t *l;         /* list, in the order of adding: the product's l, and */
  int64_t *holder;    /* where it has come: its maker * buffers + the buffer; or -1 */
  int64_t expected, added;
  int64_t *rows; /* of a product in a device's memory, for the host to check; NULL: none is */
} sl_tile_sums;

/* All work on tiles goes to the comm's queue, for which the calls do not wait.
 *
 * Takes all memory. buffers: of each rank for products. Errors: SLEY_ERR_MEMORY, SLEY_ERR_OVERFLOW.
 * Collective, agreed.
 */
sley_status sl_tile_sums_create(const sl_tile_operands *o, int buffers, sl_tile_sums **out);
void sl_tile_sums_destroy(sl_tile_sums *sums); /* Accepts NULL. Collective. */

/* This rank's tiles become beta Y, and at the end Y what was summed. */
sley_status sl_tile_sums_begin(sl_tile_sums *sums, double beta);
sley_status sl_tile_sums_end(sl_tile_sums *sums, double beta);

/* Where tile (i, j), of this rank, is summed: rows of the tile's width. */
void *sl_tile_sums_at(const sl_tile_sums *sums, int64_t i, int64_t j);

/* Bytes of a task's product: the stored rows of its tile of A times X, then their numbers where only some are
 * stored. */
int64_t sl_product_bytes(const sl_tile_sums *sums, const sl_tile_task *task);
int64_t *sl_product_rows(const sl_tile_sums *sums, const sl_tile_task *task, const void *product);

/* A free buffer of this rank's, or -1; waits: until there is one. While there is none this rank adds what
 * others have pushed: they may wait for buffers, too. Errors: those of drain. */
sley_status sl_tile_sums_buffer(sl_tile_sums *sums, bool waits, int *buffer);

/* The product of a task, which the comm's queue makes in a buffer, goes to the owner of its tile: see
 * sl_tile_queue_push. */
sley_status sl_tile_sums_push(sl_tile_sums *sums, const sl_tile_task *task, int buffer);

/* Adds what has come, as far as it is its turn. *any, which may be NULL: whether anything had come. Errors:
 * SLEY_ERR_PEER (also: a product that cannot be), SLEY_ERR_INTERNAL (an entry that cannot be). */
sley_status sl_tile_sums_drain(sl_tile_sums *sums, bool *any);

#endif
