/* SPDX-License-Identifier: Apache-2.0 */
/* Neighbour partitions: how MGG (Wang et al., OSDI 2023, sections 4.1 and 5.1) cuts a rank's rows for a
 * kernel that reads rows of X in place, its own rows and the rows of its peers. Entries with local and with
 * remote columns are kept apart. Each row's entries are cut into partitions of at most ps, which warps share
 * (neighbour_schedule.h). */
#ifndef SLEY_DEVICE_NEIGHBOURS_H
#define SLEY_DEVICE_NEIGHBOURS_H

#include "device/kernel.h"

enum { SL_NEIGHBOUR_OWNERS = 64 }; /* most segments of X, because their addresses are arguments of a kernel */

/* One half of a matrix, local or remote: the entries of stored row i are rowptr[i] .. rowptr[i + 1]. */
typedef struct sl_neighbour_half {
  int64_t *rowptr;
  int32_t *col;
  uint8_t *owner; /* segment that contains the column */
  void *val;
} sl_neighbour_half;

/* Which of 32 consecutive entries of the matrix are remote, and how many remote entries precede them. Both
 * halves keep the order of entries, so this determines the place of every entry in its half: with n remote
 * entries before entry e, counted from rowptr[0], it is entry n of the remote half or entry e - n of the
 * local one. */
typedef struct sl_neighbour_word {
  int64_t remotes; /* remote entries before the word's first entry */
  uint32_t remote; /* bit i: entry i of the word is remote */
  uint32_t unused;
} sl_neighbour_word;

enum { SL_NEIGHBOUR_WORD = 32 }; /* entries per word */

typedef struct sl_neighbour_split {
  int64_t rows;
  sl_neighbour_half local, remote;
  sl_neighbour_word *word; /* one per SL_NEIGHBOUR_WORD entries of the matrix, rounded up */
  int64_t words;
} sl_neighbour_split;

/* Splits a's entries by whether their column is in segment `own` of X. segment: segments + 1 columns,
 * ascending; columns are in [segment[0], segment[segments]), at most 2^31 - 1. Entries keep their order. The
 * caller calls sl_neighbour_split_free, also after an error. Errors: SLEY_ERR_MEMORY. */
sley_status sl_neighbour_split_make(const sl_spmm_matrix *a, const int64_t *segment, int segments, int own,
                                    sl_neighbour_split *out);
void sl_neighbour_split_free(sl_neighbour_split *split);

/* At most ps entries of one row, all local or all remote. */
typedef struct sl_neighbour_part {
  int64_t begin; /* first entry, in its half */
  int64_t slot;  /* slot of its sums; -1: the row has no other partition, and the sums go to Y */
  int32_t count, row;
} sl_neighbour_part;

/* A row that has no partition or several: Y = beta Y + the sums in its slots, in order. */
typedef struct sl_neighbour_row {
  int64_t row, first_slot, slots;
} sl_neighbour_row;

typedef struct sl_neighbour_lists {
  sl_neighbour_part *local, *remote;
  sl_neighbour_row *joined;
  int64_t locals, remotes, joins, slots;
  int64_t longest; /* entries of the longest partition */
} sl_neighbour_lists;

/* Lists partitions of at most ps >= 1 entries, in the order of rows. In a row's slots local sums come first,
 * then remote ones. The caller calls sl_neighbour_lists_free, also after an error. Errors:
 * SLEY_ERR_MEMORY. */
sley_status sl_neighbour_lists_make(const sl_neighbour_split *split, int ps, sl_neighbour_lists *out);
void sl_neighbour_lists_free(sl_neighbour_lists *lists);

#endif
