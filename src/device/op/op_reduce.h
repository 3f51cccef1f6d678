/* SPDX-License-Identifier: Apache-2.0 */
/* SL_OP_REDUCE: reduces several arrays to one, value by value. */
#ifndef SLEY_DEVICE_OP_OP_REDUCE_H
#define SLEY_DEVICE_OP_OP_REDUCE_H

#include "base/types.h"

/* Maximum number of parts that may be listed one by one. */
enum { SL_REDUCE_PLACES = 64 };

/* For i < count: dst[i] = part(0)[i] op part(1)[i] op ... op part(parts - 1)[i], from left to right.
 *
 * SLEY_SUM adds 16-bit values in f32 and rounds the sum once, other values in their own type; i64 wraps
 * around. SLEY_MIN and SLEY_MAX are minimum and maximum of IEEE 754-2019: NaN if a value is NaN, and -0 is
 * less than +0. A NaN result is the positive quiet NaN without payload, even with a single part. So every
 * kernel returns the same bits.
 *
 * The parts are in memory that the device can read, aligned to the type. Part `own` is at own_src, the others
 * at src, src + stride, ... in ascending order; own < 0: all of them are at src. Or `at` is not NULL: part p
 * is at at[p], p != own, and there are at most SL_REDUCE_PLACES parts. dst may be one of the parts, and
 * otherwise overlaps none. */
typedef struct sl_reduce_args {
  int64_t count; /* number of values of a part */
  int parts;     /* at least 1 */
  const void *src;
  int64_t stride;        /* bytes */
  const void *const *at; /* NULL, or in host memory; not used after run has returned */
  int own;
  const void *own_src;
  void *dst;
  sley_reduce op;
  sley_type type;
} sl_reduce_args;

/* Returns whether operator and type are known, which every device supports. */
static inline bool sl_reduces(const sl_reduce_args *a) {
  return (unsigned)a->op <= SLEY_MAX && (unsigned)a->type <= SLEY_TYPE_I64 && a->parts >= 1 &&
         a->own < a->parts && (!a->at || a->parts <= SL_REDUCE_PLACES);
}

/* Address of part p. */
static inline const void *sl_reduce_part(const sl_reduce_args *a, int p) {
  if (p == a->own)
    return a->own_src;
  return a->at ? a->at[p] : (const char *)a->src + (a->own >= 0 && p > a->own ? p - 1 : p) * a->stride;
}

#endif
