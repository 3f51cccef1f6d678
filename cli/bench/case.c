/* SPDX-License-Identifier: Apache-2.0 */
/* Measures one case of `sley bench`. All contenders multiply the same matrix by the same X into the same Y.
 *
 * The contenders take turns. On the CPU a turn begins with a pause, so that the threads of the previous
 * contender go to sleep. Then follow one untimed product, which wakes the contender's own threads, and as
 * many timed products as take about TURN_MS; their mean is the turn's time. On a device with a queue, this
 * time includes the wait for the queue. The first contender and the direction change from round to round, and
 * a contender that is much slower than another gets few turns. So the effects of a long product (delayed
 * programs, a hot processor) do not always fall on the same contender. */
#include "bench/bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/check.h"
#include "command.h"
#include "matrix/job.h"
#include "output/terminal.h"
#include "output/times.h"

enum { LEAST_TURNS = 3, MOST_PRODUCTS = 1000, PAUSE_NS = 3000000, MUCH_SLOWER = 4 };
static const double TURN_MS = 0.5;

/* A contender's state in this case. */
typedef struct side {
  sley_plan *plan;
  int products;    /* number of timed products per turn */
  double spent_ms; /* ms spent in all turns */
  int64_t turns;
  double *ms;      /* ms per product, of each turn */
  double least_ms; /* smallest value of ms */
} side;

typedef struct work {
  const cli_bench *bench;
  const char *name;
  const sley_matrix *matrix;
  sley_csr csr;
  int64_t k, x_bytes, y_bytes;
  bool on_host;
  void *x, *y;           /* in device memory */
  void *host_x, *host_y; /* in host memory; on the CPU the same pointers as x and y */
  side side[CLI_CONTENDERS];
  cli_case *out;
} work;

/* ---- contenders */

static sley_status make_plan(const cli_bench *bench, const sley_matrix *matrix, const sley_csr *csr,
                             int64_t k, const char *kernel, sley_plan **out) {
  const int64_t rows[2] = {0, csr->rows}, cols[2] = {0, csr->cols};
  sley_plan_options options = SLEY_PLAN_OPTIONS_INIT;
  options.kernel = kernel;
  options.precision = bench->precision;
  options.algo = "halo"; /* with one rank the block is one part, and nothing is sent */
  return sley_plan_create(bench->comm, matrix, rows, cols, k, &options, out);
}

static void add_contender(cli_bench *bench, const char *name, bool rival) {
  if (bench->contenders == CLI_CONTENDERS)
    return;
  cli_contender *one = &bench->contender[bench->contenders++];
  *one = (cli_contender){.rival = rival};
  snprintf(one->name, sizeof one->name, "%s", name);
}

/* Sets *serves if the kernel supports the matrix at one of several widths. */
static sley_status try_kernel(const cli_bench *bench, const sley_matrix *matrix, const sley_csr *csr,
                              const char *kernel, bool *serves) {
  static const int64_t widths[] = {32, 8, 1, 256};
  *serves = false;
  for (size_t i = 0; i < sizeof widths / sizeof *widths && !*serves; i++) {
    sley_plan *plan = NULL;
    sley_status status = make_plan(bench, matrix, csr, widths[i], kernel, &plan);
    *serves = status == SLEY_OK;
    sley_plan_destroy(plan);
    if (status != SLEY_OK && status != SLEY_ERR_UNSUPPORTED)
      return status;
  }
  return SLEY_OK;
}

/* Adds the kernels that support the matrix: Sley's own, or other libraries' kernels if rivals. */
static sley_status add_kernels(cli_bench *bench, const sley_matrix *matrix, bool rivals) {
  enum { MOST = 64 };
  sley_kernel kernel[MOST];
  sley_csr csr;
  int count;
  sley_status status = sley_matrix_csr(matrix, &csr);
  if (status == SLEY_OK)
    status = sley_kernels(sley_comm_device(bench->comm), kernel, MOST, &count);
  for (int i = 0; status == SLEY_OK && i < count && i < MOST; i++) {
    bool serves;
    if ((kernel[i].library != NULL) != rivals)
      continue;
    status = try_kernel(bench, matrix, &csr, kernel[i].name, &serves);
    if (status == SLEY_OK && serves)
      add_contender(bench, kernel[i].name, rivals);
  }
  return status;
}

