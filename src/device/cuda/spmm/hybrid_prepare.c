/* SPDX-License-Identifier: Apache-2.0 */
/* Row windows and streams of a matrix: entries are sorted on the GPU, the model chooses windows, and all
 * other rows are gathered for the stream kernel. */
#include "device/cuda/spmm/hybrid_prepare.h"

#include <string.h>

#include "base/memory.h"
#include "device/cuda/spmm/column_copy.h"

extern const sl_kernel sl_cuda_spmm_stream;

/* SAMPLE: number of windows that are examined before any window is sorted. */
enum { SAMPLE = 1024 };
/* Smallest share of the whole product's time that the windows must save. */
static const double LEAST_GAIN = 0.05;
/* Panels have at least this many features. */
enum { PANEL_LEAST = 32 };

void sl_hybrid_release(sl_device *device, sl_hybrid *h) {
  if (!h)
    return;
  sl_rest_release(device, &h->rest);
  sl_windows_release(device, &h->windows);
  device->ops->free(device, h->place);
  sl_window_arrays_free(device, &h->whole);
  sl_free(h);
}

/* ------------------------------------------------------------------------------------------- inspection */

/* Returns whether any of several evenly spread windows could go to Tensor cores if its entries had as few
 * columns as possible. Reads only row starts. */
static bool may_pay(const sl_spmm_problem *args, const sl_window_draft *d) {
  const sl_spmm_matrix *a = args->a;
  const sl_window_figures *figures = sl_window_figures_of(&args->figures->windows, a->dtype, args->tf32);
  const int ways = sl_stream_ways(args->figures, a->dtype, args->k, sl_spmm_entries(a), a->rows);
  int64_t count = d->windows < SAMPLE ? d->windows : SAMPLE;
  for (int64_t i = 0; i < count; i++) {
    int64_t entries = sl_window_entries(a, i * d->windows / count);
    const sl_window_shape shape = {.slots = (entries + SL_WINDOW_ROWS - 1) / SL_WINDOW_ROWS,
                                   .entries = entries,
                                   .ways = ways,
                                   .rows = a->rows,
                                   .cache = args->figures->cache};
    if (sl_window_tensor_time(figures, a->dtype, args->k, &shape) <
        sl_window_stream_time(figures, a->dtype, args->k, &shape))
      return true;
  }
  return false;
}

/* Sets *worth to whether any of several evenly spread windows would gain from Tensor cores; if not, no window
 * is sorted. */
static sley_status look(sl_queue *queue, const sl_spmm_problem *args, sl_window_draft *d, bool *worth) {
  int64_t window[SAMPLE];
  int32_t counted[SAMPLE];
  int64_t count = d->windows < SAMPLE ? d->windows : SAMPLE;
  for (int64_t i = 0; i < count; i++)
    window[i] = i * d->windows / count;
  SL_TRY(sl_window_draft_look(queue, d, count, window, counted));
  const sl_spmm_matrix *a = args->a;
  const sl_window_figures *figures = sl_window_figures_of(&args->figures->windows, a->dtype, args->tf32);
  const int ways = sl_stream_ways(args->figures, a->dtype, args->k, sl_spmm_entries(a), a->rows);
  double all = 0, gained = 0;
  for (int64_t i = 0; i < count; i++) {
    sl_window_shape shape = {.slots = counted[i],
                             .entries = sl_window_entries(a, window[i]),
                             .ways = ways,
                             .rows = a->rows,
                             .cache = args->figures->cache};
    if (counted[i] < 0) /* too many entries to count; possibly few columns */
      shape.slots = shape.entries / SL_WINDOW_ROWS;
    double by_stream = sl_window_stream_time(figures, a->dtype, args->k, &shape),
           by_tensor = sl_window_tensor_time(figures, a->dtype, args->k, &shape);
    all += by_stream;
    gained += by_tensor < by_stream ? by_stream - by_tensor : 0;
  }
  *worth = gained > LEAST_GAIN * all;
  return SLEY_OK;
}

/* Frees the arrays that only refill, or streams of the whole matrix, would need. */
static sley_status drop_matrix(sl_queue *queue, const sl_spmm_problem *args, const sl_window_draft *d,
                               sl_hybrid *h) {
  if (d->chosen_windows == 0)
    return SLEY_OK;
  SL_TRY(queue->ops->queue_wait(queue));
  sl_window_arrays gone = {h->whole.col, args->renewable ? NULL : h->whole.val, h->whole.owns};
  sl_window_arrays_free(queue->device, &gone);
  h->whole.col = NULL;
  if (!args->renewable)
    h->whole.val = NULL;
  return SLEY_OK;
}

