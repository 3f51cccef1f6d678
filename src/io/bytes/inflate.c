/* SPDX-License-Identifier: Apache-2.0 */
/* Decompresses gzip and zstd streams. */
#define ZSTD_STATIC_LINKING_ONLY /* for the allocator hooks of zstd */
#include "io/bytes/inflate.h"

#include <string.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/interrupt.h"
#include "base/memory.h"
#include "io/bytes/codec.h"

enum { STEP = 1 << 22 }; /* bytes produced between checks of the interrupt flag */

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

struct sl_inflater {
  const char *name;
  int64_t limit, unpacked;
  const unsigned char *content, *at;
  size_t size;
  bool gzip, ended;
  z_stream members;
  ZSTD_DStream *frames;
};

sley_status sl_check_unpacked(const char *name, int64_t unpacked, int64_t packed, int64_t limit) {
  if (limit > 0 && unpacked > limit)
    return sl_fail(SLEY_ERR_MEMORY, "%s: unpacks to more than the limit of %lld bytes; give a larger one",
                   name, (long long)limit);
  if (unpacked > SL_UNPACK_FREE && unpacked / SL_UNPACK_RATIO > packed)
    return sl_fail(
        SLEY_ERR_INPUT,
        "%s: unpacks to more than %lld MiB and more than %d times its size, as no matrix does; unpack it "
        "yourself if it is one",
        name, (long long)(SL_UNPACK_FREE >> 20), SL_UNPACK_RATIO);
  return SLEY_OK;
}

/* Refuses a zstd frame whose header declares too large a size. */
static sley_status check_promise(const sl_inflater *self) {
  unsigned long long promised = ZSTD_getFrameContentSize(self->content, self->size);
  if (promised == ZSTD_CONTENTSIZE_UNKNOWN || promised == ZSTD_CONTENTSIZE_ERROR || promised > INT64_MAX)
    return SLEY_OK;
  return sl_check_unpacked(self->name, (int64_t)promised, (int64_t)self->size, self->limit);
}

sley_status sl_inflater_open(const char *name, const void *content, size_t size, int64_t limit,
                             sl_inflater **out) {
  enum { WINDOW_AND_GZIP = 15 + 16 };
  sl_inflater *self;
  SL_TRY(SL_NEW_ZERO(self, 1, "decompressing"));
  *self = (sl_inflater){.name = name, .limit = limit, .content = content, .at = content, .size = size};
  self->gzip = is_gzip(content, size);
  bool opened;
  if (self->gzip) {
    self->members = (z_stream){.zalloc = sl_zlib_alloc, .zfree = sl_codec_free};
    opened = inflateInit2(&self->members, WINDOW_AND_GZIP) == Z_OK;
  } else {
    ZSTD_customMem hooks = {sl_zstd_alloc, sl_codec_free, NULL};
    opened = (self->frames = ZSTD_createDCtx_advanced(hooks)) != NULL;
  }
  if (!opened) {
    sl_free(self);
    return SLEY_ERR_MEMORY;
  }
  sley_status status = self->gzip ? SLEY_OK : check_promise(self);
  if (status != SLEY_OK) {
    sl_inflater_close(self);
    return status;
  }
  *out = self;
  return SLEY_OK;
}

void sl_inflater_close(sl_inflater *self) {
  if (!self)
    return;
  if (self->gzip)
    inflateEnd(&self->members);
  ZSTD_freeDStream(self->frames);
  sl_free(self);
}

/* Unpacks more of a gzip stream: members follow each other until the end, and zeros may pad it, as on a
 * tape. */
