/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of the operations that inspect and cut a row block in device memory, for planning: which columns
 * it has, which ranks own them, which rows need which columns, and the parts into which it is cut. All arrays
 * are in device memory unless a comment says host. Columns have 32 bits and are numbered globally; columns
 * [first, first + count) are the rank's own, the others are remote.
 *
 * Results are the same on every device: sets, counts, minima and copies, none of which depends on the order
 * of the work. */
#ifndef SLEY_DEVICE_OP_OP_INSPECT_H
#define SLEY_DEVICE_OP_OP_INSPECT_H

#include <stdbool.h>
#include <stdint.h>

/* 64 columns of a set: a bit for each member, and the number of members before them. */
typedef struct sl_colset_word {
  uint64_t bits;
  int64_t before;
} sl_colset_word;

/* The block. Entry j of row i is entry rowptr[i] - rowptr[0] + j of col and val. */
typedef struct sl_block_arrays {
  int64_t rows, entries;
  const int64_t *rowptr; /* rows + 1 elements */
  const int32_t *col;
  const void *val;      /* only for SL_OP_CUT */
  int64_t first, count; /* the rank's own columns */
} sl_block_arrays;

/* SL_OP_COLUMNS: sets bit c % 64 of word c / 64 of bits for each remote column c, and adds to owner_nnz[p]
 * the number of entries whose column is in [owner_begin[p], owner_begin[p + 1]). The caller zeroes both. */
typedef struct sl_columns_args {
  sl_block_arrays block;
  uint64_t *bits;
  int ranks;
  const int64_t *owner_begin; /* ranks + 1 elements, ascending; the last is above every column */
  int64_t *owner_nnz;
} sl_columns_args;

/* SL_OP_NEEDS: sets needs[i] to 1 if row i has a remote column, else to 0. Lowers piece[h] to the least piece
 * of all rows that name remote column h; the caller initializes it with a greater number. The number h of
 * remote column c is words[c / 64].before plus the members below it in the word. */
typedef struct sl_needs_args {
  sl_block_arrays block;
  const sl_colset_word *words;
  int pieces;               /* row i belongs to the last piece p with piece_row[p] <= i */
  const int64_t *piece_row; /* one per piece; ascending, from 0 */
  int32_t *needs;
  int32_t *piece;
} sl_needs_args;

enum { SL_CUT_PARTS = 16 };

/* Destinations of entries. The rank's own column c goes to part local at place local_place + c - first.
 * Remote column h goes to part part[h] at place far_place + place[h]; if part[h] is negative, it goes to no
 * part. If part is NULL, it goes to part remote; if place is NULL, h replaces place[h]. With row_part, all
 * entries of row i go to part row_part[i]. */
typedef struct sl_cut_map {
  const sl_colset_word *words;
  const int32_t *row_part, *part;
  const int64_t *place;
  int local, remote;
  int64_t local_place, far_place;
} sl_cut_map;

/* SL_OP_TALLY: sets tally[p rows + i] to the number of entries of row i that go to part p. Not with
 * row_part. */
typedef struct sl_tally_args {
  sl_block_arrays block;
  sl_cut_map map;
  int parts; /* at most SL_CUT_PARTS */
  int32_t *tally;
} sl_tally_args;

/* SL_OP_CUT: copies the entries of row i that go to part p, in order, to that part's col and val from at[p
 * rows + i] on (with row_part, from at[i] on); places replace columns. */
typedef struct sl_cut_args {
  sl_block_arrays block;
  sl_cut_map map;
  int parts;
  int64_t value_bytes; /* 2, 4 or 8 */
  const int64_t *at;
  int32_t *col[SL_CUT_PARTS];
  void *val[SL_CUT_PARTS];
} sl_cut_args;

#endif
