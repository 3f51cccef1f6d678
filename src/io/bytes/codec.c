/* SPDX-License-Identifier: Apache-2.0 */
#include "io/bytes/codec.h"

#include "base/memory.h"

void *sl_zlib_alloc(void *opaque, unsigned count, unsigned bytes) {
  (void)opaque;
  return sl_alloc((int64_t)count, bytes, "gzip");
}

void *sl_zstd_alloc(void *opaque, size_t bytes) {
  (void)opaque;
  return sl_alloc((int64_t)bytes, 1, "zstd");
}

void sl_codec_free(void *opaque, void *block) {
  (void)opaque;
  sl_free(block);
}