sley_status cli_bench_contenders(cli_bench *bench) {
  sley_matrix *small = NULL;
  sley_read_options options = SLEY_READ_OPTIONS_INIT;
  options.dtype = bench->dtype;
  options.threads = 1;
  bench->contenders = 0;
  bench->device = sley_comm_device(bench->comm);
  sley_status status = sley_matrix_read("er:n=64,nnz=2048", &options, &small);
  add_contender(bench, "auto", false);
  for (int rivals = 0; rivals <= 1 && status == SLEY_OK; rivals++)
    status = add_kernels(bench, small, rivals);
  sley_matrix_destroy(small);
  return status;
}

/* Returns true if auto chose only this kernel, so that auto's times are also this kernel's times. */
static bool is_autos(const cli_kernels *kernels, const char *name) {
  return kernels->count == 1 && strcmp(kernels->name[0], name) == 0;
}

static sley_status find_copied(const sley_plan *plan, double *share) {
  cli_kernels kernels;
  int64_t copied = 0, entries = 0;
  sley_status status = cli_kernels_of(plan, &kernels);
  for (int i = 0; status == SLEY_OK && i < kernels.count; i++) {
    copied += kernels.copied[i];
    entries += kernels.entries[i];
  }
  *share = entries > 0 ? (double)copied / (double)entries : 0;
  return status;
}

/* Prepares contender i. A kernel that does not support the case, or does not fit in memory, gets no plan. */
static sley_status prepare(work *w, int i) {
  const cli_contender *who = &w->bench->contender[i];
  side *s = &w->side[i];
  cli_time *time = &w->out->time[i];
  void *ms;
  sley_status status = sley_buffer_alloc(w->bench->repeat * (int64_t)sizeof *s->ms, &ms);
  if (status != SLEY_OK)
    return status;
  s->ms = ms;
  if (i > 0 && is_autos(&w->out->kernels, who->name)) {
    time->shared = true;
    return SLEY_OK;
  }
  status = make_plan(w->bench, w->matrix, &w->csr, w->k, who->name, &s->plan);
  if (status == SLEY_OK && i == 0)
    status = cli_kernels_of(s->plan, &w->out->kernels);
  if (i > 0 && (status == SLEY_ERR_UNSUPPORTED || status == SLEY_ERR_MEMORY))
    return SLEY_OK;
  time->ran = status == SLEY_OK;
  return status == SLEY_OK ? find_copied(s->plan, &time->copied) : status;
}

/* ---- products */

static sley_status multiply(const work *w, int i, int products) {
  const side *s = &w->side[i];
  for (int n = 0; n < products; n++) {
    sley_status status = sley_spmm(s->plan, 1, w->x, w->k, 0, w->y, w->k);
    if (status != SLEY_OK)
      return status;
  }
  return w->on_host ? SLEY_OK : sley_comm_wait(w->bench->comm);
}

/* Sets Y to NaN, so that a row that a kernel does not write is detected. */
static sley_status poison(const work *w) {
  memset(w->host_y, 0xff, (size_t)w->y_bytes);
  return w->on_host ? SLEY_OK : sley_comm_copy(w->bench->comm, w->y, w->host_y, w->y_bytes, SLEY_TO_DEVICE);
}

