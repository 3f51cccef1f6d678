/* SPDX-License-Identifier: Apache-2.0 */
/* Decompression of whole gzip and zstd streams into memory. */
#ifndef SLEY_IO_INFLATE_H
#define SLEY_IO_INFLATE_H

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

/* Decompresses all members or frames; name is for messages. *out is the caller's to sl_free, also on an
 * error. Errors: SLEY_ERR_INPUT (truncated, corrupt, or followed by something else), SLEY_ERR_MEMORY. */
sley_status sl_inflate(const char *name, const void *content, size_t size, sl_bytes *out);

/* The same a piece at a time. */
typedef struct sl_inflater sl_inflater;
sley_status sl_inflater_open(const char *name, const void *content, size_t size, sl_inflater **out);

/* The next room bytes; fewer, *got, at the end alone. Errors as sl_inflate's, and SLEY_ERR_INTERRUPTED. */
sley_status sl_inflater_take(sl_inflater *inflater, char *to, size_t room, size_t *got);
void sl_inflater_close(sl_inflater *inflater); /* accepts NULL */

#endif
