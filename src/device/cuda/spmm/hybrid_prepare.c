/* SPDX-License-Identifier: Apache-2.0 */
/* Row windows and streams of a matrix: entries are sorted on the GPU, the model chooses windows, and all
 * other rows are gathered for the stream kernel. */
#include "device/cuda/spmm/hybrid_prepare.h"

#include <string.h>

#include "base/memory.h"
#include "base/value.h"
#include "device/cuda/spmm/column_copy.h"
#include "device/cuda/spmm/stream.h"

extern const sl_kernel sl_cuda_spmm_stream;

/* SORTED_MOST: most entries sorted at a time, unless one window has more. SAMPLE: number of windows that are
 * examined before any window is sorted. */
enum { SORTED_MOST = 1 << 26, SAMPLE = 1024 };
/* Smallest share of the whole product's time that the windows must save. */
static const double LEAST_GAIN = 0.05;
/* Panels have at least this many features. */
enum { PANEL_LEAST = 32 };

/* Results of inspection that are no longer needed afterwards. */
typedef struct drafts {
  sl_window_matrix matrix;
  int64_t windows, chosen_windows;
  int32_t *slots;    /* one per window */
  bool *chosen;      /* one per window */
  int64_t *first_of; /* first slab of each window, or -1 */
  /* For each chosen window. */
  int64_t *window, *first; /* number of the window; number of its first slab, and at the end of the array the
                              total number of slabs */
  int32_t *row;            /* as in sl_windows */
  /* Data of the rows that are streamed. */
  int64_t rest_rows;
  int64_t *rest_rowid, *rest_rowptr, *rest_from, *rest_piece_end;
  void *rowptr, *slots_there, *first_there; /* in device memory */
  sl_window_sort *sort;
} drafts;

static void free_all(sl_device *device, const void *const *blocks, size_t count) {
  for (size_t i = 0; i < count; i++)
    device->ops->free(device, (void *)blocks[i]);
}

void sl_hybrid_release(sl_device *device, sl_hybrid *h) {
  if (!h)
    return;
  sl_cuda_spmm_stream.release(device, h->stream);
  const sl_windows *w = &h->windows;
  const void *blocks[] = {w->row,      w->first,    w->col,       w->word,       w->val,
                          w->chunk,    w->long_row, w->partial,   w->finished,   h->rest_col,
                          h->rest_val, h->place,    h->rest_from, h->rest_rowptr};
  free_all(device, blocks, sizeof blocks / sizeof *blocks);
  const void *whole[] = {h->col, h->val};
  free_all(device, whole, h->owns ? 2 : 0);
  sl_free(h);
}

static void free_drafts(sl_device *device, drafts *d) {
  void *host[] = {d->slots, d->chosen,     d->first_of,    d->window,    d->first,
                  d->row,   d->rest_rowid, d->rest_rowptr, d->rest_from, d->rest_piece_end};
  for (size_t i = 0; i < sizeof host / sizeof *host; i++)
    sl_free(host[i]);
  const void *blocks[] = {d->rowptr, d->slots_there, d->first_there};
  free_all(device, blocks, sizeof blocks / sizeof *blocks);
  sl_window_sort_destroy(device, d->sort);
}

static sley_status alloc(sl_queue *queue, int64_t bytes, const char *what, const void *out) {
  return queue->device->ops->alloc_private(queue->device, bytes, what, (void **)out);
}

/* Allocates device memory and sets each byte to `byte`. */
static sley_status alloc_bytes(sl_queue *queue, int64_t bytes, int byte, const char *what, const void *out) {
  SL_TRY(alloc(queue, bytes, what, out));
  return sl_cuda_check(cudaMemsetAsync(*(void *const *)out, byte, (size_t)bytes, sl_cuda_stream(queue)),
                       what);
}

/* ------------------------------------------------------------------------------------------- inspection */

