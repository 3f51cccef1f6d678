/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks that read a matrix together, each its own rows, and write an operand together. The oracles are the
 * reader of the whole file and the writer of the whole operand: bits, statuses and messages must be the same
 * on every rank, for random matrices in every format, for the fuzzers' corpora, and for texts with bytes
 * changed at random. */
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/random.h"
#include "base/value.h"
#include "formats.h"
#include "generate/generate.h"
#include "io/io.h"
#include "io/bytes/sink.h"
#include "partition/partition.h"
#include "ranks.h"
#include "parallel_io/parallel_io.h"

enum { MOST_RANKS = 8 };
static const int rank_counts[] = {1, 2, 3, 5, 8};

/* Expected result of reading one input. */
typedef struct expectation {
  const char *name;
  sley_dtype dtype;
  bool by_nonzeros;
  sley_status status;
  char message[1024];
  sley_matrix *whole;
} expectation;

static void expect(const char *name, sley_dtype dtype, bool by_nonzeros, expectation *out) {
  *out = (expectation){.name = name, .dtype = dtype, .by_nonzeros = by_nonzeros};
  out->status = sl_is_generator(name) ? sl_generate(name, dtype, 1, NULL, &out->whole)
                                      : test_read_file(name, dtype, NULL, &out->whole);
  if (out->status != SLEY_OK) {
    out->whole = NULL;
    snprintf(out->message, sizeof out->message, "%s", sley_last_error());
  }
}

/* Whether block is rows [first, first + rows) of the whole. */
static bool is_part(const sley_matrix *whole, int64_t first, const sley_matrix *block) {
  size_t col = sl_index_bytes(whole->index), val = sley_dtype_bytes(whole->dtype);
  if (block->cols != whole->cols || block->index != whole->index || block->dtype != whole->dtype)
    return false;
  for (int64_t i = 0; i < block->rows; i++)
    if (block->rowptr[i + 1] - block->rowptr[i] != whole->rowptr[first + i + 1] - whole->rowptr[first + i])
      return false;
  int64_t at = block->rowptr[0], there = whole->rowptr[first];
  return block->nnz == whole->rowptr[first + block->rows] - there &&
         memcmp((const char *)block->col + (size_t)at * col, (const char *)whole->col + (size_t)there * col,
                (size_t)block->nnz * col) == 0 &&
         memcmp((const char *)block->val + (size_t)at * val, (const char *)whole->val + (size_t)there * val,
                (size_t)block->nnz * val) == 0;
}

static sley_status read_as_expected(sl_comm *comm, void *arg) {
  const expectation *e = arg;
  int64_t begin[MOST_RANKS + 1], wanted[MOST_RANKS + 1];
  sl_pio_info info;
  sley_matrix *block = NULL;
  sley_status status =
      sl_pio_read(comm, e->name, &(sl_reading){.dtype = e->dtype}, 1, e->by_nonzeros, begin, &info, &block);
  if (status != e->status || (status != SLEY_OK && strcmp(sley_last_error(), e->message) != 0)) {
    char message[1024];
    snprintf(message, sizeof message, "%s", sley_last_error());
    sley_matrix_destroy(block);
    return sl_fail(SLEY_ERR_INTERNAL, "%s: %s '%s' where the whole file's reader says %s '%s'", e->name,
                   sley_status_name(status), message, sley_status_name(e->status), e->message);
  }
  if (status != SLEY_OK)
    return SLEY_OK;
  const sley_matrix *whole = e->whole;
  if (e->by_nonzeros)
    sl_partition_nnz(whole, comm->size, wanted);
  else
    sl_partition_equal(whole->rows, comm->size, wanted);
  EXPECT(memcmp(begin, wanted, ((size_t)comm->size + 1) * sizeof *begin) == 0);
  EXPECT(info.rows == whole->rows && info.cols == whole->cols && info.nnz == whole->nnz);
  EXPECT(info.entries_stored == whole->entries_stored && info.max_row_nnz == sl_matrix_max_row(whole));
  EXPECT(block->rows == begin[comm->rank + 1] - begin[comm->rank]);
  EXPECT(sl_is_generator(e->name) || memcmp(&block->source, &whole->source, sizeof whole->source) == 0);
  if (!is_part(whole, begin[comm->rank], block))
    return sl_fail(SLEY_ERR_INTERNAL, "%s: rank %d of %d has other rows than the whole file's reader",
                   e->name, comm->rank, comm->size);
  sley_matrix_destroy(block);
  return SLEY_OK;
}

