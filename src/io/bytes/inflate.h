/* SPDX-License-Identifier: Apache-2.0 */
/* Decompression of whole gzip and zstd streams into memory. */
#ifndef SLEY_IO_BYTES_INFLATE_H
#define SLEY_IO_BYTES_INFLATE_H

#include "io/format.h"

/* A growing array of bytes from sl_alloc. */
typedef struct sl_bytes {
  char *data;
  size_t size, room;
} sl_bytes;

/* Makes room for more bytes and the padding after them. Errors: SLEY_ERR_MEMORY. */
sley_status sl_bytes_reserve(sl_bytes *bytes, size_t more);

/* Writes the padding, SL_INPUT_PADDING zeros, after the bytes. Needs an earlier sl_bytes_reserve. */
void sl_bytes_pad(sl_bytes *bytes);

/* Returns whether the content is a gzip or a zstd stream. */
bool sl_is_compressed(const void *content, size_t size);

/* Limits of decompression. A stream that unpacks to more than SL_UNPACK_FREE bytes and to more than
 * SL_UNPACK_RATIO times its packed size is not a real matrix: it is refused as soon as it exceeds both. */
#define SL_UNPACK_FREE (INT64_C(1) << 28)
enum { SL_UNPACK_RATIO = 256 };

/* Decompresses all members or frames; name is used in messages; limit is the maximum number of bytes (0: no
 * limit). The caller frees *out by sl_free, also on an error. Errors: SLEY_ERR_INPUT (truncated, corrupt,
 * followed by something else, or beyond the ratio), SLEY_ERR_MEMORY (also: beyond the limit). */
sley_status sl_inflate(const char *name, const void *content, size_t size, int64_t limit, sl_bytes *out);

/* Checks the numbers of unpacked and packed bytes against the limits. Errors: as sl_inflate. */
sley_status sl_check_unpacked(const char *name, int64_t unpacked, int64_t packed, int64_t limit);

/* State of a decompression that proceeds piece by piece. */
typedef struct sl_inflater sl_inflater;
sley_status sl_inflater_open(const char *name, const void *content, size_t size, int64_t limit,
                             sl_inflater **out);

/* Writes the next `room` bytes and sets *got to their number, which is smaller only at the end. Errors: as
 * sl_inflate, and SLEY_ERR_INTERRUPTED. */
sley_status sl_inflater_take(sl_inflater *inflater, char *to, size_t room, size_t *got);
void sl_inflater_close(sl_inflater *inflater); /* accepts NULL */

#endif
