/* SPDX-License-Identifier: Apache-2.0 */
/* The job's secret, from the user's environment variables. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bootstrap/place.h"

enum { LEAST = 16, MOST = 4096 };

/* Reads a file that only its owner can read. */
static sley_status read_file(const char *name, char text[MOST], size_t *bytes) {
  struct stat about;
  int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0 || fstat(fd, &about) != 0) {
    int reason = errno;
    if (fd >= 0)
      close(fd);
    return sl_fail(SLEY_ERR_IO, "SLEY_SECRET_FILE: %s: %s", name, strerror(reason));
  }
  sley_status status = SLEY_OK;
  if (!S_ISREG(about.st_mode))
    status = sl_fail(SLEY_ERR_ARG, "SLEY_SECRET_FILE: %s is not a regular file", name);
  else if ((about.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    status = sl_fail(SLEY_ERR_ARG, "SLEY_SECRET_FILE: other users can access %s: run chmod 600 on it", name);
  else if (about.st_uid != geteuid() && about.st_uid != 0)
    status = sl_fail(SLEY_ERR_ARG, "SLEY_SECRET_FILE: %s belongs to another user", name);
  ssize_t got = status == SLEY_OK ? read(fd, text, MOST) : 0;
  if (got < 0)
    status = sl_fail(SLEY_ERR_IO, "SLEY_SECRET_FILE: %s: %s", name, strerror(errno));
  close(fd);
  *bytes = got > 0 ? (size_t)got : 0;
  while (*bytes > 0 && (text[*bytes - 1] == '\n' || text[*bytes - 1] == '\r'))
    --*bytes;
  return status;
}

sley_status sl_secret_from_environment(sl_secret *out) {
  const char *text = getenv("SLEY_SECRET"), *name = getenv("SLEY_SECRET_FILE");
  char contents[MOST];
  size_t bytes = text ? strlen(text) : 0;
  *out = (sl_secret){.given = false};
  if (!text && !name)
    return SLEY_OK;
  if (text && name)
    return sl_fail(SLEY_ERR_ARG, "SLEY_SECRET and SLEY_SECRET_FILE are both set: unset one");
  if (name) {
    SL_TRY(read_file(name, contents, &bytes));
    text = contents;
  }
  if (bytes < LEAST)
    return sl_fail(SLEY_ERR_ARG,
                   "%s has %zu bytes: a secret needs at least %d; openssl rand -hex 32 makes one",
                   name ? "the file SLEY_SECRET_FILE" : "SLEY_SECRET", bytes, LEAST);
  return sl_secret_of_text(text, bytes, out);
}