static const char *transport(void) {
  const char *given = getenv("SLEY_TEST_TRANSPORT");
  return given ? given : "threads";
}

/* Whether a case runs; if ranks take long to meet, every seventh case runs. */
static bool has_turn(uint64_t seed) {
  return strcmp(transport(), "threads") == 0 || seed % 7 == 0;
}

static void run_on(int ranks, uint64_t seed, sl_rank_main main, void *arg) {
  rank_case c = {transport(), false, ranks, ranks, 1 + (int)(seed % 3), seed};
  assert_case_ok(&c, run_case(&c, main, arg));
}

static void reads_alike(const char *name, sley_dtype dtype, uint64_t seed) {
  expectation e;
  if (!has_turn(seed))
    return;
  int64_t before = sl_memory_now();
  expect(name, dtype, seed % 2 == 1, &e);
  run_on(rank_counts[seed % 5], seed, read_as_expected, &e);
  sley_matrix_destroy(e.whole);
  assert_int_equal(sl_memory_now(), before);
}

/* ---- formats */

static void every_format_by_rows(void **state) {
  (void)state;
  static const int64_t shapes[][2] = {{0, 0}, {0, 5}, {5, 0}, {1, 1}, {1, 40}, {40, 1}, {7, 13}, {130, 90}};
  static const char *const names[] = {"a.mtx", "a.mtx.gz", "a.mtx.zst", "a.sley", "a.sley.zst",
                                      "a.npz", "a.rb",     "a.rb.gz",   "a.el",   "a.el.gz"};
  uint64_t seed = 1;
  for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
    for (int dtype = 0; dtype < 4; dtype++) {
      sley_matrix *a = test_random_matrix(seed, shapes[s][0], shapes[s][1], dtype == 1 ? 0.02 : 0.3,
                                          (sley_dtype)dtype, false);
      for (size_t n = 0; n < sizeof names / sizeof *names; n++, seed++) {
        const char *path = test_path(names[n]);
        assert_sley_ok(sl_matrix_write_file(a, path, NULL));
        reads_alike(path, (sley_dtype)((dtype + (int)(seed % 2)) % 4), seed);
      }
      sley_matrix_destroy(a);
    }
}

static void symmetric_graphs(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed < 12; seed++) {
    int64_t rows = (int64_t)(seed * seed * 3 % 83);
    sley_matrix *a = test_random_matrix(seed, rows, rows, 0.2, SLEY_F32, true);
    static const char *const names[] = {"s.graph", "s.graph.gz", "s.sley"};
    for (size_t n = 0; n < 3; n++) {
      const char *path = test_path(names[n]);
      assert_sley_ok(sl_matrix_write_file(a, path, NULL));
      reads_alike(path, SLEY_F32, seed + n);
    }
    sley_matrix_destroy(a);
  }
}

static void write_text(const char *path, const void *bytes, size_t size) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, size, file), size);
  fclose(file);
}