/* Slabs per chunk if all windows were chosen. */
static int64_t whole_target(const sl_window_draft *d, const sl_spmm_problem *args) {
  int64_t slabs = 0;
  for (int64_t w = 0; w < d->windows; w++)
    slabs += sl_window_draft_slabs(d, w);
  return sl_window_chunk(args->figures, slabs, args->k);
}

static sley_status choose(sl_queue *queue, const sl_spmm_problem *args, bool all, sl_window_draft *d) {
  bool worth = all;
  if (!sl_window_draft_fits(args->a, d) || (!all && !may_pay(args, d)))
    return SLEY_OK;
  SL_TRY(sl_window_draft_upload(queue, args->a, d));
  if (!all)
    SL_TRY(look(queue, args, d, &worth));
  if (!worth)
    return SLEY_OK;
  /* If values may be replaced, the choice of windows must not depend on the current values. */
  SL_TRY(sl_window_draft_count(queue, args->a, !all && !args->renewable, d));
  if (!all) {
    d->chosen_windows = sl_windows_choose(args, d->slots, whole_target(d, args), d->chosen);
    return SLEY_OK;
  }
  memset(d->chosen, true, (size_t)d->windows * sizeof *d->chosen);
  d->chosen_windows = d->windows;
  return SLEY_OK;
}

/* Cuts the chosen windows into chunks of about as many slabs as keep the GPU busy. */
static sley_status make_windows(sl_queue *queue, const sl_spmm_problem *args, sl_window_draft *d,
                                sl_hybrid *h) {
  int64_t slabs = 0;
  for (int64_t w = 0; w < d->windows; w++)
    slabs += d->chosen[w] ? sl_window_draft_slabs(d, w) : 0;
  const int64_t chunk = sl_window_chunk(args->figures, slabs, args->k);
  return sl_windows_make(queue, args, sl_chunk_sizes_of(chunk, false), PANEL_LEAST, d, &h->place,
                         &h->windows);
}

static sley_status inspect(sl_queue *queue, const sl_spmm_problem *args, bool all, sl_window_draft *d,
                           sl_hybrid *h) {
  static const sl_kernel *const streams[] = {&sl_cuda_spmm_stream, NULL};
  SL_TRY(sl_cuda_check_columns(args->a));
  SL_TRY(sl_window_arrays_make(queue, args->a, &h->whole));
  SL_TRY(sl_window_draft_begin(args, sl_tensor_form(args->a->dtype), &h->whole, d));
  SL_TRY(choose(queue, args, all, d));
  if (d->chosen_windows > 0)
    SL_TRY(make_windows(queue, args, d, h));
  SL_TRY(sl_rest_make(queue, args, d, &h->whole, streams, &h->rest));
  return drop_matrix(queue, args, d, h);
}

sley_status sl_hybrid_prepare(sl_queue *queue, const sl_spmm_problem *problem, bool all, sl_hybrid **out) {
  *out = NULL;
  sl_hybrid *h;
  sl_window_draft d = {0};
  SL_TRY(SL_NEW_ZERO(h, 1, "a part's windows"));
  sley_status status = inspect(queue, problem, all, &d, h);
  sley_status waited = queue->ops->queue_wait(queue); /* the kernels' input is freed after this */
  sl_window_draft_free(queue->device, &d);
  status = status != SLEY_OK ? status : waited;
  if (status != SLEY_OK)
    sl_hybrid_release(queue->device, h);
  else
    *out = h;
  return status;
}

/* ------------------------------------------------------------------------------------------------ memory */

/* Upper bound of the number of slabs. If the model chooses, a slab of a window costs less than its entries
 * would otherwise: at 64 features, its slots and bits take less than 3 bytes per entry. */
static int64_t slabs_most(const sl_spmm_problem *p, bool all) {
  int slots = sl_slab_slots(p->a->dtype);
  int64_t entries = sl_spmm_entries(p->a);
  return sl_window_count_of(p->a->rows) + (all ? entries / slots : entries * 3 / (8 * slots));
}

int64_t sl_hybrid_memory(const sl_spmm_problem *p, bool all, int64_t *passing) {
  const sl_window_form form = sl_tensor_form(p->a->dtype);
  const int64_t slabs = slabs_most(p, all),
                parts = slabs * 5 / 4 / sl_window_chunk(p->figures, slabs, p->k) + 1;
  *passing = sl_window_draft_bytes(p, form, slabs) + sl_rest_bytes(p);
  return sl_windows_bytes(p, form, slabs, parts, parts, PANEL_LEAST) + (p->renewable ? sl_rest_bytes(p) : 0);
}
