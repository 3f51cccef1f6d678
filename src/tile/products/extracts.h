/* SPDX-License-Identifier: Apache-2.0 */
/* The extracts of tiles that travel between workgroups for a product with stationary Y: of each tile of A or
 * X that a task of another workgroup uses, the rows or columns that the workgroup multiplies with an entry.
 *
 * The owner of a tile learns from marks which rows or columns these are: for each tile of A its columns with
 * entries, and for each tile of a sparse X its rows with entries. An extract goes to one rank of the
 * workgroup, its receiver, in whose memory the others read it. */
#ifndef SLEY_TILE_PRODUCTS_EXTRACTS_H
#define SLEY_TILE_PRODUCTS_EXTRACTS_H

#include "tile/products/walk.h"

/* An extract that this rank sends, or that a rank of its workgroup receives. */
typedef struct sl_extract {
  bool of_a;
  int64_t i, j; /* the tile */
  int owner, receiver;
  int64_t stored, entries; /* as in sl_tile_shape; of a dense tile: rows, and values */
  int64_t bytes;           /* bytes of the message's section */
  int64_t room; /* bytes in the receiver's memory: of a sparse extract the same, else of the tile */
  int64_t at;   /* offset in the receiver's memory of its matrix; of a sent extract, in the round's
                 * send buffer */
} sl_extract;

typedef struct sl_extracts {
  const sl_tile_operands *o;
  uint64_t **marks[2]; /* for each tile of X and of A that this rank has received marks of: the marks */
  uint64_t *words[2];  /* memory of these marks */
  sl_extract *sent, *received; /* sent: by workgroup, A before X; received: by owner, A before X; tiles of a
                                * rank in the order of sl_own_next */
  int64_t sends, receives;
  int64_t traded; /* bytes of marks and sizes that this rank has sent to other workgroups */
} sl_extracts;

/* Computes which extracts travel, and their sizes. o must outlive the extracts. Errors: SLEY_ERR_MEMORY,
 * SLEY_ERR_OVERFLOW, SLEY_ERR_PEER. After an error there is nothing to close. Collective, agreed. */
sley_status sl_extracts_open(sl_extracts *extracts, const sl_tile_operands *o);
/* Does nothing if all bytes are zero. Not collective. */
void sl_extracts_close(sl_extracts *extracts);

/* The shape of an extract of a sparse tile. */
sl_tile_shape sl_extract_shape(const sl_tile_operands *o, const sl_extract *extract);

/* Writes an extract's section of a message to `to`, from its tile in host memory at `tile`. Errors:
 * SLEY_ERR_MEMORY. */
sley_status sl_extract_pack(const sl_extracts *extracts, const sl_extract *extract, const char *tile,
                            char *to);

/* Writes the rows in a section of a message, in host memory, to the dense tile at `tile`; its other rows are
 * unchanged. Errors: SLEY_ERR_PEER (not the rows that were announced). */
sley_status sl_extract_unpack(const sl_tile_operands *o, const sl_extract *extract, const char *from,
                              char *tile);

/* Checks an extract of a sparse tile that another process has sent, in host memory. Errors: SLEY_ERR_PEER. */
sley_status sl_extract_check(const sl_tile_operands *o, const sl_extract *extract, const char *at);

#endif