static sley_status step_gzip(sl_inflater *self, char *to, size_t room, size_t *got) {
  z_stream *stream = &self->members;
  size_t left = self->size - (size_t)(self->at - self->content);
  stream->next_in = (unsigned char *)self->at; /* zlib does not write to it */
  stream->avail_in = left > STEP ? STEP : (unsigned)left;
  stream->next_out = (unsigned char *)to;
  stream->avail_out = (unsigned)room;
  int result = inflate(stream, Z_NO_FLUSH);
  self->at = stream->next_in;
  left = self->size - (size_t)(self->at - self->content);
  *got = room - stream->avail_out;
  if (result == Z_STREAM_END) {
    self->ended = all_zero(self->at, left);
    if (!self->ended && !is_gzip(self->at, left))
      return sl_fail(SLEY_ERR_INPUT, "%s: %zu bytes of something else follow the gzip stream", self->name,
                     left);
    inflateReset(stream);
    return SLEY_OK;
  }
  if (result == Z_MEM_ERROR)
    return SLEY_ERR_MEMORY;
  if (result == Z_BUF_ERROR || (result == Z_OK && left == 0 && stream->avail_out > 0))
    return sl_fail(SLEY_ERR_INPUT, "%s: the gzip stream is truncated after %zu bytes; fetch it again",
                   self->name, self->size);
  if (result != Z_OK)
    return sl_fail(SLEY_ERR_INPUT, "%s: the gzip stream is corrupt near byte %zu (%s); fetch it again",
                   self->name, (size_t)(self->at - self->content), stream->msg ? stream->msg : "bad data");
  return SLEY_OK;
}

static sley_status step_zstd(sl_inflater *self, char *to, size_t room, size_t *got) {
  ZSTD_inBuffer in = {self->content, self->size, (size_t)(self->at - self->content)};
  ZSTD_outBuffer out = {to, room, 0};
  size_t before = in.pos, result = ZSTD_decompressStream(self->frames, &out, &in);
  *got = out.pos;
  self->at = self->content + in.pos;
  if (ZSTD_isError(result) && ZSTD_getErrorCode(result) == ZSTD_error_memory_allocation)
    return SLEY_ERR_MEMORY;
  if (ZSTD_isError(result))
    return sl_fail(SLEY_ERR_INPUT, "%s: the zstd stream is corrupt near byte %zu (%s); fetch it again",
                   self->name, in.pos, ZSTD_getErrorName(result));
  self->ended = in.pos == self->size && result == 0; /* the last frame ended at the end of the content */
  bool stuck = in.pos == before && out.pos == 0;
  if (!self->ended && (stuck || (in.pos == self->size && out.pos < room)))
    return sl_fail(SLEY_ERR_INPUT, "%s: the zstd stream is truncated after %zu bytes; fetch it again",
                   self->name, self->size);
  return SLEY_OK;
}

sley_status sl_inflater_take(sl_inflater *self, char *to, size_t room, size_t *got) {
  *got = 0;
  while (*got < room && !self->ended) {
    size_t left = room - *got, some;
    SL_TRY(sl_interrupted());
    sley_status status = self->gzip ? step_gzip(self, to + *got, left > STEP ? STEP : left, &some)
                                    : step_zstd(self, to + *got, left > STEP ? STEP : left, &some);
    SL_TRY(status);
    *got += some;
    self->unpacked += (int64_t)some;
    SL_TRY(sl_check_unpacked(self->name, self->unpacked, self->at - self->content, self->limit));
  }
  return SLEY_OK;
}

sley_status sl_inflate(const char *name, const void *content, size_t size, int64_t limit, sl_bytes *out) {
  *out = (sl_bytes){0};
  /* A first estimate of the size; only the part that the stream fills is ever touched. */
  size_t guess = size < SIZE_MAX / 8 ? 4 * size : size, got = STEP;
  if (limit > 0 && guess > (size_t)limit)
    guess = (size_t)limit;
  SL_TRY(sl_bytes_reserve(out, guess > STEP ? guess : STEP));
  sl_inflater *inflater;
  SL_TRY(sl_inflater_open(name, content, size, limit, &inflater));
  sley_status status = SLEY_OK;
  while (got == STEP && status == SLEY_OK) {
    SL_TRY_GOTO(status, sl_bytes_reserve(out, STEP), done);
    status = sl_inflater_take(inflater, out->data + out->size, STEP, &got);
    out->size += got;
  }
done:
  sl_inflater_close(inflater);
  sl_bytes_pad(out);
  return status;
}