/* Checks the first product of contender i. */
static sley_status check(const work *w, const cli_sample *sample, int i) {
  const cli_bench *bench = w->bench;
  sley_check check;
  sley_plan_info info;
  sley_status status = sley_plan_info_get(w->side[i].plan, &info);
  if (status == SLEY_OK)
    status = poison(w);
  if (status == SLEY_OK)
    status = multiply(w, i, 1);
  if (status == SLEY_OK && !w->on_host)
    status = sley_comm_copy(bench->comm, w->host_y, w->y, w->y_bytes, SLEY_TO_HOST);
  if (status == SLEY_OK)
    status =
        cli_sample_check(sample, w->k, bench->dtype, w->host_x, w->host_y, &info, bench->threads, &check);
  if (status != SLEY_OK || check.ok)
    return status;
  if (bench->contender[i].rival && sley_dtype_bytes(bench->dtype) == 2 && isfinite(check.max_error)) {
    cli_say("%s, k = %lld: %s rounds sums to 16 bits: errors reach %.3g of |A||X|", w->name, (long long)w->k,
            bench->contender[i].name, check.max_error);
    return SLEY_OK;
  }
  cli_error(
      "%s, k = %lld: wrong result of %s at row %lld, column %lld: errors reach %.3g of |A||X|, and rounding "
      "allows %.3g there",
      w->name, (long long)w->k, bench->contender[i].name, (long long)check.row, (long long)check.col,
      check.max_error, check.bound);
  w->out->time[i].wrong = true;
  return SLEY_OK;
}

static sley_status check_all(const work *w) {
  cli_sample sample;
  sley_status status = cli_sample_make(w->matrix, w->k, &sample);
  for (int i = 0; i < w->bench->contenders && status == SLEY_OK; i++)
    if (w->out->time[i].ran)
      status = cli_interrupted() ? SLEY_ERR_INTERRUPTED : check(w, &sample, i);
  cli_sample_free(&sample);
  return status;
}

/* ---- turns */

static sley_status timed(const work *w, int i, int products, double *ms) {
  double begin = cli_now_ms();
  sley_status status = multiply(w, i, products);
  *ms = cli_now_ms() - begin;
  return status;
}

static sley_status turn(work *w, int i) {
  side *s = &w->side[i];
  double ms, waking;
  if (w->on_host)
    nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
  sley_status status = timed(w, i, 1, &waking);
  if (status == SLEY_OK && s->products == 0) { /* first turn: time a product with awake threads */
    status = timed(w, i, 1, &ms);
    s->products = ms * MOST_PRODUCTS <= TURN_MS ? MOST_PRODUCTS : ms >= TURN_MS ? 1 : (int)(TURN_MS / ms) + 1;
  }
  if (status == SLEY_OK)
    status = timed(w, i, s->products, &ms);
  if (status != SLEY_OK)
    return status;
  s->spent_ms += waking + ms;
  ms /= s->products;
  s->least_ms = s->turns == 0 || ms < s->least_ms ? ms : s->least_ms;
  s->ms[s->turns++] = ms;
  return SLEY_OK;
}

static bool is_much_slower(const work *w, int i) {
  for (int other = 0; other < w->bench->contenders; other++)
    if (w->side[other].turns > 0 && w->side[i].least_ms > MUCH_SLOWER * w->side[other].least_ms)
      return true;
  return false;
}

static bool goes_on(const work *w, int i) {
  const side *s = &w->side[i];
  bool spent = w->bench->budget > 0 && s->spent_ms > 1e3 * w->bench->budget;
  return w->out->time[i].ran && !w->out->time[i].wrong && s->turns < w->bench->repeat &&
         (s->turns < LEAST_TURNS || (!spent && !is_much_slower(w, i)));
}

static sley_status take_turns(work *w) {
  int count = w->bench->contenders;
  for (int64_t round = 0; round < w->bench->repeat; round++)
    for (int place = 0; place < count; place++) {
      int i = (int)(((round % 2 ? count - 1 - place : place) + round) % count);
      if (!goes_on(w, i))
        continue;
      sley_status status = cli_interrupted() ? SLEY_ERR_INTERRUPTED : turn(w, i);
      if (status != SLEY_OK)
        return status;
    }
  return SLEY_OK;
}

