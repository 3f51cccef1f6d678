/* SPDX-License-Identifier: Apache-2.0 */
/* SL_OP_PULL, SL_OP_ARRIVE and SL_OP_AWAIT: a device loads rows from several memories at once, in pieces if
 * requested. Devices signal each other through words in memory when rows may be read and when they have been
 * read. */
#ifndef SLEY_DEVICE_OP_OP_PULL_H
#define SLEY_DEVICE_OP_OP_PULL_H

#include "base/types.h"

/* Words in device memory that report the pieces of a pull. They start at zero. Rounds of the pull count from
 * 1 and wrap around. */
enum { SL_PIECES_MOST = 16, SL_PIECE_COPIES = 32 };

/* A word in a cache sector of its own, so that accesses to other words do not slow it. */
typedef struct sl_lone_word {
  uint32_t value, unused[7];
} sl_lone_word;

typedef struct sl_piece_word {
  sl_lone_word done; /* number of workers of the pull that have finished the piece in this round */
  /* The last round in which all workers have finished the piece, so that its rows have arrived. All copies
   * have the same value; many readers wait at the same time, and copies spread their loads. */
  sl_lone_word here[SL_PIECE_COPIES];
} sl_piece_word;

typedef struct sl_piece_words {
  sl_lone_word round; /* last round whose first piece a kernel has waited for */
  sl_piece_word piece[SL_PIECES_MOST];
} sl_piece_words;

/* Maximum number of sources of one pull; if there are more, several pulls are made. */
enum { SL_PULL_SOURCES = 64 };

/* Boards. Through boards the queues of several devices exchange information without their hosts: that rows
 * may be read, where they are, and that they have been read. A rank's board is in its device's memory and
 * starts at zero; each peer writes to its own slot. Rounds count from 1. No host takes part once a pull is
 * enqueued, so the pull can be captured into a graph and run again. */

/* Value in place of a round: the peer takes no further part, and nobody waits for it. */
#define SL_BOARD_CLOSED UINT64_MAX

typedef struct sl_board_slot {
  uint64_t ready;  /* last round for which the peer offers rows */
  const void *src; /* address of the rows */
  int64_t stride;  /* bytes between rows */
  uint64_t taken;  /* last round in which the peer has read all rows offered to it */
} sl_board_slot;

typedef struct sl_board {
  uint64_t round; /* last round that the rank has finished */
  uint32_t done;  /* number of blocks of its pull that have finished */
  /* Not 0: a pull ended before its round was finished, because all ranks must stop or a peer has closed its
   * board. The rank offers no more rows, because peers may still be reading the slots of that round. */
  uint32_t stopped;
  sl_board_slot slot[]; /* one per rank */
} sl_board;

/* Rows offered to a peer. */
typedef struct sl_offer {
  sl_board *board; /* the peer's board */
  int peer;
  const void *src;
  int64_t stride; /* bytes */
} sl_offer;

typedef struct sl_signals {
  sl_board *own;
  int rank;           /* the rank that owns the board `own`, which is also the number of its slot in the
                         peers' boards */
  bool opens, closes; /* opens: this pull is the first of its round and offers rows; closes: it is the last
                         and ends the round */
  bool keeps; /* rows of the sources are still read after this pull; a later pull reports to the peers that
               * they have been read */
  int lends;  /* at most SL_PULL_SOURCES */
  const sl_offer *lend; /* host memory */
  const uint32_t *stop; /* a word that the device can read; once it is not 0, no kernel waits any longer */
} sl_signals;

/* A memory from which rows come: row r is at src + r stride. Rows go to byte dst_offset of a destination
 * row. */
typedef struct sl_pull_source {
  const void *src;
  int64_t stride, bytes, dst_offset;
  sl_board *board; /* with signals: the peer's board, from which src and stride are then read */
  int peer;
} sl_pull_source;

/* An entry of 16 bytes, which a device loads at once. */
typedef struct sl_pull_entry {
  uint64_t src_row : 58, source : 6; /* below SL_PULL_SOURCES */
  int64_t dst_row;
} sl_pull_entry;

/* SL_OP_PULL. For each entry of the list, copies the bytes of its source row to its destination row, or adds
 * them. The list is in device memory, the table of sources in host memory. No two entries may name the same
 * bytes of dst. Entries are processed in about the order of the list, so a list in which the sources
 * alternate keeps all links busy. Alignment as in sl_rows_args. */
typedef struct sl_pull_args {
  int64_t count;
  const sl_pull_entry *list;
  int sources; /* at most SL_PULL_SOURCES */
  const sl_pull_source *source;
  void *dst;          /* destination; without add also memory of the device's host_alloc */
  int64_t dst_stride; /* bytes */
  bool add;
  bool unhurried; /* its result is needed late, so it should not slow down concurrent work */
  sley_dtype dtype;
  const sl_signals *signals; /* NULL: the sources may be read at once */
  /* Not 0: piece s ends before entry piece_end[s] of the list, the last piece at the end of the list. Not
   * with add. */
  int pieces;
  const int64_t *piece_end; /* host memory */
  sl_piece_words *arrived;  /* in device memory */
} sl_pull_args;

/* SL_OP_ARRIVE. Waits until the pull that uses these words has delivered the rows of the piece and of all
 * earlier pieces. The pull may be in another queue, enqueued earlier. It announces every piece, even if it
 * stops early because a peer has failed. The first piece of each round must be waited for once, before the
 * others. */
typedef struct sl_arrive_args {
  sl_piece_words *words;
  int piece;
} sl_arrive_args;

/* SL_OP_AWAIT. Called after the pull that closed a round: waits until all peers have read the rows offered to
 * them in that round. Does not access the peers' boards, because a peer may have freed its board by then. */
typedef struct sl_await_args {
  const sl_signals *signals;
} sl_await_args;

#endif
