/* SPDX-License-Identifier: Apache-2.0 */
/* Files like those published on the web: every banner, correct and slightly wrong, with comments, line ends,
 * names, byte order marks and compressions, in all combinations. Each file has one meaning: it must be read
 * with this meaning, or refused in one line; a file without faults must be read. */
#include <math.h>
#include <unistd.h>

#include "formats.h"
#include "io/bytes/sink.h"
#include "io/io.h"

enum { ROWS = 3, TEXT = 1 << 12 };
#define N NAN

typedef struct meaning {
  int rows;
  double dense[ROWS * ROWS];
} meaning;

/* Meaning of the Matrix Market file below, which contains the lower triangle. */
static const meaning mirrored = {3, {1, 5, N, 5, N, N, N, N, 2}};
static const meaning directed = {3, {N, 2, N, N, N, 4, 8, N, N}};
static const meaning halves = {3, {N, 0.5, N, N, N, 1.5, N, N, N}};
static const meaning path = {3, {N, 1, 1, 1, N, N, 1, N, N}};
static const meaning loop = {3, {N, 1, N, N, N, 1, N, N, 1}}; /* the entries as written, with `sym` or
                                                               * without */

typedef struct family {
  const char *lead;  /* the banner and the text before it */
  const char *after; /* the lines after the comment */
  const meaning *is;
  bool sound;        /* the file has no fault, so it must be read */
  const char *names; /* file names under which it has this meaning */
  const char *marks; /* comment characters of the format */
} family;

#define MM    "MatrixMarket matrix coordinate real symmetric\n"
#define SIZED "3 3 3\n1 1 1\n2 1 5\n3 3 2\n"
#define ANY   "a.mtx a.el a a.txt a.csv a.graph a.smat a.rb"
#define EDGES "1 2 2\n2 3 4\n3 1 8\n"
static const family families[] = {
    {"%%" MM, SIZED, &mirrored, true, ANY, "%"},
    {"\n%%" MM, SIZED, &mirrored, true, ANY, "%"},
    {" \n\n%%" MM, SIZED, &mirrored, true, ANY, "%"},
    {"% written by me\n%%" MM, SIZED, &mirrored, true, ANY, "%"},
    {"# written by me\n\n%%" MM, SIZED, &mirrored, true, ANY, "%"},
    {"%" MM, SIZED, &mirrored, true, ANY, "%"},
    {"%%%" MM, SIZED, &mirrored, true, ANY, "%"},
    {"%% " MM, SIZED, &mirrored, true, ANY, "%"},
    {"% %" MM, SIZED, &mirrored, true, ANY, "%"},
    {" %%" MM, SIZED, &mirrored, true, ANY, "%"},
    {"#%%" MM, SIZED, &mirrored, true, ANY, "%"},
    {"# " MM, SIZED, &mirrored, true, ANY, "%"},
    {MM, SIZED, &mirrored, true, ANY, "%"},
    {"%%matrixmarket MATRIX Coordinate Real Symmetric\n", SIZED, &mirrored, true, ANY, "%"},
    {"%%Matrix Market matrix coordinate real symmetric\n", SIZED, &mirrored, true, ANY, "%"},
    {"%%MatrixMarkt matrix coordinate real symmetric\n", SIZED, &mirrored, false, ANY, "%"},
    {"% matrix coordinate real symmetric\n", SIZED, &mirrored, false, ANY, "%"},
    {"%MatrixMarket coordinate real symmetric\n", SIZED, &mirrored, false, ANY, "%"},
    {"%%MatrixMarket matrix coordinate real symmetrical\n", SIZED, &mirrored, false, ANY, "%"},
    {"% asym weighted\n% 3 3 3\n", EDGES, &directed, true, ANY, "%#"},
    {"\n%asym weighted\n% 3 3 3\n", EDGES, &directed, true, ANY, "%#"},
    {"%% asym\tweighted\n% 3 3 3\n", EDGES, &directed, true, ANY, "%#"},
    {"% made by me\n% asym positive\n", EDGES, &directed, true, ANY, "%#"},
    {"% bip weighted\n% 3 3 3\n", EDGES, &directed, true, ANY, "%#"},
    {"% sym unweighted\n% 3 3 3\n", "1 2\n2 3\n3 3\n", &loop, true, ANY, "%#"},
    {"% asym weighted\n% 4 3 3\n", EDGES, &directed, false, ANY, "%#"}, /* a line is missing */
    {"# Nodes: 3 Edges: 3\n# FromNodeId\tToNodeId\n", EDGES, &directed, true, ANY, "%#"},
    {"# Nodes: 3 Edges: 3\n# FromNodeId\tToNodeId\n", "0\t1 2\n1\t2 4\n2\t0 8\n", &directed, true, ANY, "%#"},
    {"# mine\n", EDGES, &directed, true, "a.el a a.txt a.csv", "%#"},
    {"", EDGES, &directed, true, "a.el a a.txt a.csv a.edges -", "%#"},
    {"", "1 2 2\n2 3 4\n3 1 8 \n", &directed, true, "a.el a", "%#"},
    {"source target weight\n", EDGES, &directed, true, "a.el a a.csv", "%#"},
    {"source,target,weight\n", "0,1,2\n1,2,4\n2,0,8\n", &directed, true, "a.el a a.csv", "%#"},
    {"source;target;weight\n", "0;1;0,5\n1;2;1,5\n", &halves, true, "a.el a a.csv", "%#"},
    {"", "0;1;0,5\n1;2;1,5\n", &halves, true, "a.el a a.csv", "%#"},
    {"", "0;1;0.5\n1;2;1.5\n", &halves, true, "a.el a a.csv", "%#"},
    {"", "0 1 0,5\n1 2 1,5\n", &halves, false, "a.el a a.csv", "%#"},
    {"", "0\t1\t0,5\n1\t2\t1,5\n", &halves, false, "a.el a a.csv", "%#"},
    {"", "0,1;0.5\n1 2,1.5\n", &halves, true, "a.el a a.csv", "%#"},
    {"nodes 3 edges 3\n", EDGES, &directed, false, "a.el a a.csv", "%#"},
    {"", "3 3 3\n0 1 2\n1 2 4\n2 0 8\n", &directed, true, "a a.txt a.mtx a.smat", "%"},
    {"", "3 3 3\n1 2 2\n2 3 4\n3 1 8\n", &directed, false, "a a.txt a.mtx", "%"},
    {"", "3 2\n2 3\n1\n1\n", &path, true, "a a.graph a.metis a.txt", "%"},
};

