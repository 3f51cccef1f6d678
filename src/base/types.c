/* SPDX-License-Identifier: Apache-2.0 */
/* Names and sizes of value and index types. */
#include "base/types.h"

size_t sley_dtype_bytes(sley_dtype dtype) {
  switch (dtype) {
  case SLEY_F32:
    return 4;
  case SLEY_F64:
    return 8;
  case SLEY_F16:
  case SLEY_BF16:
    return 2;
  }
  return 0;
}

size_t sley_type_bytes(sley_type type) {
  if (type == SLEY_TYPE_I8 || type == SLEY_TYPE_U8)
    return 1;
  return type == SLEY_TYPE_I64 ? sizeof(int64_t) : sley_dtype_bytes((sley_dtype)type);
}
