/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over the rows of all ranks, such as gradients of weights, X^T D. Either each rank sums its rows, and
 * the ranks' sums are added; or, with `fixed`, the bits are the same for every number of ranks:
 *
 *   - All rows are cut into blocks by their number alone: at most SL_ROW_BLOCKS_MOST blocks, each of a
 *     multiple of SL_ROW_BLOCK rows but for the last.
 *   - The rank that has the first row of a block sums the block. Ranks that have other rows of it send these
 *     to that rank.
 *   - The blocks' sums are added in ascending order.
 *
 * Callers treat both ways alike: they bring two operands, make the sums of each of the rank's blocks, and add
 * the blocks. Without `fixed` all of the rank's rows are one block, and nothing is copied or sent. */
#ifndef SLEY_GNN_ROW_BLOCKS_H
#define SLEY_GNN_ROW_BLOCKS_H

#include "gnn/dense.h"
#include "transport/dense_collective.h"

enum { SL_ROW_BLOCK = 256, SL_ROW_BLOCKS_MOST = 64, SL_MOST_TAILS = 8 };

/* Of a product X^T D: X and D. */
typedef enum sl_side { SL_LEFT, SL_RIGHT, SL_SIDES } sl_side;

/* How rows of so many bytes go to the rank that sums their block. */
typedef struct sl_tail {
  int64_t bytes;
  sl_row_list *lists; /* those to send, then those to receive */
  sl_exchange *exchange;
} sl_tail;

typedef struct sl_row_blocks {
  const sl_dense_work *work;
  bool fixed;
  int64_t *row_begin;   /* of each rank, and the number of all rows */
  int64_t rows, all;    /* of a block; blocks of all ranks */
  int64_t first, count; /* this rank's blocks */
  bool travels;         /* some block has rows of several ranks */
  bool split;           /* this rank's last block has rows of others, and lies in `room` */
  int tails[SL_SIDES];
  sl_tail tail[SL_SIDES][SL_MOST_TAILS];
  void *room[SL_SIDES];
  int64_t room_bytes[SL_SIDES];
  sl_rows operand[SL_SIDES]; /* that were brought last */
  sley_dtype dtype;          /* of these */
  /* Sums of this rank's blocks: `values` of each, one block after the other. */
  int64_t values;
  void *sums;
  /* Of several ranks: each adds the blocks of `part` values, from rank times `part` on. */
  int64_t part;
  void *received, *added;
  sl_row_list *lists;
  sl_exchange *exchange;
  sl_dense *gather;
} sl_row_blocks;

/* row_begin: size + 1 numbers. work outlives it. Not collective. Errors: SLEY_ERR_MEMORY. */
sley_status sl_row_blocks_open(const sl_dense_work *work, const int64_t *row_begin, bool fixed,
                               sl_row_blocks *out);

/* With fixed: the rows of this rank's block `number`, and the end of the rows whose blocks a rank sums, of
 * all ranks' rows. */
void sl_row_blocks_range(const sl_row_blocks *blocks, int64_t number, int64_t *begin, int64_t *end);
int64_t sl_row_blocks_end(const sl_row_blocks *blocks, int rank);

/* Says, before sl_row_blocks_prepare and alike on all ranks, that operands of a side will have rows of so
 * many columns of dtype. Not collective. */
sley_status sl_row_blocks_expect(sl_row_blocks *blocks, sl_side side, int64_t cols, sley_dtype dtype);

/* Takes the memory and makes the exchanges, for `values` sums of a block, a multiple of 64 bytes. Collective,
 * agreed. */
sley_status sl_row_blocks_prepare(sl_row_blocks *blocks, int64_t values);

/* From here on, in the order of the rank's queue, blocks of the operands can be read: until the next call, or
 * until the operands change. left NULL: there is none; one that is sparse has its blocks already. Collective;
 * an error ends the comm. */
sley_status sl_row_blocks_bring(sl_row_blocks *blocks, const sl_rows *left, const sl_rows *right,
                                sley_dtype dtype);

/* The rows of this rank's block `number`, from 0 on, of an operand. */
sl_rows sl_row_blocks_of(const sl_row_blocks *blocks, sl_side side, int64_t number);

/* With fixed: where the sums of this rank's block `number` lie. They are zeros until they are written. */
void *sl_row_blocks_sums(const sl_row_blocks *blocks, int64_t number);

/* With fixed: out = the sums of all blocks, `values` values, on every rank. Collective; an error ends the
 * comm. */
sley_status sl_row_blocks_add(const sl_row_blocks *blocks, void *out);

/* What it takes of the device's memory on this rank. */
int64_t sl_row_blocks_bytes(const sl_row_blocks *blocks);

/* Accepts one that is zeroed. Collective. */
void sl_row_blocks_close(sl_row_blocks *blocks);

#endif
