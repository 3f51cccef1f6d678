/* SPDX-License-Identifier: Apache-2.0 */
/* Replays the fuzzers' corpora, seeds and mended findings alike, without libFuzzer; and every cut of each
 * file. */
#include <dirent.h>
#include <errno.h>

#include "fuzz_targets.h"
#include "support.h"

enum { ROOM = 1 << 16, CUTS = 300 };

static size_t load(const char *path, uint8_t *bytes) {
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  size_t size = fread(bytes, 1, ROOM, file);
  fclose(file);
  return size;
}

/* Runs on an exact copy, so that a sanitizer sees a read beyond it. */
static void run_copy(const fuzz_target *target, const uint8_t *bytes, size_t size) {
  uint8_t *copy = malloc(size ? size : 1);
  memcpy(copy, bytes, size);
  target->run(copy, size);
  free(copy);
}

static void replays_every_corpus(void **state) {
  (void)state;
  static uint8_t bytes[ROOM];
  for (int t = 0; t < fuzz_target_count; t++) {
    char folder[512], path[1024];
    snprintf(folder, sizeof folder, "%s/fuzz/corpus/%s", SLEY_TESTS_DIR, fuzz_targets[t].name);
    DIR *list = opendir(folder);
    if (!list)
      fail_msg("%s: %s", folder, strerror(errno));
    int files = 0;
    for (struct dirent *entry; (entry = readdir(list));) {
      if (entry->d_name[0] == '.')
        continue;
      snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
      size_t size = load(path, bytes);
      run_copy(&fuzz_targets[t], bytes, size);
      for (size_t cut = size > CUTS ? size - CUTS : 0; cut < size; cut++)
        run_copy(&fuzz_targets[t], bytes, cut);
      files++;
    }
    closedir(list);
    assert_true(files > 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(replays_every_corpus)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