/* Uploads the matrix to device memory. */
static sley_status upload_matrix(sl_queue *queue, const sl_spmm_matrix *a, sl_hybrid *h) {
  int64_t entries = sl_spmm_entries(a), each = (int64_t)sl_index_bytes(a->index);
  const char *col = (const char *)a->col + a->rowptr[0] * each;
  int64_t bytes = (int64_t)sley_dtype_bytes(a->dtype);
  h->owns = !a->resident;
  if (a->resident) {
    h->col = (int32_t *)a->col;
    h->val = (void *)a->val;
    return SLEY_OK;
  }
  SL_TRY(sl_device_upload_private(queue, (const char *)a->val + a->rowptr[0] * bytes, entries * bytes,
                                  "values", &h->val));
  if (a->index == SLEY_I32)
    return sl_device_upload_private(queue, col, entries * each, "columns", (void **)&h->col);
  void *wide;
  SL_TRY(sl_device_upload_private(queue, col, entries * each, "columns", &wide));
  sley_status status = alloc(queue, entries * (int64_t)sizeof *h->col, "columns", &h->col);
  if (status == SLEY_OK)
    status = sl_cuda_stream_narrow(queue, entries, wide, h->col);
  sley_status waited = queue->ops->queue_wait(queue);
  queue->device->ops->free(queue->device, wide);
  return status != SLEY_OK ? status : waited;
}

/* Returns whether any of several evenly spread windows could go to Tensor cores if its entries had as few
 * columns as possible. Reads only row starts. */
