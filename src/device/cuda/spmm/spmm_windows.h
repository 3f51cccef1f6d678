/* SPDX-License-Identifier: Apache-2.0 */
/* Row windows: consecutive rows whose distinct columns are condensed to dense blocks. Windows of 16 rows for
 * Tensor cores (HC-SpMM, generalized), and dense windows of 16 to 64 rows. The data that the host prepares,
 * the inspection on the GPU, and the input of the products in tensor.cuh and windows/dense.cuh. */
#ifndef SLEY_DEVICE_CUDA_SPMM_SPMM_WINDOWS_H
#define SLEY_DEVICE_CUDA_SPMM_SPMM_WINDOWS_H

#include "device/cuda/cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

#include "device/chunks.h"
#include "device/cuda/spmm/window_choice.h"

/* A window is a sequence of slabs, each one operation of a warp on Tensor cores: the window's rows times 8
 * columns (f32, as tf32) or 16 (f16, bf16). The columns of a slab are its slots. One bit for each row and
 * slot says whether there is an entry. Only values of entries are stored, in the order of their bits.
 *
 * The bits of a lane are contiguous, in the order of the registers that it passes to the operation: lane 4 g
 * + q has rows g and g + 8 of slots q S to q S + S - 1, where S is a quarter of the slots. */

/* A slab of a dense window is one slot. Its bits are in the order of rows: bit r % 32 of word r / 32 is row
 * r.
 */

/* The form of windows: their rows, and the slots and words of a slab. */
typedef struct sl_window_form {
  int rows, slots, words;
} sl_window_form;

static inline sl_window_form sl_tensor_form(sley_dtype dtype) {
  const int slots = sl_slab_slots(dtype);
  return (sl_window_form){SL_WINDOW_ROWS, slots, slots / 2};
}

static inline sl_window_form sl_dense_form(int rows) {
  return (sl_window_form){rows, 1, rows > 32 ? rows / 32 : 1};
}

/* 32 bits of a slab, and the index of the first of their values. */
typedef struct sl_slab_word {
  uint32_t bits, first;
} sl_slab_word;

/* Arrays in device memory. Entries with the same row and column have separate slots. */
typedef struct sl_windows {
  sl_window_form form;
  int64_t windows, slabs, entries, chunks, longs;
  const int32_t *row;   /* row of Y, form.rows per window; -1: no row */
  const int64_t *first; /* first slab of each window; windows + 1 elements */
  /* col: column of each slot. In the last slab of a window for Tensor cores the sign bits are set; unused
   * slots have a column of the slab. */
  const int32_t *col;
  const sl_slab_word *word; /* form.words per slab */
  const void *val;          /* values, in the order of bits */
  const sl_chunk *chunk;    /* chunks of windows; a chunk's entries are slabs */
  const sl_long_row *long_row;
  void *partial;      /* sums of fragments of windows: slots x form.rows x k */
  unsigned *finished; /* counters of fragments (chunks.h) for each panel of features */
  int64_t counters;   /* counters per panel */
} sl_windows;

typedef struct sl_window_run {
  sl_windows a;
  /* Columns below x_rows are rows of x, the others rows of far, if far has any. */
  const void *x, *far;
  int64_t x_rows, far_rows;
  void *y;
  int64_t ldx, ldfar, ldy, k; /* in elements */
  double alpha, beta;
  const sl_piece_words *arrivals; /* signals for which chunks wait; NULL: all rows of far have arrived */
  bool wide_y;
} sl_window_run;

static inline sl_window_run sl_window_run_of(const sl_spmm_run *run, const sl_windows *windows) {
  const sl_spmm_problem *p = run->problem;
  return (sl_window_run){.a = *windows,
                         .x = run->x,
                         .far = run->far,
                         .x_rows = p->x_rows,
                         .far_rows = p->far_rows,
                         .y = run->y,
                         .ldx = run->ldx,
                         .ldfar = run->far ? run->ldfar : 0,
                         .ldy = run->ldy,
                         .k = p->k,
                         .alpha = run->alpha,
                         .beta = run->beta,
                         .arrivals = run->arrivals,
                         .wide_y = p->wide_y};
}

/* Bounds of the errors of sums, relative to the documented order (tensor.cuh). In 16-bit types each term
 * counts as 4 roundings, in f32 less. In f32 the error of each product, 2^-20 of it, counts as 16 more. With
 * tf32 alone the error of each product, 2^-10 + 2^-22 of it, counts as 2^14 + 4, and 12 are added. */
enum { SL_TENSOR_ROUNDINGS = 4, SL_TENSOR_MORE_ROUNDINGS = 16, SL_TF32_MORE_ROUNDINGS = (1 << 14) + 16 };

