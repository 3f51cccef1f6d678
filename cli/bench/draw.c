/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/draw.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "output/output.h"
#include "output/terminal.h"
#include "random.h"

enum { PATH_BYTES = 4096, DEEPEST = 16 };

/* ---- files */

static bool is_matrix(const char *name) {
  static const char *const endings[] = {".mtx",   ".sley", ".npz", ".graph",  ".el",   ".edgelist",
                                        ".edges", ".csv",  ".txt", ".konect", ".smat", ".rb",
                                        ".rua",   ".rsa",  ".psa", ".rra"};
  char plain[PATH_BYTES];
  snprintf(plain, sizeof plain, "%s", name);
  size_t length = strlen(plain);
  if (cli_ends_with(plain, ".gz"))
    plain[length - 3] = '\0';
  else if (cli_ends_with(plain, ".zst"))
    plain[length - 4] = '\0';
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
    if (cli_ends_with(plain, endings[i]))
      return true;
  return false;
}

static bool add_file(cli_files *files, const char *path) {
  char **more = realloc(files->path, (size_t)(files->count + 1) * sizeof *more);
  if (more)
    files->path = more;
  char *copy = more ? strdup(path) : NULL;
  if (!copy) {
    cli_error("out of memory for the names of files");
    return false;
  }
  files->path[files->count++] = copy;
  return true;
}

/* Joins with a slash; an empty folder adds nothing. Returns false if the path is too long. */
static bool join(char out[PATH_BYTES], const char *folder, const char *name) {
  return snprintf(out, PATH_BYTES, "%s%s%s", folder, *folder ? "/" : "", name) < PATH_BYTES;
}

static bool list_folder(const char *root, const char *below, int depth, cli_files *files);

/* Adds one entry of a folder, or the files below it. Skips entries whose type cannot be read. On failure
 * prints one line on stderr and returns false. */
static bool list_entry(const char *root, const char *below, const char *name, int depth, cli_files *files) {
  char path[PATH_BYTES], whole[PATH_BYTES];
  struct stat info;
  if (name[0] == '.' || !join(path, below, name) || !join(whole, root, path) || lstat(whole, &info) != 0)
    return true;
  if (S_ISDIR(info.st_mode))
    return depth == DEEPEST || list_folder(root, path, depth + 1, files);
  if (S_ISLNK(info.st_mode) && stat(whole, &info) != 0)
    return true;
  return !S_ISREG(info.st_mode) || !is_matrix(name) || add_file(files, path);
}

static bool list_folder(const char *root, const char *below, int depth, cli_files *files) {
  char whole[PATH_BYTES];
  bool fits = *below ? join(whole, root, below) : snprintf(whole, sizeof whole, "%s", root) < PATH_BYTES;
  DIR *folder = fits ? opendir(whole) : NULL;
  if (!folder) {
    cli_error("%s: cannot list the folder: %s", fits ? whole : root,
              fits ? strerror(errno) : "its name is too long");
    return false;
  }
  bool fine = true;
  for (struct dirent *one; fine && (one = readdir(folder));)
    fine = list_entry(root, below, one->d_name, depth, files);
  closedir(folder);
  return fine;
}

static int by_name(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

void cli_files_free(cli_files *files) {
  for (int i = 0; i < files->count; i++)
    free(files->path[i]);
  free(files->path);
  *files = (cli_files){0};
}

bool cli_files_draw(const char *folder, uint64_t seed, cli_files *out) {
  *out = (cli_files){0};
  if (!list_folder(folder, "", 0, out)) {
    cli_files_free(out);
    return false;
  }
  if (out->count > 0)
    qsort(out->path, (size_t)out->count, sizeof *out->path, by_name);
  for (int i = out->count - 1; i > 0; i--) {
    int other = (int)(cli_random_uniform(&seed) * (i + 1));
    char *path = out->path[i];
    out->path[i] = out->path[other];
    out->path[other] = path;
  }
  return true;
}

/* ---- widths */

static int by_value(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

int cli_widths_draw(uint64_t seed, const char *name, int count, int64_t widest,
                    int64_t widths[CLI_BENCH_WIDTHS]) {
  uint64_t state = seed;
  int kept = 0;
  for (; *name; name++)
    state = cli_random_next(&state) ^ (unsigned char)*name;
  for (int i = 0; i < count; i++) {
    double width = floor(exp2(cli_random_uniform(&state) * log2((double)widest + 1)));
    widths[i] = width < 1 ? 1 : width > (double)widest ? widest : (int64_t)width;
  }
  qsort(widths, (size_t)count, sizeof *widths, by_value);
  for (int i = 0; i < count; i++)
    if (kept == 0 || widths[i] != widths[kept - 1])
      widths[kept++] = widths[i];
  return kept;
}
