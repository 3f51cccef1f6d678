/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a matrix in bundles, for narrow products on CPUs. A bundle holds rows of about equal length,
 * entry by entry, so that a product reads memory in one stream and sums several rows at once, each in stored
 * order. The format is similar to sliced ELLPACK (SELL-C-sigma: Kreutzer et al. 2014), but without
 * padding. */
#ifndef SLEY_DEVICE_CPU_SPMM_BUNDLES_H
#define SLEY_DEVICE_CPU_SPMM_BUNDLES_H

#include "device/op/op_spmm.h"

/* Most rows that are sorted by length together. */
enum { SL_BUNDLES_WINDOW = 1024 };

typedef struct sl_bundle {
  int64_t first;  /* its first entry */
  int32_t common; /* number of entries that all its rows have; 0 if it has fewer rows than the height */
  int16_t rows;
  bool ragged; /* some of its rows have more than `common` entries */
  bool joined; /* true if it has `height` rows and their rows of Y are consecutive */
} sl_bundle;

/* Bundles of rows. In a bundle the first entries of all rows come first, then the second entries, up to entry
 * number `common`; then the remaining entries of the first row, of the second row, and so on. */
typedef struct sl_bundles {
  int height, window; /* rows per bundle; rows that are sorted by length together */
  int32_t k;
  sl_bundle *bundle; /* bundles, in the order of the ranges of rows that they were filled from */
  int32_t *row;      /* stored row numbers; bundle i begins at i * height, longer rows first. Rows of 256
                      * entries or more are sorted only if their lengths differ by more than an eighth */
  int32_t *y;        /* the same rows' numbers in Y; points to `row` if the numbers are equal */
  int32_t *x;        /* for each entry, the offset of its row of X in values, if rows of X are k values
                      * apart */
  void *val;         /* value of each entry, in the type of sums */
} sl_bundles;

/* Number of bundles for a range of `rows` rows. */
static inline int64_t sl_bundles_of(int64_t rows, int height) {
  return (rows + height - 1) / height;
}

/* Bytes that sl_bundles_alloc allocates. */
int64_t sl_bundles_bytes(const sl_spmm_matrix *a, int64_t bundles, int height);

/* Allocates memory for the entries of a, for products with an X of k columns. The rows of a, the rows of Y
 * and the values of X must each be fewer than 2^31. window: a multiple of height. The caller frees *out with
 * sl_bundles_free. Error: SLEY_ERR_MEMORY. */
sley_status sl_bundles_alloc(const sl_spmm_matrix *a, int64_t k, int64_t bundles, int height, int window,
                             sl_bundles **out);
void sl_bundles_free(sl_bundles *bundles);

/* Turns stored rows [row, row_end) of a into bundles, from bundle `first` on. Their entries keep the
 * positions that they have in a, relative to a's first entry. Several threads may fill different ranges at
 * once. */
void sl_bundles_fill(sl_bundles *bundles, const sl_spmm_matrix *a, int64_t first, int64_t row,
                     int64_t row_end);

/* Copies the values of a's entries from val into bundles [begin, end). val is indexed as a's own values. */
void sl_bundles_refill(sl_bundles *bundles, const sl_spmm_matrix *a, const void *val, int64_t begin,
                       int64_t end);

#endif
