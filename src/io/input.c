/* SPDX-License-Identifier: Apache-2.0 */
/* The content of a file as one range of memory: mapped, or read and decompressed. */
#include "io/format.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "io/inflate.h"
#include "io/text.h"

/* A header alone must not make us allocate: beyond this, rows need bytes in the file to back them. */
static const int64_t rows_for_free = INT64_C(1) << 28;
enum { ROWS_A_BYTE = 64 };

static void hold_memory(sl_input *input, sl_bytes bytes) {
  input->memory = bytes.data;
  input->begin = bytes.data;
  input->end = bytes.data + bytes.size;
}

/* Replaces compressed content by what it says. */
static sley_status decompress(sl_input *input) {
  size_t size = (size_t)(input->end - input->begin);
  if (!sl_is_compressed(input->begin, size))
    return SLEY_OK;
  sl_bytes bytes;
  sley_status status = sl_inflate(input->name, input->begin, size, &bytes);
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

/* Maps size bytes with the padding after them: the file is laid over the front of a region of zeros. */
static bool map_file(int descriptor, size_t size, sl_input *out) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = (size + SL_INPUT_PADDING + page - 1) / page * page;
  char *region = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (region == MAP_FAILED)
    return false;
  if (mmap(region, size, PROT_READ, MAP_PRIVATE | MAP_FIXED, descriptor, 0) == MAP_FAILED) {
    munmap(region, bytes);
    return false;
  }
  out->mapping = region;
  out->mapping_bytes = bytes;
  out->begin = region;
  out->end = region + size;
  return true;
}

static sley_status read_all(int descriptor, const char *path, sl_input *out) {
  enum { CHUNK = 1 << 20 };
  sl_bytes bytes = {0};
  sley_status status;
  for (;;) {
    SL_TRY_GOTO(status, sl_bytes_reserve(&bytes, CHUNK), fail);
    ssize_t got = read(descriptor, bytes.data + bytes.size, CHUNK);
    if (got == 0)
      break;
    if (got > 0) {
      bytes.size += (size_t)got;
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

sley_status sl_input_open(const char *path, sl_input *out) {
  *out = (sl_input){.name = path};
  int descriptor = open(path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    return sl_fail(SLEY_ERR_IO, "%s: cannot open: %s", path, strerror(errno));
  struct stat info;
  bool plain = fstat(descriptor, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0;
  sley_status status = SLEY_OK;
  if (plain && map_file(descriptor, (size_t)info.st_size, out))
    madvise(out->mapping, (size_t)info.st_size, MADV_WILLNEED);
  else
    status = read_all(descriptor, path, out);
  close(descriptor);
  return status == SLEY_OK ? finish(out) : status;
}

sley_status sl_input_map(const char *path, sl_input *out) {
  *out = (sl_input){.name = path};
  struct stat info;
  if (stat(path, &info) == 0 && !S_ISREG(info.st_mode))
    return SLEY_ERR_UNSUPPORTED; /* not opened: a pipe can be once */
  int descriptor = open(path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    return sl_fail(SLEY_ERR_IO, "%s: cannot open: %s", path, strerror(errno));
  bool plain = fstat(descriptor, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0;
  bool mapped = plain && map_file(descriptor, (size_t)info.st_size, out);
  close(descriptor);
  if (!mapped)
    return SLEY_ERR_UNSUPPORTED;
  sl_input_set_size(out, info.st_size);
  return SLEY_OK;
}

sley_status sl_input_open_memory(const char *name, const void *bytes, size_t size, sl_input *out) {
  *out = (sl_input){.name = name};
  sl_bytes copy = {0};
  SL_TRY(sl_bytes_reserve(&copy, size));
  if (size)
    memcpy(copy.data, bytes, size);
  copy.size = size;
  sl_bytes_pad(&copy);
  hold_memory(out, copy);
  return finish(out);
}

void sl_input_close(sl_input *input) {
  sl_free(input->memory);
  if (input->mapping)
    munmap(input->mapping, input->mapping_bytes);
  *input = (sl_input){.name = input->name};
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
