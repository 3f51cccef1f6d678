/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes beyond 31 bits: a message of 3 10^9 bytes, in an exchange and in a collective; a product whose X has
 * more than 2^31 values, the last of which another rank needs; a product whose matrix has more than 2^31
 * nonzeros; and a Y of this size written by rows. The tests need up to 18 GiB and minutes, so they run only
 * if SLEY_TEST_BIG is set and enough memory is free, on two ranks of the transport that SLEY_TEST_TRANSPORT
 * names. */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/half.h"
#include "base/memory.h"
#include "formats.h"
#include "ranks.h"
#include "parallel_io/parallel_io.h"

#define GIB (INT64_C(1) << 30)

/* Skips the test unless it was requested and enough memory is free. */
static void need(int64_t bytes) {
  char line[128];
  long long available = 0;
  if (!getenv("SLEY_TEST_BIG")) {
    print_message("skipped: takes %.0f GiB; set SLEY_TEST_BIG=1\n", (double)bytes / (double)GIB);
    skip();
  }
  FILE *file = fopen("/proc/meminfo", "r");
  while (file && fgets(line, sizeof line, file))
    if (sscanf(line, "MemAvailable: %lld", &available) == 1)
      break;
  if (file)
    fclose(file);
  if (available * 1024 < bytes) {
    print_message("skipped: takes %.0f GiB, and %.0f are free\n", (double)bytes / (double)GIB,
                  (double)available * 1024 / (double)GIB);
    skip();
  }
}

static const char *transport(void) {
  const char *given = getenv("SLEY_TEST_TRANSPORT");
  return given ? given : "threads";
}

/* Runs two ranks in workgroups of 1, so that rows travel as messages. */
static void run_on_two(sl_rank_main main, void *arg) {
  rank_case c = {transport(), false, 2, 1, 1, 1};
  assert_case_ok(&c, run_case(&c, main, arg));
}

/* ---- messages */

enum { ROWS = 3000, ROW_WORDS = 125000 };

static uint64_t word(int64_t row, int64_t i) {
  return (uint64_t)(row * ROW_WORDS + i) * UINT64_C(0x9e3779b97f4a7c15);
}

static sley_status exchange_rows(sl_comm *comm, void *arg) {
  (void)arg;
  static int64_t backwards[ROWS];
  uint64_t *data;
  sl_exchange *exchange;
  bool sends = comm->rank == 0;
  const int64_t bytes = (int64_t)ROW_WORDS * (int64_t)sizeof *data;
  for (int64_t r = 0; r < ROWS && sends; r++)
    backwards[r] = ROWS - 1 - r;
  sl_row_list list = {.peer = !comm->rank, .count = ROWS, .bytes = bytes, .rows = sends ? backwards : NULL};
  sl_exchange_spec spec = {.name = "big", .sends = sends, .recvs = !sends, .send = &list, .recv = &list};
  SL_TRY(SL_NEW(data, (int64_t)ROWS * ROW_WORDS, "rows"));
  for (int64_t r = 0; r < ROWS && sends; r++)
    for (int64_t i = 0; i < ROW_WORDS; i++)
      data[r * ROW_WORDS + i] = word(r, i);
  SL_TRY(comm->ops->exchange_create(comm, &spec, &exchange));
  SL_TRY(comm->ops->exchange_begin(exchange, data, bytes, data, bytes, comm->queue));
  SL_TRY(comm->ops->exchange_end(exchange, comm->queue));
  SL_TRY(sl_exchange_reclaim(exchange, comm->queue));
  SL_TRY(comm->ops->wait(comm));
  int64_t wrong = 0;
  for (int64_t r = 0; r < ROWS && !sends; r++)
    for (int64_t i = 0; i < ROW_WORDS; i++)
      wrong += data[r * ROW_WORDS + i] != word(ROWS - 1 - r, i);
  sl_counters counters;
  comm->ops->counters(comm, &counters);
  comm->ops->exchange_destroy(exchange);
  sl_free(data);
  EXPECT(wrong == 0);
  /* The sender of a message counts it; MPI divides messages longer than 1 GiB. */
  int64_t most = strcmp(comm->transport, "mpi") == 0 ? INT64_C(1) << 30 : ROWS * bytes;
  EXPECT(counters.bytes[SL_LINK_MESSAGE] == (sends ? ROWS * bytes : 0));
  EXPECT(counters.messages[SL_LINK_MESSAGE] == (sends ? (ROWS * bytes + most - 1) / most : 0));
  return SLEY_OK;
}

static void a_message_of_3e9_bytes(void **state) {
  (void)state;
  need(13 * GIB);
  run_on_two(exchange_rows, NULL);
}

