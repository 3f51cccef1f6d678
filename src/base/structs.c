/* SPDX-License-Identifier: Apache-2.0 */
#include "base/structs.h"

#include <string.h>

sley_status sl_struct_take(const char *name, const void *given, size_t known, void *out) {
  size_t size;
  if (!given)
    return SLEY_OK;
  memcpy(&size, given, sizeof size);
  if (size < sizeof size)
    return sl_fail(SLEY_ERR_ARG, "%s.struct_size is %zu: begin with the struct's INIT macro, which sets it",
                   name, size);
  if (size > known)
    return sl_fail(SLEY_ERR_ARG,
                   "%s.struct_size is %zu, but this library knows %zu bytes: begin with the struct's INIT "
                   "macro, and use a library as new as the header",
                   name, size, known);
  memcpy(out, given, size);
  memcpy(out, &known, sizeof known);
  return SLEY_OK;
}
