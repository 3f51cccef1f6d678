/* SPDX-License-Identifier: Apache-2.0 */
/* Comms of processes that are the ranks themselves. The ranks are this process and copies of it, started with
 * the variables that torchrun sets, or, if a launcher started this process, the launcher's ranks. Each opens
 * a comm in one thread and multiplies in others, opens another one after closing the first, and has two open
 * at a time. Each detects without hanging that a rank has left or failed. */
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ranks.h"

enum { K = 5, N = 700 };

static const char *transport(void) {
  const char *name = getenv("SLEY_TEST_TRANSPORT");
  return name ? name : "tcp";
}

static sley_comm_options options_here(void) {
  sley_comm_options options = SLEY_COMM_OPTIONS_INIT;
  options.transport = transport();
  options.device = getenv("SLEY_TEST_DEVICE");
  options.threads = 2;
  options.timeout = 20;
  return options;
}

static bool launched(void) {
  const char *name;
  int rank, ranks;
  return sley_launcher(&name, &rank, &ranks) == SLEY_OK && name;
}

/* ---- a product: A[i][j] = 1 + (i + j) % 3 at j = i, i + 1, 5 i + 2, modulo N, and X[j][c] = j + 7 c */

static double entry(int64_t i, int64_t j) {
  return (double)(1 + (i + j) % 3);
}

static int columns_of(int64_t i, int64_t out[3]) {
  int64_t all[3] = {i, (i + 1) % N, (5 * i + 2) % N};
  int count = 0;
  for (int64_t j = 0; j < N; j++)
    for (int c = 0; c < 3; c++)
      if (all[c] == j && (count == 0 || out[count - 1] != j))
        out[count++] = j;
  return count;
}

typedef struct work {
  sley_comm *comm;
  sley_plan *plan;
  sley_matrix *block;
  int64_t first, count;
  int64_t begin[66];
  void *x, *y;
  sley_status status;
  char message[SLEY_ERROR_BYTES];
} work;

static sley_status make_block(work *w) {
  int32_t *rowptr = malloc(((size_t)w->count + 1) * sizeof *rowptr), at = 0;
  int32_t *col = malloc(3 * (size_t)w->count * sizeof *col + 1);
  double *val = malloc(3 * (size_t)w->count * sizeof *val + 1);
  for (int64_t r = 0; r < w->count; r++) {
    int64_t columns[3];
    int count = columns_of(w->first + r, columns);
    rowptr[r] = at;
    for (int c = 0; c < count; c++) {
      col[at] = (int32_t)columns[c];
      val[at++] = entry(w->first + r, columns[c]);
    }
  }
  rowptr[w->count] = at;
  const sley_csr csr = {.rows = w->count,
                        .cols = N,
                        .rowptr32 = rowptr,
                        .col = col,
                        .val = val,
                        .index = SLEY_I32,
                        .dtype = SLEY_F64};
  sley_status status = sley_matrix_from_csr(&csr, SLEY_COPY, &w->block);
  free(val);
  free(col);
  free(rowptr);
  return status;
}

static sley_status make_plan(work *w) {
  int rank = sley_comm_rank(w->comm);
  SL_TRY(sley_partition_equal(N, sley_comm_size(w->comm), w->begin));
  w->first = w->begin[rank];
  w->count = w->begin[rank + 1] - w->first;
  SL_TRY(make_block(w));
  int64_t bytes = w->count * K * (int64_t)sizeof(double);
  SL_TRY(sley_comm_alloc(w->comm, bytes, &w->x));
  SL_TRY(sley_comm_alloc(w->comm, bytes, &w->y));
  return sley_plan_create(w->comm, w->block, w->begin, w->begin, K, NULL, &w->plan);
}

