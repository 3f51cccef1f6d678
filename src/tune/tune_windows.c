/* SPDX-License-Identifier: Apache-2.0 */
/* Measures row windows on Tensor cores and as streams. The matrices have windows of a single kind, drawn at
 * random from the ranges of HC-SpMM's training set and beyond, with random widths; each is multiplied by both
 * kernels. */
#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/value.h"
#include "device/asked_kernel.h"
#include "generate/generate.h"
#include "ops/spmm.h"
#include "tune/tune_inside.h"
#include "tune/window_fit.h"

/* LEAST_MATRICES, MOST_MATRICES: numbers of matrices. WIDTHS: widths for each matrix and type. ENTRIES:
 * approximate number of entries of a matrix. LEAST, MOST: smallest and largest number of windows. */
enum { LEAST_MATRICES = 8, MOST_MATRICES = 48, WIDTHS = 4, ENTRIES = 3000000, LEAST = 512, MOST = 16384 };
enum { SEED = 20240517, NEAR = 4 }; /* NEAR: nearby columns are drawn from NEAR times as many */
/* Seconds of a figure; the GPU is measured without a break. */
static const double slot = 0.004;

typedef struct kind_of_values {
  sley_dtype dtype;
  const char *precision;
} kind_of_values;

static const kind_of_values kinds[SL_WINDOW_KINDS] = {[SL_WINDOWS_F32] = {SLEY_F32, "full"},
                                                      [SL_WINDOWS_TF32] = {SLEY_F32, "tf32"},
                                                      [SL_WINDOWS_F16] = {SLEY_F16, "full"}};

/* Parameters of a random matrix. */
typedef struct draft {
  int64_t windows, columns, entries, near;
  int64_t width[WIDTHS];
} draft;

/* Uniformly distributed logarithm. */
static int64_t draw_log(uint64_t bits, double least, double most) {
  return llround(least * pow(most / least, sl_unit(bits)));
}

/* size: as in sl_tuning. Every load width of every type occurs often: odd widths, and widths divisible by 2,
 * 4 and 8. */
static draft draw(int number, double size) {
  draft d;
  uint64_t n = (uint64_t)number;
  bool long_windows = number % 6 == 5;
  d.columns =
      long_windows ? draw_log(sl_random(SEED, n, 0), 200, 3000) : draw_log(sl_random(SEED, n, 0), 4, 140);
  d.entries = (int64_t)((double)d.columns * exp(log(15) * sl_unit(sl_random(SEED, n, 1))));
  d.windows = (int64_t)(size * ENTRIES) / d.entries;
  d.windows = d.windows < LEAST * size ? (int64_t)(LEAST * size) : d.windows > MOST ? MOST : d.windows;
  d.near = number % 2 ? NEAR * d.columns : 0;
  for (int i = 0; i < WIDTHS; i++) {
    int64_t step = 1 << i;
    int64_t width = draw_log(sl_random(SEED, n, 2 + (uint64_t)i), 10, 300) / step;
    d.width[i] = (width < 2 ? 2 : width) * step;
    d.width[i] += i == 0 && d.width[i] % 2 == 0;
    d.width[i] += d.width[i] < 10 ? 8 : 0;
  }
  return d;
}

typedef struct execution {
  sley_plan *plan;
  void *x, *y;
  int64_t k;
} execution;

static sley_status run_product(void *context) {
  execution *e = context;
  return sl_spmm_execute(e->plan, 1, e->x, e->k, 0, e->y, e->k);
}

/* Measures the seconds of a product by one kernel. Each rank has its own matrix. */
static sley_status time_kernel(sl_comm *comm, sl_tuning *tune, const sley_matrix *block,
                               const kind_of_values *kind, const char *kernel, execution *e,
                               double *seconds) {
  int64_t begin[SL_TUNE_RANKS + 1];
  sley_plan_options options = SLEY_PLAN_OPTIONS_INIT;
  options.algo = "halo-coalesced";
  options.kernel = kernel;
  options.precision = kind->precision;
  for (int r = 0; r <= comm->size; r++)
    begin[r] = r * block->rows;
  SL_TRY(sl_spmm_plan(comm, block, begin, begin, e->k, &options, &e->plan));
  sl_timed what = {.run = run_product, .context = e};
  sley_status status = sl_tune_measure(comm, tune, &what, seconds);
  sl_spmm_plan_destroy(e->plan);
  e->plan = NULL;
  return status;
}

/* Makes the rank's rows of a block diagonal matrix. */
static sley_status make_block(const sl_comm *comm, const draft *d, int number, sley_dtype dtype,
                              sley_matrix **out) {
  char text[160];
  snprintf(text, sizeof text, "windows:rows=%lld,columns=%lld,entries=%lld,near=%lld,seed=%d",
           (long long)(d->windows * SL_WINDOW_ROWS), (long long)d->columns, (long long)d->entries,
           (long long)d->near, number + 1);
  SL_TRY(sl_generate(text, dtype, 0, comm->team, out));
  int64_t offset = comm->rank * (*out)->rows;
  for (int64_t e = 0; e < (*out)->nnz && offset > 0; e++)
    sl_index_set((void *)(*out)->col, (*out)->index, e, sl_index_at((*out)->col, (*out)->index, e) + offset);
  (*out)->cols *= comm->size;
  return SLEY_OK;
}

