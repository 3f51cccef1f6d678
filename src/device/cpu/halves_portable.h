/* SPDX-License-Identifier: Apache-2.0 */
/* Moving one value of 16 bits. */
#ifndef SLEY_DEVICE_CPU_HALVES_PORTABLE_H
#define SLEY_DEVICE_CPU_HALVES_PORTABLE_H

#include "device/cpu/lanes_portable.h"

typedef uint16_t value;
typedef uint16_t halves;

static inline halves load_halves(const value *p) {
  return *p;
}
static inline halves load_halves_part(const value *p, mask m) {
  return m ? *p : 0;
}
static inline void store_halves(value *p, halves v) {
  *p = v;
}
static inline void store_halves_part(value *p, mask m, halves v) {
  if (m)
    *p = v;
}
static inline void stream_halves(value *p, halves v) {
  store_halves(p, v);
}

#endif
