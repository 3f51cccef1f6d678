/* SPDX-License-Identifier: Apache-2.0 */
/* Texts as numbers, so that ranks can compare them. */
#ifndef SLEY_API_TEXT_NUMBER_H
#define SLEY_API_TEXT_NUMBER_H

#include <stdint.h>

/* FNV-1a hash of 63 bits (Fowler, Noll and Vo). text NULL: the hash of by_default. */
static inline int64_t sl_text_number(const char *text, const char *by_default) {
  uint64_t hash = UINT64_C(14695981039346656037);
  for (const char *at = text ? text : by_default; *at; at++)
    hash = (hash ^ (unsigned char)*at) * UINT64_C(1099511628211);
  return (int64_t)(hash >> 1);
}

#endif
