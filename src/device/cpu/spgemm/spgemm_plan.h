/* SPDX-License-Identifier: Apache-2.0 */
/* How a sparse product is executed: chunks of rows, the memory of each thread, and the number of passes. */
#ifndef SLEY_DEVICE_CPU_SPGEMM_SPGEMM_PLAN_H
#define SLEY_DEVICE_CPU_SPGEMM_SPGEMM_PLAN_H

#include "base/team.h"
#include "device/cpu/spgemm/spgemm_operands.h"

enum {
  SL_SPGEMM_CHUNK_ROWS = 2048,      /* most rows of a chunk */
  SL_SPGEMM_CHUNK_PRODUCTS = 16384, /* products of a chunk, about: its result fits in a core's caches */
  SL_SPGEMM_BUFFERS = 3             /* chunks that a thread may have completed before their places are
                                     * known */
};

typedef struct sl_spgemm_plan {
  int64_t *bound; /* number of products of each row */
  int64_t *chunk; /* first row of each chunk; chunks + 1 elements */
  int64_t chunks;
  int64_t products;                /* products of all rows */
  int64_t room;                    /* upper bound of C's entries */
  int64_t chunk_room, row_columns; /* most entries of a chunk; most columns in a row's hash table */
  bool dense;                      /* rows that are not short use the dense accumulator */
  int threads;                     /* threads that take part */
  int buffers;                     /* buffers per thread */
  int passes;    /* 1: C is allocated for all products and shrunk afterwards; 2: entries are counted first */
  int64_t fixed; /* bytes of everything except the threads' memory and C's columns and values */
  int64_t each;  /* bytes per thread */
} sl_spgemm_plan;

/* Makes the plan, and sets the problem's bound and short_most. The caller must call sl_spgemm_plan_end, also
 * after an error. Errors: SLEY_ERR_MEMORY (also if the limit is too low to work in), SLEY_ERR_INTERRUPTED. */
sley_status sl_spgemm_plan_make(const sl_spgemm_args *args, sl_spgemm_operands *operands, sl_team *team,
                                sl_spgemm_plan *out);
void sl_spgemm_plan_end(sl_spgemm_plan *plan);

/* Bytes of `entries` entries of C. */
int64_t sl_spgemm_entry_bytes(const sl_spgemm_args *args, const sl_spgemm_problem *problem, int64_t entries);

#endif
