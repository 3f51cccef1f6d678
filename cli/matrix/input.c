/* SPDX-License-Identifier: Apache-2.0 */
/* Standard input as a file in memory, and the check that names are UTF-8. */
#define _GNU_SOURCE
#include "matrix/input.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"
#include "output/terminal.h"
#include "ranks/processes.h"

static bool is_stdin(const char *name) {
  return name && strcmp(name, "-") == 0;
}

static bool put_all(int file, const char *bytes, size_t count) {
  while (count > 0) {
    ssize_t put = write(file, bytes, count);
    if (put < 0 && errno != EINTR)
      return false;
    put = put < 0 ? 0 : put;
    bytes += put;
    count -= (size_t)put;
  }
  return true;
}

/* Copies all of standard input to file. Returns false on failure; errno EFBIG: the input is longer than
 * limit. */
static bool copy_all(int file, int64_t limit) {
  static char room[1 << 16];
  for (int64_t copied = 0;;) {
    ssize_t got = read(STDIN_FILENO, room, sizeof room);
    if (got == 0)
      return true;
    if (got < 0) /* also after a signal, because then the command ends */
      return false;
    copied += got;
    errno = copied > limit ? EFBIG : 0;
    if (errno || !put_all(file, room, (size_t)got))
      return false;
  }
}

int cli_take_stdin(const char *command, const char *name, const char *other, int64_t limit) {
  if (!is_stdin(name) && !is_stdin(other))
    return CLI_DONE;
  if (is_stdin(name) && is_stdin(other)) {
    cli_error("%s: the matrix and X cannot both be -, standard input", command);
    return CLI_USAGE;
  }
  if (cli_launched()) {
    cli_error("%s: - is standard input, which a launcher passes to only one rank: name a file that all see",
              command);
    return CLI_USAGE;
  }
  struct stat info;
  if (fstat(STDIN_FILENO, &info) == 0 && S_ISREG(info.st_mode))
    return CLI_DONE;
  int file = memfd_create("standard input", MFD_CLOEXEC);
  if (limit <= 0) /* an endless input must not fill the machine's memory */
    limit = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE) / 2;
  bool taken = file >= 0 && copy_all(file, limit) && dup2(file, STDIN_FILENO) >= 0;
  int reason = taken ? 0 : errno;
  if (file >= 0)
    close(file);
  if (reason == EINTR) /* interrupted by the signal that ends the command */
    return cli_finish(SLEY_ERR_INTERRUPTED);
  if (reason == EFBIG)
    return cli_refuse(SLEY_ERR_MEMORY,
                      "-: is longer than the limit of %lld bytes; give a larger one (--mem-limit)",
                      (long long)limit);
  if (!taken)
    cli_error("-: cannot read standard input: %s", strerror(reason));
  return taken ? CLI_DONE : CLI_FAILED;
}

bool cli_name_fits_json(const char *command, const char *text, const char *json) {
  json_t *value = json ? json_string(text) : NULL;
  bool fits = !json || value;
  json_decref(value);
  if (!fits)
    cli_error("%s: --json cannot hold the name of the matrix, which is not UTF-8: rename the file", command);
  return fits;
}

const char *cli_base_name(const char *name) {
  const char *slash = strrchr(name, '/');
  return slash ? slash + 1 : name;
}
