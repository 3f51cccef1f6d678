/* SPDX-License-Identifier: Apache-2.0 */
/* Copies and adds listed rows, from one memory or several; scales and rounds rows; all over the team. The
 * speed is that of memory, so portable code suffices: what matters is to prefetch rows early enough. */
#include <string.h>

#include "base/value.h"
#include "device/cpu/cpu.h"

/* GRAIN_BYTES: bytes that a thread claims at a time; less work does not wake another thread. The others: how
 * much of listed rows is prefetched. */
enum { GRAIN_BYTES = 256 << 10, LINE = 64, AHEAD_BYTES = 4096, AHEAD_ROWS = 32, AHEAD_LINES = 16 };

static const char *src_row(const sl_rows_args *a, int64_t i) {
  return (const char *)a->src + (a->src_rows ? a->src_rows[i] : a->src_first + i) * a->src_stride;
}

static char *dst_row(const sl_rows_args *a, int64_t i) {
  return (char *)a->dst + (a->dst_rows ? a->dst_rows[i] : a->dst_first + i) * a->dst_stride;
}

static bool is_stream(const sl_rows_args *a) {
  return !a->src_rows && !a->dst_rows && a->src_stride == a->bytes && a->dst_stride == a->bytes;
}

/* Number of rows to prefetch ahead, worth a few kilobytes. */
static int64_t rows_ahead(int64_t bytes) {
  int64_t rows = AHEAD_BYTES / (bytes + 1);
  return rows < 2 ? 2 : rows > AHEAD_ROWS ? AHEAD_ROWS : rows;
}

/* Prefetches the lines of a row; of a long row only the first lines, because the hardware continues from
 * there. */
static inline void fetch(const char *row, int64_t bytes, const int rw) {
  int64_t lines = bytes < AHEAD_LINES * LINE ? bytes : AHEAD_LINES * LINE;
  for (int64_t at = 0; at < lines; at += LINE) {
    if (rw)
      __builtin_prefetch(row + at, 1, 3);
    else
      __builtin_prefetch(row + at, 0, 3);
  }
}

/* memcpy with sizes that are constants for the usual rows, so that the compiler needs no call. */
static inline void copy_row(char *dst, const char *src, size_t bytes) {
  switch (bytes) {
  case 4:
    memcpy(dst, src, 4);
    return;
  case 8:
    memcpy(dst, src, 8);
    return;
  case 64:
    memcpy(dst, src, 64);
    return;
  case 128:
    memcpy(dst, src, 128);
    return;
  default:
    memcpy(dst, src, bytes);
  }
}

static sley_status copy_rows(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  const sl_rows_args *a = context;
  if (is_stream(a)) {
    memcpy(dst_row(a, begin), src_row(a, begin), (size_t)((end - begin) * a->bytes));
    return SLEY_OK;
  }
  const int64_t ahead = rows_ahead(a->bytes);
  int64_t fetched = a->src_rows ? end - ahead : begin;
  int64_t i = begin;
  for (; i < fetched; i++) {
    fetch(src_row(a, i + ahead), a->bytes, 0);
    copy_row(dst_row(a, i), src_row(a, i), (size_t)a->bytes);
  }
  for (; i < end; i++)
    copy_row(dst_row(a, i), src_row(a, i), (size_t)a->bytes);
  return SLEY_OK;
}

/* Sets value i of an array of 16-bit values. */
static inline void set_last(void *array, sley_dtype dtype, int64_t i, float value) {
  ((uint16_t *)array)[i] = dtype == SLEY_F16 ? sl_f16_of_f32(value) : sl_bf16_of_f32(value);
}