static sley_status run(work *w) {
  int64_t bytes = w->count * K * (int64_t)sizeof(double);
  double *host = malloc((size_t)bytes + 1);
  for (int64_t i = 0; i < w->count * K; i++)
    host[i] = (double)(w->first + i / K + 7 * (i % K));
  SL_TRY(sley_comm_copy(w->comm, w->x, host, bytes, SLEY_TO_DEVICE));
  SL_TRY(sley_spmm(w->plan, 1.0, w->x, K, 0.0, w->y, K));
  SL_TRY(sley_comm_copy(w->comm, host, w->y, bytes, SLEY_TO_HOST));
  SL_TRY(sley_comm_wait(w->comm));
  for (int64_t r = 0; r < w->count; r++)
    for (int c = 0; c < K; c++) {
      int64_t columns[3];
      double sum = 0;
      int count = columns_of(w->first + r, columns);
      for (int e = 0; e < count; e++)
        sum += entry(w->first + r, columns[e]) * (double)(columns[e] + 7 * c);
      EXPECT(host[r * K + c] == sum); /* exact, because all values are whole numbers */
    }
  free(host);
  return SLEY_OK;
}

static void keep(work *w, sley_status status) {
  w->status = status;
  snprintf(w->message, sizeof w->message, "%s", sley_last_error());
}

static void *plan_thread(void *arg) {
  keep(arg, make_plan(arg));
  return NULL;
}

static void *run_thread(void *arg) {
  keep(arg, run(arg));
  return NULL;
}

static void *close_thread(void *arg) {
  work *w = arg;
  sley_plan_destroy(w->plan);
  sley_matrix_destroy(w->block);
  sley_comm_free(w->comm, w->y);
  sley_comm_free(w->comm, w->x);
  keep(w, sley_comm_close(w->comm));
  return NULL;
}

static sley_status in_thread(void *(*body)(void *), work *w) {
  pthread_t thread;
  EXPECT(pthread_create(&thread, NULL, body, w) == 0);
  pthread_join(thread, NULL);
  return w->status == SLEY_OK ? SLEY_OK : sl_fail(w->status, "in a thread: %s", w->message);
}

/* A comm is opened in this thread, and planned, run twice and closed in other threads. */
static sley_status from_any_thread(void) {
  static work w;
  const sley_comm_options options = options_here();
  w = (work){.comm = NULL};
  SL_TRY(sley_comm_open(&options, &w.comm));
  SL_TRY(in_thread(plan_thread, &w));
  SL_TRY(in_thread(run_thread, &w));
  SL_TRY(in_thread(run_thread, &w));
  SL_TRY(run(&w));
  return in_thread(close_thread, &w);
}

/* Two comms are open at the same time; the one opened first is closed first. */
static sley_status two_at_once(void) {
  static work w[2];
  const sley_comm_options options = options_here();
  for (int i = 0; i < 2; i++) {
    w[i] = (work){.comm = NULL};
    SL_TRY(sley_comm_open(&options, &w[i].comm));
  }
  for (int i = 0; i < 2; i++)
    SL_TRY(make_plan(&w[i]));
  for (int i = 0; i < 4; i++)
    SL_TRY(run(&w[i % 2]));
  for (int i = 0; i < 2; i++) {
    close_thread(&w[i]);
    SL_TRY(w[i].status);
  }
  return SLEY_OK;
}

/* The last rank closes while the others wait for it. */
static sley_status one_leaves(void) {
  const sley_comm_options options = options_here();
  sley_comm *comm;
  SL_TRY(sley_comm_open(&options, &comm));
  int last = sley_comm_size(comm) - 1;
  sley_status status = sley_comm_rank(comm) == last ? SLEY_OK : sley_comm_barrier(comm);
  EXPECT(status == (sley_comm_rank(comm) == last ? SLEY_OK : SLEY_ERR_PEER));
  sley_status closed = sley_comm_close(comm);
  EXPECT(closed == SLEY_OK);
  return SLEY_OK;
}

