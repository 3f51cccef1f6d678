/* SPDX-License-Identifier: Apache-2.0 */
/* Every file of MANIFEST.tsv. A line with numbers names a file that must read with these rows, columns and
 * stored entries; one without, a file that must be refused with its line. Exceptions, each for a reason:
 *   complex values   refused as SLEY_ERR_UNSUPPORTED, with one line that says so; their numbers are not
 * checked .npy             a dense operand: read as such, its entries are rows x cols PIGO binary another
 * library's private layout, without rows or columns in the manifest: refused Labels (one number a line) are a
 * column of numbers and read as such. */
#include "base/memory.h"
#include "formats.h"
#include "io/io.h"
#include "support.h"

enum { FIELDS = 12, LINE = 4096 };

typedef struct tally {
  int read, complex, dense, refused, failed;
} tally;

typedef struct entry {
  const char *file, *format, *rows, *cols, *stored, *field, *notes;
} entry;

static void complain(tally *sum, const entry *what, const char *why) {
  fprintf(stderr, "%s: %s: %s\n", what->file, why, sley_last_error());
  sum->failed++;
}

static bool mentions(const char *text, const char *word) {
  return strstr(text, word) != NULL;
}

/* Whether the field column says complex: in words, or as the first letter of a Harwell-Boeing type ("RB
 * csa"). */
static bool is_complex(const entry *what) {
  if (mentions(what->format, "Boeing"))
    return strlen(what->field) >= 4 && what->field[3] == 'c';
  return strncmp(what->field, "complex", 7) == 0;
}

static void check_dense(tally *sum, const entry *what, const char *path) {
  int64_t rows, cols;
  void *data;
  if (sl_npy_read(path, SLEY_F32, &rows, &cols, &data) != SLEY_OK) {
    complain(sum, what, "is not read");
    return;
  }
  if (rows != atoll(what->rows) || cols != atoll(what->cols) || rows * cols != atoll(what->stored))
    complain(sum, what, "has other sizes");
  else
    sum->dense++;
  sl_free(data);
}

static void check_file(tally *sum, const entry *what, const char *folder, sl_team *team) {
  char path[2 * LINE], where[2 * LINE + 1];
  snprintf(path, sizeof path, "%s/%s", folder, what->file);
  snprintf(where, sizeof where, "%s:", path);
  if (strcmp(what->format, "npy") == 0) {
    check_dense(sum, what, path);
    return;
  }
  sley_matrix *a = NULL;
  sley_status status = test_read_file(path, SLEY_F32, team, &a);
  if (is_complex(what)) {
    if (status == SLEY_ERR_UNSUPPORTED && mentions(sley_last_error(), "complex") &&
        mentions(sley_last_error(), path))
      sum->complex++;
    else
      complain(sum, what, "is complex and not refused as such");
  } else if (!*what->rows) {
    const char *message = sley_last_error();
    bool line = strncmp(message, where, strlen(where)) == 0 && atoi(message + strlen(where)) >= 1;
    if (status == SLEY_ERR_INPUT && line)
      sum->refused++;
    else
      complain(sum, what, status == SLEY_OK ? "is malformed but read" : "is refused without its line");
  } else if (status != SLEY_OK) {
    complain(sum, what, "is not read");
  } else if (a->rows != atoll(what->rows) || a->cols != atoll(what->cols) ||
             a->entries_stored != atoll(what->stored)) {
    fprintf(stderr, "%s: reads as %lld x %lld with %lld entries, not %s x %s with %s\n", what->file,
            (long long)a->rows, (long long)a->cols, (long long)a->entries_stored, what->rows, what->cols,
            what->stored);
    sum->failed++;
  } else {
    sum->read++;
  }
  if (status == SLEY_OK)
    sl_matrix_destroy(a);
}

static void every_file_is_as_the_manifest_says(void **state) {
  (void)state;
  const char *folder = test_data_dir();
  if (!folder)
    skip();
  char path[1024], line[LINE];
  snprintf(path, sizeof path, "%s/MANIFEST.tsv", folder);
  FILE *manifest = fopen(path, "r");
  assert_non_null(manifest);
  sl_team *team;
  assert_sley_ok(sl_team_create(2, &team));
  tally sum = {0};
  int files = 0;
  assert_non_null(fgets(line, sizeof line, manifest)); /* the names of the columns */
  while (fgets(line, sizeof line, manifest)) {
    char *fields[FIELDS], *at = line;
    int count = 0;
    while (count < FIELDS && at) {
      fields[count++] = at;
      at = strchr(at, '\t');
      if (at)
        *at++ = 0;
    }
    assert_int_equal(count, FIELDS);
    entry what = {fields[0], fields[1], fields[2], fields[3], fields[4], fields[5], fields[8]};
    check_file(&sum, &what, folder, team);
    files++;
  }
  fclose(manifest);
  sl_team_destroy(team);
  fprintf(stderr,
          "%d files: %d matrices and %d dense arrays read, %d complex and %d malformed refused, %d wrong\n",
          files, sum.read, sum.dense, sum.complex, sum.refused, sum.failed);
  assert_int_equal(sum.failed, 0);
  assert_int_equal(sum.read + sum.dense + sum.complex + sum.refused, files);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_file_is_as_the_manifest_says)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
