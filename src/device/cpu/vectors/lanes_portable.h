/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors of one lane, for any processor: the operations that spmm_body.h uses. The including file has
 * defined sum as float or double. */
#ifndef SLEY_DEVICE_CPU_VECTORS_LANES_PORTABLE_H
#define SLEY_DEVICE_CPU_VECTORS_LANES_PORTABLE_H

#include <tgmath.h>

#include "device/cpu/spmm/spmm_parts.h"

typedef sum vec; /* one lane, so a vector is either whole or absent */
typedef int64_t mask;
/* STREAMS: standard C has no stores that bypass the caches. */
enum { LANES = 1, REGISTERS = 16, MOST_PARTS = 1, ISA = SL_CPU_PORTABLE, STREAMS = 0 };

static inline mask mask_of(int64_t lanes, bool alone) {
  (void)alone;
  return lanes;
}
static inline vec vec_zero(void) {
  return 0;
}
static inline vec vec_all(sum s) {
  return s;
}
static inline vec vec_load(const sum *p) {
  return *p;
}
static inline vec vec_load_part(const sum *p, mask m, const int part) {
  (void)part;
  return m ? *p : 0;
}
/* Lane i is p[index[i]]. */
static inline vec vec_gather(const sum *p, const int32_t *index) {
  return p[*index];
}
static inline void vec_store(sum *p, vec v) {
  *p = v;
}
static inline void vec_store_part(sum *p, mask m, vec v) {
  if (m)
    *p = v;
}
/* Never called, because STREAMS is 0. */
static inline void vec_stream(sum *p, vec v) {
  vec_store(p, v);
}
static inline void stream_end(void) {
}
static inline vec vec_fma(vec s, vec x, vec acc) {
  return fma(s, x, acc);
}

#endif
