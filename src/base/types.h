/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes of value and index types, and the choice of a narrower index type. */
#ifndef SLEY_BASE_TYPES_H
#define SLEY_BASE_TYPES_H

#include "base/status.h"

static inline size_t sl_index_bytes(sley_index index) {
  return index == SLEY_I32 ? sizeof(int32_t) : sizeof(int64_t);
}

/* The index type that holds column numbers 0 .. cols - 1. */
static inline sley_index sl_index_for(int64_t cols) {
  return cols <= INT32_MAX ? SLEY_I32 : SLEY_I64;
}

/* Entry i of an index array. */
static inline int64_t sl_index_at(const void *array, sley_index index, int64_t i) {
  return index == SLEY_I32 ? ((const int32_t *)array)[i] : ((const int64_t *)array)[i];
}

static inline void sl_index_set(void *array, sley_index index, int64_t i, int64_t value) {
  if (index == SLEY_I32)
    ((int32_t *)array)[i] = (int32_t)value;
  else
    ((int64_t *)array)[i] = value;
}

#endif
