/* SPDX-License-Identifier: Apache-2.0 */
/* Plain files, read by offset. */
#include "io/bytes/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/interrupt.h"
#include "base/memory.h"

enum { STEP = 1 << 22 }; /* bytes between checks of the interrupt flag */

const char *sl_file_path(const char *name) {
  return strcmp(name, "-") == 0 ? "/dev/stdin" : name;
}

sley_status sl_file_open(const char *path, sl_file *out) {
  *out = (sl_file){.name = path, .descriptor = -1};
  struct stat info;
  if (stat(sl_file_path(path), &info) == 0 && !S_ISREG(info.st_mode))
    return SLEY_ERR_UNSUPPORTED;
  int descriptor = open(sl_file_path(path), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    return sl_fail(SLEY_ERR_IO, "%s: cannot open: %s", path, strerror(errno));
  if (fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size == 0) {
    close(descriptor);
    return SLEY_ERR_UNSUPPORTED;
  }
  out->descriptor = descriptor;
  out->size = info.st_size;
  out->modified = info.st_mtim;
  return SLEY_OK;
}

sl_file sl_file_of_memory(const char *name, const void *bytes, int64_t size) {
  return (sl_file){.name = name, .descriptor = -1, .memory = bytes, .size = size};
}

void sl_file_close(sl_file *file) {
  if (file->name && file->descriptor >= 0)
    close(file->descriptor);
  file->descriptor = -1;
}

static sley_status read_range(const sl_file *file, int64_t at, int64_t bytes, char *to) {
  while (bytes > 0) {
    SL_TRY(sl_interrupted());
    ssize_t got = pread(file->descriptor, to, bytes < STEP ? (size_t)bytes : STEP, at);
    if (got == 0)
      return sl_fail(SLEY_ERR_IO,
                     "%s: the file became shorter while it was read: it ends at byte %lld of %lld",
                     file->name, (long long)at, (long long)file->size);
    if (got < 0 && errno != EINTR)
      return sl_fail(SLEY_ERR_IO, "%s: cannot read: %s", file->name, strerror(errno));
    got = got < 0 ? 0 : got;
    at += got;
    to += got;
    bytes -= got;
  }
  return SLEY_OK;
}

typedef struct loading {
  const sl_file *file;
  int64_t at, bytes;
  char *to;
} loading;

static sley_status load_steps(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  const loading *l = context;
  int64_t first = begin * STEP, last = end * STEP < l->bytes ? end * STEP : l->bytes;
  return read_range(l->file, l->at + first, last - first, l->to + first);
}

sley_status sl_file_read(const sl_file *file, int64_t at, int64_t bytes, void *to, sl_team *team) {
  if (file->memory) {
    if (bytes > 0)
      memcpy(to, file->memory + at, (size_t)bytes);
    return SLEY_OK;
  }
  loading l = {file, at, bytes, to};
  return sl_team_for(team, bytes / STEP + (bytes % STEP != 0), 1, load_steps, &l);
}

sley_status sl_file_check_unchanged(const sl_file *file) {
  struct stat info;
  if (file->memory)
    return SLEY_OK;
  if (fstat(file->descriptor, &info) == 0 && info.st_size == file->size &&
      info.st_mtim.tv_sec == file->modified.tv_sec && info.st_mtim.tv_nsec == file->modified.tv_nsec)
    return SLEY_OK;
  return sl_fail(SLEY_ERR_IO, "%s: the file was written to while it was read: read it again", file->name);
}

sley_status sl_window_look(sl_window *window, int64_t at, int64_t count, const void **out) {
  const sl_file *file = window->file;
  if (file->memory) {
    *out = file->memory + at;
    return SLEY_OK;
  }
  if (!window->bytes)
    SL_TRY(SL_NEW(window->bytes, SL_WINDOW, "a part of a file"));
  if (at < window->at || at + count > window->at + window->count) {
    int64_t left = file->size - at;
    window->count = 0; /* the window is empty until the read has succeeded */
    SL_TRY(sl_file_read(file, at, left < SL_WINDOW ? left : SL_WINDOW, window->bytes, NULL));
    window->at = at;
    window->count = left < SL_WINDOW ? left : SL_WINDOW;
  }
  *out = window->bytes + (at - window->at);
  return SLEY_OK;
}

void sl_window_free(sl_window *window) {
  sl_free(window->bytes);
  *window = (sl_window){0};
}
