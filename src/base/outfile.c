/* SPDX-License-Identifier: Apache-2.0 */
/* Output files that appear whole or not at all. */
#define _GNU_SOURCE
#include "base/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"

/* What path names once links are followed, from sl_alloc. */
static char *resolve(const char *path) {
  char *target = realpath(path, NULL);
  char *copy = sl_strdup(target ? target : path);
  free(target);
  return copy;
}

/* A new file beside out->path. */
static bool open_aside(sl_outfile *out) {
  int descriptor = mkostemp(out->aside, O_CLOEXEC);
  if (descriptor < 0) {
    out->aside[0] = '\0'; /* nothing to remove */
    return false;
  }
  mode_t mask = umask(0);
  umask(mask);
  fchmod(descriptor, 0666 & ~mask);
  out->stream = fdopen(descriptor, "w+b");
  if (!out->stream)
    close(descriptor);
  return out->stream != NULL;
}

sley_status sl_outfile_open(const char *path, sl_outfile *out) {
  *out = (sl_outfile){0};
  static const char suffix[] = ".part-XXXXXX";
  out->path = resolve(path);
  if (!out->path)
    return SLEY_ERR_MEMORY;
  struct stat info;
  bool opened;
  if (stat(out->path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) {
    out->stream = fopen(out->path, "wb");
    opened = out->stream != NULL;
  } else {
    size_t length = strlen(out->path);
    out->aside = sl_alloc((int64_t)(length + sizeof suffix), 1, "a file name");
    if (!out->aside) {
      sl_outfile_discard(out);
      return SLEY_ERR_MEMORY;
    }
    memcpy(out->aside, out->path, length);
    memcpy(out->aside + length, suffix, sizeof suffix);
    opened = open_aside(out);
  }
  if (opened)
    return SLEY_OK;
  int reason = errno;
  sl_outfile_discard(out);
  return sl_fail(SLEY_ERR_IO, "%s: cannot write: %s", path, strerror(reason));
}

sley_status sl_outfile_commit(sl_outfile *file) {
  errno = 0;
  bool failed = ferror(file->stream) != 0;
  failed |= fflush(file->stream) != 0;
  failed |= fclose(file->stream) != 0;
  file->stream = NULL;
  if (!failed && file->aside)
    failed = rename(file->aside, file->path) != 0;
  if (failed) {
    sley_status status =
        sl_fail(SLEY_ERR_IO, "%s: cannot write: %s", file->path, strerror(errno ? errno : EIO));
    sl_outfile_discard(file);
    return status;
  }
  sl_free(file->aside);
  file->aside = NULL;
  sl_outfile_discard(file);
  return SLEY_OK;
}

void sl_outfile_discard(sl_outfile *file) {
  if (file->stream)
    fclose(file->stream);
  if (file->aside && file->aside[0])
    unlink(file->aside);
  sl_free(file->aside);
  sl_free(file->path);
  *file = (sl_outfile){0};
}
