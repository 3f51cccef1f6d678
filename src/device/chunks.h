/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts the rows of a matrix into chunks with about equally many entries, one for each small group of workers
 * of a device. A chunk is a run of whole rows, so that no two groups write to the same row; only rows much
 * longer than a chunk are cut into fragments, whose sums are added in order afterwards. Plain host code that
 * needs no device. */
#ifndef SLEY_DEVICE_CHUNKS_H
#define SLEY_DEVICE_CHUNKS_H

#include "base/team.h"
#include "base/types.h"

typedef struct sl_chunk {
  int64_t begin; /* first entry, relative to the matrix's first */
  int32_t count; /* entries */
  int32_t row;   /* its first row, numbered among the rows with entries */
  int32_t rows;
  int32_t slot;     /* for a fragment of a long row: the slot of its sum; else -1 */
  int32_t long_row; /* for a fragment: number of its long row; else -1 */
  int32_t piece;    /* 0; for use by the caller */
} sl_chunk;

typedef struct sl_long_row {
  int32_t row;        /* row of Y */
  int32_t first_slot; /* slot of its first fragment; its slots end where the next long row's begin */
} sl_long_row;

typedef struct sl_chunks {
  sl_chunk *chunk; /* overlong chunks first, because they take longest; then in the order of rows */
  int64_t chunks;
  /* Rows of Y for the rows with entries, ascending, then two zeros. NULL if rowid was NULL: then row i with
   * entries is row i + j of Y, where j is the number of elements of empty with empty[j] - j <= i. */
  int32_t *row;
  int64_t rows;
  int32_t *empty; /* rows of Y for the stored rows without entries */
  int64_t empties;
  sl_long_row *long_row; /* longs + 1 elements; the last one's first_slot is the number of slots */
  int64_t longs, slots;
  int64_t longest; /* largest number of entries of a row that is not cut */
} sl_chunks;

/* How rows are cut. */
typedef struct sl_chunk_sizes {
  int64_t target;   /* approximate number of entries of a chunk, > 0; 1: every row is its own chunk */
  int64_t longest;  /* rows with more entries are cut into fragments; INT64_MAX: none */
  int64_t fragment; /* approximate number of entries of a fragment, > 0 */
} sl_chunk_sizes;

/* The usual sizes: rows with more than 4 * target entries are cut into fragments of target entries; if
 * in_order, no row is cut. */
static inline sl_chunk_sizes sl_chunk_sizes_of(int64_t target, bool in_order) {
  return (sl_chunk_sizes){target, in_order ? INT64_MAX : 4 * target, target};
}

/* Makes the chunks of a matrix. rowid: as in sl_spmm_matrix. The number of rows, and the entries of each row,
 * are at most 2^31 - 2. The team shares the work; the result does not depend on it. The caller calls
 * sl_chunks_free, also after an error. Errors: SLEY_ERR_MEMORY, SLEY_ERR_OVERFLOW. */
sley_status sl_chunks_make(int64_t rows, const int64_t *rowid, const int64_t *rowptr, sl_chunk_sizes sizes,
                           sl_team *team, sl_chunks *out);

/* Computes only the counts of sl_chunks_make: chunks, rows, empties, longs, slots, longest. */
void sl_chunks_count(int64_t rows, const int64_t *rowptr, sl_chunk_sizes sizes, sl_team *team,
                     sl_chunks *out);

void sl_chunks_free(sl_chunks *chunks);

/* The sums of a long row's fragments are added in two levels: first within each group of SL_FRAGMENT_GROUP
 * fragments, then over the groups. Counters determine the last worker of each; they are 0 between runs. There
 * is one for each long row, then one for each group; a row's begin at longs + first slot / SL_FRAGMENT_GROUP
 * + long row. */
enum { SL_FRAGMENT_GROUP = 32 };

static inline int64_t sl_fragment_counters(const sl_chunks *c) {
  return c->longs > 0 ? 2 * c->longs + c->slots / SL_FRAGMENT_GROUP + 1 : 0;
}

#endif
