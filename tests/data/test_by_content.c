/* SPDX-License-Identifier: Apache-2.0 */
/* The real files of every text and archive format under a name that says nothing: their content alone tells
 * the format, and rows, columns and entries are the manifest's. */
#include "formats.h"
#include "io/io.h"
#include "support.h"

enum { COLUMNS = 5, PATH = 8192 };

/* Splits the first COLUMNS fields of a line at its tabs; false if there are fewer. */
static bool split(char *line, char *field[COLUMNS]) {
  for (int c = 0; c < COLUMNS; c++) {
    field[c] = line;
    char *tab = strchr(line, '\t');
    if (!tab)
      return false;
    *tab = 0;
    line = tab + 1;
  }
  return true;
}

static char *read_file(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  fseek(file, 0, SEEK_END);
  *size = (size_t)ftell(file);
  rewind(file);
  char *bytes = malloc(*size + 1);
  assert_int_equal(fread(bytes, 1, *size, file), *size);
  fclose(file);
  return bytes;
}

static void reads_without_a_telling_name(void **state) {
  (void)state;
  static const char *const folders[] = {"edgelist/", "hb/", "metis/", "npz/", "snap/"};
  const char *data = test_data_dir();
  if (!data)
    skip();
  char path[PATH], line[4096], *field[COLUMNS];
  int read = 0, refused = 0;
  snprintf(path, sizeof path, "%s/MANIFEST.tsv", data);
  FILE *manifest = fopen(path, "r");
  assert_non_null(manifest);
  while (fgets(line, sizeof line, manifest)) {
    bool wanted = false;
    for (size_t f = 0; f < sizeof folders / sizeof *folders; f++)
      wanted |= strncmp(line, folders[f], strlen(folders[f])) == 0;
    if (!wanted || !split(line, field))
      continue;
    size_t size;
    snprintf(path, sizeof path, "%s/%s", data, field[0]);
    char *bytes = read_file(path, &size);
    sley_matrix *a;
    sley_status status = test_read_memory("x", bytes, size, SLEY_F32, NULL, &a);
    free(bytes);
    if (status == SLEY_OK) {
      if (a->rows != atoll(field[2]) || a->cols != atoll(field[3]) || a->entries_stored != atoll(field[4]))
        fail_msg("%s reads as %lld x %lld with %lld entries", field[0], (long long)a->rows,
                 (long long)a->cols, (long long)a->entries_stored);
      sl_matrix_destroy(a);
      read++;
    } else if (status == SLEY_ERR_UNSUPPORTED ||
               !field[2][0]) { /* complex, or a foreign binary without sizes */
      refused++;
    } else {
      fail_msg("%s: %s", field[0], sley_last_error());
    }
  }
  fclose(manifest);
  print_message("%d files read by their content, %d refused\n", read, refused);
  assert_true(read >= 50 && refused <= 4);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(reads_without_a_telling_name)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
