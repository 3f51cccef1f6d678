/* SPDX-License-Identifier: Apache-2.0 */
/* Writes text to a plain, gzip or zstd file. */
#define ZSTD_STATIC_LINKING_ONLY /* for the allocator hooks of zstd */
#include "io/bytes/sink.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/interrupt.h"
#include "base/memory.h"
#include "base/outfile.h"
#include "io/bytes/codec.h"

enum { ROOM = 1 << 18, GZIP_LEVEL = 6, ZSTD_LEVEL = 3 };

typedef enum codec { PLAIN, GZIP, ZSTD } codec;

struct sl_sink {
  sl_outfile file;
  codec codec;
  z_stream gzip;
  ZSTD_CCtx *zstd;
  char *room; /* buffer for compressed bytes of the file */
};

static bool ends(const char *path, const char *ending) {
  size_t length = strlen(path), own = strlen(ending);
  return length >= own && strcasecmp(path + length - own, ending) == 0;
}

static sley_status open_codec(sl_sink *sink) {
  if (sink->codec == PLAIN)
    return SLEY_OK;
  SL_TRY(SL_NEW(sink->room, ROOM, "compressing"));
  if (sink->codec == GZIP) {
    enum { WINDOW_AND_GZIP = 15 + 16, MEMORY_LEVEL = 8 };
    sink->gzip = (z_stream){.zalloc = sl_zlib_alloc, .zfree = sl_codec_free};
    if (deflateInit2(&sink->gzip, GZIP_LEVEL, Z_DEFLATED, WINDOW_AND_GZIP, MEMORY_LEVEL,
                     Z_DEFAULT_STRATEGY) != Z_OK)
      return SLEY_ERR_MEMORY;
    return SLEY_OK;
  }
  ZSTD_customMem hooks = {sl_zstd_alloc, sl_codec_free, NULL};
  sink->zstd = ZSTD_createCCtx_advanced(hooks);
  if (!sink->zstd)
    return SLEY_ERR_MEMORY;
  ZSTD_CCtx_setParameter(sink->zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL);
  ZSTD_CCtx_setParameter(sink->zstd, ZSTD_c_checksumFlag, 1);
  return SLEY_OK;
}

sley_status sl_sink_open(const char *path, sl_sink **out) {
  sl_sink *sink;
  SL_TRY(SL_NEW_ZERO(sink, 1, "an output file"));
  sink->codec = ends(path, ".gz") ? GZIP : ends(path, ".zst") ? ZSTD : PLAIN;
  sley_status status = sl_outfile_open(path, &sink->file);
  if (status == SLEY_OK)
    status = open_codec(sink);
  if (status != SLEY_OK) {
    sl_sink_discard(sink);
    return status;
  }
  *out = sink;
  return SLEY_OK;
}

static sley_status write_out(sl_sink *sink, const void *bytes, size_t size) {
  if (fwrite(bytes, 1, size, sink->file.stream) == size)
    return SLEY_OK;
  return sl_fail(SLEY_ERR_IO, "%s: cannot write: %s", sink->file.path, strerror(errno));
}

static sley_status put_gzip(sl_sink *sink, const void *bytes, size_t size, bool last) {
  enum { PIECE = 1 << 30 }; /* zlib counts in unsigned int */
  z_stream *stream = &sink->gzip;
  const unsigned char *at = bytes;
  int result = Z_OK;
  do {
    unsigned piece = size > PIECE ? PIECE : (unsigned)size;
    stream->next_in = (unsigned char *)at; /* zlib does not write to it */
    stream->avail_in = piece;
    do {
      SL_TRY(sl_interrupted());
      stream->next_out = (unsigned char *)sink->room;
      stream->avail_out = ROOM;
      result = deflate(stream, last && piece == size ? Z_FINISH : Z_NO_FLUSH);
      SL_TRY(write_out(sink, sink->room, ROOM - stream->avail_out));
    } while (stream->avail_out == 0 || (last && piece == size && result == Z_OK));
    at += piece;
    size -= piece;
  } while (size > 0);
  return SLEY_OK;
}

static sley_status put_zstd(sl_sink *sink, const void *bytes, size_t size, bool last) {
  ZSTD_inBuffer in = {bytes, size, 0};
  size_t left;
  do {
    SL_TRY(sl_interrupted());
    ZSTD_outBuffer out = {sink->room, ROOM, 0};
    left = ZSTD_compressStream2(sink->zstd, &out, &in, last ? ZSTD_e_end : ZSTD_e_continue);
    if (ZSTD_isError(left)) {
      if (ZSTD_getErrorCode(left) == ZSTD_error_memory_allocation)
        return SLEY_ERR_MEMORY;
      return sl_fail(SLEY_ERR_INTERNAL, "%s: zstd: %s", sink->file.path, ZSTD_getErrorName(left));
    }
    SL_TRY(write_out(sink, sink->room, out.pos));
  } while (last ? left > 0 : in.pos < size);
  return SLEY_OK;
}

static sley_status put(sl_sink *sink, const void *bytes, size_t size, bool last) {
  if (sink->codec == GZIP)
    return put_gzip(sink, bytes, size, last);
  if (sink->codec == ZSTD)
    return put_zstd(sink, bytes, size, last);
  return write_out(sink, bytes, size);
}

sley_status sl_sink_put(sl_sink *sink, const void *bytes, size_t size) {
  return size > 0 ? put(sink, bytes, size, false) : SLEY_OK;
}

sley_status sl_sink_print(sl_sink *sink, const char *format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (length < 0 || (size_t)length >= sizeof text)
    return sl_fail(SLEY_ERR_INTERNAL, "a header line of %d characters is too long", length);
  return sl_sink_put(sink, text, (size_t)length);
}

sley_status sl_sink_commit(sl_sink *sink) {
  sley_status status = put(sink, "", 0, true);
  if (status == SLEY_OK)
    status = sl_outfile_commit(&sink->file);
  sl_sink_discard(sink);
  return status;
}

void sl_sink_discard(sl_sink *sink) {
  if (!sink)
    return;
  if (sink->codec == GZIP && sink->gzip.state)
    deflateEnd(&sink->gzip);
  ZSTD_freeCCtx(sink->zstd);
  sl_outfile_discard(&sink->file);
  sl_free(sink->room);
  sl_free(sink);
}
