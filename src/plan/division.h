/* SPDX-License-Identifier: Apache-2.0 */
/* How a row block is divided into parts. A plain division has two: the entries whose rows of X the rank owns,
 * and the entries whose rows are in the halo. Passes over the plan may change it; then it is cut. */
#ifndef SLEY_PLAN_DIVISION_H
#define SLEY_PLAN_DIVISION_H

#include "base/types.h"

/* Where each column of the block goes. Column c of this rank's own rows of X goes to part local at
 * local_place + c - first_col; halo entry h to part part[h] at place[h]; part[h] < 0: to no part. */
typedef struct sl_column_map {
  /* Not NULL: whole rows go to parts, row i of the block to part row_part[i], with all its entries and also
   * if it has none. Of what follows only the places count. */
  const int32_t *row_part;
  int local;
  int64_t local_place;
  int remote; /* the part of all halo entries where part is NULL */
  const int32_t *part;
  /* Of a dry plan, in place of `part`: the part of all halo entries of an owner's rows. */
  const int32_t *part_of_owner;
  const int64_t *place; /* NULL: halo entry h is at h */
  int64_t far_place;    /* added to the places of halo entries */
  /* NULL: entries keep their order within a row. Else halo entry h has turn turn[h], and the columns of this
   * rank's own rows of X have turn 0: the entries of a row that go to the same part are stored, and so
   * summed, by ascending turn, entries of the same turn in the order of the block. */
  const uint8_t *turn;
} sl_column_map;

/* What the parts are to be, one for each number in the map. */
typedef struct sl_part_frame {
  const char *name;
  sley_part_kind kind;
  int x;         /* buffer that its columns are rows of */
  int far;       /* not 0: a second one, see sl_part */
  bool whole;    /* stores every row of the block, so that it can carry the caller's beta */
  bool in_place; /* columns are places in plan->segment rather than rows of x */
  bool on_host;  /* the builder reads its columns or values: they lie in the host's memory on every device */
  /* As in sl_part. */
  int pieces, exchange;
  const int64_t *piece_end;
  bool during_pull;
} sl_part_frame;

enum { SL_DIVISION_PARTS = 3, SL_DIVISION_BLOCKS = 3 };

/* Part i of the division is part i of the plan, which has no others before it is cut. */
typedef struct sl_division {
  int count;    /* parts; 0: the builder has cut its parts itself */
  bool plain;   /* it is as sl_plan_divide made it */
  int exchange; /* of a plain division: the exchange that brings the halo */
  sl_column_map map;
  sl_part_frame frame[SL_DIVISION_PARTS];
  void *owned[SL_DIVISION_BLOCKS]; /* blocks of sl_alloc that the map refers to */
} sl_division;

#endif
