/* SPDX-License-Identifier: Apache-2.0 */
/* Files the command itself writes, made aside and renamed when whole. */
#include "output.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "terminal.h"

static bool is_stdout(const char *path) {
  return strcmp(path, "-") == 0;
}

bool cli_output_possible(const char *path) {
  if (!path || is_stdout(path))
    return true;
  struct stat info;
  if (stat(path, &info) == 0 && S_ISDIR(info.st_mode)) {
    cli_error("%s: cannot write: it is a folder", path);
    return false;
  }
  char *folder = strdup(path);
  if (!folder) {
    cli_error("%s: out of memory", path);
    return false;
  }
  char *slash = strrchr(folder, '/');
  const char *where = !slash ? "." : slash == folder ? "/" : folder;
  if (slash)
    *slash = '\0';
  bool possible = access(slash == folder ? "/" : where, W_OK | X_OK) == 0;
  if (!possible)
    cli_error("%s: cannot write: %s", path, strerror(errno));
  free(folder);
  return possible;
}

/* A new file beside path, whose name with room for the suffix aside holds. */
static FILE *open_aside(char *aside) {
  int descriptor = mkstemp(aside);
  if (descriptor < 0)
    return NULL;
  mode_t mask = umask(0);
  umask(mask);
  FILE *stream = fchmod(descriptor, 0666 & ~mask) == 0 ? fdopen(descriptor, "wb") : NULL;
  if (!stream) {
    int reason = errno;
    close(descriptor);
    unlink(aside);
    errno = reason;
  }
  return stream;
}

bool cli_output_open(cli_output *output, const char *path) {
  *output = (cli_output){.path = path};
  if (is_stdout(path)) {
    output->stream = stdout;
    return true;
  }
  struct stat info;
  if (stat(path, &info) == 0 && !S_ISREG(info.st_mode)) { /* a device or a pipe */
    output->stream = fopen(path, "wb");
  } else {
    static const char suffix[] = ".part-XXXXXX";
    char *target = realpath(path, NULL); /* a link stays one */
    output->target = target ? target : strdup(path);
    size_t bytes = output->target ? strlen(output->target) + sizeof suffix : 0;
    output->aside = bytes ? malloc(bytes) : NULL;
    if (output->aside) {
      snprintf(output->aside, bytes, "%s%s", output->target, suffix);
      output->stream = open_aside(output->aside);
    } else {
      errno = ENOMEM;
    }
  }
  if (output->stream)
    return true;
  cli_error("%s: cannot write: %s", path, strerror(errno));
  free(output->aside);
  free(output->target);
  *output = (cli_output){0};
  return false;
}

bool cli_output_commit(cli_output *output) {
  if (output->stream == stdout) { /* checked once, when the command ends */
    *output = (cli_output){0};
    return true;
  }
  errno = 0;
  bool failed = ferror(output->stream) != 0;
  failed |= fclose(output->stream) != 0;
  output->stream = NULL;
  failed = failed || (output->aside && rename(output->aside, output->target) != 0);
  if (failed) {
    cli_error("%s: cannot write: %s", output->path, strerror(errno ? errno : EIO));
    cli_output_discard(output);
    return false;
  }
  free(output->aside);
  free(output->target);
  *output = (cli_output){0};
  return true;
}

void cli_output_discard(cli_output *output) {
  if (output->stream && output->stream != stdout)
    fclose(output->stream);
  if (output->aside)
    unlink(output->aside);
  free(output->aside);
  free(output->target);
  *output = (cli_output){0};
}

bool cli_output_json(const char *path, json_t *value) {
  cli_output output;
  if (!value) {
    cli_error("%s: cannot make the JSON: out of memory, or a name in it is not UTF-8", path);
    return false;
  }
  bool done = cli_output_open(&output, path);
  if (done) {
    json_dumpf(value, output.stream, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
    fputc('\n', output.stream);
    done = cli_output_commit(&output);
  }
  json_decref(value);
  return done;
}

/* The format: magic, version 1.0, the header's length in two bytes, then a Python literal padded so that the
 * values start at a multiple of 64. */
bool cli_output_npy_int64(const char *path, const int64_t *values, int64_t count) {
  enum { PREFIX = 10, TOTAL = 128 };
  static const uint16_t probe = 1;
  char order = *(const unsigned char *)&probe ? '<' : '>';
  char text[TOTAL + 1];
  memset(text, ' ', TOTAL);
  memcpy(text, "\x93NUMPY\x01\x00", 8);
  text[8] = (char)(TOTAL - PREFIX);
  text[9] = 0;
  int length = snprintf(text + PREFIX, TOTAL - PREFIX,
                        "{'descr': '%ci8', 'fortran_order': False, 'shape': (%" PRId64 ",), }", order, count);
  text[PREFIX + length] = ' ';
  text[TOTAL - 1] = '\n';
  cli_output output;
  if (!cli_output_open(&output, path))
    return false;
  fwrite(text, 1, TOTAL, output.stream);
  fwrite(values, sizeof *values, (size_t)count, output.stream);
  return cli_output_commit(&output);
}
