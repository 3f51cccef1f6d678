/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the header of a compressed array. */
#include "device/op/op_compress.h"

_Static_assert(sizeof(sl_compressed_header) == SL_COMPRESSED_HEADER, "the header has a fixed size");

const char *sl_compressed_fault_of(const sl_compressed_header *header, sley_type type, int64_t count,
                                   int64_t room) {
  if (!sl_compressible(type, count))
    return "its values are of another type";
  return sl_compressed_contradiction(header, type, (int64_t)sley_type_bytes(type), count, room);
}
