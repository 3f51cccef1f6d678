/* SPDX-License-Identifier: Apache-2.0 */
/* Building blocks of the loops of spmm_body.h: rows of X and Y as vectors of sums, in registers and in
 * memory. The including file has included the headers that spmm_body.h names.
 *
 * The parameters declared const int, bool or sley_index are constants at every call, and each call is
 * inlined, so the compiler generates a separate loop for each combination. */
#ifndef SLEY_DEVICE_CPU_SPMM_MOVES_H
#define SLEY_DEVICE_CPU_SPMM_MOVES_H

#define INLINE static inline __attribute__((always_inline))

enum { PANEL = 8 /* most vectors of a row that are summed at once */ };

/* How the last vector of a row is moved: whole; with a mask; or as a quarter or half of a vector with a mask,
 * because a whole vector that is mostly masked would needlessly cross cache lines. */
enum { WHOLE, MASKED, QUARTER, HALF };

/* Returns how a row of k values is moved by kernels that support all ways. */
static int last_of(int64_t k) {
  const int rest = (int)(k % LANES);
  if (rest == 0 || NARROW || (int)MOST_PARTS == 1)
    return rest == 0 ? WHOLE : MASKED;
  return (int)MOST_PARTS >= 4 && rest * 4 <= LANES ? QUARTER : rest * 2 <= LANES ? HALF : MASKED;
}

/* Returns false for ways that are not needed for any row of k values; the caller's code is then empty,
 * because `last` is a constant. A vector of one lane is always whole. */
INLINE bool exists(const int last) {
  return last == WHOLE || (last == MASKED && (int)LANES > 1) ||
         (last > MASKED && !NARROW && (int)MOST_PARTS >= (last == QUARTER ? 4 : 2));
}

/* The work of run_panel: features [feature, feature + width) of stored rows [row, row_end). */
typedef struct panel {
  int64_t row, row_end, feature, width;
  bool stream; /* write whole lines of Y, past the caches */
  bool near;   /* as in sl_spmm_part */
} panel;

/* The operands in the form that the innermost loop needs. */
typedef struct operands {
  const void *col;
  const value *val;
  const char *x;
  int64_t stride; /* bytes between rows of X */
  const uintptr_t *pages;
  int64_t offset; /* bytes from the start of a row to the panel */
  double alpha;
  bool wide; /* true: Y has the type of sums */
  mask tail; /* mask of the last vector if it is incomplete */
} operands;

INLINE operands operands_of(const sl_spmm_run *args, const panel *p, const int vectors, const bool paged) {
  const sl_spmm_matrix *a = args->problem->a;
  return (operands){.col = a->col,
                    .val = a->val,
                    .x = paged ? NULL : (const char *)((const value *)args->x + p->feature),
                    .stride = args->ldx * (int64_t)sizeof(value),
                    .pages = args->problem->pages,
                    .offset = p->feature * (int64_t)sizeof(value),
                    .alpha = args->alpha,
                    .wide = args->problem->wide_y,
                    .tail = mask_of(p->width - (vectors - 1) * LANES, vectors == 1)};
}

INLINE int64_t column(const void *col, int64_t j, const sley_index index) {
  return index == SLEY_I32 ? ((const int32_t *)col)[j] : ((const int64_t *)col)[j];
}

/* Address of the row of X for column c. */
INLINE const char *x_row(const operands *o, int64_t c, const bool paged) {
  if (!paged)
    return o->x + c * o->stride;
  return (const char *)(o->pages[(uint64_t)c / SL_X_PAGE] + (uintptr_t)(c * o->stride)) + o->offset;
}

/* Loads vector v of a row of X, or of Y. */
INLINE vec load_x(const operands *o, const value *row, const int v, const int vectors, const int last) {
  if (last == WHOLE || v < vectors - 1)
    return load_values(row + v * LANES);
  return load_values_part(row + v * LANES, o->tail, last == QUARTER ? 4 : last == HALF ? 2 : 1);
}

INLINE vec load_y(const operands *o, const sum *row, const int v, const int vectors, const int last) {
  if (last == WHOLE || v < vectors - 1)
    return vec_load(row + v * LANES);
  return vec_load_part(row + v * LANES, o->tail, 1);
}

INLINE void store_y(const operands *o, sum *row, vec sums, const int v, const int vectors, const int last) {
  if (last == WHOLE || v < vectors - 1)
    vec_store(row + v * LANES, sums);
  else
    vec_store_part(row + v * LANES, o->tail, sums);
}

