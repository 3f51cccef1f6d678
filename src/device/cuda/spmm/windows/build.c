/* SPDX-License-Identifier: Apache-2.0 */
#include "device/cuda/spmm/windows/build.h"

#include "base/memory.h"
#include "base/value.h"
#include "device/cuda/spmm/stream.h"

/* SORTED_MOST: most entries sorted at a time, unless one window has more. SAMPLE_LEAST: windows for whose
 * number of slots there is room in any case. */
enum { SORTED_MOST = 1 << 26, SAMPLE_LEAST = 1024 };

void sl_window_free(sl_device *device, const void *const *blocks, size_t count) {
  for (size_t i = 0; i < count; i++)
    device->ops->free(device, (void *)blocks[i]);
}

void sl_windows_release(sl_device *device, const sl_windows *w) {
  const void *blocks[] = {w->row,   w->first,    w->col,     w->word,    w->val,
                          w->chunk, w->long_row, w->partial, w->finished};
  sl_window_free(device, blocks, sizeof blocks / sizeof *blocks);
}

void sl_window_draft_free(sl_device *device, sl_window_draft *d) {
  void *host[] = {d->slots, d->chosen, d->first_of, d->window, d->first, d->row};
  for (size_t i = 0; i < sizeof host / sizeof *host; i++)
    sl_free(host[i]);
  const void *blocks[] = {d->rowptr, d->slots_there, d->first_there};
  sl_window_free(device, blocks, sizeof blocks / sizeof *blocks);
  sl_window_sort_destroy(device, d->sort);
}

sley_status sl_window_alloc(sl_queue *queue, int64_t bytes, const char *what, const void *out) {
  return queue->device->ops->alloc_private(queue->device, bytes, what, (void **)out);
}

/* Allocates memory and sets each byte to `byte`. */
static sley_status alloc_bytes(sl_queue *queue, int64_t bytes, int byte, const char *what, const void *out) {
  SL_TRY(sl_window_alloc(queue, bytes, what, out));
  return sl_cuda_check(cudaMemsetAsync(*(void *const *)out, byte, (size_t)bytes, sl_cuda_stream(queue)),
                       what);
}

/* ------------------------------------------------------------------------------------------- inspection */

sley_status sl_window_arrays_make(sl_queue *queue, const sl_spmm_matrix *a, sl_window_arrays *out) {
  int64_t entries = sl_spmm_entries(a), each = (int64_t)sl_index_bytes(a->index);
  const char *col = (const char *)a->col + a->rowptr[0] * each;
  int64_t bytes = (int64_t)sley_dtype_bytes(a->dtype);
  out->owns = !a->resident;
  if (a->resident) {
    out->col = (int32_t *)a->col;
    out->val = (void *)a->val;
    return SLEY_OK;
  }
  SL_TRY(sl_device_upload_private(queue, (const char *)a->val + a->rowptr[0] * bytes, entries * bytes,
                                  "values", &out->val));
  if (a->index == SLEY_I32)
    return sl_device_upload_private(queue, col, entries * each, "columns", (void **)&out->col);
  void *wide;
  SL_TRY(sl_device_upload_private(queue, col, entries * each, "columns", &wide));
  sley_status status = sl_window_alloc(queue, entries * (int64_t)sizeof *out->col, "columns", &out->col);
  if (status == SLEY_OK)
    status = sl_cuda_stream_narrow(queue, entries, wide, out->col);
  sley_status waited = queue->ops->queue_wait(queue);
  queue->device->ops->free(queue->device, wide);
  return status != SLEY_OK ? status : waited;
}

void sl_window_arrays_free(sl_device *device, const sl_window_arrays *arrays) {
  const void *blocks[] = {arrays->col, arrays->val};
  sl_window_free(device, blocks, arrays->owns ? 2 : 0);
}

sley_status sl_window_draft_begin(const sl_spmm_problem *problem, sl_window_form form,
                                  const sl_window_arrays *arrays, sl_window_draft *out) {
  const sl_spmm_matrix *a = problem->a;
  *out = (sl_window_draft){.matrix = {.form = form,
                                      .rows = a->rows,
                                      .entries = sl_spmm_entries(a),
                                      .columns = problem->x_rows + problem->far_rows,
                                      .col = arrays->col,
                                      .val = arrays->val,
                                      .dtype = a->dtype},
                           .windows = sl_windows_in(a->rows, form.rows)};
  SL_TRY(SL_NEW_ZERO(out->slots, out->windows, "windows"));
  return SL_NEW_ZERO(out->chosen, out->windows, "windows");
}

