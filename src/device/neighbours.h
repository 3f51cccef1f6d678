/* SPDX-License-Identifier: Apache-2.0 */
/* Neighbour partitions: how MGG (Wang et al., OSDI 2023, sections 4.1 and 5.1) cuts a rank's rows for a
 * kernel that reads rows of X in place, its own and its peers'. The entries of local and of remote columns
 * are kept apart; each row's are cut into partitions of at most ps, of which warps take some
 * (neighbour_schedule.h). */
#ifndef SLEY_DEVICE_NEIGHBOURS_H
#define SLEY_DEVICE_NEIGHBOURS_H

#include "device/kernel.h"

enum { SL_NEIGHBOUR_OWNERS = 64 }; /* segments of X at most: their bases travel as arguments of a kernel */

/* One half of a matrix, local or remote: the entries of stored row i are rowptr[i] .. rowptr[i + 1]. */
typedef struct sl_neighbour_half {
  int64_t *rowptr;
  int32_t *col;
  uint8_t *owner; /* segment that the column lies in */
  void *val;
} sl_neighbour_half;

/* Which of 32 consecutive entries of the matrix are remote, and how many are before them. Both halves keep
 * the order of entries, so this gives the place of every entry in its half: with n remote entries before
 * entry e, counted from rowptr[0], it is entry n of the remote half or entry e - n of the local one. */
typedef struct sl_neighbour_word {
  int64_t remotes; /* entries before the first of the word that are remote */
  uint32_t remote; /* bit i: entry i of the word is remote */
  uint32_t unused;
} sl_neighbour_word;

enum { SL_NEIGHBOUR_WORD = 32 }; /* entries per word */

typedef struct sl_neighbour_split {
  int64_t rows;
  sl_neighbour_half local, remote;
  sl_neighbour_word *word; /* one for each SL_NEIGHBOUR_WORD entries of the matrix, rounded up */
  int64_t words;
} sl_neighbour_split;

/* Splits a's entries by whether their column lies in segment `own` of X. segment: segments + 1 columns,
 * ascending; columns lie in [segment[0], segment[segments]), at most 2^31 - 1. Entries keep their order.
 * Freed by sl_neighbour_split_free, also on an error. Errors: SLEY_ERR_MEMORY. */
sley_status sl_neighbour_split_make(const sl_spmm_matrix *a, const int64_t *segment, int segments, int own,
                                    sl_neighbour_split *out);
void sl_neighbour_split_free(sl_neighbour_split *split);

/* At most ps entries of one row, all local or all remote. */
typedef struct sl_neighbour_part {
  int64_t begin; /* first entry, in its half */
  int64_t slot;  /* where its sums go; -1: it is its row's only one, they go to Y */
  int32_t count, row;
} sl_neighbour_part;

/* A row of none or several partitions: Y = beta Y + the sums in its slots, in order. */
typedef struct sl_neighbour_row {
  int64_t row, first_slot, slots;
} sl_neighbour_row;

typedef struct sl_neighbour_lists {
  sl_neighbour_part *local, *remote;
  sl_neighbour_row *joined;
  int64_t locals, remotes, joins, slots;
  int64_t longest; /* entries of the longest partition */
} sl_neighbour_lists;

/* Partitions of at most ps >= 1 entries, in the order of rows. A row's slots hold its local sums first, then
 * its remote ones. Freed by sl_neighbour_lists_free, also on an error. Errors: SLEY_ERR_MEMORY. */
sley_status sl_neighbour_lists_make(const sl_neighbour_split *split, int ps, sl_neighbour_lists *out);
void sl_neighbour_lists_free(sl_neighbour_lists *lists);

#endif