/* Writes a text with a random header, repeats, blank lines and comments, and in some cases a wrong line. */
static size_t make_text(uint64_t seed, char *text) {
  static const char *const headers[] = {"%%MatrixMarket matrix coordinate real general\n",
                                        "%%MatrixMarket matrix coordinate pattern symmetric\n",
                                        "%%MatrixMarket matrix coordinate real skew-symmetric\n",
                                        "%%MatrixMarket matrix coordinate integer symmetric\n",
                                        "%%MatrixMarket matrix array real general\n",
                                        "%%MatrixMarket matrix array real symmetric\n",
                                        "",
                                        "% asym\n",
                                        "# nodes and edges\n",
                                        "from,to,weight\n",
                                        "\xef\xbb\xbf\n%%MatrixMarket matrix coordinate real symmetric\n"};
  enum { KINDS = sizeof headers / sizeof *headers };
  size_t kind = sl_random(seed, 0, 0) % KINDS;
  bool array = kind == 4 || kind == 5, values = kind != 1 && sl_random(seed, 0, 5) % 3 > 0;
  int64_t n = 1 + (int64_t)(sl_random(seed, 0, 1) % 30), count = (int64_t)(sl_random(seed, 0, 2) % 120);
  count = array ? (kind == 4 ? n * n : n * (n + 1) / 2) : count;
  char *at = text;
  at += sprintf(at, "%s", headers[kind]);
  if (kind < 4 || kind == 10)
    at += sprintf(at, "%% made for a test\n%lld %lld %lld\n", (long long)n, (long long)n, (long long)count);
  else if (array)
    at += sprintf(at, "%lld %lld\n", (long long)n, (long long)n);
  else if (kind == 6)
    at += sprintf(at, "%lld %lld %lld\n", (long long)n, (long long)n, (long long)count);
  bool one_side = sl_random(seed, 0, 6) % 3 > 0; /* else symmetric files have both triangles */
  uint64_t spoilt = sl_random(seed, 0, 3) % 400; /* most texts are right */
  for (int64_t e = 0; e < count; e++) {
    uint64_t bits = sl_random(seed, 1, (uint64_t)e);
    int64_t row = 1 + (int64_t)(bits % (uint64_t)n), col = 1 + (int64_t)((bits >> 20) % (uint64_t)n);
    row -= kind == 2 && row == col && n > 1 ? (row > 1 ? 1 : -1) : 0;
    bool swapped = (row + col) % 3 == 0 ? row > col : row < col;
    if (kind > 0 && kind < 4 && one_side && swapped) { /* a place's side depends on the place */
      int64_t other = row;
      row = col;
      col = other;
    }
    if (bits >> 40 == 0 || (bits >> 32) % 37 == 0)
      at += sprintf(at, (bits >> 32) % 2 ? "\n" : kind < 6 || kind == 10 ? "%% note\n" : "# note\n");
    if ((uint64_t)e == spoilt)
      at += sprintf(at, "%lld x %lld\n", (long long)row, (long long)n + 7);
    else if (array)
      at += sprintf(at, "%.3f\n", sl_unit(bits));
    else if (values || kind < 4 || kind == 10)
      at += sprintf(at,
                    kind == 1   ? "%lld %lld\n"
                    : kind == 9 ? "%lld,%lld,%.4g\n"
                                : "%lld %lld %.4g\n",
                    (long long)row, (long long)col, kind == 3 ? (double)(bits % 9) : sl_unit(bits) - 0.5);
    else
      at += sprintf(at, "%lld %lld\n", (long long)row, (long long)col);
  }
  if (sl_random(seed, 0, 4) % 5 == 0 && at > text)
    at--; /* no line end at the end */
  return (size_t)(at - text);
}

static void texts_with_repeats_and_faults(void **state) {
  (void)state;
  static char text[1 << 16];
  int failed = 0, run = 0;
  for (uint64_t seed = 1; seed <= 400; seed++) {
    if (test_draw(test_share_of(8)) != 0) /* about 50 at least, so that both kinds are among them */
      continue;
    run++;
    const char *path = test_path(seed % 4 == 0 ? "t.graph" : seed % 4 == 1 ? "t.el" : "t.txt");
    size_t size = make_text(seed, text);
    if (seed % 3 == 0 && size > 0) /* and one byte changed */
      text[sl_random(seed, 2, 0) % size] = (char)("0 1-\n%.9xe\r#"[sl_random(seed, 2, 1) % 12]);
    for (char *cr = text; seed % 11 == 0 && (cr = memchr(cr, '\n', (size_t)(text + size - cr)));)
      *cr = '\r'; /* lines that end with CR alone */
    write_text(path, text, size);
    expectation e;
    expect(path, SLEY_F64, seed % 2, &e);
    failed += e.status != SLEY_OK;
    if (has_turn(seed))
      run_on(rank_counts[seed % 5], seed, read_as_expected, &e);
    sley_matrix_destroy(e.whole);
  }
  assert_true(failed > run / 20 && failed < run - run / 20); /* both kinds were among them */
}

