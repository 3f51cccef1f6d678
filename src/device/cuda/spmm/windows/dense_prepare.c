/* SPDX-License-Identifier: Apache-2.0 */
#include "device/cuda/spmm/windows/dense_prepare.h"

#include "base/memory.h"
#include "device/cuda/spmm/column_copy.h"
#include "device/cuda/spmm/windows/dense_choice.h"

/* Groups of rows that are examined before any window is sorted. */
enum { GROUPS = 256 };

void sl_dense_release(sl_device *device, sl_dense *d) {
  if (!d)
    return;
  sl_rest_release(device, &d->rest);
  sl_windows_release(device, &d->windows);
  device->ops->free(device, d->place);
  sl_window_arrays_free(device, &d->whole);
  sl_free(d);
}

/* Counts the distinct columns of a sample's windows of one height. */
static sley_status look_at(sl_queue *queue, const sl_spmm_matrix *a, const sl_dense_sample *sample,
                           int height, sl_window_draft *d) {
  const int rows = sl_dense_rows_of(height), each = SL_DENSE_ROWS_MOST / rows;
  int64_t window[GROUPS * (SL_DENSE_ROWS_MOST / SL_DENSE_ROWS_LEAST)], count = 0;
  for (int64_t i = 0; i < sample->groups; i++)
    for (int j = 0; j < each; j++) {
      const int64_t w = sample->group[i] * each + j;
      sample->slots[height][i * each + j] = 0;
      if (w * rows < a->rows)
        window[count++] = w;
    }
  d->matrix.form = sl_dense_form(rows);
  /* Only the last group, which is last in the sample, may lack windows, at its end. */
  return sl_window_draft_look(queue, d, count, window, sample->slots[height]);
}

/* Examines evenly spread groups of rows. */
static sley_status look(sl_queue *queue, const sl_spmm_problem *args, sl_window_draft *d, sl_dense_way *way) {
  enum { MOST = GROUPS * (SL_DENSE_ROWS_MOST / SL_DENSE_ROWS_LEAST) };
  const sl_spmm_matrix *a = args->a;
  const int64_t groups = sl_windows_in(a->rows, SL_DENSE_ROWS_MOST);
  int64_t group[GROUPS];
  int32_t slots[SL_DENSE_HEIGHTS][MOST];
  sl_dense_sample sample = {groups < GROUPS ? groups : GROUPS, group, {slots[0], slots[1], slots[2]}};
  for (int64_t i = 0; i < sample.groups; i++)
    group[i] = i * groups / sample.groups;
  SL_TRY(sl_window_draft_upload(queue, a, d));
  for (int h = 0; h < SL_DENSE_HEIGHTS; h++)
    SL_TRY(look_at(queue, a, &sample, h, d));
  *way = sl_dense_choose_way(args, &sample);
  return SLEY_OK;
}

/* Chooses windows; *way is how. */
static sley_status choose(sl_queue *queue, const sl_spmm_problem *args, const sl_window_arrays *whole,
                          sl_window_draft *d) {
  sl_window_draft first = {0};
  sl_dense_way way = {0};
  sley_status status = sl_window_draft_begin(args, sl_dense_form(SL_DENSE_ROWS_LEAST), whole, &first);
  if (status == SLEY_OK && sl_window_draft_fits(args->a, &first))
    status = look(queue, args, &first, &way);
  sl_window_draft_free(queue->device, &first);
  SL_TRY(status);
  SL_TRY(sl_window_draft_begin(args, sl_dense_form(way.rows ? way.rows : SL_DENSE_ROWS_LEAST), whole, d));
  if (way.rows == 0)
    return SLEY_OK;
  SL_TRY(sl_window_draft_upload(queue, args->a, d));
  /* If values may be replaced, the choice of windows must not depend on the current values. */
  SL_TRY(sl_window_draft_count(queue, args->a, !args->renewable, d));
  d->chosen_windows = sl_dense_choose(args, way, d->slots, d->chosen);
  return SLEY_OK;
}

static sley_status make_windows(sl_queue *queue, const sl_spmm_problem *args, sl_window_draft *d,
                                sl_dense *out) {
  int64_t *first, n = 0;
  SL_TRY(SL_NEW(first, d->chosen_windows + 1, "windows"));
  first[0] = 0;
  for (int64_t w = 0; w < d->windows; w++)
    if (d->chosen[w]) {
      first[n + 1] = first[n] + sl_window_draft_slabs(d, w);
      n++;
    }
  const sl_chunk_sizes sizes = sl_dense_cut(args, n, first);
  sl_free(first);
  return sl_windows_make(queue, args, sizes, SL_DENSE_PANEL_LEAST, d, &out->place, &out->windows);
}

/* Frees the arrays that only refill, or products of the whole matrix by another kernel, would need. */
static sley_status drop_matrix(sl_queue *queue, const sl_spmm_problem *args, sl_dense *d) {
  if (d->windows.windows == 0)
    return SLEY_OK;
  SL_TRY(queue->ops->queue_wait(queue));
  sl_window_arrays gone = {d->whole.col, args->renewable ? NULL : d->whole.val, d->whole.owns};
  sl_window_arrays_free(queue->device, &gone);
  d->whole.col = NULL;
  if (!args->renewable)
    d->whole.val = NULL;
  return SLEY_OK;
}

static sley_status inspect(sl_queue *queue, const sl_spmm_problem *args, const sl_kernel *const *others,
                           sl_window_draft *d, sl_dense *out) {
  SL_TRY(sl_cuda_check_columns(args->a));
  SL_TRY(sl_window_arrays_make(queue, args->a, &out->whole));
  SL_TRY(choose(queue, args, &out->whole, d));
  if (d->chosen_windows > 0)
    SL_TRY(make_windows(queue, args, d, out));
  SL_TRY(sl_rest_make(queue, args, d, &out->whole, others, &out->rest));
  return drop_matrix(queue, args, out);
}

sley_status sl_dense_prepare(sl_queue *queue, const sl_spmm_problem *problem, const sl_kernel *const *others,
                             sl_dense **out) {
  sl_window_draft draft = {0};
  sl_dense *d;
  *out = NULL;
  SL_TRY(SL_NEW_ZERO(d, 1, "a part's dense windows"));
  sley_status status = inspect(queue, problem, others, &draft, d);
  sley_status waited = queue->ops->queue_wait(queue); /* the kernels' input is freed after this */
  sl_window_draft_free(queue->device, &draft);
  status = status != SLEY_OK ? status : waited;
  if (status != SLEY_OK)
    sl_dense_release(queue->device, d);
  else
    *out = d;
  return status;
}

int64_t sl_dense_memory(const sl_spmm_problem *p, int64_t *passing) {
  int64_t most = 0, most_passing = 0;
  for (int h = 0; h < SL_DENSE_HEIGHTS; h++) {
    const int rows = sl_dense_rows_of(h);
    const sl_window_form form = sl_dense_form(rows);
    const int64_t slots = sl_dense_slots_most(p->a->dtype, rows, sl_spmm_entries(p->a)),
                  fragments = sl_dense_fragments_most(p),
                  chunks = sl_windows_in(p->a->rows, rows) + fragments;
    const int64_t kept = sl_windows_bytes(p, form, slots, chunks, fragments, SL_DENSE_PANEL_LEAST),
                  used = sl_window_draft_bytes(p, form, slots);
    most = kept > most ? kept : most;
    most_passing = used > most_passing ? used : most_passing;
  }
  *passing = most_passing + sl_rest_bytes(p);
  return most + (p->renewable ? sl_rest_bytes(p) : 0);
}