bool sl_window_draft_fits(const sl_spmm_matrix *a, const sl_window_draft *d) {
  int64_t last = a->rowid ? a->rowid[a->rows - 1] : a->rows - 1;
  return d->matrix.entries > 0 && d->matrix.entries + d->windows < UINT32_MAX &&
         d->matrix.columns <= INT32_MAX && last < INT32_MAX;
}

sley_status sl_window_draft_upload(sl_queue *queue, const sl_spmm_matrix *a, sl_window_draft *d) {
  int64_t slots = d->windows > SAMPLE_LEAST ? d->windows : SAMPLE_LEAST;
  SL_TRY(sl_window_alloc(queue, slots * (int64_t)sizeof *d->slots, "windows", &d->slots_there));
  SL_TRY(sl_device_upload_private(queue, a->rowptr, (a->rows + 1) * (int64_t)sizeof *a->rowptr, "rows",
                                  &d->rowptr));
  d->matrix.rowptr = d->rowptr;
  return SLEY_OK;
}

sley_status sl_window_draft_look(sl_queue *queue, const sl_window_draft *d, int64_t count,
                                 const int64_t *window, int32_t *counted) {
  void *windows = NULL;
  SL_TRY(sl_device_upload_private(queue, window, count * (int64_t)sizeof *window, "windows", &windows));
  sley_status status = sl_window_count(queue, &d->matrix, count, windows, d->slots_there);
  if (status == SLEY_OK)
    status =
        queue->ops->copy(queue, SL_COPY_TO_HOST, counted, d->slots_there, count * (int64_t)sizeof *counted);
  sley_status waited = queue->ops->queue_wait(queue);
  queue->device->ops->free(queue->device, windows);
  return status != SLEY_OK ? status : waited;
}

/* End of the run of windows from `from` on whose entries are sorted together. */
static int64_t batch_end(const sl_spmm_matrix *a, int rows, int64_t from) {
  int64_t to = from, windows = sl_windows_in(a->rows, rows), entries = 0;
  while (to < windows && (to == from || entries + sl_entries_of(a, to, rows) <= SORTED_MOST))
    entries += sl_entries_of(a, to++, rows);
  return to;
}

static int64_t largest_batch(const sl_spmm_matrix *a, int rows) {
  int64_t windows = sl_windows_in(a->rows, rows), most = 1;
  for (int64_t from = 0, to; from < windows; from = to) {
    to = batch_end(a, rows, from);
    int64_t entries = sl_entries_before(a, to, rows) - sl_entries_before(a, from, rows);
    most = entries > most ? entries : most;
  }
  return most;
}

static sley_status sort_batch(sl_queue *queue, const sl_spmm_matrix *a, sl_window_draft *d, int64_t from,
                              int64_t to) {
  const int rows = d->matrix.form.rows;
  return sl_window_sort_run(queue, d->sort, &d->matrix, from, to, sl_entries_before(a, from, rows),
                            sl_entries_before(a, to, rows), (int32_t *)d->slots_there + from);
}

sley_status sl_window_draft_count(sl_queue *queue, const sl_spmm_matrix *a, bool leave_out,
                                  sl_window_draft *d) {
  const int rows = d->matrix.form.rows;
  SL_TRY(sl_window_sort_create(queue, largest_batch(a, rows), &d->sort));
  for (int64_t from = 0, to; from < d->windows; from = to) {
    to = batch_end(a, rows, from);
    SL_TRY(sort_batch(queue, a, d, from, to));
  }
  if (leave_out)
    SL_TRY(sl_window_mark_special(queue, &d->matrix, d->slots_there));
  SL_TRY(queue->ops->copy(queue, SL_COPY_TO_HOST, d->slots, d->slots_there,
                          d->windows * (int64_t)sizeof *d->slots));
  return queue->ops->queue_wait(queue);
}

/* ----------------------------------------------------------------------------------------------- windows */

int64_t sl_window_draft_slabs(const sl_window_draft *d, int64_t w) {
  const int slots = d->matrix.form.slots;
  return d->slots[w] > 0 ? (d->slots[w] + slots - 1) / slots : 1;
}