/* Enqueue the product over windows for Tensor cores. */
sley_status sl_cuda_tensor_f32(sl_queue *queue, const sl_window_run *run);
sley_status sl_cuda_tensor_tf32(sl_queue *queue,
                                const sl_window_run *run); /* for f32 values, rounded to tf32 */
sley_status sl_cuda_tensor_f16(sl_queue *queue, const sl_window_run *run);
sley_status sl_cuda_tensor_bf16(sl_queue *queue, const sl_window_run *run);

/* Enqueue the product over dense windows (windows/dense.cuh). */
sley_status sl_cuda_dense_f32(sl_queue *queue, const sl_window_run *run);
sley_status sl_cuda_dense_tf32(sl_queue *queue,
                               const sl_window_run *run); /* for f32 values, rounded to tf32 */
sley_status sl_cuda_dense_f64(sl_queue *queue, const sl_window_run *run);
sley_status sl_cuda_dense_f16(sl_queue *queue, const sl_window_run *run);
sley_status sl_cuda_dense_bf16(sl_queue *queue, const sl_window_run *run);

/* ---- inspection; all arrays are in device memory, and rows are stored rows. */

/* A matrix in windows of form.rows consecutive stored rows. Entries are numbered from rowptr[0] on. Columns
 * are below `columns`; their sign bits may be set. */
typedef struct sl_window_matrix {
  sl_window_form form;
  int64_t rows, entries, columns;
  const int64_t *rowptr;
  const int32_t *col;
  const void *val;
  sley_dtype dtype;
} sl_window_matrix;

/* The entries of some windows, sorted by window, column and stored order. */
typedef struct sl_window_sort sl_window_sort;

/* Allocates memory to sort at most `entries` entries at a time; sl_window_sort_bytes returns its size.
 * sl_window_sort_destroy accepts NULL. */
int64_t sl_window_sort_bytes(int64_t entries);
sley_status sl_window_sort_create(sl_queue *queue, int64_t entries, sl_window_sort **out);
void sl_window_sort_destroy(sl_device *device, sl_window_sort *sort);

/* Sorts the entries of windows `from` to `to` - 1, which are entries `begin` to `end` - 1 of the matrix, and
 * assigns each entry the number of its slot, relative to the first of these windows. slots[w - from] receives
 * the number of slots of window w. Enqueued. */
sley_status sl_window_sort_run(sl_queue *queue, sl_window_sort *sort, const sl_window_matrix *a, int64_t from,
                               int64_t to, int64_t begin, int64_t end, int32_t *slots);

/* Sets slots[w] to -1 for windows with a value that is not finite. Enqueued. */
sley_status sl_window_mark_special(sl_queue *queue, const sl_window_matrix *a, int32_t *slots);

/* Sets columns and bits of the windows last sorted: the slabs of window w begin at first_slab[w - from]; if
 * that is negative, the window has no slabs. col and word must be zeroed before. Enqueued. */
sley_status sl_window_fill(sl_queue *queue, const sl_window_sort *sort, const sl_window_matrix *a,
                           const int64_t *first_slab, int32_t *col, sl_slab_word *word);

/* After the bits of these words are set: computes where the values of each word begin, the first at `base`.
 * Allocates temporary memory for a prefix sum, and waits. */
sley_status sl_window_number(sl_queue *queue, int64_t words, uint32_t base, sl_slab_word *word);

/* Marks the `slots` slots of the last slab of each window, first[w + 1] - 1. Enqueued. */
sley_status sl_window_mark(sl_queue *queue, int64_t windows, const int64_t *first, int slots, int32_t *col);

/* Copies the values of the windows last sorted to their places in val. If place is not NULL, records the
 * place of each of their entries; places of other entries stay unchanged. Enqueued. */
sley_status sl_window_place(sl_queue *queue, const sl_window_sort *sort, const sl_window_matrix *a,
                            const int64_t *first_slab, const sl_slab_word *word, void *val, uint32_t *place);

/* Replaces the values of entries whose place is not UINT32_MAX. Enqueued. */
sley_status sl_window_refill(sl_queue *queue, int64_t entries, const uint32_t *place, const void *from,
                             int64_t value_bytes, void *val);

/* Copies whole rows: row i of the result has entries from[i], from[i] + 1 and so on, until rowptr[i + 1]. If
 * col is NULL, copies only values. Enqueued. */
sley_status sl_window_gather(sl_queue *queue, int64_t rows, const int64_t *from, const int64_t *rowptr,
                             const int32_t *col, const void *val, int64_t value_bytes, int32_t *col_out,
                             void *val_out);

/* counted[i]: number of distinct columns of window window[i], or -1 if its columns are too far apart to be
 * counted this way. Enqueued. */
sley_status sl_window_count(sl_queue *queue, const sl_window_matrix *a, int64_t count, const int64_t *window,
                            int32_t *counted);

#ifdef __cplusplus
}
#endif
#endif