enum {
  LINE_VALUES = 64 / sizeof(value),
  /* An out-of-order core hides the loads of short rows of X, and of rows in a near cache, without
   * prefetching. Of other rows, and of rows found through pages, FETCHED_LINES lines are prefetched AHEAD
   * entries early; the hardware fetches the rest. */
  UNFETCHED_LINES = 2,
  FETCHED_LINES = 4,
  AHEAD = 32,
};

INLINE void fetch_lines(const char *row, const int lines) {
#pragma GCC unroll 8
  for (int line = 0; line < lines; line++)
    __builtin_prefetch(row + line * 64, 0, 3);
}

/* Adds factor * row to acc, where row is a row of X. */
INLINE void add_row(const operands *o, const value *row, sum factor, vec *acc, const int vectors,
                    const int last) {
  const vec s = vec_all(factor);
#pragma GCC unroll 16
  for (int v = 0; v < vectors; v++)
    acc[v] = vec_fma(s, load_x(o, row, v, vectors, last), acc[v]);
}

/* Adds factor * (the row of X for column c) to acc. */
INLINE void add_entry(const operands *o, int64_t c, sum factor, vec *acc, const int vectors, const int last,
                      const bool paged) {
  add_row(o, (const value *)x_row(o, c, paged), factor, acc, vectors, last);
}

/* Returns whether sums must be rounded to the type of Y. */
INLINE bool is_rounded(const operands *o) {
  return NARROW && !o->wide;
}

/* Multiplies values narrower than sums by beta. Not inlined, because rows begin rarely and every loop
 * contains the code. */
static __attribute__((noinline)) void scale_values(const value *y, double beta, int64_t width, sum *out) {
  for (int64_t c = 0; c < width; c++)
    out[c] = (sum)(beta * (double)widen(y[c]));
}

/* Sets acc to beta y, the start of a row. */
INLINE void begin_row(const operands *o, double beta, int64_t width, void *row, vec *acc, const int vectors,
                      const int last) {
#pragma GCC unroll 16
  for (int v = 0; v < vectors; v++)
    acc[v] = vec_zero();
  if (beta == 0)
    return;
  if (is_rounded(o)) {
    sum scaled[PANEL * LANES] = {0};
    scale_values(row, beta, width, scaled);
#pragma GCC unroll 16
    for (int v = 0; v < vectors; v++)
      acc[v] = load_y(o, scaled, v, vectors, last);
    return;
  }
  sum *y = row;
  if (beta != 1)
    for (int64_t c = 0; c < width; c++)
      y[c] = (sum)(beta * (double)y[c]);
#pragma GCC unroll 16
  for (int v = 0; v < vectors; v++)
    acc[v] = load_y(o, y, v, vectors, last);
}

INLINE void begin_plain(const operands *o, bool adds, const sum *y, vec *acc, const int vectors,
                        const int last) {
#pragma GCC unroll 16
  for (int v = 0; v < vectors; v++)
    acc[v] = vec_zero();
  if (!adds)
    return;
#pragma GCC unroll 16
  for (int v = 0; v < vectors; v++)
    acc[v] = load_y(o, y, v, vectors, last);
}

INLINE void end_rounded(const operands *o, bool stream, value *y, const vec *acc, const int vectors,
                        const int last) {
  const int body = last == WHOLE ? vectors : vectors - 1;
  if (stream) {
#pragma GCC unroll 16
    for (int v = 0; v < body; v++)
      stream_values(y + v * LANES, acc[v]);
    return;
  }
#pragma GCC unroll 16
  for (int v = 0; v < body; v++)
    store_values(y + v * LANES, acc[v]);
  if (last)
    store_values_part(y + body * LANES, o->tail, acc[body]);
}

INLINE void end_row(const operands *o, bool stream, void *row, const vec *acc, const int vectors,
                    const int last) {
  if (is_rounded(o)) {
    end_rounded(o, stream, row, acc, vectors, last);
    return;
  }
  sum *y = row;
  if (stream) {
#pragma GCC unroll 16
    for (int v = 0; v < vectors; v++)
      vec_stream(y + v * LANES, acc[v]);
    return;
  }
#pragma GCC unroll 16
  for (int v = 0; v < vectors; v++)
    store_y(o, y, acc[v], v, vectors, last);
}

#endif
