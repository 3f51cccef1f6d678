/* SPDX-License-Identifier: Apache-2.0 */
/* The content of a file as one range of memory; compressed content is decompressed. */
#include "io/format.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/interrupt.h"
#include "base/memory.h"
#include "io/bytes/file.h"
#include "io/bytes/inflate.h"
#include "io/text.h"

/* Maximum number of rows that a header may declare in any file; for more rows the file must have enough
   bytes. */
static const int64_t rows_for_free = INT64_C(1) << 28;
enum { ROWS_A_BYTE = 64 };

static void hold_memory(sl_input *input, sl_bytes bytes) {
  input->memory = bytes.data;
  input->begin = bytes.data;
  input->end = bytes.data + bytes.size;
}

/* Replaces compressed content by the decompressed bytes. */
static sley_status decompress(sl_input *input) {
  size_t size = (size_t)(input->end - input->begin);
  if (!sl_is_compressed(input->begin, size))
    return SLEY_OK;
  sl_bytes bytes;
  sley_status status = sl_inflate(input->name, input->begin, size, input->unpack_limit, &bytes);
  sl_input_close(input);
  if (status != SLEY_OK) {
    sl_free(bytes.data);
    return status;
  }
  hold_memory(input, bytes);
  return SLEY_OK;
}

void sl_input_set_size(sl_input *input, int64_t bytes) {
  input->most_rows = bytes > rows_for_free / ROWS_A_BYTE ? bytes * ROWS_A_BYTE : rows_for_free;
}

static sley_status finish(sl_input *input) {
  SL_TRY(decompress(input));
  sl_input_set_size(input, input->end - input->begin);
  return SLEY_OK;
}

static sley_status too_long(const char *path, int64_t limit) {
  return sl_fail(SLEY_ERR_MEMORY,
                 "%s: is longer than the limit of %lld bytes; give a larger one (--mem-limit)", path,
                 (long long)limit);
}

static sley_status read_all(int descriptor, const char *path, int64_t limit, sl_input *out) {
  enum { CHUNK = 1 << 20 };
  if (limit <= 0) /* an endless stream must not take all memory; half, because the buffer grows by copying */
    limit = sl_memory_machine() / 2;
  sl_bytes bytes = {0};
  sley_status status;
  for (;;) {
    SL_TRY_GOTO(status, sl_interrupted(), fail);
    SL_TRY_GOTO(status, sl_bytes_reserve(&bytes, CHUNK), fail);
    ssize_t got = read(descriptor, bytes.data + bytes.size, CHUNK);
    if (got == 0)
      break;
    if (got > 0) {
      bytes.size += (size_t)got;
      SL_TRY_GOTO(status, (int64_t)bytes.size > limit ? too_long(path, limit) : SLEY_OK, fail);
    } else if (errno != EINTR) {
      status = sl_fail(SLEY_ERR_IO, "%s: cannot read: %s", path, strerror(errno));
      goto fail;
    }
  }
  sl_bytes_pad(&bytes);
  hold_memory(out, bytes);
  return SLEY_OK;
fail:
  sl_free(bytes.data);
  return status;
}

sley_status sl_input_load_packed(const sl_file *file, sl_team *team, sl_input *out) {
  sl_bytes bytes = {0};
  *out = (sl_input){.name = file->name};
  SL_TRY(sl_bytes_reserve(&bytes, (size_t)file->size));
  sley_status status = sl_file_read(file, 0, file->size, bytes.data, team);
  if (status == SLEY_OK)
    status = sl_file_check_unchanged(file);
  if (status != SLEY_OK) {
    sl_free(bytes.data);
    return status;
  }
  bytes.size = (size_t)file->size;
  sl_bytes_pad(&bytes);
  hold_memory(out, bytes);
  return SLEY_OK;
}

/* Reads a file that is not a plain file, from beginning to end. */
static sley_status load_stream(const char *path, int64_t limit, sl_input *out) {
  int descriptor = open(sl_file_path(path), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0 && strcmp(path, "-") == 0)
    descriptor = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0); /* a socket has no path that could be opened */
  if (descriptor < 0)
    return sl_fail(SLEY_ERR_IO, "%s: cannot open: %s", path, strerror(errno));
  sley_status status = read_all(descriptor, path, limit, out);
  close(descriptor);
  return status;
}

sley_status sl_input_load(const sl_file *file, int64_t limit, sl_team *team, sl_input *out) {
  SL_TRY(sl_input_load_packed(file, team, out));
  out->unpack_limit = limit;
  return finish(out);
}

sley_status sl_input_open(const char *path, sl_input *out) {
  return sl_input_open_within(path, 0, out);
}

sley_status sl_input_open_within(const char *path, int64_t limit, sl_input *out) {
  *out = (sl_input){.name = path};
  sl_file file;
  sley_status status = sl_file_open(path, &file);
  if (status == SLEY_OK) {
    status = sl_input_load_packed(&file, NULL, out);
    sl_file_close(&file);
  } else if (status == SLEY_ERR_UNSUPPORTED) {
    status = load_stream(path, limit, out);
  }
  out->unpack_limit = limit;
  return status == SLEY_OK ? finish(out) : status;
}

void sl_input_close(sl_input *input) {
  sl_free(input->memory);
  input->memory = NULL;
  input->begin = input->end = NULL;
}

bool sl_input_is_text(const sl_input *input) {
  enum { LOOK = 4096 };
  size_t size = (size_t)(input->end - input->begin);
  return !memchr(input->begin, 0, size < LOOK ? size : LOOK);
}

bool sl_input_starts(const sl_input *input, const void *magic, size_t bytes) {
  return (size_t)(input->end - input->begin) >= bytes && memcmp(input->begin, magic, bytes) == 0;
}

bool sl_name_ends(const char *name, const char *ending) {
  size_t length = strlen(name), own = strlen(ending);
  if (length >= 3 && strcasecmp(name + length - 3, ".gz") == 0)
    length -= 3;
  else if (length >= 4 && strcasecmp(name + length - 4, ".zst") == 0)
    length -= 4;
  return length >= own && strncasecmp(name + length - own, ending, own) == 0;
}

sley_status sl_input_check_size(const sl_input *input, const char *at, int64_t rows, int64_t cols) {
  if (rows < 0 || cols < 0)
    return sl_text_fail(input, at, "%lld x %lld is no size of a matrix", (long long)rows, (long long)cols);
  if (rows > input->most_rows)
    return sl_text_fail(input, at, "%lld rows are more than a file of %lld bytes can mean; correct the size",
                        (long long)rows, (long long)(input->end - input->begin));
  return SLEY_OK;
}
