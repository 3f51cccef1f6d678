/* SPDX-License-Identifier: Apache-2.0 */
/* For SpMM kernels whose A, X and Y have 16 bits and are summed in f32: the operations on values that
 * spmm_body.h needs, composed of the moves in halves_*.h and of the conversions that values_f16.h and
 * values_bf16.h select. */
#ifndef SLEY_DEVICE_CPU_VECTORS_VALUES_16_H
#define SLEY_DEVICE_CPU_VECTORS_VALUES_16_H

enum { NARROW = 1 };

static inline vec load_values(const value *p) {
  return widened(load_halves(p));
}
static inline vec load_values_part(const value *p, mask m, const int part) {
  (void)part;
  return widened(load_halves_part(p, m));
}
static inline void store_values(value *p, vec v) {
  store_halves(p, rounded(v));
}
static inline void store_values_part(value *p, mask m, vec v) {
  store_halves_part(p, m, rounded(v));
}
static inline void stream_values(value *p, vec v) {
  stream_halves(p, rounded(v));
}

#endif
