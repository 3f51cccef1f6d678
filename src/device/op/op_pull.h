/* SPDX-License-Identifier: Apache-2.0 */
/* SL_OP_PULL, SL_OP_ARRIVE and SL_OP_AWAIT: a device loads rows from several memories at once, in pieces if
 * asked; devices tell each other through words in memory when rows may be read and when they have been. */
#ifndef SLEY_DEVICE_OP_OP_PULL_H
#define SLEY_DEVICE_OP_OP_PULL_H

#include "base/types.h"

/* Words by which the pieces of a pull are announced. They lie in the device's memory, zero at first. Rounds
 * of the pull count from 1 and wrap around. */
enum { SL_PIECES_MOST = 16, SL_PIECE_COPIES = 32 };

/* A word with a sector of a device's cache to itself. */
typedef struct sl_lone_word {
  uint32_t value, unused[7];
} sl_lone_word;

typedef struct sl_piece_word {
  sl_lone_word done; /* workers of the pull that have finished the piece in this round */
  /* The last round in which all workers have finished the piece, so that its rows are there. All copies have
   * the same value; many readers wait at the same time, and copies spread their loads. */
  sl_lone_word here[SL_PIECE_COPIES];
} sl_piece_word;

typedef struct sl_piece_words {
  sl_lone_word round; /* the last round whose first piece was waited for */
  sl_piece_word piece[SL_PIECES_MOST];
} sl_piece_words;

/* Sources of one pull at most; with more, several pulls are made. */
enum { SL_PULL_SOURCES = 64 };

/* Boards: how queues of several devices tell each other what else the hosts would have to: that rows may be
 * read, where they lie, and that they have been read. A rank's board lies in its device's memory, zero at
 * first, with a slot that each peer writes to. Rounds count from 1. No host takes part once a pull is
 * enqueued, so the pull can be captured into a graph and run again. */

/* In place of a round: the peer takes no further part, and nobody waits for it. */
#define SL_BOARD_CLOSED UINT64_MAX

typedef struct sl_board_slot {
  uint64_t ready;  /* the last round for which the peer lends rows */
  const void *src; /* where they lie */
  int64_t stride;  /* bytes between them */
  uint64_t taken;  /* the last round in which the peer has read all rows lent to it */
} sl_board_slot;

typedef struct sl_board {
  uint64_t round; /* the last that the rank has finished */
  uint32_t done;  /* blocks of its pull that have finished */
  /* Not 0: a pull ended before its round was finished, for everybody shall stop or a peer is gone. The rank
   * lends no more: peers may still be looking up what it lent for that round. */
  uint32_t stopped;
  sl_board_slot slot[]; /* one per rank */
} sl_board;

/* Rows lent to a peer. */
typedef struct sl_offer {
  sl_board *board; /* the peer's */
  int peer;
  const void *src;
  int64_t stride; /* bytes */
} sl_offer;

typedef struct sl_signals {
  sl_board *own;
  int rank; /* whose board own is: the rank's slot in the peers' boards */
  bool opens,
      closes; /* this pull is the first or last of its round: the first lends rows, the last ends it */
  bool keeps; /* the sources' rows are read after this pull too: a later one tells the peers they are taken */
  int lends;  /* at most SL_PULL_SOURCES */
  const sl_offer *lend; /* host memory */
  const uint32_t *stop; /* a word the device can read; once it is not 0, nobody waits any longer */
} sl_signals;

/* A memory that rows come from: row r at src + r stride; they go to byte dst_offset of a destination row. */
typedef struct sl_pull_source {
  const void *src;
  int64_t stride, bytes, dst_offset;
  sl_board *board; /* with signals: the peer's; src and stride are then what the peer lends */
  int peer;
} sl_pull_source;

/* Of 16 bytes, which a device loads at once. */
typedef struct sl_pull_entry {
  uint64_t src_row : 58, source : 6; /* below SL_PULL_SOURCES */
  int64_t dst_row;
} sl_pull_entry;

/* SL_OP_PULL. For each entry of the list, the bytes of its source row are copied to, or added to, its
 * destination row. The list lies in the device's memory, the table of sources in the host's. No two entries
 * may name the same bytes of dst. Entries are processed in about the order of the list, so a list in which
 * the sources alternate keeps all links busy. Alignment as with sl_rows_args. */
typedef struct sl_pull_args {
  int64_t count;
  const sl_pull_entry *list;
  int sources; /* at most SL_PULL_SOURCES */
  const sl_pull_source *source;
  void *dst;          /* without add also memory of the device's host_alloc */
  int64_t dst_stride; /* bytes */
  bool add;
  bool unhurried; /* waited for later than it takes: it should slow down less what runs at the same time */
  sley_dtype dtype;
  const sl_signals *signals; /* NULL: the sources may be read at once */
  /* Not 0: piece s ends before entry piece_end[s] of the list, the last piece with the list. Not with add. */
  int pieces;
  const int64_t *piece_end; /* host memory */
  sl_piece_words *arrived;  /* the device's memory */
} sl_pull_args;

/* SL_OP_ARRIVE. Waits until the pull that uses these words has brought the rows of the piece and of all
 * pieces before. The pull may be in another queue, enqueued earlier. It announces every piece, even if it
 * stops early because a peer has failed. The first piece of each round is waited for once, before the others.
 */
typedef struct sl_arrive_args {
  sl_piece_words *words;
  int piece;
} sl_arrive_args;

/* SL_OP_AWAIT. After the pull that closed a round: waits until all peers have read what was lent to them in
 * it. The peers' boards are not accessed: a peer may have gone by then. */
typedef struct sl_await_args {
  const sl_signals *signals;
} sl_await_args;

#endif
