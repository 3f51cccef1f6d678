/* SPDX-License-Identifier: Apache-2.0 */
/* Common parts of test programs. */
#include "support.h"

#include <sys/stat.h>

const char *test_data_dir(void) {
  const char *dir = getenv("SLEY_DATA");
  if (!dir || !*dir)
    dir = SLEY_DATA_DIR;
  struct stat info;
  if (stat(dir, &info) == 0 && S_ISDIR(info.st_mode))
    return dir;
  fprintf(stderr, "note: %s is absent, so tests on the real matrices are skipped\n", dir);
  return NULL;
}
