/* SPDX-License-Identifier: Apache-2.0 */
/* How a sparse product is carried out: chunks of rows, what each thread needs, and in how many passes. */
#ifndef SLEY_DEVICE_CPU_SPGEMM_SPGEMM_PLAN_H
#define SLEY_DEVICE_CPU_SPGEMM_SPGEMM_PLAN_H

#include "base/team.h"
#include "device/cpu/spgemm/spgemm_operands.h"

enum {
  SL_SPGEMM_CHUNK_ROWS = 2048,      /* most rows of a chunk */
  SL_SPGEMM_CHUNK_PRODUCTS = 16384, /* of a chunk, about: its result stays in a core's caches */
  SL_SPGEMM_BUFFERS = 3             /* chunks that a thread may have made whose place is not known yet */
};

typedef struct sl_spgemm_plan {
  int64_t *bound; /* products of each row */
  int64_t *chunk; /* chunks + 1 rows at which they begin */
  int64_t chunks;
  int64_t products;                /* of all rows */
  int64_t room;                    /* entries that C has at most */
  int64_t chunk_room, row_columns; /* the most entries of a chunk; the most columns of a row's hash table */
  bool dense;                      /* the accumulator of rows that are not short */
  int threads;                     /* that work */
  int buffers;                     /* of each thread */
  int passes;    /* 1: C has room for all products and is cut afterwards; 2: entries are counted first */
  int64_t fixed; /* bytes besides what the threads have and C's columns and values */
  int64_t each;  /* bytes of a thread */
} sl_spgemm_plan;

/* Sets the problem's bound and short_most, too. Ended by sl_spgemm_plan_end, also on error. Errors:
 * SLEY_ERR_MEMORY (also: the limit leaves no room to work), SLEY_ERR_INTERRUPTED. */
sley_status sl_spgemm_plan_make(const sl_spgemm_args *args, sl_spgemm_operands *operands, sl_team *team,
                                sl_spgemm_plan *out);
void sl_spgemm_plan_end(sl_spgemm_plan *plan);

/* Bytes of so many entries of C. */
int64_t sl_spgemm_entry_bytes(const sl_spgemm_args *args, const sl_spgemm_problem *problem, int64_t entries);

#endif