/* ---- figures */

static bool counts(const cli_time *time) {
  return time->ran && !time->wrong && time->ms.count > 0;
}

/* Fills in the times and the fastest contenders. */
static void conclude(const work *w) {
  cli_case *c = w->out;
  const cli_bench *bench = w->bench;
  c->rival = c->fastest = -1;
  for (int i = 0; i < bench->contenders; i++) {
    cli_time *time = &c->time[i];
    if (time->shared) {
      *time = c->time[0];
      time->shared = true;
    } else if (w->side[i].turns > 0) {
      time->ms = cli_times_of(w->side[i].ms, w->side[i].turns);
    }
    int *best = bench->contender[i].rival ? &c->rival : &c->fastest;
    if (i > 0 && counts(time) && (*best < 0 || time->ms.median < c->time[*best].ms.median))
      *best = i;
  }
  if (c->rival >= 0 && counts(&c->time[0]))
    c->ratio = c->time[c->rival].ms.median / c->time[0].ms.median;
}

/* ---- the case */

static sley_status place(work *w) {
  const cli_bench *bench = w->bench;
  sley_status status = sley_buffer_alloc(w->x_bytes, &w->host_x);
  if (status == SLEY_OK)
    status = sley_buffer_alloc(w->y_bytes, &w->host_y);
  if (status == SLEY_OK)
    status = sley_dense_random(bench->seed, 0, w->csr.cols, w->k, NULL, bench->dtype, w->host_x, w->k);
  w->x = w->host_x;
  w->y = w->host_y;
  if (status != SLEY_OK || w->on_host)
    return status;
  w->x = w->y = NULL;
  status = sley_comm_alloc(bench->comm, w->x_bytes, &w->x);
  if (status == SLEY_OK)
    status = sley_comm_alloc(bench->comm, w->y_bytes, &w->y);
  return status == SLEY_OK ? sley_comm_copy(bench->comm, w->x, w->host_x, w->x_bytes, SLEY_TO_DEVICE)
                           : status;
}

static void release(work *w) {
  for (int i = 0; i < w->bench->contenders; i++) {
    sley_plan_destroy(w->side[i].plan);
    sley_buffer_free(w->side[i].ms);
  }
  if (!w->on_host) {
    sley_comm_free(w->bench->comm, w->y);
    sley_comm_free(w->bench->comm, w->x);
  }
  sley_buffer_free(w->host_y);
  sley_buffer_free(w->host_x);
}

sley_status cli_bench_case(const cli_bench *bench, const char *name, const sley_matrix *matrix, int64_t k,
                           cli_case *out) {
  int64_t value = (int64_t)sley_dtype_bytes(bench->dtype);
  work w = {.bench = bench, .name = name, .matrix = matrix, .k = k, .out = out};
  w.on_host = strcmp(bench->device, "cpu") == 0;
  sley_status status = sley_matrix_csr(matrix, &w.csr);
  if (status != SLEY_OK)
    return status;
  *out = (cli_case){.rows = w.csr.rows, .cols = w.csr.cols, .nnz = w.csr.rowptr[w.csr.rows], .k = k};
  snprintf(out->matrix, sizeof out->matrix, "%s", name);
  w.x_bytes = w.csr.cols * k * value;
  w.y_bytes = w.csr.rows * k * value;
  status = place(&w);
  for (int i = 0; i < bench->contenders && status == SLEY_OK; i++)
    status = cli_interrupted() ? SLEY_ERR_INTERRUPTED : prepare(&w, i);
  if (status == SLEY_OK)
    status = check_all(&w);
  if (status == SLEY_OK)
    status = take_turns(&w);
  if (status == SLEY_OK)
    conclude(&w);
  release(&w);
  return status;
}
