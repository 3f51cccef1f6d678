/* SPDX-License-Identifier: Apache-2.0 */
/* For SpMM kernels whose A, X and Y have the type of sums: operations on values are operations on sums. */
#ifndef SLEY_DEVICE_CPU_VECTORS_VALUES_SAME_H
#define SLEY_DEVICE_CPU_VECTORS_VALUES_SAME_H

typedef sum value;
enum { NARROW = 0, DTYPE = sizeof(sum) == sizeof(double) ? SLEY_F64 : SLEY_F32 };

static inline sum widen(value v) {
  return v;
}
static inline vec load_values(const value *p) {
  return vec_load(p);
}
static inline __attribute__((always_inline)) vec load_values_part(const value *p, mask m, const int part) {
  return vec_load_part(p, m, part);
}
static inline void store_values(value *p, vec v) {
  vec_store(p, v);
}
static inline void store_values_part(value *p, mask m, vec v) {
  vec_store_part(p, m, v);
}
static inline void stream_values(value *p, vec v) {
  vec_stream(p, v);
}

#endif