static sley_status send_collectively(sl_comm *comm, void *arg) {
  (void)arg;
  const int64_t words = (int64_t)ROWS * ROW_WORDS, bytes = words * 8;
  uint64_t *data;
  bool sends = comm->rank == 0;
  int64_t at[2] = {0, 0}, send[2] = {0, sends ? bytes : 0}, recv[2] = {sends ? 0 : bytes, 0}, wrong = 0;
  SL_TRY(SL_NEW(data, words, "words"));
  for (int64_t i = 0; i < words && sends; i++)
    data[i] = word(0, i);
  SL_TRY(comm->ops->alltoallv(comm, data, at, send, data, at, recv));
  for (int64_t i = 0; i < words && !sends; i++)
    wrong += data[i] != word(0, i);
  sl_free(data);
  EXPECT(wrong == 0);
  return SLEY_OK;
}

static void a_collective_of_3e9_bytes(void **state) {
  (void)state;
  need(7 * GIB);
  run_on_two(send_collectively, NULL);
}

/* ---- products */

/* Values of X that 16-bit types represent exactly, as they do sums of a few of them. */
static int x_value(int64_t row, int64_t col) {
  return (int)((row * 31 + col * 7) % 61) - 30;
}

enum { K = 64, LAST = 8 };

typedef struct product {
  int64_t rows;
  const char *path; /* file for Y, or NULL */
} product;

/* Rank 0 has all rows except the last ones, each with its diagonal entry. Each row of rank 1 has entries in
 * its own column and in the columns of rank 0's first and last rows. */
static sley_status many_values(sl_comm *comm, void *arg) {
  const product *p = arg;
  int64_t begin[3] = {0, p->rows - LAST, p->rows}, first = begin[comm->rank];
  int64_t rows = begin[comm->rank + 1] - first, each = comm->rank == 0 ? 1 : 3;
  int64_t *rowptr = NULL;
  int32_t *col = NULL;
  uint16_t *val = NULL, *x = NULL, *y = NULL, number[512];
  for (int v = 0; v < 512; v++)
    number[v] = sl_f16_of_f64(v - 256);
  SL_TRY(SL_NEW(rowptr, rows + 1, "rowptr"));
  SL_TRY(SL_NEW(col, rows * each, "col"));
  SL_TRY(SL_NEW(val, rows * each, "val"));
  SL_TRY(SL_NEW(x, rows * K, "x"));
  SL_TRY(SL_NEW(y, rows * K, "y"));
  for (int64_t i = 0; i < rows; i++) {
    rowptr[i] = i * each;
    for (int64_t e = 0; e < each; e++)
      val[i * each + e] = number[257];
    col[i * each + each - 1] = (int32_t)(first + i);
    if (comm->rank == 1) {
      col[i * each] = (int32_t)i;
      col[i * each + 1] = (int32_t)(first - 1 - i);
    }
    for (int64_t j = 0; j < K; j++)
      x[i * K + j] = number[256 + x_value(first + i, j)];
  }
  rowptr[rows] = rows * each;
  sley_csr csr = {rows, p->rows, rowptr, col, val, SLEY_I32, SLEY_F16};
  sley_matrix *block;
  sley_plan *plan;
  sley_plan_options options = SLEY_PLAN_OPTIONS_INIT;
  options.algo = "halo";
  SL_TRY(sley_matrix_from_csr(&csr, SLEY_BORROW, &block));
  SL_TRY(sley_plan_create(comm, block, begin, begin, K, &options, &plan));
  SL_TRY(sley_spmm(plan, 1, x, K, 0, y, K));
  SL_TRY(sley_comm_wait(comm));
  sl_free(x);
  int64_t wrong = 0;
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < K; j++) {
      int sum = x_value(first + i, j);
      if (comm->rank == 1)
        sum += x_value(i, j) + x_value(first - 1 - i, j);
      wrong += y[i * K + j] != number[256 + sum];
    }
  sley_plan_destroy(plan);
  sley_matrix_destroy(block);
  if (p->path)
    SL_TRY(sl_pio_write(comm, p->path, SLEY_F16, p->rows, K, first, rows, y, K));
  sl_free(y);
  sl_free(val);
  sl_free(col);
  sl_free(rowptr);
  EXPECT(wrong == 0);
  return SLEY_OK;
}

/* Checks the first and the last values of a file of rows x K values. */
static void check_ends(const char *path, int64_t rows) {
  struct stat info;
  uint16_t last[K];
  int file = open(path, O_RDONLY);
  assert_true(file >= 0 && fstat(file, &info) == 0);
  assert_int_equal(info.st_size, 128 + rows * K * 2);
  for (int64_t i = rows - LAST - 1; i < rows; i++) {
    assert_int_equal(pread(file, last, sizeof last, 128 + i * K * 2), (ssize_t)sizeof last);
    for (int64_t j = 0; j < K; j++) {
      int sum = x_value(i, j);
      if (i >= rows - LAST)
        sum += x_value(i - (rows - LAST), j) + x_value(2 * (rows - LAST) - 1 - i, j);
      assert_int_equal(last[j], sl_f16_of_f64(sum));
    }
  }
  close(file);
}