static bool may_pay(const sl_spmm_problem *args, const drafts *d) {
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
static sley_status look(sl_queue *queue, const sl_spmm_problem *args, drafts *d, bool *worth) {
  int64_t window[SAMPLE];
  int32_t counted[SAMPLE];
  int64_t count = d->windows < SAMPLE ? d->windows : SAMPLE;
  void *windows = NULL;
  for (int64_t i = 0; i < count; i++)
    window[i] = i * d->windows / count;
  SL_TRY(sl_device_upload_private(queue, window, count * (int64_t)sizeof *window, "windows", &windows));
  sley_status status = sl_window_count(queue, &d->matrix, count, windows, d->slots_there);
  if (status == SLEY_OK)
    status =
        queue->ops->copy(queue, SL_COPY_TO_HOST, counted, d->slots_there, count * (int64_t)sizeof *counted);
  sley_status waited = queue->ops->queue_wait(queue);
  queue->device->ops->free(queue->device, windows);
  SL_TRY(status != SLEY_OK ? status : waited);
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

/* End of the run of windows from `from` on whose entries are sorted together. */
static int64_t batch_end(const sl_spmm_matrix *a, int64_t windows, int64_t from) {
  int64_t to = from, entries = 0;
  while (to < windows && (to == from || entries + sl_window_entries(a, to) <= SORTED_MOST))
    entries += sl_window_entries(a, to++);
  return to;
}

static int64_t entries_before(const sl_spmm_matrix *a, int64_t window) {
  int64_t row = window * SL_WINDOW_ROWS;
  return a->rowptr[row < a->rows ? row : a->rows] - a->rowptr[0];
}

static int64_t largest_batch(const sl_spmm_matrix *a) {
  int64_t windows = sl_window_count_of(a->rows), most = 1;
  for (int64_t from = 0, to; from < windows; from = to) {
    to = batch_end(a, windows, from);
    int64_t entries = entries_before(a, to) - entries_before(a, from);
    most = entries > most ? entries : most;
  }
  return most;
}

static sley_status sort_batch(sl_queue *queue, const sl_spmm_matrix *a, drafts *d, int64_t from, int64_t to) {
  return sl_window_sort_run(queue, d->sort, &d->matrix, from, to, entries_before(a, from),
                            entries_before(a, to), (int32_t *)d->slots_there + from);
}

/* Counts the slots of all windows. leave_out: windows with values that are not finite are excluded, because a
 * sum that is not finite is computed again, slowly. */
static sley_status count_slots(sl_queue *queue, const sl_spmm_matrix *a, bool leave_out, drafts *d) {
  SL_TRY(sl_window_sort_create(queue, largest_batch(a), &d->sort));
  for (int64_t from = 0, to; from < d->windows; from = to) {
    to = batch_end(a, d->windows, from);
    SL_TRY(sort_batch(queue, a, d, from, to));
  }
  if (leave_out)
    SL_TRY(sl_window_mark_special(queue, &d->matrix, d->slots_there));
  SL_TRY(queue->ops->copy(queue, SL_COPY_TO_HOST, d->slots, d->slots_there,
                          d->windows * (int64_t)sizeof *d->slots));
  return queue->ops->queue_wait(queue);
}

/* Slabs of a window, at least one, because rows without entries are stored as well. */
static int64_t slabs_of(const drafts *d, int64_t w) {
  int slots = sl_slab_slots(d->matrix.dtype);
  return d->slots[w] > 0 ? (d->slots[w] + slots - 1) / slots : 1;
}

/* Lists the chosen windows: their numbers, slabs and rows. */
static sley_status list_windows(const sl_spmm_matrix *a, drafts *d, sl_windows *out) {
  SL_TRY(SL_NEW(d->window, d->chosen_windows, "windows"));
  SL_TRY(SL_NEW(d->first, d->chosen_windows + 1, "windows"));
  SL_TRY(SL_NEW(d->first_of, d->windows, "windows"));
  SL_TRY(SL_NEW(d->row, d->chosen_windows * SL_WINDOW_ROWS, "windows"));
  for (int64_t w = 0; w < d->windows; w++) {
    d->first_of[w] = d->chosen[w] ? out->slabs : -1;
    if (!d->chosen[w])
      continue;
    for (int r = 0; r < SL_WINDOW_ROWS; r++) {
      int64_t row = w * SL_WINDOW_ROWS + r;
      d->row[out->windows * SL_WINDOW_ROWS + r] =
          row >= a->rows ? -1 : (int32_t)(a->rowid ? a->rowid[row] : row);
    }
    d->window[out->windows] = w;
    d->first[out->windows++] = out->slabs;
    out->slabs += slabs_of(d, w);
    out->entries += sl_window_entries(a, w);
  }
  d->first[out->windows] = out->slabs;
  return SLEY_OK;
}

/* Fills a batch: bits and columns, then values. */
static sley_status fill_batch(sl_queue *queue, const sl_spmm_matrix *a, drafts *d, int64_t from, int64_t to,
                              int64_t *slabs, uint32_t *values, sl_hybrid *h) {
  const sl_windows *w = &h->windows;
  const int64_t *first = (const int64_t *)d->first_there + from;
  int64_t begin = *slabs, entries = 0;
  for (int64_t i = from; i < to; i++)
    if (d->chosen[i]) {
      *slabs += slabs_of(d, i);
      entries += sl_window_entries(a, i);
    }
  sl_slab_word *word = (sl_slab_word *)w->word;
  SL_TRY(sl_window_fill(queue, d->sort, &d->matrix, first, (int32_t *)w->col, word));
  SL_TRY(sl_window_number(queue, *slabs - begin, *values, a->dtype,
                          word + begin * (sl_slab_slots(a->dtype) / 2)));
  *values += (uint32_t)entries;
  return sl_window_place(queue, d->sort, &d->matrix, first, word, (void *)w->val, h->place);
}

static sley_status fill_windows(sl_queue *queue, const sl_spmm_problem *args, drafts *d, sl_hybrid *h) {
  const sl_spmm_matrix *a = args->a;
  sl_windows *w = &h->windows;
  int slots = sl_slab_slots(a->dtype);
  SL_TRY(alloc_bytes(queue, w->slabs * slots * (int64_t)sizeof *w->col, 0, "columns of windows", &w->col));
  SL_TRY(
      alloc_bytes(queue, w->slabs * (slots / 2) * (int64_t)sizeof *w->word, 0, "bits of windows", &w->word));
  SL_TRY(alloc(queue, w->entries * (int64_t)sley_dtype_bytes(a->dtype), "values of windows", &w->val));
  SL_TRY(sl_device_upload_private(queue, d->first_of, d->windows * (int64_t)sizeof *d->first_of, "windows",
                                  &d->first_there));
  if (args->renewable)
    SL_TRY(alloc_bytes(queue, sl_spmm_entries(a) * (int64_t)sizeof *h->place, 0xff, "places of values",
                       &h->place));
  int64_t slabs = 0;
  uint32_t values = 0;
  for (int64_t from = 0, to; from < d->windows; from = to) {
    to = batch_end(a, d->windows, from);
    if (to - from < d->windows) /* if there is a single batch, it is already sorted */
      SL_TRY(sort_batch(queue, a, d, from, to));
    SL_TRY(fill_batch(queue, a, d, from, to, &slabs, &values, h));
  }
  SL_TRY(sl_device_upload_private(queue, d->first, (w->windows + 1) * (int64_t)sizeof *d->first, "windows",
                                  (void **)&w->first));
  SL_TRY(sl_device_upload_private(queue, d->row, w->windows * SL_WINDOW_ROWS * (int64_t)sizeof *d->row,
                                  "rows of windows", (void **)&w->row));
  return sl_window_mark(queue, w->windows, w->first, a->dtype, (int32_t *)w->col);
}

/* ---------------------------------------------------------------------------------------- chunks, rest */

/* Sets, for each chunk, the piece with which the rows of far for its windows arrive. */
static void set_pieces(const sl_spmm_problem *args, const drafts *d, sl_chunks *chunks) {
  for (int64_t i = 0; i < chunks->chunks; i++) {
    sl_chunk *chunk = &chunks->chunk[i];
    int64_t end = (d->window[chunk->row + chunk->rows - 1] + 1) * SL_WINDOW_ROWS;
    end = end < args->a->rows ? end : args->a->rows;
    while (chunk->piece < args->pieces - 1 && end > args->piece_end[chunk->piece])
      chunk->piece++;
  }
}

static int64_t panels_of(int64_t k) {
  return (k + PANEL_LEAST - 1) / PANEL_LEAST;
}

static sley_status upload_chunks(sl_queue *queue, const sl_chunks *c, int64_t k, sl_windows *w) {
  w->chunks = c->chunks;
  w->longs = c->longs;
  w->counters = sl_fragment_counters(c);
  SL_TRY(sl_device_upload_private(queue, c->chunk, c->chunks * (int64_t)sizeof *c->chunk, "chunks",
                                  (void **)&w->chunk));
  SL_TRY(sl_device_upload_private(queue, c->long_row, (c->longs + 1) * (int64_t)sizeof *c->long_row, "chunks",
                                  (void **)&w->long_row));
  SL_TRY(alloc_bytes(queue, w->counters * panels_of(k) * (int64_t)sizeof *w->finished, 0, "chunks",
                     &w->finished));
  return alloc(queue, c->slots * SL_WINDOW_ROWS * k * (int64_t)sizeof(float), "sums of fragments of windows",
               &w->partial);
}

static sley_status cut_windows(sl_queue *queue, const sl_spmm_problem *args, const drafts *d, sl_windows *w) {
  sl_chunks chunks;
  sley_status status = sl_chunks_make(
      w->windows, NULL, d->first, sl_chunk_sizes_of(sl_window_chunk(args->figures, w->slabs, args->k), false),
      args->team, &chunks);
  if (status == SLEY_OK && args->pieces > 1)
    set_pieces(args, d, &chunks);
  if (status == SLEY_OK)
    status = upload_chunks(queue, &chunks, args->k, w);
  sl_chunks_free(&chunks);
  return status;
}

/* Lists the rows of windows that are not chosen. */
static sley_status list_rest(const sl_spmm_problem *args, drafts *d) {
  const sl_spmm_matrix *a = args->a;
  int64_t most = (d->windows - d->chosen_windows) * SL_WINDOW_ROWS, n = 0, entries = 0;
  SL_TRY(SL_NEW(d->rest_rowid, most, "rows"));
  SL_TRY(SL_NEW(d->rest_rowptr, most + 1, "rows"));
  SL_TRY(SL_NEW(d->rest_from, most, "rows"));
  SL_TRY(SL_NEW_ZERO(d->rest_piece_end, args->pieces, "rows"));
  for (int64_t row = 0; row < a->rows; row++) {
    if (d->chosen[row / SL_WINDOW_ROWS])
      continue;
    for (int p = args->pieces - 1; p >= 0 && row < args->piece_end[p]; p--)
      d->rest_piece_end[p]++;
    d->rest_rowid[n] = a->rowid ? a->rowid[row] : row;
    d->rest_from[n] = a->rowptr[row] - a->rowptr[0];
    d->rest_rowptr[n++] = entries;
    entries += a->rowptr[row + 1] - a->rowptr[row];
  }
  d->rest_rowptr[n] = entries;
  d->rest_rows = n;
  return SLEY_OK;
}

static sley_status gather_rest(sl_queue *queue, const sl_spmm_problem *args, const drafts *d, sl_hybrid *h) {
  int64_t entries = d->rest_rowptr[d->rest_rows], bytes = (int64_t)sley_dtype_bytes(args->a->dtype);
  SL_TRY(sl_device_upload_private(queue, d->rest_from, d->rest_rows * (int64_t)sizeof *d->rest_from, "rows",
                                  (void **)&h->rest_from));
  SL_TRY(sl_device_upload_private(queue, d->rest_rowptr, (d->rest_rows + 1) * (int64_t)sizeof *d->rest_rowptr,
                                  "rows", (void **)&h->rest_rowptr));
  SL_TRY(alloc(queue, entries * (int64_t)sizeof *h->rest_col, "columns", &h->rest_col));
  SL_TRY(alloc(queue, entries * bytes, "values", &h->rest_val));
  h->rest = (sl_spmm_matrix){.rows = d->rest_rows,
                             .rowid = d->rest_rowid,
                             .rowptr = d->rest_rowptr,
                             .col = h->rest_col,
                             .val = h->rest_val};
  return sl_window_gather(queue, d->rest_rows, h->rest_from, h->rest_rowptr, h->col, h->val, bytes,
                          h->rest_col, h->rest_val);
}

/* Prepares the rows that are streamed: the rows outside chosen windows, or all rows. */
static sley_status prepare_rest(sl_queue *queue, const sl_spmm_problem *args, drafts *d, sl_hybrid *h) {
  sl_spmm_problem problem = *args;
  if (d->chosen_windows == 0) {
    h->rest = *args->a;
    h->rest.col = h->col;
    h->rest.val = h->val;
  } else {
    SL_TRY(list_rest(args, d));
    problem.piece_end = d->rest_piece_end;
    SL_TRY(gather_rest(queue, args, d, h));
  }
  h->rest.dtype = args->a->dtype;
  h->rest.index = SLEY_I32;
  h->rest.resident = true;
  problem.a = &h->rest;
  sl_kernel_args stream = {.op = SL_OP_SPMM, .spmm = {.problem = &problem}};
  sley_status status = sl_cuda_spmm_stream.prepare(queue->device, queue, &stream, &h->stream);
  h->rest.rowid = h->rest.rowptr = NULL;
  return status;
}

/* Frees the arrays that only refill, or streams of the whole matrix, would need. */
static sley_status drop_matrix(sl_queue *queue, const sl_spmm_problem *args, const drafts *d, sl_hybrid *h) {
  sl_device *device = queue->device;
  if (d->chosen_windows == 0)
    return SLEY_OK;
  SL_TRY(queue->ops->queue_wait(queue));
  const void *blocks[] = {h->owns ? h->col : NULL, h->owns && !args->renewable ? h->val : NULL,
                          args->renewable ? NULL : h->rest_from, args->renewable ? NULL : h->rest_rowptr};
  free_all(device, blocks, sizeof blocks / sizeof *blocks);
  h->col = NULL;
  if (!args->renewable) {
    h->val = NULL;
    h->rest_from = h->rest_rowptr = NULL;
  }
  return SLEY_OK;
}

/* Slabs per chunk if all windows were chosen. */
static int64_t whole_target(const drafts *d, const sl_spmm_problem *args) {
  int64_t slabs = 0;
  for (int64_t w = 0; w < d->windows; w++)
    slabs += slabs_of(d, w);
  return sl_window_chunk(args->figures, slabs, args->k);
}

/* Returns whether there are entries, and 32 bits suffice for places of values, rows and columns. */
static bool has_numbers(const sl_spmm_matrix *a, const drafts *d) {
  int64_t last = a->rowid ? a->rowid[a->rows - 1] : a->rows - 1;
  return d->matrix.entries > 0 && d->matrix.entries + d->windows < UINT32_MAX &&
         d->matrix.columns <= INT32_MAX && last < INT32_MAX;
}

static sley_status choose(sl_queue *queue, const sl_spmm_problem *args, bool all, drafts *d) {
  const sl_spmm_matrix *a = args->a;
  bool worth = all;
  d->windows = sl_window_count_of(a->rows);
  SL_TRY(SL_NEW_ZERO(d->slots, d->windows, "windows"));
  SL_TRY(SL_NEW_ZERO(d->chosen, d->windows, "windows"));
  if (!has_numbers(a, d) || (!all && !may_pay(args, d)))
    return SLEY_OK;
  int64_t slots = d->windows > SAMPLE ? d->windows : SAMPLE;
  SL_TRY(alloc(queue, slots * (int64_t)sizeof *d->slots, "windows", &d->slots_there));
  SL_TRY(sl_device_upload_private(queue, a->rowptr, (a->rows + 1) * (int64_t)sizeof *a->rowptr, "rows",
                                  &d->rowptr));
  d->matrix.rowptr = d->rowptr;
  if (!all)
    SL_TRY(look(queue, args, d, &worth));
  if (!worth)
    return SLEY_OK;
  /* If values may be replaced, the choice of windows must not depend on the current values. */
  SL_TRY(count_slots(queue, a, !all && !args->renewable, d));
  if (!all) {
    d->chosen_windows = sl_windows_choose(args, d->slots, whole_target(d, args), d->chosen);
    return SLEY_OK;
  }
  memset(d->chosen, true, (size_t)d->windows * sizeof *d->chosen);
  d->chosen_windows = d->windows;
  return SLEY_OK;
}

static sley_status inspect(sl_queue *queue, const sl_spmm_problem *args, bool all, drafts *d, sl_hybrid *h) {
  SL_TRY(sl_cuda_check_columns(args->a));
  SL_TRY(upload_matrix(queue, args->a, h));
  d->matrix = (sl_window_matrix){.rows = args->a->rows,
                                 .entries = sl_spmm_entries(args->a),
                                 .columns = args->x_rows + args->far_rows,
                                 .col = h->col,
                                 .val = h->val,
                                 .dtype = args->a->dtype};
  SL_TRY(choose(queue, args, all, d));
  if (d->chosen_windows > 0) {
    SL_TRY(list_windows(args->a, d, &h->windows));
    SL_TRY(fill_windows(queue, args, d, h));
    SL_TRY(cut_windows(queue, args, d, &h->windows));
  }
  if (d->chosen_windows < d->windows)
    SL_TRY(prepare_rest(queue, args, d, h));
  return drop_matrix(queue, args, d, h);
}

sley_status sl_hybrid_prepare(sl_queue *queue, const sl_spmm_problem *problem, bool all, sl_hybrid **out) {
  *out = NULL;
  sl_hybrid *h;
  drafts d = {0};
  SL_TRY(SL_NEW_ZERO(h, 1, "a part's windows"));
  sley_status status = inspect(queue, problem, all, &d, h);
  sley_status waited = queue->ops->queue_wait(queue); /* the kernels' input is freed after this */
  free_drafts(queue->device, &d);
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
  const sl_spmm_matrix *a = p->a;
  int64_t entries = sl_spmm_entries(a), bytes = (int64_t)sley_dtype_bytes(a->dtype);
  int64_t windows = sl_window_count_of(a->rows), slabs = slabs_most(p, all), slots = sl_slab_slots(a->dtype);
  int64_t parts = slabs * 5 / 4 / sl_window_chunk(p->figures, slabs, p->k) + 1;
  int64_t whole = sl_device_bytes(entries * (int64_t)sizeof(int32_t)) + sl_device_bytes(entries * bytes);
  int64_t kept = sl_device_bytes(windows * SL_WINDOW_ROWS * (int64_t)sizeof(int32_t)) +
                 sl_device_bytes((windows + 1) * (int64_t)sizeof(int64_t)) +
                 sl_device_bytes(slabs * slots * (int64_t)sizeof(int32_t)) +
                 sl_device_bytes(slabs * (slots / 2) * (int64_t)sizeof(sl_slab_word)) +
                 sl_device_bytes(entries * bytes) + sl_device_bytes(parts * (int64_t)sizeof(sl_chunk)) +
                 sl_device_bytes(parts * (int64_t)sizeof(sl_long_row)) +
                 sl_device_bytes(3 * parts * panels_of(p->k) * (int64_t)sizeof(unsigned)) +
                 sl_device_bytes(parts * SL_WINDOW_ROWS * p->k * (int64_t)sizeof(float));
  if (p->renewable)
    kept += sl_device_bytes(entries * (int64_t)sizeof(uint32_t)) + sl_device_bytes(entries * bytes) +
            2 * sl_device_bytes((a->rows + 1) * (int64_t)sizeof(int64_t));
  *passing = whole + sl_window_sort_bytes(largest_batch(a)) +
             3 * sl_device_bytes((a->rows + 1) * (int64_t)sizeof(int64_t)) +
             sl_device_bytes((windows + SAMPLE) * (int64_t)sizeof(int32_t)) +
             sl_device_bytes(windows * (int64_t)sizeof(int64_t)) +
             sl_device_bytes(2 * slabs * slots * (int64_t)sizeof(uint32_t));
  return kept;
}
