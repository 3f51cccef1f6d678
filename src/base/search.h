/* SPDX-License-Identifier: Apache-2.0 */
/* Search in ascending arrays. */
#ifndef SLEY_BASE_SEARCH_H
#define SLEY_BASE_SEARCH_H

#include <stdint.h>

/* The first position in begin .. end-1 of an ascending array whose entry is not below value; end if there is
 * none. */
static inline int64_t sl_lower_bound(const int64_t *array, int64_t begin, int64_t end, int64_t value) {
  while (begin < end) {
    int64_t middle = begin + (end - begin) / 2;
    if (array[middle] < value)
      begin = middle + 1;
    else
      end = middle;
  }
  return begin;
}

#endif
