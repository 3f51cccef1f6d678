/* SPDX-License-Identifier: Apache-2.0 */
/* SL_OP_ROWS and SL_OP_CONVERT: listed rows are copied or added within one memory; CONVERT also changes the
 * type of their values. */
#ifndef SLEY_DEVICE_OP_OP_ROWS_H
#define SLEY_DEVICE_OP_OP_ROWS_H

#include "base/types.h"

/* SL_OP_ROWS. For i < count: copies the bytes of src row s(i) to dst row d(i), or adds them, where s(i) =
 * src_rows[i], or src_first + i if src_rows is NULL; d(i) likewise. Lists are in device memory. Destinations
 * are distinct unless the order in which rows are processed does not matter. Bytes, strides and pointers are
 * multiples of the dtype's size; no more may be assumed about alignment. */
typedef struct sl_rows_args {
  int64_t count, bytes; /* number of rows, and bytes of each row */
  const void *src;
  int64_t src_stride; /* bytes between rows */
  const int64_t *src_rows;
  int64_t src_first;
  void *dst;
  int64_t dst_stride; /* bytes between rows */
  const int64_t *dst_rows;
  int64_t dst_first;
  bool add;
  sley_dtype dtype; /* type in which rows are added */
} sl_rows_args;

/* SL_OP_CONVERT. Like SL_OP_ROWS, with rows of k values that are converted from type `from` to type `to`,
 * rounded once; NaN may become any NaN. Not supported: add to a 16-bit type, 16 bits to 16 bits, f64 to f32
 * (sl_convert_ok). Values are aligned to their size. */
typedef struct sl_convert_args {
  int64_t count, k;
  const void *src;
  int64_t src_stride; /* bytes between rows */
  const int64_t *src_rows;
  int64_t src_first;
  sley_dtype from;
  void *dst;
  int64_t dst_stride; /* bytes between rows */
  const int64_t *dst_rows;
  int64_t dst_first;
  sley_dtype to;
  bool add;
} sl_convert_args;

#endif
