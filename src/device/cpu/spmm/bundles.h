/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a matrix in bundles, for narrow products on CPUs: rows of about equal length together, entry
 * after entry, so that a product goes through memory in one stream and sums several rows at once, each in
 * stored order. A format of the family of sliced ELLPACK (SELL-C-sigma: Kreutzer et al. 2014), without
 * padding. */
#ifndef SLEY_DEVICE_CPU_SPMM_BUNDLES_H
#define SLEY_DEVICE_CPU_SPMM_BUNDLES_H

#include "device/op/op_spmm.h"

/* Rows that are sorted by length at a time, at most. */
enum { SL_BUNDLES_WINDOW = 1024 };

typedef struct sl_bundle {
  int64_t first;  /* its first entry */
  int32_t common; /* entries that each of its rows has; 0 where it has fewer rows than the height */
  int16_t rows;
  bool ragged; /* some of its rows have more than `common` entries */
  bool joined; /* it has as many rows as the height, and their rows of Y follow each other */
} sl_bundle;

/* Entries of a bundle: the first of each row, then the second of each, and so on to number `common`; then the
 * rest of the first row, of the second, and so on. */
typedef struct sl_bundles {
  int height, window; /* rows of a bundle; rows that are sorted by length at a time */
  int32_t k;
  sl_bundle *bundle; /* in the order of the ranges of rows they were filled from */
  int32_t *row;      /* stored rows: those of bundle i from i height on, longer rows first; rows of 256
                entries or more only as far as their lengths differ by more than an eighth */
  int32_t *y;        /* their rows of Y; the same array where these have the same numbers */
  int32_t *x;        /* of each entry: where its row of X begins, if rows of X are k values apart */
  void *val;         /* of each entry, in the type of sums */
} sl_bundles;

/* Bundles of a range of so many rows. */
static inline int64_t sl_bundles_of(int64_t rows, int height) {
  return (rows + height - 1) / height;
}

/* Bytes that bundles take. */
int64_t sl_bundles_bytes(const sl_spmm_matrix *a, int64_t bundles, int height);

/* Room for the entries of a, for products with X of k columns. The rows of a, those of Y and the values of X
 * are less than 2^31. window: a multiple of height. Ended by sl_bundles_free. Error: SLEY_ERR_MEMORY. */
sley_status sl_bundles_alloc(const sl_spmm_matrix *a, int64_t k, int64_t bundles, int height, int window,
                             sl_bundles **out);
void sl_bundles_free(sl_bundles *bundles);

/* Stored rows [row, row_end) of a become bundles from number `first` on. Their entries take the places that
 * they have in a, counted from its first. Ranges may be filled at once. */
void sl_bundles_fill(sl_bundles *bundles, const sl_spmm_matrix *a, int64_t first, int64_t row,
                     int64_t row_end);

/* Bundles [begin, end) get the values of a's entries from val, which is counted as a's own. */
void sl_bundles_refill(sl_bundles *bundles, const sl_spmm_matrix *a, const void *val, int64_t begin,
                       int64_t end);

#endif