static inline void add_row(char *dst, const char *src, int64_t bytes, sley_dtype dtype) {
  if (dtype == SLEY_F32) {
    float *y = (float *)dst;
    const float *x = (const float *)src;
    int64_t k = bytes / (int64_t)sizeof *y;
    for (int64_t j = 0; j < k; j++)
      y[j] += x[j];
  } else if (sl_is_16_bit(dtype)) {
    int64_t k = bytes / (int64_t)sley_dtype_bytes(dtype);
    for (int64_t j = 0; j < k; j++)
      set_last(dst, dtype, j, (float)sl_value_at(dst, dtype, j) + (float)sl_value_at(src, dtype, j));
  } else {
    double *y = (double *)dst;
    const double *x = (const double *)src;
    int64_t k = bytes / (int64_t)sizeof *y;
    for (int64_t j = 0; j < k; j++)
      y[j] += x[j];
  }
}

static sley_status add_rows(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  const sl_rows_args *a = context;
  const int64_t ahead = rows_ahead(a->bytes);
  int64_t fetched = a->src_rows || a->dst_rows ? end - ahead : begin;
  int64_t i = begin;
  for (; i < fetched; i++) {
    if (a->src_rows)
      fetch(src_row(a, i + ahead), a->bytes, 0);
    if (a->dst_rows)
      fetch(dst_row(a, i + ahead), a->bytes, 1);
    add_row(dst_row(a, i), src_row(a, i), a->bytes, a->dtype);
  }
  for (; i < end; i++)
    add_row(dst_row(a, i), src_row(a, i), a->bytes, a->dtype);
  return SLEY_OK;
}

static int64_t rows_in_grain(int64_t row_bytes) {
  return GRAIN_BYTES / (row_bytes > 0 ? row_bytes : 1) + 1;
}

static sley_status rows_run(sl_queue *queue, const sl_kernel_args *args) {
  sl_rows_args a = args->rows;
  if (a.bytes <= 0 || a.count <= 0)
    return SLEY_OK;
  if (a.count == 1 && a.bytes > GRAIN_BYTES && !a.add) /* split one row over the team as many rows of one
                                                        * byte */
    a = (sl_rows_args){.count = a.bytes,
                       .bytes = 1,
                       .src = src_row(&a, 0),
                       .src_stride = 1,
                       .dst = dst_row(&a, 0),
                       .dst_stride = 1};
  return sl_team_for(sl_cpu_queue_team(queue), a.count, rows_in_grain(a.bytes), a.add ? add_rows : copy_rows,
                     &a);
}

static const char *pulled_from(const sl_pull_args *a, int64_t i) {
  const sl_pull_source *source = &a->source[a->list[i].source];
  return (const char *)source->src + a->list[i].src_row * source->stride;
}

static sley_status pull_rows(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  const sl_pull_args *a = context;
  for (int64_t i = begin; i < end; i++) {
    if (i + AHEAD_ROWS < end)
      fetch(pulled_from(a, i + AHEAD_ROWS), LINE, 0);
    const sl_pull_source *source = &a->source[a->list[i].source];
    char *dst = (char *)a->dst + a->list[i].dst_row * a->dst_stride + source->dst_offset;
    if (a->add)
      add_row(dst, pulled_from(a, i), source->bytes, a->dtype);
    else
      copy_row(dst, pulled_from(a, i), (size_t)source->bytes);
  }
  return SLEY_OK;
}

/* Copies entries [begin, end) of a pull. */
static sley_status pull_some(sl_queue *queue, const sl_pull_args *a, int64_t begin, int64_t end) {
  int64_t bytes = sl_pull_row_bytes(a);
  sl_pull_args some = *a;
  if (bytes <= 0 || begin >= end)
    return SLEY_OK;
  some.list += begin;
  return sl_team_for(sl_cpu_queue_team(queue), end - begin, rows_in_grain(bytes), pull_rows, &some);
}

static sley_status pull_run(sl_queue *queue, const sl_kernel_args *args) {
  const sl_pull_args *a = &args->pull;
  if (a->signals)
    return sl_cpu_pull_signalled(queue, a);
  sley_status status = SLEY_OK;
  int64_t begin = 0;
  for (int s = 0; s < a->pieces; s++) {
    int64_t end = s < a->pieces - 1 ? a->piece_end[s] : a->count;
    sley_status mine = pull_some(queue, a, begin, end);
    status = status == SLEY_OK ? mine : status;
    sl_cpu_tell_piece(&a->arrived->piece[s]);
    begin = end;
  }
  return a->pieces > 0 ? status : pull_some(queue, a, 0, a->count);
}

