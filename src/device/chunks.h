/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a matrix cut into chunks of about equally many entries, one for each small group of workers of
 * a device. A chunk is a run of whole rows, so that no two groups write to a row; only rows much longer than
 * a chunk are cut into fragments, whose sums are added in order afterwards. Plain host code: it needs no
 * device.
 */
#ifndef SLEY_DEVICE_CHUNKS_H
#define SLEY_DEVICE_CHUNKS_H

#include "base/team.h"
#include "base/types.h"

typedef struct sl_chunk {
  int64_t begin; /* first entry, counted from the matrix's first */
  int32_t count; /* entries */
  int32_t row;   /* its first row, counted among the rows that have entries */
  int32_t rows;
  int32_t slot;     /* -1; of a fragment of a long row: where its sum goes */
  int32_t long_row; /* -1; of a fragment: which of the long rows */
  int32_t piece;    /* 0; for the user of the list to fill */
} sl_chunk;

typedef struct sl_long_row {
  int32_t row;        /* of Y */
  int32_t first_slot; /* its fragments end where the next long row's begin */
} sl_long_row;

typedef struct sl_chunks {
  sl_chunk *chunk; /* the overlong ones first, since they take longest; then in order of rows */
  int64_t chunks;
  /* Rows of Y of the rows that have entries, ascending; and two more, 0. NULL where rowid was: row i of these
   * is row i + j of Y, j being the number of entries of empty[] with empty[j] - j <= i. */
  int32_t *row;
  int64_t rows;
  int32_t *empty; /* rows of Y of the stored rows without entries */
  int64_t empties;
  sl_long_row *long_row; /* longs + 1; the last holds the number of slots */
  int64_t longs, slots;
  int64_t longest; /* entries of a row that is not cut, at most */
} sl_chunks;

/* How rows are cut. */
typedef struct sl_chunk_sizes {
  int64_t target;   /* > 0; entries of a chunk, about; with 1 every row is a chunk of its own */
  int64_t longest;  /* rows of more entries are cut into fragments; INT64_MAX: none */
  int64_t fragment; /* > 0; entries of a fragment, about */
} sl_chunk_sizes;

/* The usual sizes: rows of more than 4 target are cut, into fragments of target; none where in_order is set.
 */
static inline sl_chunk_sizes sl_chunk_sizes_of(int64_t target, bool in_order) {
  return (sl_chunk_sizes){target, in_order ? INT64_MAX : 4 * target, target};
}

/* The chunks of a matrix. rowid as in sl_spmm_matrix. Rows, and the entries of a row, are at most 2^31 - 2.
 * The team shares the work; the result does not depend on it. Ended by sl_chunks_free, also on error. Errors:
 * SLEY_ERR_MEMORY, SLEY_ERR_OVERFLOW. */
sley_status sl_chunks_make(int64_t rows, const int64_t *rowid, const int64_t *rowptr, sl_chunk_sizes sizes,
                           sl_team *team, sl_chunks *out);

/* Only the numbers that sl_chunks_make would give: chunks, rows, empties, longs, slots, longest. */
void sl_chunks_count(int64_t rows, const int64_t *rowptr, sl_chunk_sizes sizes, sl_team *team,
                     sl_chunks *out);

void sl_chunks_free(sl_chunks *chunks);

/* The sums of a long row's fragments are added in two levels: first those of each group of SL_FRAGMENT_GROUP
 * fragments, then those of the groups. Who is last of each is told by counters, 0 between runs: one for each
 * long row, then one for each group, which begin at longs + first slot / SL_FRAGMENT_GROUP + long row. */
enum { SL_FRAGMENT_GROUP = 32 };

static inline int64_t sl_fragment_counters(const sl_chunks *c) {
  return c->longs > 0 ? 2 * c->longs + c->slots / SL_FRAGMENT_GROUP + 1 : 0;
}

#endif
