/* SPDX-License-Identifier: Apache-2.0 */
/* The allocator hooks of zlib and zstd, which call sl_alloc. */
#ifndef SLEY_IO_BYTES_CODEC_H
#define SLEY_IO_BYTES_CODEC_H

#include <stddef.h>

void *sl_zlib_alloc(void *opaque, unsigned count, unsigned bytes);
void *sl_zstd_alloc(void *opaque, size_t bytes);
void sl_codec_free(void *opaque, void *block);

#endif