static const char *const ends[] = {"\n", "\r\n", "\r", "\r\r\n", "mixed", "lacking"};
static const char *const marks[] = {"", "\xef\xbb\xbf", "\xff\xfe"};

/* Writes the text with these line ends, as UTF-16 if the byte order mark is that of UTF-16; returns its
 * length. */
static size_t spell(const char *plain, const char *end, const char *mark, char *out) {
  size_t length = strlen(mark), lines = 0;
  bool wide = (unsigned char)mark[0] == 0xff;
  memcpy(out, mark, length);
  for (const char *at = plain; *at; at++) {
    char one[3] = {*at, 0, 0};
    const char *put = one;
    if (*at == '\n' && strcmp(end, "mixed") == 0)
      put = lines++ % 2 ? "\n" : "\r";
    else if (*at == '\n' && strcmp(end, "lacking") != 0)
      put = end;
    else if (*at == '\n' && !at[1])
      put = "";
    for (; *put; put++) {
      out[length++] = *put;
      if (wide)
        out[length++] = 0;
    }
  }
  return length;
}

typedef struct tally {
  int read, refused, wrong;
} tally;

/* Checks the result of reading a file. */
static void judge(tally *t, sley_status status, sley_matrix *a, const family *f, bool sound,
                  const char *what) {
  if (status != SLEY_OK) {
    const char *message = sley_last_error();
    bool proper =
        (status == SLEY_ERR_INPUT || status == SLEY_ERR_UNSUPPORTED) && message[0] && !strchr(message, '\n');
    if (!proper || sound)
      print_message("%s, %s: %s\n", f->lead, what, message);
    t->wrong += !proper || sound;
    t->refused++;
    return;
  }
  bool same = a->rows == f->is->rows && a->cols == f->is->rows;
  for (int64_t i = 0; i < a->rows && same; i++)
    for (int64_t j = 0; j < a->cols && same; j++) {
      double value = test_value(a, i, j), wanted = f->is->dense[i * ROWS + j];
      same = value == wanted || (isnan(value) && isnan(wanted));
    }
  if (!same)
    print_message("%s, %s: has another meaning\n", f->lead, what);
  t->wrong += !same;
  t->read++;
  sl_matrix_destroy(a);
}

