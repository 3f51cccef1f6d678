/* SPDX-License-Identifier: Apache-2.0 */
/* Row windows for Tensor cores (HC-SpMM, generalized): 16 rows whose distinct columns are condensed to dense
 * blocks. What the host prepares, what the inspection on the GPU does, and what the product of
 * tensor.cuh runs on. */
#ifndef SLEY_DEVICE_CUDA_SPMM_SPMM_WINDOWS_H
#define SLEY_DEVICE_CUDA_SPMM_SPMM_WINDOWS_H

#include "device/cuda/cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

#include "device/chunks.h"
#include "device/cuda/spmm/window_choice.h"

/* A window is a sequence of slabs, each one operation of a warp on Tensor cores: the window's rows times 8
 * columns (f32, as tf32) or 16 (f16, bf16). The columns of a slab are slots. A bit for each row and slot
 * tells whether there is an entry; only values of entries are stored, in the order of their bits.
 *
 * The bits of a lane are neighbours, in the order of the registers that it gives the operation: lane 4 g + q
 * has rows g and g + 8 of slots q S to q S + S - 1, S being a quarter of the slots. */

/* 32 bits of a slab, and where the first of their values lies. */
typedef struct sl_slab_word {
  uint32_t bits, first;
} sl_slab_word;

/* Arrays in the device's memory. Entries that have the same row and column are in slots of their own. */
typedef struct sl_windows {
  int64_t windows, slabs, entries, chunks, longs;
  const int32_t *row;   /* of Y, SL_WINDOW_ROWS of each window; -1: none */
  const int64_t *first; /* slab of each window; windows + 1 */
  const int32_t *col;   /* of each slot; in the last slab of a window the sign bits are set. Slots that are
                         * left over have a column of the slab */
  const sl_slab_word *word; /* slots / 2 of each slab */
  const void *val;          /* in the order of bits */
  const sl_chunk *chunk;    /* of windows, their entries being slabs */
  const sl_long_row *long_row;
  void *partial;      /* sums of fragments of windows: slots x SL_WINDOW_ROWS x k */
  unsigned *finished; /* counters of fragments (chunks.h) for each panel of features */
  int64_t counters;   /* of a panel */
} sl_windows;

typedef struct sl_tensor_run {
  sl_windows a;
  /* Columns below x_rows name rows of x, those from there on rows of far, if that has any. */
  const void *x, *far;
  int64_t x_rows, far_rows;
  void *y;
  int64_t ldx, ldfar, ldy, k; /* elements */
  double alpha, beta;
  const sl_piece_words *arrivals; /* chunks wait for their piece; NULL: all rows of far are there */
  bool wide_y;
} sl_tensor_run;

/* How the errors of sums compare with those of the documented order (tensor.cuh): each term counts as 4
 * roundings where values have 16 bits, less in f32; in f32 the parts that are lost of each product, 2^-20 of
 * it, count as 16; by tf32 alone 2^-10 and 2^-22 of it count as 2^14 + 4, and as many more as above. */
enum { SL_TENSOR_ROUNDINGS = 4, SL_TENSOR_MORE_ROUNDINGS = 16, SL_TF32_MORE_ROUNDINGS = (1 << 14) + 16 };

/* Enqueue the product. */
sley_status sl_cuda_tensor_f32(sl_queue *queue, const sl_tensor_run *run);
sley_status sl_cuda_tensor_tf32(sl_queue *queue, const sl_tensor_run *run); /* of f32 */
sley_status sl_cuda_tensor_f16(sl_queue *queue, const sl_tensor_run *run);
sley_status sl_cuda_tensor_bf16(sl_queue *queue, const sl_tensor_run *run);

/* ---- inspection; all arrays lie in the device's memory, and counts are of stored rows. */

/* A matrix in windows of SL_WINDOW_ROWS consecutive stored rows. Entries are counted from its first,
 * rowptr[0]. Columns are below `columns`; their sign bits may be set. */
typedef struct sl_window_matrix {
  int64_t rows, entries, columns;
  const int64_t *rowptr;
  const int32_t *col;
  const void *val;
  sley_dtype dtype;
} sl_window_matrix;

/* The entries of some windows, sorted by window, column and stored order. */
typedef struct sl_window_sort sl_window_sort;

/* Room for sorting at most `entries` entries at a time; _bytes tells how much. sl_window_sort_destroy takes
 * NULL. */
int64_t sl_window_sort_bytes(int64_t entries);
sley_status sl_window_sort_create(sl_queue *queue, int64_t entries, sl_window_sort **out);
void sl_window_sort_destroy(sl_device *device, sl_window_sort *sort);

/* Sorts the entries of windows `from` to `to` - 1, entries `begin` to `end` - 1 of the matrix, and gives each
 * entry the number of its slot, counted from the first of these windows. slots[w - from] becomes the number
 * of slots of window w. Enqueued. */
sley_status sl_window_sort_run(sl_queue *queue, sl_window_sort *sort, const sl_window_matrix *a, int64_t from,
                               int64_t to, int64_t begin, int64_t end, int32_t *slots);

/* slots[w] becomes -1 for windows with a value that is not finite. Enqueued. */
sley_status sl_window_mark_special(sl_queue *queue, const sl_window_matrix *a, int32_t *slots);

/* Sets columns and bits of the windows last sorted: window w has slabs from first_slab[w - from] on, or none
 * if that is negative. col and word were zeros. Enqueued. */
sley_status sl_window_fill(sl_queue *queue, const sl_window_sort *sort, const sl_window_matrix *a,
                           const int64_t *first_slab, int32_t *col, sl_slab_word *word);

/* Once the bits of these slabs are set: where the values of each word begin, the first of them at `base`.
 * Allocates room for a sum over the words and frees it; waits. */
sley_status sl_window_number(sl_queue *queue, int64_t slabs, uint32_t base, sley_dtype dtype,
                             sl_slab_word *word);

/* Marks the last slab of each window, first[w + 1] - 1. Enqueued. */
sley_status sl_window_mark(sl_queue *queue, int64_t windows, const int64_t *first, sley_dtype dtype,
                           int32_t *col);

/* Copies the values of the windows last sorted to their places in val; with place, notes for each entry of
 * the matrix where it went; entries of other windows are left alone. Enqueued. */
sley_status sl_window_place(sl_queue *queue, const sl_window_sort *sort, const sl_window_matrix *a,
                            const int64_t *first_slab, const sl_slab_word *word, void *val, uint32_t *place);

/* New values for entries whose place is not UINT32_MAX. Enqueued. */
sley_status sl_window_refill(sl_queue *queue, int64_t entries, const uint32_t *place, const void *from,
                             int64_t value_bytes, void *val);

/* Copies whole rows: row i of the result has the entries from[i], from[i] + 1 and so on, until
 * rowptr[i + 1]. With col NULL only values. Enqueued. */
sley_status sl_window_gather(sl_queue *queue, int64_t rows, const int64_t *from, const int64_t *rowptr,
                             const int32_t *col, const void *val, int64_t value_bytes, int32_t *col_out,
                             void *val_out);

/* Distinct columns of some windows, counted[i] of window window[i], or -1 where it has too many entries to be
 * counted so. Enqueued. */
sley_status sl_window_count(sl_queue *queue, const sl_window_matrix *a, int64_t count, const int64_t *window,
                            int32_t *counted);

#ifdef __cplusplus
}
#endif
#endif