static sley_status measure_matrix(sl_comm *comm, sl_tuning *tune, const sley_matrix *block,
                                  const kind_of_values *kind, const draft *d, sl_window_sample *samples,
                                  int *count) {
  execution e = {0};
  int64_t widest = 0;
  for (int i = 0; i < WIDTHS; i++)
    widest = d->width[i] > widest ? d->width[i] : widest;
  const sl_device_figures *figures = &comm->device->figures;
  const double start = figures->launch; /* a product besides its windows */
  int64_t bytes = block->rows * widest * (int64_t)sley_dtype_bytes(kind->dtype);
  sley_status status = sl_tune_alloc(comm, bytes, "X", &e.x);
  if (status == SLEY_OK)
    status = sl_tune_alloc(comm, bytes, "Y", &e.y);
  status = sl_agree(comm, status);
  for (int i = 0; i < WIDTHS && status == SLEY_OK; i++) {
    sl_window_sample *s = &samples[*count];
    e.k = d->width[i];
    *s = (sl_window_sample){
        .dtype = kind->dtype,
        .k = e.k,
        .window = {.slots = d->columns,
                   .rows = block->rows,
                   .entries = d->entries,
                   .cache = figures->cache,
                   .ways = sl_stream_ways(figures, kind->dtype, e.k, block->nnz, block->rows),
                   .target = sl_window_target(figures, d->windows, d->columns, e.k, kind->dtype)}};
    status = time_kernel(comm, tune, block, kind, "tensor", &e, &s->tensor);
    if (status == SLEY_OK)
      status = time_kernel(comm, tune, block, kind, "stream", &e, &s->stream);
    s->tensor = fmax(s->tensor - start, s->tensor / 2) / (double)d->windows;
    s->stream = fmax(s->stream - start, s->stream / 2) / (double)d->windows;
    *count += status == SLEY_OK;
  }
  comm->device->ops->free(comm->device, e.y);
  comm->device->ops->free(comm->device, e.x);
  return status;
}

/* Measures as many matrices as there is time for, at least one. */
static sley_status measure_all(sl_comm *comm, sl_tuning *tune, int matrices, sl_window_sample *samples,
                               int *count) {
  bool late = false;
  for (int n = 0; n < matrices && !late; n++) {
    for (int kind = 0; kind < SL_WINDOW_KINDS; kind++) {
      draft d = draw(n, tune->size);
      sley_matrix *block = NULL;
      sley_status status = sl_agree(comm, make_block(comm, &d, n, kinds[kind].dtype, &block));
      if (status == SLEY_OK)
        status = measure_matrix(comm, tune, block, &kinds[kind], &d,
                                samples + (int64_t)kind * matrices * WIDTHS, &count[kind]);
      sl_matrix_destroy(block);
      SL_TRY(status);
    }
    SL_TRY(sl_tune_is_late(comm, tune, &late));
  }
  return SLEY_OK;
}

sley_status sl_tune_windows(sl_comm *comm, void *arg) {
  sl_tuning *tune = arg;
  int matrices = (int)fmin(fmax(tune->seconds, LEAST_MATRICES), MOST_MATRICES), count[SL_WINDOW_KINDS] = {0};
  sl_window_sample *samples;
  const sl_kernel *const *kernels = comm->device->ops->kernels;
  if (!sl_kernel_is_there(kernels, "tensor") || !sl_kernel_is_there(kernels, "stream"))
    return SLEY_OK;
  sl_tuning *quick;
  sley_status status = SL_NEW(samples, (int64_t)SL_WINDOW_KINDS * matrices * WIDTHS, "times of windows");
  if (status == SLEY_OK)
    status = SL_NEW_ZERO(quick, 1, "times of windows");
  else
    quick = NULL;
  status = sl_agree(comm, status);
  if (status == SLEY_OK) {
    quick->slot = slot;
    quick->size = tune->size;
    quick->begin = sl_now(); /* because the fit takes nearly as long as everything else */
    quick->seconds = 0.8 * tune->seconds;
    quick->figures = SL_TUNE_FIGURES; /* each figure is measured only once */
    status = measure_all(comm, quick, matrices, samples, count);
  }
  for (int kind = 0; kind < SL_WINDOW_KINDS && status == SLEY_OK && comm->rank == 0; kind++) {
    if (kind == 0)
      tune->machine.windows = comm->device->figures.windows;
    sl_window_fit(samples + (int64_t)kind * matrices * WIDTHS, count[kind], &tune->machine.windows.of[kind]);
    tune->machine.models_windows = true;
  }
  sl_free(quick);
  sl_free(samples);
  return status;
}
