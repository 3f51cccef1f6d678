/* SPDX-License-Identifier: Apache-2.0 */
/* Dense rows for tests of kernels. */
#include "dense_rows.h"

#include <math.h>

#include "base/value.h"

enum { UNTOUCHED = 0xa5 };

/* Memory for rows that ends directly after the last value of the last row. */
static block rows_block(sley_dtype dtype, int64_t rows, int64_t width, int64_t ld) {
  const size_t each = sley_dtype_bytes(dtype);
  block b = block_of(rows ? (size_t)((rows - 1) * ld + width) * each : 0, (size_t)draw(3) * each);
  memset(b.data, UNTOUCHED, b.bytes);
  return b;
}

dense_rows dense_rows_of(sley_dtype dtype, int64_t rows, int64_t width, bool split, int64_t pad) {
  dense_rows d = {.dtype = dtype, .rows = rows, .width = width};
  d.near_rows = split ? draw(rows + 1) : rows;
  d.near_ld = width + draw(pad + 1);
  d.far_ld = width + draw(pad + 1);
  d.near = rows_block(dtype, d.near_rows, width, d.near_ld);
  d.far = rows_block(dtype, rows - d.near_rows, width, d.far_ld);
  return d;
}

dense_rows dense_rows_copy(const dense_rows *from) {
  dense_rows d = *from;
  d.near = block_copy(&from->near);
  d.far = block_copy(&from->far);
  return d;
}

void dense_rows_free(dense_rows *d) {
  free(d->near.base);
  free(d->far.base);
}

static char *row_of(const dense_rows *d, int64_t i) {
  const int64_t each = (int64_t)sley_dtype_bytes(d->dtype);
  return i < d->near_rows ? d->near.data + i * d->near_ld * each
                          : d->far.data + (i - d->near_rows) * d->far_ld * each;
}

void dense_rows_copy_row(dense_rows *to, const dense_rows *from, int64_t i) {
  if (to->width > 0)
    memcpy(row_of(to, i), row_of(from, i), (size_t)to->width * sley_dtype_bytes(to->dtype));
}

void dense_rows_put(dense_rows *d, int64_t first, int64_t width, const double *values) {
  for (int64_t i = 0; i < d->rows; i++)
    for (int64_t c = 0; c < width; c++)
      sl_value_set(row_of(d, i), d->dtype, first + c, values[i * width + c]);
}

double dense_rows_at(const dense_rows *d, int64_t i, int64_t c) {
  return sl_value_at(row_of(d, i), d->dtype, c);
}

void dense_rows_check_gaps(const dense_rows *d, const char *name) {
  const size_t each = sley_dtype_bytes(d->dtype), width = (size_t)d->width * each;
  for (int64_t i = 0; i < d->rows; i++) {
    if (i == d->near_rows - 1 || i == d->rows - 1)
      continue;
    const size_t stride = (size_t)(i < d->near_rows ? d->near_ld : d->far_ld) * each;
    for (size_t at = width; at < stride; at++)
      if ((unsigned char)row_of(d, i)[at] != UNTOUCHED)
        fail_msg("%s: byte %zu behind row %lld was written", name, at - width, (long long)i);
  }
}

static bool same_bytes(const block *a, const block *b) {
  return a->bytes == b->bytes && memcmp(a->data, b->data, a->bytes) == 0;
}

bool dense_rows_equal(const dense_rows *a, const dense_rows *b) {
  return same_bytes(&a->near, &b->near) && same_bytes(&a->far, &b->far);
}

bool dense_rows_same(const dense_rows *a, const dense_rows *b) {
  const size_t each = sley_dtype_bytes(a->dtype);
  for (int64_t i = 0; i < a->rows; i++)
    for (int64_t c = 0; c < a->width; c++) {
      if (memcmp(row_of(a, i) + (size_t)c * each, row_of(b, i) + (size_t)c * each, each) == 0)
        continue;
      if (!isnan(dense_rows_at(a, i, c)) || !isnan(dense_rows_at(b, i, c)))
        return false;
    }
  return true;
}

dense_image dense_image_of(sl_queue *queue, const dense_rows *d, int64_t first) {
  const size_t skip = (size_t)first * sley_dtype_bytes(d->dtype);
  dense_image i = {.near = image_of_block(queue, &d->near), .far = image_of_block(queue, &d->far)};
  i.rows = (sl_split_rows){.near = (char *)i.near.data + skip,
                           .far = (char *)i.far.data + skip,
                           .near_rows = d->near_rows,
                           .near_ld = d->near_ld,
                           .far_ld = d->far_ld};
  return i;
}

void dense_image_return(dense_image *i) {
  image_return(&i->near);
  image_return(&i->far);
}

void dense_image_drop(dense_image *i) {
  image_drop(&i->near);
  image_drop(&i->far);
}