/* A timeline, and CSR arrays in device memory with row pointers of both widths. */
static sley_status arrays_on_the_device(sley_comm *comm, bool narrow) {
  static const int64_t wide[] = {2, 4, 4, 5};
  static const int32_t thin[] = {2, 4, 4, 5}, col[] = {9, 9, 2, 0, 1};
  static const float val[] = {9, 9, 3, 1, 2};
  const void *host[3] = {narrow ? (const void *)thin : wide, col, val};
  const int64_t bytes[3] = {narrow ? sizeof thin : sizeof wide, sizeof col, sizeof val};
  void *there[3];
  for (int i = 0; i < 3; i++) {
    SL_TRY(sley_comm_alloc(comm, bytes[i], &there[i]));
    SL_TRY(sley_comm_copy(comm, there[i], host[i], bytes[i], SLEY_TO_DEVICE));
  }
  sley_csr csr = {.rows = 3,
                  .cols = 3,
                  .rowptr = narrow ? NULL : there[0],
                  .rowptr32 = narrow ? there[0] : NULL,
                  .col = there[1],
                  .val = there[2],
                  .index = SLEY_I32,
                  .dtype = SLEY_F32};
  sley_matrix *matrix;
  SL_TRY(sley_matrix_from_csr_on(comm, &csr, &matrix));
  SL_TRY(sley_matrix_csr(matrix, &csr));
  EXPECT(!csr.rowptr32 && csr.rowptr[0] == 0 && csr.rowptr[1] == 2 && csr.rowptr[2] == 2);
  EXPECT(csr.rowptr[3] == 3);
  const int32_t *c = csr.col;
  const float *v = csr.val;
  EXPECT(c[0] == 0 && c[1] == 2 && c[2] == 1 && v[0] == 1 && v[1] == 3 && v[2] == 2);
  sley_matrix_destroy(matrix);
  for (int i = 0; i < 3; i++)
    sley_comm_free(comm, there[i]);
  return SLEY_OK;
}

static sley_status with_a_timeline(void) {
  char path[] = "/tmp/sley_comm_XXXXXX";
  sley_comm_options options = options_here();
  sley_comm *comm;
  int file = mkstemp(path);
  EXPECT(file >= 0);
  options.trace = path;
  SL_TRY(sley_comm_open(&options, &comm));
  SL_TRY(arrays_on_the_device(comm, false));
  SL_TRY(arrays_on_the_device(comm, true));
  SL_TRY(sley_comm_barrier(comm));
  bool first = sley_comm_rank(comm) == 0;
  SL_TRY(sley_comm_close(comm));
  FILE *stream = fopen(path, "r");
  EXPECT(stream);
  fseek(stream, 0, SEEK_END);
  EXPECT((ftell(stream) > 0) == first);
  fclose(stream);
  close(file);
  unlink(path);
  return SLEY_OK;
}

/* Errors that concern one process only. */
static sley_status misuse(void) {
  sley_comm_options options = options_here();
  sley_comm *comm = NULL;
  EXPECT(sley_comm_close(NULL) == SLEY_OK);
  EXPECT(sley_comm_open(&options, NULL) == SLEY_ERR_ARG);
  options.struct_size = sizeof options + 1;
  EXPECT(sley_comm_open(&options, &comm) == SLEY_ERR_ARG && !comm);
  EXPECT(strstr(sley_last_error(), "sley_comm_options.struct_size is"));
  options = options_here();
  options.threads = -1;
  EXPECT(sley_comm_open(&options, &comm) == SLEY_ERR_ARG && !comm);
  options = options_here();
  options.transport = "pigeons";
  EXPECT(sley_comm_open(&options, &comm) == SLEY_ERR_ARG && !comm);
  return SLEY_OK;
}

static sley_status all_of_it(void) {
  alarm(WATCHDOG_SECONDS);
  SL_TRY(misuse());
  SL_TRY(from_any_thread());
  SL_TRY(from_any_thread());
  SL_TRY(two_at_once());
  SL_TRY(one_leaves());
  return with_a_timeline();
}

static int tell(sley_status status) {
  if (status != SLEY_OK)
    fprintf(stderr, "%s: %s\n", sley_status_name(status), sley_last_error());
  return status != SLEY_OK;
}

/* ---- a failure: the last rank ends without closing its comm */

/* On a busy machine the last rank may end while others still open their comms; then opening fails in the same
 * way. */
static sley_status one_dies(void) {
  const sley_comm_options options = options_here();
  const int last = atoi(getenv("WORLD_SIZE")) - 1;
  sley_comm *comm = NULL;
  alarm(WATCHDOG_SECONDS);
  sley_status status = sley_comm_open(&options, &comm);
  if (status == SLEY_OK && sley_comm_rank(comm) == last)
    _exit(0);
  if (status == SLEY_OK)
    status = sley_comm_barrier(comm);
  EXPECT(status == SLEY_ERR_PEER && sley_last_error_rank() == last && sley_last_error_noticed());
  (void)sley_comm_close(comm);
  return SLEY_OK;
}