static sley_status meet(sl_comm *comm, void *arg) {
  (void)arg;
  return comm->ops->barrier(comm);
}

static void more_than_2_31_values_of_x(void **state) {
  (void)state;
  need(10 * GIB);
  static char paths[2][256]; /* one per launched rank; rank 0's is used */
  const char *name;
  int rank, ranks;
  assert_sley_ok(sley_launcher(&name, &rank, &ranks));
  snprintf(paths[rank], sizeof paths[rank], "%s", test_path("y.npy"));
  run_on_two(meet, NULL);
  share_seen(paths, sizeof paths[0]);
  product p = {.rows = (INT64_C(1) << 31) / K + 1000, .path = paths[0]};
  run_on_two(many_values, &p);
  check_ends(p.path, p.rows);
  share_seen(paths, sizeof paths[0]); /* all ranks learn the path before the file is removed */
}

/* Rank 0 has nearly all entries, more than 2^31; rank 1 has one row, and needs all rows of X. */
static sley_status many_nonzeros(sl_comm *comm, void *arg) {
  (void)arg;
  enum { COLS = 1 << 20 };
  int64_t row_begin[3] = {0, 2100, 2101}, col_begin[3] = {0, COLS, COLS};
  int64_t rows = row_begin[comm->rank + 1] - row_begin[comm->rank], nnz = rows * COLS;
  int64_t x_rows = comm->rank == 0 ? COLS : 0;
  int64_t *rowptr = NULL;
  int32_t *col = NULL;
  uint16_t *val = NULL, x[1] = {0}, *x_own = x, *y = NULL, one = sl_f16_of_f64(1), none = 0;
  SL_TRY(SL_NEW(rowptr, rows + 1, "rowptr"));
  SL_TRY(SL_NEW(col, nnz, "col"));
  SL_TRY(SL_NEW(val, nnz, "val"));
  SL_TRY(SL_NEW(y, rows, "y"));
  if (x_rows > 0)
    SL_TRY(SL_NEW(x_own, x_rows, "x"));
  for (int64_t j = 0; j < x_rows; j++)
    x_own[j] = one;
  /* Row i has ones in its first 7 columns and in its last i mod 600 columns. */
  for (int64_t i = 0; i < rows; i++) {
    int64_t last = (row_begin[comm->rank] + i) % 600;
    rowptr[i] = i * COLS;
    for (int64_t j = 0; j < COLS; j++) {
      col[i * COLS + j] = (int32_t)j;
      val[i * COLS + j] = j < 7 || j >= COLS - last ? one : none;
    }
  }
  rowptr[rows] = nnz;
  sley_csr csr = {rows, COLS, rowptr, col, val, SLEY_I32, SLEY_F16};
  sley_matrix *block;
  sley_plan *plan;
  sley_plan_info info;
  sley_plan_options options = SLEY_PLAN_OPTIONS_INIT;
  options.algo = "halo-coalesced"; /* one message per row would mean a million messages */
  SL_TRY(sley_matrix_from_csr(&csr, SLEY_BORROW, &block));
  SL_TRY(sley_plan_create(comm, block, row_begin, col_begin, 1, &options, &plan));
  SL_TRY(sley_plan_info_get(plan, &info));
  SL_TRY(sley_spmm(plan, 1, x_own, 1, 0, y, 1));
  SL_TRY(sley_comm_wait(comm));
  int64_t wrong = 0;
  for (int64_t i = 0; i < rows; i++)
    wrong += y[i] != sl_f16_of_f64((double)(7 + (row_begin[comm->rank] + i) % 600));
  sley_plan_destroy(plan);
  sley_matrix_destroy(block);
  if (x_rows > 0)
    sl_free(x_own);
  sl_free(y);
  sl_free(val);
  sl_free(col);
  sl_free(rowptr);
  EXPECT(wrong == 0);
  EXPECT(info.nnz == INT64_C(2101) * COLS && info.nnz > INT64_C(1) << 31);
  return SLEY_OK;
}

static void more_than_2_31_nonzeros(void **state) {
  (void)state;
  need(14 * GIB);
  run_on_two(many_nonzeros, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_message_of_3e9_bytes), cmocka_unit_test(a_collective_of_3e9_bytes),
      cmocka_unit_test(more_than_2_31_values_of_x), cmocka_unit_test(more_than_2_31_nonzeros)};
  return cmocka_run_group_tests(tests, NULL, test_clean);
}