/* Lists the chosen windows: their numbers, slabs and rows. */
static sley_status list_windows(const sl_spmm_matrix *a, sl_window_draft *d, sl_windows *out) {
  const int rows = d->matrix.form.rows;
  out->form = d->matrix.form;
  SL_TRY(SL_NEW(d->window, d->chosen_windows, "windows"));
  SL_TRY(SL_NEW(d->first, d->chosen_windows + 1, "windows"));
  SL_TRY(SL_NEW(d->first_of, d->windows, "windows"));
  SL_TRY(SL_NEW(d->row, d->chosen_windows * rows, "windows"));
  for (int64_t w = 0; w < d->windows; w++) {
    d->first_of[w] = d->chosen[w] ? out->slabs : -1;
    if (!d->chosen[w])
      continue;
    for (int r = 0; r < rows; r++) {
      int64_t row = w * rows + r;
      d->row[out->windows * rows + r] = row >= a->rows ? -1 : (int32_t)(a->rowid ? a->rowid[row] : row);
    }
    d->window[out->windows] = w;
    d->first[out->windows++] = out->slabs;
    out->slabs += sl_window_draft_slabs(d, w);
    out->entries += sl_entries_of(a, w, rows);
  }
  d->first[out->windows] = out->slabs;
  return SLEY_OK;
}

/* Fills a batch: bits and columns, then values. */
static sley_status fill_batch(sl_queue *queue, const sl_spmm_matrix *a, sl_window_draft *d, int64_t from,
                              int64_t to, int64_t *slabs, uint32_t *values, uint32_t *place,
                              const sl_windows *w) {
  const int64_t *first = (const int64_t *)d->first_there + from, words = w->form.words;
  int64_t begin = *slabs, entries = 0;
  for (int64_t i = from; i < to; i++)
    if (d->chosen[i]) {
      *slabs += sl_window_draft_slabs(d, i);
      entries += sl_entries_of(a, i, w->form.rows);
    }
  sl_slab_word *word = (sl_slab_word *)w->word;
  SL_TRY(sl_window_fill(queue, d->sort, &d->matrix, first, (int32_t *)w->col, word));
  SL_TRY(sl_window_number(queue, (*slabs - begin) * words, *values, word + begin * words));
  *values += (uint32_t)entries;
  return sl_window_place(queue, d->sort, &d->matrix, first, word, (void *)w->val, place);
}

static sley_status fill_windows(sl_queue *queue, const sl_spmm_problem *args, sl_window_draft *d,
                                uint32_t **place, sl_windows *w) {
  const sl_spmm_matrix *a = args->a;
  const sl_window_form form = w->form;
  SL_TRY(
      alloc_bytes(queue, w->slabs * form.slots * (int64_t)sizeof *w->col, 0, "columns of windows", &w->col));
  SL_TRY(
      alloc_bytes(queue, w->slabs * form.words * (int64_t)sizeof *w->word, 0, "bits of windows", &w->word));
  SL_TRY(
      sl_window_alloc(queue, w->entries * (int64_t)sley_dtype_bytes(a->dtype), "values of windows", &w->val));
  SL_TRY(sl_device_upload_private(queue, d->first_of, d->windows * (int64_t)sizeof *d->first_of, "windows",
                                  &d->first_there));
  if (args->renewable)
    SL_TRY(alloc_bytes(queue, sl_spmm_entries(a) * (int64_t)sizeof **place, 0xff, "places of values", place));
  int64_t slabs = 0;
  uint32_t values = 0;
  for (int64_t from = 0, to; from < d->windows; from = to) {
    to = batch_end(a, form.rows, from);
    if (to - from < d->windows) /* if there is a single batch, it is already sorted */
      SL_TRY(sort_batch(queue, a, d, from, to));
    SL_TRY(fill_batch(queue, a, d, from, to, &slabs, &values, *place, w));
  }
  SL_TRY(sl_device_upload_private(queue, d->first, (w->windows + 1) * (int64_t)sizeof *d->first, "windows",
                                  (void **)&w->first));
  SL_TRY(sl_device_upload_private(queue, d->row, w->windows * form.rows * (int64_t)sizeof *d->row,
                                  "rows of windows", (void **)&w->row));
  return form.slots > 1 ? sl_window_mark(queue, w->windows, w->first, form.slots, (int32_t *)w->col)
                        : SLEY_OK;
}

/* ------------------------------------------------------------------------------------------------ chunks */

/* Sets, for each chunk, the piece with which the rows of far for its windows arrive. */
static void set_pieces(const sl_spmm_problem *args, const sl_window_draft *d, sl_chunks *chunks) {
  for (int64_t i = 0; i < chunks->chunks; i++) {
    sl_chunk *chunk = &chunks->chunk[i];
    int64_t end = (d->window[chunk->row + chunk->rows - 1] + 1) * d->matrix.form.rows;
    end = end < args->a->rows ? end : args->a->rows;
    while (chunk->piece < args->pieces - 1 && end > args->piece_end[chunk->piece])
      chunk->piece++;
  }
}

