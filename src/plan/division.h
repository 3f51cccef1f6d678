/* SPDX-License-Identifier: Apache-2.0 */
/* The division of a row block into parts. A plain division has two: the entries whose rows of X the rank
 * owns, and the entries whose rows are in the halo. Passes over the plan may change it; then it is cut. */
#ifndef SLEY_PLAN_DIVISION_H
#define SLEY_PLAN_DIVISION_H

#include "base/types.h"

/* The destination of each column of the block. Column c of this rank's own rows of X goes to part local, at
 * place local_place + c - first_col. Halo entry h goes to part part[h], at place[h]; if part[h] < 0, to no
 * part. */
typedef struct sl_column_map {
  /* If not NULL: whole rows are assigned to parts. Row i of the block goes to part row_part[i], with all its
   * entries, and also if it has none. Then only the places are used of the fields below. */
  const int32_t *row_part;
  int local;
  int64_t local_place;
  int remote; /* part of all halo entries, if part is NULL */
  const int32_t *part;
  /* Used by dry plans instead of `part`: the part of all halo entries whose rows the owner has. */
  const int32_t *part_of_owner;
  const int64_t *place; /* NULL: halo entry h is at place h */
  int64_t far_place;    /* number added to the places of halo entries */
  /* NULL: entries keep their order within a row. Otherwise halo entry h has turn turn[h], and the columns of
   * this rank's own rows of X have turn 0. Entries of a row that go to the same part are stored, and so
   * summed, by ascending turn; entries of equal turn keep the order of the block. */
  const uint8_t *turn;
} sl_column_map;

/* The properties of a part to be cut; one for each part number in the map. */
typedef struct sl_part_frame {
  const char *name;
  sley_part_kind kind;
  int x;         /* buffer whose rows its columns name */
  int far;       /* 0, or a second buffer, see sl_part */
  bool whole;    /* it stores every row of the block, so it can apply the caller's beta */
  bool in_place; /* its columns are places in plan->segment instead of rows of x */
  bool on_host;  /* the builder reads its columns or values, which are in host memory on every device */
  /* As in sl_part. */
  int pieces, exchange;
  const int64_t *piece_end;
  bool during_pull;
} sl_part_frame;

enum { SL_DIVISION_PARTS = 3, SL_DIVISION_BLOCKS = 3 };

/* Part i of the division becomes part i of the plan, which must have no parts before the division is cut. */
typedef struct sl_division {
  int count;    /* number of parts; 0: the builder has cut its parts itself */
  bool plain;   /* the division is still as sl_plan_divide made it */
  int exchange; /* for a plain division: the exchange that brings the halo */
  sl_column_map map;
  sl_part_frame frame[SL_DIVISION_PARTS];
  void *owned[SL_DIVISION_BLOCKS]; /* arrays of sl_alloc to which the map refers */
} sl_division;

#endif
