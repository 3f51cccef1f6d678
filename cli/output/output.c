/* SPDX-License-Identifier: Apache-2.0 */
/* Files that the command itself writes: under a temporary name, renamed when complete. */
#include "output/output.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "matrix/source.h"
#include "output/changes.h"
#include "output/terminal.h"
#include "sley.h"

static bool is_stdout(const char *path) {
  return strcmp(path, "-") == 0;
}

static const char *volatile pending; /* temporary name of the file that is being written */

void cli_output_abandon(void) {
  if (pending)
    unlink(pending);
}

/* Returns the name of the file after links are followed; the caller frees it. NULL: it cannot be written, for
 * the reason in errno. */
static char *resolve(const char *path) {
  struct stat info;
  char *target = realpath(path, NULL);
  if (!target)
    return errno == ENOENT && lstat(path, &info) != 0 ? strdup(path) : NULL;
  if (access(target, W_OK) == 0)
    return target;
  free(target);
  return NULL;
}

bool cli_output_possible(const char *path) {
  if (!path || is_stdout(path))
    return true;
  struct stat info;
  if (stat(path, &info) == 0 && S_ISDIR(info.st_mode)) {
    cli_error("%s: cannot write: it is a folder", path);
    return false;
  }
  bool there = stat(path, &info) == 0 && !S_ISREG(info.st_mode); /* path is a device or a pipe */
  char *folder = there ? NULL : resolve(path);
  bool possible = there ? access(path, W_OK) == 0 : folder != NULL;
  if (folder) {
    char *slash = strrchr(folder, '/');
    if (slash)
      slash[slash == folder] = '\0';
    possible = access(slash ? folder : ".", W_OK | X_OK) == 0;
  }
  if (!possible && errno == ENOENT && lstat(path, &info) == 0)
    cli_error("%s: cannot write: it is a link to nothing", path);
  else if (!possible)
    cli_error("%s: cannot write: %s", path, strerror(errno));
  free(folder);
  return possible;
}

/* Sets owner and mode of the new file to those of the replaced file, if there is one. */
static bool set_mode(int descriptor, const struct stat *replaced) {
  if (replaced) {
    if (replaced->st_uid != geteuid() || replaced->st_gid != getegid())
      (void)!fchown(descriptor, replaced->st_uid, replaced->st_gid); /* only privileged users may change the
                                                                        owner */
    return fchmod(descriptor, replaced->st_mode & 07777) == 0;
  }
  mode_t mask = umask(0);
  umask(mask);
  return fchmod(descriptor, 0666 & ~mask) == 0;
}

/* Creates a temporary file. aside: its name, ending in XXXXXX, which mkstemp replaces. */
static FILE *open_aside(char *aside, const struct stat *replaced) {
  pending = aside;
  int descriptor = mkstemp(aside);
  if (descriptor < 0) {
    pending = NULL;
    return NULL;
  }
  FILE *stream = set_mode(descriptor, replaced) ? fdopen(descriptor, "wb") : NULL;
  if (!stream) {
    int reason = errno;
    close(descriptor);
    unlink(aside);
    pending = NULL;
    errno = reason;
  }
  return stream;
}

bool cli_ends_with(const char *path, const char *ending) {
  size_t length = strlen(path), own = strlen(ending);
  return length >= own && strcasecmp(path + length - own, ending) == 0;
}

bool cli_output_ending(const char *what, const char *path, const char *const *endings) {
  struct stat info;
  char list[128] = "";
  size_t length = 0;
  if (!path || (stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)))
    return true;
  for (; *endings; endings++) {
    if (cli_ends_with(path, *endings))
      return true;
    length += (size_t)snprintf(list + length, sizeof list - length, " %s", *endings);
  }
  cli_error("%s: %s: the ending names no format of it; known:%s", what, path, list);
  return false;
}

bool cli_output_matrix_ending(const char *path) {
  struct stat info;
  const bool folder =
      path && stat(path, &info) == 0 && S_ISDIR(info.st_mode); /* cli_output_possible reports this */
  const bool known = !path || folder || sley_matrix_check_ending(path) == SLEY_OK;
  if (!known)
    cli_error("%s", sley_last_error());
  return known;
}

bool cli_output_open(cli_output *output, const char *path) {
  *output = (cli_output){.path = path};
  if (is_stdout(path)) {
    output->stream = stdout;
    return true;
  }
  struct stat info;
  bool there = stat(path, &info) == 0;
  if (there && !S_ISREG(info.st_mode)) { /* path is a device or a pipe */
    output->stream = fopen(path, "wb");
  } else if ((output->target = resolve(path))) {
    static const char suffix[] = ".part-XXXXXX";
    size_t bytes = output->target ? strlen(output->target) + sizeof suffix : 0;
    output->aside = bytes ? malloc(bytes) : NULL;
    if (output->aside) {
      snprintf(output->aside, bytes, "%s%s", output->target, suffix);
      output->stream = open_aside(output->aside, there ? &info : NULL);
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

static int stdout_reason;

int cli_output_stdout_reason(void) {
  return stdout_reason;
}

bool cli_output_put(cli_output *output, const void *bytes, size_t count) {
  errno = 0;
  if (fwrite(bytes, 1, count, output->stream) == count)
    return true;
  if (!output->reason)
    output->reason = errno ? errno : EIO;
  if (output->stream == stdout && !stdout_reason)
    stdout_reason = output->reason;
  return false;
}

bool cli_output_commit(cli_output *output) {
  if (output->stream == stdout) { /* main checks stdout once, at the end */
    *output = (cli_output){0};
    return true;
  }
  errno = 0;
  bool failed = ferror(output->stream) != 0;
  failed |= fclose(output->stream) != 0;
  output->stream = NULL;
  failed = failed || (output->aside && rename(output->aside, output->target) != 0);
  if (!failed)
    pending = NULL;
  if (failed) {
    cli_error("%s: cannot write: %s", output->path,
              strerror(output->reason ? output->reason
                       : errno        ? errno
                                      : EIO));
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
  pending = NULL;
  free(output->aside);
  free(output->target);
  *output = (cli_output){0};
}

static int put_json(const char *bytes, size_t count, void *output) {
  return cli_output_put(output, bytes, count) ? 0 : -1;
}

bool cli_output_json(const char *path, json_t *value) {
  cli_output output;
  if (value && !cli_sources_json(value)) {
    json_decref(value);
    value = NULL;
  }
  if (!value) {
    cli_error("%s: cannot make the JSON: out of memory, or a name in it is not UTF-8", path);
    return false;
  }
  cli_changes_json(value);
  bool done = cli_output_open(&output, path);
  if (done) {
    json_dump_callback(value, put_json, &output, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
    cli_output_put(&output, "\n", 1);
    done = cli_output_commit(&output);
  }
  json_decref(value);
  return done;
}

/* Format of .npy: magic, version 1.0, the header's length in two bytes, and a Python literal, padded so that
 * the values start at a multiple of 64. */
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
  if (cli_output_put(&output, text, TOTAL))
    cli_output_put(&output, values, (size_t)count * sizeof *values);
  return cli_output_commit(&output);
}