static sley_status scale_rows(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  const sl_scale_args *a = context;
  for (int64_t i = begin; i < end; i++) {
    if (a->beta == 0)
      memset((char *)a->y + (size_t)(i * a->ldy) * sley_dtype_bytes(a->dtype), 0,
             (size_t)a->k * sley_dtype_bytes(a->dtype));
    else if (a->dtype == SLEY_F32)
      for (float *y = (float *)a->y + i * a->ldy, *last = y + a->k; y < last; y++)
        *y = (float)(a->beta * (double)*y);
    else if (sl_is_16_bit(a->dtype))
      for (int64_t j = i * a->ldy; j < i * a->ldy + a->k; j++)
        sl_value_set(a->y, a->dtype, j, a->beta * sl_value_at(a->y, a->dtype, j));
    else
      for (double *y = (double *)a->y + i * a->ldy, *last = y + a->k; y < last; y++)
        *y = a->beta * *y;
  }
  return SLEY_OK;
}

static sley_status scale_run(sl_queue *queue, const sl_kernel_args *args) {
  sl_scale_args a = args->scale;
  if (a.k <= 0 || a.rows <= 0 || a.beta == 1)
    return SLEY_OK;
  int64_t row_bytes = a.k * (int64_t)sley_dtype_bytes(a.dtype);
  return sl_team_for(sl_cpu_queue_team(queue), a.rows, rows_in_grain(row_bytes), scale_rows, &a);
}

static inline __attribute__((always_inline)) void round_row(const sl_round_args *a, int64_t row,
                                                            const sley_dtype dtype) {
  const float *sums = a->sums + row * a->ld_sums;
  uint16_t *y = (uint16_t *)a->y + row * a->ldy;
  if (a->beta == 0)
    for (int64_t j = 0; j < a->k; j++)
      set_last(y, dtype, j, sums[j]);
  else
    for (int64_t j = 0; j < a->k; j++)
      set_last(y, dtype, j, (float)(a->beta * sl_value_at(y, dtype, j)) + sums[j]);
}

static sley_status round_rows(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  const sl_round_args *a = context;
  for (int64_t i = begin; i < end; i++)
    if (a->dtype == SLEY_F16)
      round_row(a, i, SLEY_F16);
    else
      round_row(a, i, SLEY_BF16);
  return SLEY_OK;
}

static sley_status round_run(sl_queue *queue, const sl_kernel_args *args) {
  sl_round_args a = args->round;
  if (a.k <= 0 || a.rows <= 0)
    return SLEY_OK;
  int64_t row_bytes = a.k * (int64_t)(sizeof(float) + sizeof(uint16_t));
  return sl_team_for(sl_cpu_queue_team(queue), a.rows, rows_in_grain(row_bytes), round_rows, &a);
}

const sl_kernel sl_cpu_rows = {.name = "rows",
                               .op = SL_OP_ROWS,
                               .ok = sl_rows_ok,
                               .cost = sl_cost_of_bytes,
                               SL_KERNEL_KEEPS_NOTHING,
                               .run = rows_run};

const sl_kernel sl_cpu_pull = {.name = "pull",
                               .op = SL_OP_PULL,
                               .ok = sl_pull_ok,
                               .cost = sl_cost_of_bytes,
                               SL_KERNEL_KEEPS_NOTHING,
                               .run = pull_run};

const sl_kernel sl_cpu_scale = {.name = "scale",
                                .op = SL_OP_SCALE,
                                .ok = sl_scale_ok,
                                .cost = sl_cost_of_bytes,
                                SL_KERNEL_KEEPS_NOTHING,
                                .run = scale_run};

const sl_kernel sl_cpu_round = {.name = "round",
                                .op = SL_OP_ROUND,
                                .ok = sl_round_ok,
                                .cost = sl_cost_of_bytes,
                                SL_KERNEL_KEEPS_NOTHING,
                                .run = round_run};
