/* SPDX-License-Identifier: Apache-2.0 */
/* Makes windows of a matrix, of any form: entries are sorted on the GPU, slots are counted, the caller
 * chooses windows, and the chosen ones are filled and cut into chunks. */
#ifndef SLEY_DEVICE_CUDA_SPMM_WINDOWS_BUILD_H
#define SLEY_DEVICE_CUDA_SPMM_WINDOWS_BUILD_H

#include "device/cuda/spmm/spmm_windows.h"

/* Results of inspection that are no longer needed afterwards. */
typedef struct sl_window_draft {
  sl_window_matrix matrix;
  int64_t windows, chosen_windows;
  int32_t *slots;    /* one per window */
  bool *chosen;      /* one per window */
  int64_t *first_of; /* first slab of each window, or -1 */
  /* For each chosen window. */
  int64_t *window, *first; /* number of the window; number of its first slab, and at the end of the array the
                              total number of slabs */
  int32_t *row;            /* as in sl_windows */
  void *rowptr, *slots_there, *first_there; /* in device memory */
  sl_window_sort *sort;
} sl_window_draft;

/* A matrix's columns and values in device memory, a copy unless the matrix is resident. */
typedef struct sl_window_arrays {
  int32_t *col;
  void *val;
  bool owns;
} sl_window_arrays;
sley_status sl_window_arrays_make(sl_queue *queue, const sl_spmm_matrix *a, sl_window_arrays *out);
void sl_window_arrays_free(sl_device *device, const sl_window_arrays *arrays); /* only what is a copy */

static inline int64_t sl_windows_in(int64_t rows, int window_rows) {
  return (rows + window_rows - 1) / window_rows;
}

/* Number of entries before window w, and in window w, of windows of window_rows rows. */
static inline int64_t sl_entries_before(const sl_spmm_matrix *a, int64_t w, int window_rows) {
  const int64_t row = w * window_rows;
  return a->rowptr[row < a->rows ? row : a->rows] - a->rowptr[0];
}
static inline int64_t sl_entries_of(const sl_spmm_matrix *a, int64_t w, int window_rows) {
  return sl_entries_before(a, w + 1, window_rows) - sl_entries_before(a, w, window_rows);
}

/* Begins a draft: no window is chosen. The caller frees it with sl_window_draft_free, also after an error. */
sley_status sl_window_draft_begin(const sl_spmm_problem *problem, sl_window_form form,
                                  const sl_window_arrays *arrays, sl_window_draft *out);
void sl_window_draft_free(sl_device *device, sl_window_draft *draft);

/* Returns whether there are entries, and 32 bits suffice for places of values, rows and columns. */
bool sl_window_draft_fits(const sl_spmm_matrix *a, const sl_window_draft *draft);

/* Copies the starts of rows to the device; the functions below need them. */
sley_status sl_window_draft_upload(sl_queue *queue, const sl_spmm_matrix *a, sl_window_draft *draft);

/* Counts the distinct columns of some windows, in counted; see sl_window_count. Waits. */
sley_status sl_window_draft_look(sl_queue *queue, const sl_window_draft *draft, int64_t count,
                                 const int64_t *window, int32_t *counted);

/* Counts the slots of all windows. leave_out: windows with values that are not finite get -1 slots, because a
 * sum that is not finite is computed again, slowly. Waits. */
sley_status sl_window_draft_count(sl_queue *queue, const sl_spmm_matrix *a, bool leave_out,
                                  sl_window_draft *draft);

/* Slabs of window w, at least one, because rows without entries are stored as well. */
int64_t sl_window_draft_slabs(const sl_window_draft *draft, int64_t w);

/* Makes the chosen windows, cut by these sizes (in slabs). place: NULL, or memory that receives the place of
 * each entry, for new values. On an error the caller frees what is in *out. */
sley_status sl_windows_make(sl_queue *queue, const sl_spmm_problem *problem, sl_chunk_sizes sizes,
                            int panel_least, sl_window_draft *draft, uint32_t **place, sl_windows *out);
void sl_windows_release(sl_device *device, const sl_windows *windows);

/* Bounds of the bytes of device memory: kept by windows of these numbers of slabs, chunks and fragments, with
 * panels of at least panel_least features; and used by inspection. */
int64_t sl_windows_bytes(const sl_spmm_problem *problem, sl_window_form form, int64_t slabs, int64_t chunks,
                         int64_t fragments, int panel_least);
int64_t sl_window_draft_bytes(const sl_spmm_problem *problem, sl_window_form form, int64_t slabs);

sley_status sl_window_alloc(sl_queue *queue, int64_t bytes, const char *what, const void *out);
void sl_window_free(sl_device *device, const void *const *blocks, size_t count);

#endif