static void corpora_of_the_fuzzers(void **state) {
  (void)state;
  static const char *const folders[] = {"cache",    "edgelist", "metis", "mtx",
                                        "mtx_bare", "npz",      "rb",    "stream"};
  uint64_t seed = 0;
  for (size_t f = 0; f < sizeof folders / sizeof *folders; f++) {
    char folder[512], path[1024];
    snprintf(folder, sizeof folder, "%s/fuzz/corpus/%s", SLEY_TESTS_DIR, folders[f]);
    DIR *list = opendir(folder);
    assert_non_null(list);
    for (struct dirent *entry; (entry = readdir(list));) {
      if (entry->d_name[0] == '.')
        continue;
      snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
      reads_alike(path, SLEY_F32, seed++);
    }
    closedir(list);
  }
  assert_true(seed > 100);
}

/* Texts that rank 0 distributes in several pieces, with a line longer than a piece. */
static void large_compressed_texts(void **state) {
  (void)state;
  enum { LINES = 400000 };
  char *text = malloc((size_t)LINES * 24 + (3 << 20)), *at = text;
  at += sprintf(at, "%%%%MatrixMarket matrix coordinate real general\n5000 5000 %d\n", LINES);
  for (uint64_t e = 0; e < LINES; e++) {
    if (e == LINES / 2) {
      *at++ = '%';
      memset(at, 'x', 2 << 20);
      at += 2 << 20;
      *at++ = '\n';
    }
    uint64_t bits = sl_random(7, e, 0);
    at += sprintf(at, "%d %d %.3f\n", (int)(bits % 5000) + 1, (int)((bits >> 32) % 5000) + 1, sl_unit(bits));
  }
  char path[256]; /* what test_path returns is written over */
  snprintf(path, sizeof path, "%s", test_path("large.mtx"));
  const char *packed = test_path("large.mtx.zst");
  write_text(path, text, (size_t)(at - text));
  sl_sink *sink;
  assert_sley_ok(sl_sink_open(packed, &sink));
  assert_sley_ok(sl_sink_put(sink, text, (size_t)(at - text)));
  assert_sley_ok(sl_sink_commit(sink));
  expectation e;
  expect(path, SLEY_F64, true, &e);
  assert_int_equal(e.status, SLEY_OK);
  for (int ranks = 2; ranks <= 3; ranks++) {
    e.name = path;
    run_on(ranks, 1, read_as_expected, &e);
    e.name = packed;
    run_on(ranks, 2, read_as_expected, &e);
  }
  sley_matrix_destroy(e.whole);
  free(text);
}

static void generators(void **state) {
  (void)state;
  static const char *const names[] = {"er:n=300,nnz=2000",
                                      "er:m=1,cols=90,nnz=40",
                                      "er:n=0,nnz=0",
                                      "er:n=10,nnz=2000",
                                      "er:n=10,what=3",
                                      "rmat:scale=9,edgefactor=8",
                                      "rmat:scale=8,undirected,shuffle,seed=9",
                                      "twin:cyt:scale=0.002",
                                      "twin:cit:scale=0.001,seed=4",
                                      "twin:no",
                                      "dense:rows=17,cols=9",
                                      "diag:n=50",
                                      "band:n=40,width=3",
                                      "grid:nx=7,ny=9",
                                      "empty:rows=6,cols=8"};
  for (size_t n = 0; n < sizeof names / sizeof *names; n++)
    for (uint64_t seed = 0; seed < 5; seed++)
      reads_alike(names[n], (sley_dtype)(n % 4), seed + n);
}