static void read_packed(tally *t, const family *f, const char *name, const char *bytes, size_t size,
                        bool sound, const char *what) {
  static const char *const endings[] = {".gz", ".zst"};
  for (int e = 0; e < 2; e++) {
    char file[32];
    snprintf(file, sizeof file, "%s%s", name, endings[e]);
    sl_sink *sink;
    sley_matrix *a = NULL;
    const char *where = test_path(file);
    assert_sley_ok(sl_sink_open(where, &sink));
    assert_sley_ok(sl_sink_put(sink, bytes, size));
    assert_sley_ok(sl_sink_commit(sink));
    sley_status status = test_read_file(where, SLEY_F64, NULL, &a);
    judge(t, status, a, f, sound, what);
    unlink(where);
  }
}

static void one_meaning_or_none(void **state) {
  (void)state;
  static const char *const comments[] = {"", "% a comment 3 3\n", "# 7\n", "%\n\n"};
  tally t = {0};
  int packed = 0;
  for (size_t f = 0; f < sizeof families / sizeof *families; f++)
    for (size_t c = 0; c < sizeof comments / sizeof *comments; c++)
      for (size_t e = 0; e < sizeof ends / sizeof *ends; e++)
        for (size_t m = 0; m < sizeof marks / sizeof *marks; m++) {
          char plain[TEXT], bytes[2 * TEXT], names[64], what[64];
          const family *it = &families[f];
          if (comments[c][0] && !strchr(it->marks, comments[c][0]))
            continue;
          snprintf(plain, sizeof plain, "%s%s%s", it->lead, comments[c], it->after);
          size_t size = spell(plain, ends[e], marks[m], bytes);
          bool sound = it->sound && m < 2 && strcmp(ends[e], "mixed") != 0;
          snprintf(names, sizeof names, "%s", it->names);
          for (char *name = strtok(names, " "); name; name = strtok(NULL, " ")) {
            sley_matrix *a = NULL;
            snprintf(what, sizeof what, "%s, comment %d, end %d, mark %d", name, (int)c, (int)e, (int)m);
            sley_status status = test_read_memory(name, bytes, size, SLEY_F64, NULL, &a);
            judge(&t, status, a, it, sound, what);
            if (packed++ % 8 == 0 && strcmp(name, "-") != 0)
              read_packed(&t, it, name, bytes, size, sound, what);
          }
        }
  print_message("%d files are read, %d refused\n", t.read, t.refused);
  assert_int_equal(t.wrong, 0);
  assert_true(t.read > 4000 && t.refused > 2000);
}

static void what_was_read_is_told(void **state) {
  (void)state;
  static const struct {
    const char *name, *text, *format, *description;
    int base;
    const char *reason;
    int64_t unread;
  } cases[] = {
      {"a.mtx", "%" MM SIZED, "mtx", "Matrix Market", -1, "", 0},
      {"a.el", "1 2\n2 3\n", "edgelist", "edge list", 1, "smallest row or column is 1; if node 0", 0},
      {"a.el", "0 2\n2 3\n", "edgelist", "edge list", 0, "is 0", 0},
      {"a.el", "4 2\n2 3\n", "edgelist", "edge list", 0, "if the first is 1, give base 1", 0},
      {"a", "# Nodes: 4 Edges: 2\n1 2\n2 3\n", "edgelist", "edge list", 0, "number of nodes", 0},
      {"a", "# Nodes: 3 Edges: 2\n1 2\n2 3\n", "edgelist", "edge list", 1, "number of nodes", 0},
      {"a", "% sym unweighted\n1 2\n2 3\n", "edgelist", "edge list", 1, "mirrors no edge", 0},
      {"a.el", "1 2 1 9 9\n2 3 1 9\n1 1\n", "edgelist", "edge list", 1, "", 2},
      {"labels.txt", "3\n0\n-1\n", "numbers", "one column of integers", -1, "", 0},
      {"a.txt", "3\n0.5\n", "numbers", "one column of numbers", -1, "", 0},
      {"a.smat", "3 3 1\n1 2 4\n", "numbers", "triplets without a header", 0, "ending", 0},
      {"a", "2 2\n1\n2\n3\n4\n", "numbers", "an array without a header", -1, "", 0},
      {"a.graph", "3 1\n2\n1\n", "metis", "METIS", -1, "", 0}, /* the last vertex's line end is missing */
  };
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    sley_matrix *a;
    sley_matrix_source source;
    assert_sley_ok(test_read(cases[c].name, cases[c].text, SLEY_F32, &a));
    assert_sley_ok(sley_matrix_source_get(a, &source));
    assert_string_equal(source.format, cases[c].format);
    assert_string_equal(source.description, cases[c].description);
    assert_int_equal(source.base, cases[c].base);
    assert_non_null(strstr(source.base_reason ? source.base_reason : "", cases[c].reason));
    assert_int_equal(source.unread_lines, cases[c].unread);
    sl_matrix_destroy(a);
  }
}

