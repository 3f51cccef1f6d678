/* SPDX-License-Identifier: Apache-2.0 */
/* What vectors of f32 and f64 have in common in NEON. Who includes it has defined sum, vec, LANES, vec_load
 * and vec_store. There are no masked moves: a part of a vector passes through memory. */
#ifndef SLEY_DEVICE_CPU_LANES_NEON_H
#define SLEY_DEVICE_CPU_LANES_NEON_H

#include <string.h>

#include "device/cpu/spmm_parts.h"

typedef int64_t mask; /* number of lanes */
enum { ISA = SL_CPU_NEON };

static inline mask mask_of(int64_t lanes) {
  return lanes;
}
static inline vec vec_load_part(const sum *p, mask m) {
  sum part[LANES] = {0};
  memcpy(part, p, (size_t)m * sizeof *p);
  return vec_load(part);
}
static inline void vec_store_part(sum *p, mask m, vec v) {
  sum part[LANES];
  vec_store(part, v);
  memcpy(p, part, (size_t)m * sizeof *p);
}
/* NEON has no stores that bypass the caches. */
static inline void vec_stream(sum *p, vec v) {
  vec_store(p, v);
}
static inline void stream_end(void) {
}

#endif