static void what_is_no_file(void **state) {
  (void)state;
  const char *empty = test_path("empty.mtx");
  write_text(empty, "", 0);
  reads_alike(empty, SLEY_F32, 7);
  reads_alike("/nonexistent/x.mtx", SLEY_F32, 7);
  reads_alike("/tmp", SLEY_F32, 7);
}

/* One rank reads a different file. */
static sley_status read_differently(sl_comm *comm, void *arg) {
  (void)arg;
  int64_t begin[MOST_RANKS + 1];
  sl_pio_info info;
  sley_matrix *block = NULL;
  const char *name = comm->rank == 1 ? "er:n=300,nnz=2001" : "er:n=300,nnz=2000";
  EXPECT(sl_pio_read(comm, name, &(sl_reading){.dtype = SLEY_F32}, 1, false, begin, &info, &block) ==
         SLEY_ERR_ARG);
  EXPECT(strstr(sley_last_error(), "the ranks read different matrices"));
  return SLEY_OK;
}

static void different_matrices_are_found(void **state) {
  (void)state;
  run_on(3, 1, read_differently, NULL);
}

/* Reads the matrix; either it is right, or there is an error on every rank. */
static sley_status read_or_fail(sl_comm *comm, void *arg) {
  const expectation *e = arg;
  int64_t begin[MOST_RANKS + 1];
  sl_pio_info info;
  sley_matrix *block = NULL;
  sley_status status =
      sl_pio_read(comm, e->name, &(sl_reading){.dtype = e->dtype}, 1, e->by_nonzeros, begin, &info, &block);
  bool right = status != SLEY_OK || is_part(e->whole, begin[comm->rank], block);
  sley_matrix_destroy(block);
  EXPECT(right);
  return status;
}

/* A different allocation fails each time, on any rank: all ranks must return an error and leak nothing, until
 * a read succeeds. */
static void short_of_memory(void **state) {
  (void)state;
  if (strcmp(transport(), "threads") != 0)
    skip(); /* where meeting allocates too, and may end the run */
  sley_matrix *a = test_random_matrix(5, 40, 40, 0.2, SLEY_F32, true);
  static const char *const names[] = {"f.mtx", "f.sley", "f.el.gz", "f.graph", "er:n=50,nnz=200"};
  for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
    bool generated = sl_is_generator(names[n]);
    const char *path = generated ? names[n] : test_path(names[n]);
    if (!generated)
      assert_sley_ok(sl_matrix_write_file(a, path, NULL));
    expectation e;
    expect(path, n == 1 ? SLEY_F64 : SLEY_F32, n % 2 == 0, &e);
    int64_t before = sl_memory_now();
    rank_case c = {"threads", false, 3, 3, 1, 1};
    sley_status status = SLEY_ERR_MEMORY;
    int64_t failed = 0;
    for (; status != SLEY_OK && failed < 2000; failed++) {
      sl_memory_fail_at(failed + 1);
      status = run_case(&c, read_or_fail, &e);
      sl_memory_fail_at(0);
      if (status != SLEY_OK && status != SLEY_ERR_MEMORY)
        fail_msg("%s, allocation %lld: %s: %s", names[n], (long long)failed + 1, sley_status_name(status),
                 sley_last_error());
      if (sl_memory_now() != before)
        fail_msg("%s, allocation %lld: %lld bytes leak after: %s", names[n], (long long)failed + 1,
                 (long long)(sl_memory_now() - before), sley_last_error());
    }
    assert_true(failed > 10 && failed < 2000);
    sley_matrix_destroy(e.whole);
  }
  sley_matrix_destroy(a);
}

/* ---- writing */

typedef struct output {
  const char *path;
  sley_dtype dtype;
  int64_t rows, cols, ld;
  char *data;
  int failing; /* the rank that passes rows that it does not own; -1: none */
  sley_status status;
} output;

