/* SPDX-License-Identifier: Apache-2.0 */
/* Decompression of whole gzip and zstd streams into memory. */
#ifndef SLEY_IO_BYTES_INFLATE_H
#define SLEY_IO_BYTES_INFLATE_H

#include "io/format.h"

/* Bytes from sl_alloc that grow. */
typedef struct sl_bytes {
  char *data;
  size_t size, room;
} sl_bytes;

/* Makes room for more bytes and the padding after them. Errors: SLEY_ERR_MEMORY. */
sley_status sl_bytes_reserve(sl_bytes *bytes, size_t more);

/* Writes the padding, SL_INPUT_PADDING zeros, after the bytes. Needs an earlier sl_bytes_reserve. */
void sl_bytes_pad(sl_bytes *bytes);

/* Whether the content is a gzip or a zstd stream. */
bool sl_is_compressed(const void *content, size_t size);

/* What unpacks to more than SL_UNPACK_FREE bytes and to more than SL_UNPACK_RATIO times what it was packed to
 * holds no matrix that anyone would read: it is refused as soon as that shows. */
#define SL_UNPACK_FREE (INT64_C(1) << 28)
enum { SL_UNPACK_RATIO = 256 };

/* Decompresses all members or frames; name is for messages, limit the most bytes (0: any). *out is the
 * caller's to sl_free, also on an error. Errors: SLEY_ERR_INPUT (truncated, corrupt, followed by something
 * else, or beyond the ratio), SLEY_ERR_MEMORY (beyond the limit, too). */
sley_status sl_inflate(const char *name, const void *content, size_t size, int64_t limit, sl_bytes *out);

/* Whether so many bytes, unpacked from so many, are too many. Errors: as above. */
sley_status sl_check_unpacked(const char *name, int64_t unpacked, int64_t packed, int64_t limit);

/* The same a piece at a time. */
typedef struct sl_inflater sl_inflater;
sley_status sl_inflater_open(const char *name, const void *content, size_t size, int64_t limit,
                             sl_inflater **out);

/* The next room bytes; fewer, *got, at the end alone. Errors as sl_inflate's, and SLEY_ERR_INTERRUPTED. */
sley_status sl_inflater_take(sl_inflater *inflater, char *to, size_t room, size_t *got);
void sl_inflater_close(sl_inflater *inflater); /* accepts NULL */

#endif
