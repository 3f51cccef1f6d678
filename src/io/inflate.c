/* SPDX-License-Identifier: Apache-2.0 */
#define ZSTD_STATIC_LINKING_ONLY /* for the allocator hooks */
#include "io/inflate.h"

#include <string.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/interrupt.h"
#include "base/memory.h"

enum { STEP = 1 << 22 }; /* bytes produced between looks at the interrupt flag */

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

sley_status sl_bytes_reserve(sl_bytes *bytes, size_t more) {
  size_t need = bytes->size + more + SL_INPUT_PADDING;
  if (need <= bytes->room)
    return SLEY_OK;
  size_t room = bytes->room + bytes->room / 2;
  if (room < need)
    room = need;
  char *larger = sl_alloc((int64_t)room, 1, "the content of a file");
  if (!larger)
    return SLEY_ERR_MEMORY;
  if (bytes->size)
    memcpy(larger, bytes->data, bytes->size);
  sl_free(bytes->data);
  bytes->data = larger;
  bytes->room = room;
  return SLEY_OK;
}

void sl_bytes_pad(sl_bytes *bytes) {
  memset(bytes->data + bytes->size, 0, SL_INPUT_PADDING);
}

static bool is_gzip(const unsigned char *at, size_t size) {
  return size >= 2 && at[0] == 0x1f && at[1] == 0x8b;
}

static bool is_zstd(const unsigned char *at, size_t size) {
  return size >= 4 && at[0] == 0x28 && at[1] == 0xb5 && at[2] == 0x2f && at[3] == 0xfd;
}

bool sl_is_compressed(const void *content, size_t size) {
  return is_gzip(content, size) || is_zstd(content, size);
}

static bool all_zero(const unsigned char *at, size_t size) {
  for (size_t i = 0; i < size; i++)
    if (at[i])
      return false;
  return true;
}

/* Members follow each other until the end; zeros may pad it, as on a tape. */
static sley_status inflate_gzip(const char *name, const unsigned char *content, size_t size, sl_bytes *out) {
  enum { WINDOW_AND_GZIP = 15 + 16 };
  z_stream stream = {.zalloc = sl_zlib_alloc, .zfree = sl_codec_free};
  if (inflateInit2(&stream, WINDOW_AND_GZIP) != Z_OK)
    return SLEY_ERR_MEMORY;
  sley_status status = SLEY_OK;
  const unsigned char *at = content, *end = content + size;
  for (;;) {
    SL_TRY_GOTO(status, sl_interrupted(), done);
    SL_TRY_GOTO(status, sl_bytes_reserve(out, STEP), done);
    size_t left = (size_t)(end - at);
    stream.next_in = (unsigned char *)at; /* zlib does not write there */
    stream.avail_in = left > STEP ? STEP : (unsigned)left;
    stream.next_out = (unsigned char *)out->data + out->size;
    stream.avail_out = STEP;
    int result = inflate(&stream, Z_NO_FLUSH);
    at = stream.next_in;
    out->size += STEP - stream.avail_out;
    if (result == Z_STREAM_END) {
      left = (size_t)(end - at);
      if (all_zero(at, left))
        break;
      if (!is_gzip(at, left)) {
        status =
            sl_fail(SLEY_ERR_INPUT, "%s: %zu bytes of something else follow the gzip stream", name, left);
        break;
      }
      inflateReset(&stream);
    } else if (result == Z_MEM_ERROR) {
      status = SLEY_ERR_MEMORY;
      break;
    } else if (result == Z_BUF_ERROR || (result == Z_OK && at == end && stream.avail_out > 0)) {
      status = sl_fail(SLEY_ERR_INPUT, "%s: the gzip stream is truncated after %zu bytes; fetch it again",
                       name, size);
      break;
    } else if (result != Z_OK) {
      status = sl_fail(SLEY_ERR_INPUT, "%s: the gzip stream is corrupt near byte %zu (%s); fetch it again",
                       name, (size_t)(at - content), stream.msg ? stream.msg : "bad data");
      break;
    }
  }
done:
  inflateEnd(&stream);
  return status;
}

static sley_status inflate_zstd(const char *name, const void *content, size_t size, sl_bytes *out) {
  ZSTD_customMem hooks = {sl_zstd_alloc, sl_codec_free, NULL};
  ZSTD_DStream *stream = ZSTD_createDCtx_advanced(hooks);
  if (!stream)
    return SLEY_ERR_MEMORY;
  sley_status status = SLEY_OK;
  ZSTD_inBuffer in = {content, size, 0};
  for (;;) {
    SL_TRY_GOTO(status, sl_interrupted(), done);
    SL_TRY_GOTO(status, sl_bytes_reserve(out, STEP), done);
    ZSTD_outBuffer to = {out->data, out->size + STEP, out->size};
    size_t before = in.pos, result = ZSTD_decompressStream(stream, &to, &in);
    bool stuck = in.pos == before && to.pos == out->size;
    out->size = to.pos;
    if (ZSTD_isError(result)) {
      if (ZSTD_getErrorCode(result) == ZSTD_error_memory_allocation)
        status = SLEY_ERR_MEMORY;
      else
        status = sl_fail(SLEY_ERR_INPUT, "%s: the zstd stream is corrupt near byte %zu (%s); fetch it again",
                         name, in.pos, ZSTD_getErrorName(result));
      break;
    }
    if (in.pos == size && result == 0)
      break; /* the last frame ended with the content */
    if (stuck || (in.pos == size && to.pos < to.size)) {
      status = sl_fail(SLEY_ERR_INPUT, "%s: the zstd stream is truncated after %zu bytes; fetch it again",
                       name, size);
      break;
    }
  }
done:
  ZSTD_freeDStream(stream);
  return status;
}

sley_status sl_inflate(const char *name, const void *content, size_t size, sl_bytes *out) {
  *out = (sl_bytes){0};
  /* A first guess of the size; only what the stream holds is ever touched. */
  size_t guess = size < SIZE_MAX / 8 ? 4 * size : size;
  SL_TRY(sl_bytes_reserve(out, guess > STEP ? guess : STEP));
  SL_TRY(is_gzip(content, size) ? inflate_gzip(name, content, size, out)
                                : inflate_zstd(name, content, size, out));
  sl_bytes_pad(out);
  return SLEY_OK;
}
