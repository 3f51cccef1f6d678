/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of the operations that inspect and cut a row block in a device's memory, for planning: which
 * columns it has, whose they are, which rows need which of them, and the parts it is cut into. All arrays lie
 * in the device's memory unless a comment says host. Columns have 32 bits and are numbered globally; those
 * from first on, count of them, are the rank's own, the others are remote.
 *
 * Results are the same on every device: sets, counts, minima and copies, none of which depends on the order
 * of the work. */
#ifndef SLEY_DEVICE_OP_OP_INSPECT_H
#define SLEY_DEVICE_OP_OP_INSPECT_H

#include <stdbool.h>
#include <stdint.h>

/* 64 columns of a set: which are members, and how many members come before them. */
typedef struct sl_colset_word {
  uint64_t bits;
  int64_t before;
} sl_colset_word;

/* The block. Entry j of row i is entry rowptr[i] - rowptr[0] + j of col and val. */
typedef struct sl_block_arrays {
  int64_t rows, entries;
  const int64_t *rowptr; /* rows + 1 */
  const int32_t *col;
  const void *val;      /* for SL_OP_CUT alone */
  int64_t first, count; /* the rank's own columns */
} sl_block_arrays;

/* SL_OP_COLUMNS: bit c % 64 of word c / 64 of bits is set for each remote column c; owner_nnz[p] grows by the
 * entries whose column is in [owner_begin[p], owner_begin[p + 1]). Both are zeroed by the caller. */
typedef struct sl_columns_args {
  sl_block_arrays block;
  uint64_t *bits;
  int ranks;
  const int64_t *owner_begin; /* ranks + 1, ascending; the last is above every column */
  int64_t *owner_nnz;
} sl_columns_args;

/* SL_OP_NEEDS: needs[i] becomes 1 if row i has a remote column, else 0; piece[h] becomes at most the piece of
 * each row that names remote column h: the least of them, if the caller has set it to a greater number.
 * Remote column c is number words[c / 64].before + the members below it in the word. */
typedef struct sl_needs_args {
  sl_block_arrays block;
  const sl_colset_word *words;
  int pieces;               /* row i is of the last piece p with piece_row[p] <= i */
  const int64_t *piece_row; /* pieces; ascending, from 0 */
  int32_t *needs;
  int32_t *piece;
} sl_needs_args;

enum { SL_CUT_PARTS = 16 };

/* Where entries go. Column c of the rank's own goes to part local at local_place + c - first; remote column h
 * to part part[h], below 0: to none, at far_place + place[h]. part NULL: to part remote; place NULL: h. With
 * row_part, all entries of row i go to part row_part[i]. */
typedef struct sl_cut_map {
  const sl_colset_word *words;
  const int32_t *row_part, *part;
  const int64_t *place;
  int local, remote;
  int64_t local_place, far_place;
} sl_cut_map;

/* SL_OP_TALLY: tally[p rows + i] becomes the entries of row i that go to part p; not with row_part. */
typedef struct sl_tally_args {
  sl_block_arrays block;
  sl_cut_map map;
  int parts; /* at most SL_CUT_PARTS */
  int32_t *tally;
} sl_tally_args;

/* SL_OP_CUT: the entries of row i that go to part p are copied to its col and val from at[p rows + i] on, in
 * their order, with their places for columns; with row_part from at[i] on. */
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
