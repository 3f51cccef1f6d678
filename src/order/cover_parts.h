/* SPDX-License-Identifier: Apache-2.0 */
/* A division of rows into parts, with covers of the entries between the parts.
 *
 * Row v of X, of Y and of the matrix belong to one part. An entry whose row is in part p and whose column is
 * in part q is served either by the row of X, which q sends to p, or by a partial row of Y, which q returns
 * to p. The rows that are sent form a cover of the bipartite graph of these entries. */
#ifndef SLEY_ORDER_COVER_PARTS_H
#define SLEY_ORDER_COVER_PARTS_H

#include "order/pattern.h"

/* Bit q of sent[SL_OF_ROWS] of vertex v: part q returns a partial row of Y for row v. Bit p of
 * sent[SL_OF_COLUMNS]: row v of X is sent to part p. The part of v itself has no bit. If the pattern is
 * symmetric, blocks (p, q) and (q, p) are transposes of each other and have the same covers, so one set of
 * bits serves both. */
typedef struct sl_cover_parts {
  const sl_pattern *pattern;
  int parts, words;  /* words: 64-bit words of bits per vertex */
  int32_t *part;     /* part of each vertex */
  int64_t *size;     /* vertices of each part */
  uint64_t *sent[2]; /* equal pointers if the pattern is symmetric */
} sl_cover_parts;

/* Starts with the vertices in the parts part[v] >> shift, and minimum covers. parts: at most 256. The pattern
 * must outlive it. Freed by sl_cover_parts_free, also on error. Errors: SLEY_ERR_MEMORY,
 * SLEY_ERR_INTERRUPTED. */
sley_status sl_cover_parts_create(const sl_pattern *pattern, int parts, const int32_t *part, int shift,
                                  sl_cover_parts *out);
void sl_cover_parts_free(sl_cover_parts *parts);

/* Replaces the covers by minimum covers. Source: Hopcroft and Karp 1973; Konig's theorem. Errors:
 * SLEY_ERR_MEMORY, SLEY_ERR_OVERFLOW (more than 2^31 - 1 rows to send), SLEY_ERR_INTERRUPTED. */
sley_status sl_cover_parts_solve(sl_cover_parts *parts);

/* Returns the number of rows of X and partial rows of Y in the covers. */
int64_t sl_cover_parts_rows(const sl_cover_parts *parts);

static inline uint64_t *sl_sent_bits(const sl_cover_parts *parts, int side, int32_t v) {
  return parts->sent[side] + (int64_t)v * parts->words;
}

static inline bool sl_is_sent(const sl_cover_parts *parts, int side, int32_t v, int part) {
  return sl_sent_bits(parts, side, v)[part >> 6] >> (part & 63) & 1;
}

#endif
