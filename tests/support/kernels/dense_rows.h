/* SPDX-License-Identifier: Apache-2.0 */
/* Dense rows in one or two blocks of memory of exact size, for tests of kernels. */
#ifndef SLEY_TESTS_DENSE_ROWS_H
#define SLEY_TESTS_DENSE_ROWS_H

#include "kernels.h"

typedef struct dense_rows {
  sley_dtype dtype;
  int64_t rows, width, near_rows, near_ld, far_ld;
  block near, far;
} dense_rows;

/* Rows with leading dimensions from width to width + pad; split: some rows are in `far`. All bytes are
 * 0xa5. */
dense_rows dense_rows_of(sley_dtype dtype, int64_t rows, int64_t width, bool split, int64_t pad);
dense_rows dense_rows_copy(const dense_rows *from);
void dense_rows_free(dense_rows *d);
void dense_rows_copy_row(dense_rows *to, const dense_rows *from, int64_t i);

/* Sets columns first .. first + width - 1 to values, which has rows of `width` values. */
void dense_rows_put(dense_rows *d, int64_t first, int64_t width, const double *values);
double dense_rows_at(const dense_rows *d, int64_t i, int64_t c);

/* Fails the test if bytes between rows have changed. */
void dense_rows_check_gaps(const dense_rows *d, const char *name);

/* Whether all bytes are equal, including the bytes between rows. */
bool dense_rows_equal(const dense_rows *a, const dense_rows *b);

/* Whether all values have the same bits, or are NaN in both. */
bool dense_rows_same(const dense_rows *a, const dense_rows *b);

typedef struct dense_image {
  image near, far;
  sl_split_rows rows; /* rows from column `first` on */
} dense_image;

dense_image dense_image_of(sl_queue *queue, const dense_rows *d, int64_t first);
void dense_image_return(dense_image *i);
void dense_image_drop(dense_image *i);

#endif