static sley_status write_as_expected(sl_comm *comm, void *arg) {
  const output *o = arg;
  int64_t begin[MOST_RANKS + 1];
  sl_partition_equal(o->rows, comm->size, begin);
  int64_t first = begin[comm->rank], count = begin[comm->rank + 1] - first;
  const char *own = o->data + (size_t)(first * o->ld) * sley_dtype_bytes(o->dtype);
  sley_status status = sl_pio_write(comm, o->path, o->dtype, o->rows, o->cols,
                                    first + (comm->rank == o->failing), count, own, o->ld);
  EXPECT(status == o->status);
  return SLEY_OK;
}

static int64_t file_bytes(const char *path, char **out) {
  struct stat info;
  int file = open(path, O_RDONLY);
  if (file < 0 || fstat(file, &info) != 0)
    return -1;
  *out = malloc((size_t)info.st_size + 1);
  assert_int_equal(read(file, *out, (size_t)info.st_size), info.st_size);
  close(file);
  return info.st_size;
}

static int files_in(const char *path) {
  char folder[512];
  snprintf(folder, sizeof folder, "%s", path);
  *strrchr(folder, '/') = '\0';
  DIR *list = opendir(folder);
  int count = 0;
  while (readdir(list))
    count++;
  closedir(list);
  return count;
}

static void writes_what_one_would(void **state) {
  (void)state;
  static const int64_t shapes[][3] = {{0, 0, 0}, {0, 4, 4},     {5, 0, 0},         {1, 1, 1},
                                      {3, 7, 9}, {200, 33, 33}, {1000, 1200, 1203}};
  static const char *const names[] = {"y.npy", "y.npy.gz", "y.npy"};
  uint64_t seed = 0;
  for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
    for (int dtype = 0; dtype < 4; dtype++, seed++) {
      output o = {.dtype = (sley_dtype)dtype,
                  .rows = shapes[s][0],
                  .cols = shapes[s][1],
                  .ld = shapes[s][2],
                  .failing = -1,
                  .path = test_path(names[seed % 3])};
      o.data = calloc((size_t)(o.rows * o.ld) + 1, 8);
      sl_generate_values(seed, 0, o.rows, o.cols, NULL, o.dtype, o.data, o.ld);
      char *wanted = NULL, *is = NULL;
      assert_sley_ok(sl_npy_write(o.path, o.dtype, o.rows, o.cols, o.data, o.ld));
      int64_t bytes = file_bytes(o.path, &wanted);
      unlink(o.path);
      int files = files_in(o.path);
      run_on(rank_counts[seed % 5], seed, write_as_expected, &o);
      assert_int_equal(file_bytes(o.path, &is), bytes);
      assert_memory_equal(is, wanted, (size_t)bytes);
      assert_int_equal(files_in(o.path), files + 1);
      free(is);
      free(wanted);
      free(o.data);
    }
}

static void leaves_nothing_after_an_error(void **state) {
  (void)state;
  float values[12] = {1};
  output o = {.dtype = SLEY_F32, .rows = 12, .cols = 1, .ld = 1, .data = (char *)values, .failing = 1};
  o.path = test_path("z.npy");
  int files = files_in(o.path);
  o.status = SLEY_ERR_ARG;
  run_on(3, 1, write_as_expected, &o);
  assert_int_equal(files_in(o.path), files);
  o.failing = -1;
  o.status = SLEY_ERR_IO;
  o.path = "/nonexistent/z.npy";
  run_on(3, 1, write_as_expected, &o);
  o.path = "/dev/full";
  run_on(3, 1, write_as_expected, &o);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_format_by_rows),
                                     cmocka_unit_test(symmetric_graphs),
                                     cmocka_unit_test(texts_with_repeats_and_faults),
                                     cmocka_unit_test(corpora_of_the_fuzzers),
                                     cmocka_unit_test(large_compressed_texts),
                                     cmocka_unit_test(generators),
                                     cmocka_unit_test(what_is_no_file),
                                     cmocka_unit_test(short_of_memory),
                                     cmocka_unit_test(different_matrices_are_found),
                                     cmocka_unit_test(writes_what_one_would),
                                     cmocka_unit_test(leaves_nothing_after_an_error)};
  return cmocka_run_group_tests(tests, NULL, test_clean);
}
