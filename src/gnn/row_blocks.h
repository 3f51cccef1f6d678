/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over the rows of all ranks, such as gradients of weights, X^T D. Either each rank sums its rows, and
 * the ranks' sums are added; or, with `fixed`, the bits are the same for every number of ranks:
 *
 *   - All rows are cut into blocks by their number alone: at most SL_ROW_BLOCKS_MOST blocks, each of a
 *     multiple of SL_ROW_BLOCK rows except the last.
 *   - The rank that has the first row of a block sums the block. Ranks that have other rows of it send these
 *     to that rank.
 *   - The blocks' sums are added in ascending order.
 *
 * Callers treat both cases alike: they pass two operands, compute the sums of each of the rank's blocks, and
 * add the blocks. Without `fixed` all of the rank's rows form one block, and nothing is copied or sent. */
#ifndef SLEY_GNN_ROW_BLOCKS_H
#define SLEY_GNN_ROW_BLOCKS_H

#include "gnn/dense.h"
#include "transport/dense_collective.h"

enum { SL_ROW_BLOCK = 256, SL_ROW_BLOCKS_MOST = 64, SL_MOST_TAILS = 8 };

/* The operands X and D of a product X^T D. */
typedef enum sl_side { SL_LEFT, SL_RIGHT, SL_SIDES } sl_side;

/* An exchange of rows of `bytes` bytes with the ranks that sum their blocks. */
typedef struct sl_tail {
  int64_t bytes;
  sl_row_list *lists; /* lists to send, then lists to receive */
  sl_exchange *exchange;
} sl_tail;

typedef struct sl_row_blocks {
  const sl_dense_work *work;
  bool fixed;
  int64_t *row_begin;   /* first row of each rank, then the number of all rows */
  int64_t rows, all;    /* number of rows per block; number of blocks of all ranks */
  int64_t first, count; /* first block of this rank, and number of its blocks */
  bool travels;         /* some block has rows of several ranks */
  bool split;           /* this rank's last block has rows of other ranks, and is copied to `room` */
  int tails[SL_SIDES];
  sl_tail tail[SL_SIDES][SL_MOST_TAILS];
  void *room[SL_SIDES];
  int64_t room_bytes[SL_SIDES];
  sl_rows operand[SL_SIDES]; /* current operands */
  sley_dtype dtype;          /* their type */
  /* Sums of this rank's blocks: `values` values per block, contiguous. */
  int64_t values;
  void *sums;
  /* With several ranks, each rank adds the sums of all blocks for `part` values, starting with value rank *
     part. */
  int64_t part;
  void *received, *added;
  sl_row_list *lists;
  sl_exchange *exchange;
  sl_dense *gather;
} sl_row_blocks;

/* Opens the blocks. row_begin: size + 1 numbers. work must outlive them. Not collective. Errors:
   SLEY_ERR_MEMORY. */
sley_status sl_row_blocks_open(const sl_dense_work *work, const int64_t *row_begin, bool fixed,
                               sl_row_blocks *out);

/* With fixed: return the rows of this rank's block `number`, and the end of the rows whose blocks a rank
 * sums, both numbered over all ranks' rows. */
void sl_row_blocks_range(const sl_row_blocks *blocks, int64_t number, int64_t *begin, int64_t *end);
int64_t sl_row_blocks_end(const sl_row_blocks *blocks, int rank);

/* Announces, before sl_row_blocks_prepare and identically on all ranks, that operands of a side will have
 * rows of `cols` columns of dtype. Not collective. */
sley_status sl_row_blocks_expect(sl_row_blocks *blocks, sl_side side, int64_t cols, sley_dtype dtype);

/* Allocates the memory and creates the exchanges, for `values` sums per block, a multiple of 64 bytes.
 * Collective, agreed. */
sley_status sl_row_blocks_prepare(sl_row_blocks *blocks, int64_t values);

/* Makes the blocks of the operands readable, in the order of the rank's queue, until the next call or until
 * the operands change. left may be NULL; a sparse left operand already has its blocks. Collective; an error
 * ends the comm. */
sley_status sl_row_blocks_bring(sl_row_blocks *blocks, const sl_rows *left, const sl_rows *right,
                                sley_dtype dtype);

/* The rows of this rank's block `number`, from 0 on, of an operand. */
sl_rows sl_row_blocks_of(const sl_row_blocks *blocks, sl_side side, int64_t number);

/* With fixed: address of the sums of this rank's block `number`. They are zeros until they are written. */
void *sl_row_blocks_sums(const sl_row_blocks *blocks, int64_t number);

/* With fixed: sets out, on every rank, to the sum of all blocks, `values` values. Collective; an error ends
 * the comm. */
sley_status sl_row_blocks_add(const sl_row_blocks *blocks, void *out);

/* Bytes of device memory on this rank. */
int64_t sl_row_blocks_bytes(const sl_row_blocks *blocks);

/* Frees the memory and the exchanges. Accepts a zeroed struct. */
void sl_row_blocks_close(sl_row_blocks *blocks);

#endif