/* Reads a file with given options and checks its sizes, or with 0 rows the message of its refusal. */
static void check_asked(const char *name, const char *text, const char *format, int base, int64_t rows,
                        const char *says) {
  const char *where = test_path(name);
  FILE *file = fopen(where, "wb");
  assert_non_null(file);
  fputs(text, file);
  fclose(file);
  sley_read_options options = SLEY_READ_OPTIONS_INIT;
  options.format = format;
  options.base = base;
  sley_matrix *a;
  sley_status status = sley_matrix_read(where, &options, &a);
  unlink(where);
  if (rows == 0) {
    assert_true(status == SLEY_ERR_INPUT || status == SLEY_ERR_ARG);
    if (!strstr(sley_last_error(), says))
      fail_msg("'%s' does not say '%s'", sley_last_error(), says);
    return;
  }
  assert_sley_ok(status);
  sley_matrix_info info;
  assert_sley_ok(sley_matrix_info_get(a, &info));
  assert_int_equal(info.rows, rows);
  sley_matrix_destroy(a);
}

static void format_and_base_are_obeyed(void **state) {
  (void)state;
  check_asked("a.el", "1 2\n2 3\n", NULL, -1, 3, NULL);
  check_asked("a.el", "1 2\n2 3\n", NULL, 0, 4, NULL);
  check_asked("a.el", "4 2\n2 3\n", NULL, 1, 4, NULL);
  check_asked("a.el", "0 2\n2 3\n", NULL, 1, 0, "base 1");
  check_asked("a.el", "% asym\n% 1 3 3\n0 2\n", NULL, 0, 3, NULL);
  check_asked("a.el", "% asym\n% 1 3 3\n0 3\n", NULL, 0, 0, "column is above the 2");
  check_asked("a.txt", "2 2 1\n1 2 5\n", NULL, -1, 0, "--format");
  check_asked("a.txt", "2 2 1\n1 2 5\n", "edgelist", -1, 2, NULL);
  check_asked("a.txt", "2 2 1\n1 2 5\n", "numbers", -1, 2, NULL);
  check_asked("a.txt", "2 2 1\n1 1 5\n", "numbers", 0, 2, NULL);
  check_asked("a.txt", "2 2 1\n0 1 5\n", "numbers", 1, 0, "base 1");
  check_asked("a.txt", "3 3\n2 3\n1 3\n1 2\n", NULL, -1, 0, "METIS, or edge list");
  check_asked("a.txt", "3 3\n2 3\n1 3\n1 2\n", "metis", -1, 3, NULL);
  check_asked("a.txt", "3 3\n2 3\n1 3\n1 2\n", "graph", -1, 3, NULL);
  check_asked("a.graph", "3 3\n2 3\n1 3\n1 2\n", "el", -1, 3, NULL);
  check_asked("a.txt", "1 2\n2 3 4\n", NULL, -1, 0, "--format");
  check_asked("a.txt", "1 2\n2 3 4\n", "edgelist", -1, 3, NULL);
  check_asked("a.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 0\n", "edgelist", -1, 3, NULL);
  check_asked("a.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 0\n", NULL, 0, 0, "a base is for");
  check_asked("a.mtx", "1 2\n", "mtx", -1, 0, "must start with");
  check_asked("a.mtx", "1 2\n", "npz", -1, 0, "a.mtx");
  check_asked("a.mtx", "1 2\n", "sley", -1, 0, "a.mtx");
  check_asked("a.mtx", "1 2\n", "excel", -1, 0, "no format is named 'excel'; there are sley npz mtx");
  check_asked("a.mtx", "1 2\n", NULL, 2, 0, "base is 2");
  sley_read_options options = SLEY_READ_OPTIONS_INIT;
  options.base = 0;
  sley_matrix *a;
  assert_int_equal(sley_matrix_read("diag:n=3", &options, &a), SLEY_ERR_ARG);
  assert_non_null(strstr(sley_last_error(), "generator"));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(one_meaning_or_none),
                                     cmocka_unit_test(what_was_read_is_told),
                                     cmocka_unit_test(format_and_base_are_obeyed)};
  return cmocka_run_group_tests(tests, NULL, test_clean);
}