/* Starts copies of this process as `ranks` ranks. Returns 0 if all ended successfully. */
static int launch(int ranks, sley_status (*body)(void)) {
  static int launches;
  pid_t pids[8];
  int failed = 0;
  char text[16];
  snprintf(text, sizeof text, "%d", 20000 + (int)((getpid() * 31 + launches++ * 97) % 12000));
  setenv("MASTER_ADDR", "localhost", 1);
  setenv("MASTER_PORT", text, 1);
  snprintf(text, sizeof text, "%d", ranks);
  setenv("WORLD_SIZE", text, 1);
  fflush(NULL);
  for (int r = 0; r < ranks; r++) {
    snprintf(text, sizeof text, "%d", r);
    setenv("RANK", text, 1);
    pids[r] = fork();
    if (pids[r] == 0)
      _exit(tell(body()));
  }
  for (int r = 0; r < ranks; r++) {
    int code = 0;
    failed += waitpid(pids[r], &code, 0) < 0 || code != 0;
  }
  unsetenv("RANK");
  unsetenv("WORLD_SIZE");
  unsetenv("MASTER_ADDR");
  unsetenv("MASTER_PORT");
  return failed;
}

static void every_call_from_every_rank(void **state) {
  (void)state;
  if (launched()) {
    assert_int_equal(tell(all_of_it()), 0);
    return;
  }
  const int ranks[] = {1, 2, 3, 4, 8};
  for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++)
    assert_int_equal(launch(ranks[i], all_of_it), 0);
}

static void a_rank_that_dies_is_named(void **state) {
  (void)state;
  for (int ranks = 2; ranks <= 3 && !launched(); ranks++)
    assert_int_equal(launch(ranks, one_dies), 0);
}

/* Opens a comm of one rank, and checks the name of the transport in use. */
static sley_status one_rank(const char *name, const char *runs) {
  sley_comm_options options = options_here();
  static work w;
  options.transport = name;
  w = (work){.comm = NULL};
  SL_TRY(sley_comm_open(&options, &w.comm));
  EXPECT(sley_comm_size(w.comm) == 1 && sley_comm_rank(w.comm) == 0);
  EXPECT(strcmp(sley_comm_transport(w.comm), runs) == 0);
  SL_TRY(in_thread(plan_thread, &w));
  SL_TRY(in_thread(run_thread, &w));
  SL_TRY(arrays_on_the_device(w.comm, true));
  return in_thread(close_thread, &w);
}

static sley_status alone(void) {
  alarm(WATCHDOG_SECONDS);
  SL_TRY(one_rank("threads", "threads"));
  SL_TRY(one_rank("tcp", "tcp"));
  SL_TRY(one_rank("self", "threads"));
  SL_TRY(one_rank(NULL, "threads"));
  /* A process that a launcher started as one of two ranks may open a comm of its own. */
  EXPECT(setenv("RANK", "1", 1) == 0 && setenv("WORLD_SIZE", "2", 1) == 0);
  EXPECT(setenv("MASTER_ADDR", "127.0.0.1", 1) == 0 && setenv("MASTER_PORT", "1", 1) == 0);
  SL_TRY(one_rank("self", "threads"));
  EXPECT(one_rank("threads", "threads") == SLEY_ERR_UNSUPPORTED);
  return SLEY_OK;
}

static void one_rank_without_a_launcher(void **state) {
  (void)state;
  if (launched())
    return;
  pid_t pid = fork();
  if (pid == 0)
    _exit(tell(alone()));
  int code = -1;
  waitpid(pid, &code, 0);
  assert_int_equal(code, 0);
}

static sley_status refuse_close(sley_comm *comm, void *arg) {
  (void)arg;
  EXPECT(sley_comm_close(comm) == SLEY_ERR_ARG);
  return SLEY_OK;
}

/* Comms that sley_run_ranks has opened cannot be closed by the caller. */
static void only_what_was_opened_is_closed(void **state) {
  (void)state;
  sley_rank_options options = SLEY_RANK_OPTIONS_INIT;
  options.ranks = launched() ? 1 : 2;
  assert_sley_ok(sley_run_ranks(&options, refuse_close, NULL));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_call_from_every_rank),
      cmocka_unit_test(a_rank_that_dies_is_named),
      cmocka_unit_test(one_rank_without_a_launcher),
      cmocka_unit_test(only_what_was_opened_is_closed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
