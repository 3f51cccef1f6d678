/* SPDX-License-Identifier: Apache-2.0 */
/* What the header of a compressed array must say. */
#include "device/op_compress.h"

_Static_assert(sizeof(sl_compressed_header) == SL_COMPRESSED_HEADER, "the header has a fixed size");

const char *sl_compressed_fault_of(const sl_compressed_header *header, sley_type type, int64_t count,
                                   int64_t room) {
  if (room < SL_COMPRESSED_HEADER)
    return "it is shorter than a header";
  if (header->magic != SL_COMPRESSED_MAGIC)
    return "it does not begin as a compressed array does";
  if (header->version != SL_COMPRESSED_VERSION || header->reserved[0] || header->reserved[1])
    return "it is of another version";
  if (header->type != type || !sl_compressible(type, count))
    return "its values are of another type";
  if (header->format >= SL_COMPRESSED_FORMATS)
    return "its format is unknown";
  if (header->count != count || !sl_compressed_serves((sl_compressed_format)header->format, count))
    return "its length is another one";
  if (header->nonzeros < 0 || header->nonzeros > count)
    return "it has more values than its length";
  sl_compressed_format format = (sl_compressed_format)header->format;
  if (header->payload_bytes != sl_compressed_payload(format, type, count, header->nonzeros).bytes)
    return "its payload has not the size that its values take";
  if (header->payload_bytes > room - SL_COMPRESSED_HEADER)
    return "it ends before its payload does";
  return NULL;
}
