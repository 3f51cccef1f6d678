/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by vectors of f32 and f64 in NEON. The including file has defined sum, vec, LANES, the moves of
 * whole vectors, and the moves of a vector's first values, vec_load_first and vec_store_first. */
#ifndef SLEY_DEVICE_CPU_VECTORS_LANES_NEON_H
#define SLEY_DEVICE_CPU_VECTORS_LANES_NEON_H

#include <stdbool.h>

#include "device/cpu/spmm/spmm_parts.h"

/* STREAMS: NEON has no stores that bypass the caches. */
enum { REGISTERS = 32, MOST_PARTS = 1, ISA = SL_CPU_NEON, STREAMS = 0 };

/* NEON has no masked moves. The last values of a row are moved as a whole vector that ends with them, and so
 * begins inside the vector before. The values in both vectors are summed and stored twice, with the same
 * bits. Only a vector that is alone in its row is moved in smaller units. */
typedef struct mask {
  int64_t lanes; /* number of valid lanes, 1 .. LANES; less than LANES if alone */
  bool alone;
} mask;

static inline mask mask_of(int64_t lanes, bool alone) {
  return (mask){lanes, alone};
}
/* Lane i is p[index[i]]. */
static inline vec vec_gather(const sum *p, const int32_t *index) {
  sum part[LANES];
  for (int i = 0; i < LANES; i++)
    part[i] = p[index[i]];
  return vec_load(part);
}
static inline vec vec_load_part(const sum *p, mask m, const int part) {
  (void)part;
  return m.alone ? vec_load_first(p, m.lanes) : vec_load(p + m.lanes - LANES);
}
static inline void vec_store_part(sum *p, mask m, vec v) {
  if (m.alone)
    vec_store_first(p, m.lanes, v);
  else
    vec_store(p + m.lanes - LANES, v);
}
/* Never called, because STREAMS is 0. */
static inline void vec_stream(sum *p, vec v) {
  vec_store(p, v);
}
static inline void stream_end(void) {
}

#endif