static int64_t sum_bytes(const sl_spmm_problem *p) {
  return (int64_t)sley_dtype_bytes(sl_sum_dtype(p->a->dtype));
}

static int64_t panels_of(int64_t k, int least) {
  return (k + least - 1) / least;
}

static sley_status upload_chunks(sl_queue *queue, const sl_chunks *c, const sl_spmm_problem *args,
                                 int panel_least, sl_windows *w) {
  w->chunks = c->chunks;
  w->longs = c->longs;
  w->counters = sl_fragment_counters(c);
  SL_TRY(sl_device_upload_private(queue, c->chunk, c->chunks * (int64_t)sizeof *c->chunk, "chunks",
                                  (void **)&w->chunk));
  SL_TRY(sl_device_upload_private(queue, c->long_row, (c->longs + 1) * (int64_t)sizeof *c->long_row, "chunks",
                                  (void **)&w->long_row));
  SL_TRY(alloc_bytes(queue, w->counters * panels_of(args->k, panel_least) * (int64_t)sizeof *w->finished, 0,
                     "chunks", &w->finished));
  return sl_window_alloc(queue, c->slots * w->form.rows * args->k * sum_bytes(args),
                         "sums of fragments of windows", &w->partial);
}

sley_status sl_windows_make(sl_queue *queue, const sl_spmm_problem *problem, sl_chunk_sizes sizes,
                            int panel_least, sl_window_draft *d, uint32_t **place, sl_windows *out) {
  SL_TRY(list_windows(problem->a, d, out));
  SL_TRY(fill_windows(queue, problem, d, place, out));
  sl_chunks chunks;
  sley_status status = sl_chunks_make(out->windows, NULL, d->first, sizes, problem->team, &chunks);
  if (status == SLEY_OK && problem->pieces > 1)
    set_pieces(problem, d, &chunks);
  if (status == SLEY_OK)
    status = upload_chunks(queue, &chunks, problem, panel_least, out);
  sl_chunks_free(&chunks);
  return status;
}

/* ------------------------------------------------------------------------------------------------ memory */

int64_t sl_windows_bytes(const sl_spmm_problem *p, sl_window_form form, int64_t slabs, int64_t chunks,
                         int64_t fragments, int panel_least) {
  const sl_spmm_matrix *a = p->a;
  const int64_t entries = sl_spmm_entries(a), windows = sl_windows_in(a->rows, form.rows);
  return sl_device_bytes(windows * form.rows * (int64_t)sizeof(int32_t)) +
         sl_device_bytes((windows + 1) * (int64_t)sizeof(int64_t)) +
         sl_device_bytes(slabs * form.slots * (int64_t)sizeof(int32_t)) +
         sl_device_bytes(slabs * form.words * (int64_t)sizeof(sl_slab_word)) +
         sl_device_bytes(entries * (int64_t)sley_dtype_bytes(a->dtype)) +
         sl_device_bytes(chunks * (int64_t)sizeof(sl_chunk)) +
         sl_device_bytes((fragments + 1) * (int64_t)sizeof(sl_long_row)) +
         sl_device_bytes(3 * fragments * panels_of(p->k, panel_least) * (int64_t)sizeof(unsigned)) +
         sl_device_bytes(fragments * form.rows * p->k * sum_bytes(p)) +
         (p->renewable ? sl_device_bytes(entries * (int64_t)sizeof(uint32_t)) : 0);
}

int64_t sl_window_draft_bytes(const sl_spmm_problem *p, sl_window_form form, int64_t slabs) {
  const sl_spmm_matrix *a = p->a;
  const int64_t entries = sl_spmm_entries(a), windows = sl_windows_in(a->rows, form.rows);
  return sl_device_bytes(entries * (int64_t)sizeof(int32_t)) +
         sl_device_bytes(entries * (int64_t)sley_dtype_bytes(a->dtype)) +
         sl_window_sort_bytes(largest_batch(a, form.rows)) +
         sl_device_bytes((a->rows + 1) * (int64_t)sizeof(int64_t)) +
         sl_device_bytes((windows + SAMPLE_LEAST) * (int64_t)sizeof(int32_t)) +
         sl_device_bytes(SAMPLE_LEAST * (int64_t)sizeof(int64_t)) +
         sl_device_bytes(windows * (int64_t)sizeof(int64_t)) +
         sl_device_bytes(2 * slabs * form.words * (int64_t)sizeof(uint32_t));
}
