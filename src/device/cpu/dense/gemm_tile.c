/* SPDX-License-Identifier: Apache-2.0 */
#include "device/cpu/dense/gemm_tile.h"

#include <string.h>

#include "base/value.h"
#include "device/cpu/dense/activate.h"
#include "device/cpu/dense/blas.h"
#include "device/cpu/dense/doubles.h"

_Static_assert((int)SL_TILE <= (int)SL_DOUBLES, "a row of a tile is worked on at once");

bool sl_gemm_reads_in_place(const sl_gemm_args *g, bool blas) {
  return blas && !sl_is_16_bit(g->dtype);
}

/* Address of element (row, col) of a matrix as it is stored. */
static const char *place_of(const void *matrix, sley_dtype dtype, int64_t ld, int64_t row, int64_t col) {
  return (const char *)matrix + (row * ld + col) * (int64_t)sley_dtype_bytes(dtype);
}

/* Fills a panel, row-major, in the type of sums, with rows x cols elements of op(M), the first at (row, col).
 */
#define FILL_PANEL(type, dtype)                                                                              \
  for (int64_t i = 0; i < rows; i++)                                                                         \
    for (int64_t j = 0; j < cols; j++)                                                                       \
  ((type *)to)[i * cols + j] =                                                                               \
      (type)sl_value_at(m, dtype, transpose ? (col + j) * ld + row + i : (row + i) * ld + col + j)

static void fill_panel(const void *m, sley_dtype dtype, int64_t ld, bool transpose, int64_t row, int64_t rows,
                       int64_t col, int64_t cols, void *to) {
  if (dtype == SLEY_F32)
    FILL_PANEL(float, SLEY_F32);
  else if (dtype == SLEY_F64)
    FILL_PANEL(double, SLEY_F64);
  else if (dtype == SLEY_F16)
    FILL_PANEL(float, SLEY_F16);
  else
    FILL_PANEL(float, SLEY_BF16);
}

/* Adds the product of panels A and B to P; each sum adds its terms in ascending order. */
#define MULTIPLY(type)                                                                                       \
  for (int64_t i = 0; i < rows; i++)                                                                         \
    for (int64_t l = 0; l < terms; l++) {                                                                    \
      const type factor = ((const type *)a)[i * terms + l];                                                  \
      for (int64_t j = 0; j < cols; j++)                                                                     \
        ((type *)p)[i * ldp + j] += factor * ((const type *)b)[l * cols + j];                                \
    }

static void multiply(sley_dtype sums, int64_t rows, int64_t cols, int64_t terms, const void *restrict a,
                     const void *restrict b, void *restrict p, int64_t ldp) {
  if (sums == SLEY_F32)
    MULTIPLY(float)
  else
    MULTIPLY(double)
}

static void call_blas(sley_dtype sums, const sl_blas_product *product) {
  if (sums == SLEY_F32)
    sl_blas_f32(product);
  else
    sl_blas_f64(product);
}

/* Computes the same by a BLAS, which reads A and B in their own memory. */
static void sum_in_place(const sl_gemm_args *g, const sl_gemm_tile *t, int64_t first, int64_t terms, void *p,
                         int64_t ldp) {
  const sl_blas_product product = {.transpose_a = g->transpose_a,
                                   .transpose_b = g->transpose_b,
                                   .m = t->rows,
                                   .n = t->cols,
                                   .k = terms,
                                   .a = g->transpose_a ? place_of(g->a, g->dtype, g->lda, first, t->row)
                                                       : place_of(g->a, g->dtype, g->lda, t->row, first),
                                   .b = g->transpose_b ? place_of(g->b, g->dtype, g->ldb, t->col, first)
                                                       : place_of(g->b, g->dtype, g->ldb, first, t->col),
                                   .lda = g->lda,
                                   .ldb = g->ldb,
                                   .p = p,
                                   .ldp = ldp};
  call_blas(g->dtype, &product);
}

static void clear(sley_dtype sums, void *p, int64_t ldp, int64_t rows, int64_t cols) {
  const size_t each = sley_dtype_bytes(sums);
  for (int64_t i = 0; i < rows; i++)
    memset((char *)p + (size_t)(i * ldp) * each, 0, (size_t)cols * each);
}

void sl_gemm_sum_terms(const sl_gemm_args *g, bool blas, const sl_gemm_panels *panels, const sl_gemm_tile *t,
                       int64_t first, int64_t last, void *p, int64_t ldp) {
  const sley_dtype sums = sl_sum_dtype(g->dtype);
  if (sl_gemm_reads_in_place(g, blas)) {
    sum_in_place(g, t, first, last - first, p, ldp);
    return;
  }
  clear(sums, p, ldp, t->rows, t->cols);
  for (int64_t l = first; l < last; l += SL_TILE_TERMS) {
    const int64_t terms = last - l < SL_TILE_TERMS ? last - l : SL_TILE_TERMS;
    fill_panel(g->a, g->dtype, g->lda, g->transpose_a, t->row, t->rows, l, terms, panels->a);
    fill_panel(g->b, g->dtype, g->ldb, g->transpose_b, l, terms, t->col, t->cols, panels->b);
    if (blas)
      call_blas(sums, &(sl_blas_product){.add = true,
                                         .m = t->rows,
                                         .n = t->cols,
                                         .k = terms,
                                         .a = panels->a,
                                         .b = panels->b,
                                         .lda = terms,
                                         .ldb = t->cols,
                                         .p = p,
                                         .ldp = ldp});
    else
      multiply(sums, t->rows, t->cols, terms, panels->a, panels->b, p, ldp);
  }
}

void sl_gemm_add(sley_dtype sums, void *s, int64_t lds, const void *p, int64_t ldp, int64_t rows,
                 int64_t cols) {
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < cols; j++)
      if (sums == SLEY_F32)
        ((float *)s)[i * lds + j] += ((const float *)p)[i * ldp + j];
      else
        ((double *)s)[i * lds + j] += ((const double *)p)[i * ldp + j];
}

/* Sets v to alpha S + beta C + bias, for row i of the tile. */
static void combine(const sl_gemm_args *g, const sl_gemm_tile *t, int64_t i, const void *s, int64_t lds,
                    double *v) {
  double other[SL_TILE];
  for (int64_t j = 0; j < t->cols; j++)
    v[j] = 0;
  if (s) {
    sl_doubles_load(s, sl_sum_dtype(g->dtype), i * lds, t->cols, v);
    for (int64_t j = 0; j < t->cols; j++)
      v[j] *= g->alpha;
  }
  if (g->beta != 0) {
    sl_doubles_load(g->c, g->dtype, (t->row + i) * g->ldc + t->col, t->cols, other);
    for (int64_t j = 0; j < t->cols; j++)
      v[j] += g->beta * other[j];
  }
  if (g->bias) {
    sl_doubles_load(g->bias, g->dtype, t->col, t->cols, other);
    for (int64_t j = 0; j < t->cols; j++)
      v[j] += other[j];
  }
}

/* Returns arguments that multiply the tile of C by act'(gate). */
static sl_activate_grad_args gradient_of(const sl_gemm_args *g, const sl_gemm_tile *t) {
  void *const at = (char *)g->c + (t->row * g->ldc + t->col) * (int64_t)sley_dtype_bytes(g->dtype);
  return (sl_activate_grad_args){.dtype = g->dtype,
                                 .act = g->act,
                                 .slope = g->slope,
                                 .rows = t->rows,
                                 .cols = t->cols,
                                 .y = place_of(g->gate, g->dtype, g->ldgate, t->row, t->col),
                                 .ldy = g->ldgate,
                                 .dy = at,
                                 .lddy = g->ldc,
                                 .dx = at,
                                 .lddx = g->ldc,
                                 .scale = 1};
}

/* Returns whether finish_f32 returns the bits of the definition, which computes in double. */
static bool stays_f32(const sl_gemm_args *g, const void *s) {
  return g->dtype == SLEY_F32 && s && g->alpha == 1 && (g->beta == 0 || g->beta == 1) &&
         (g->gate || g->act == SLEY_NO_ACTIVATION || g->act == SLEY_RELU);
}

/* Finishes row i of a tile of f32, in one pass. A sum of two values of f32 has the same bits whether or not
 * it is rounded to double before; sums of values of f32 are never so small that rounding changes the sign or
 * reaches 0, so relu may come after it. */
static void finish_f32(const sl_gemm_args *g, const sl_gemm_tile *t, int64_t i, const float *s) {
  float *c = (float *)g->c + (t->row + i) * g->ldc + t->col;
  const float *bias = g->bias ? (const float *)g->bias + t->col : NULL;
  if (g->beta != 0 && bias)
    for (int64_t j = 0; j < t->cols; j++)
      c[j] = (float)((double)s[j] + (double)c[j] + (double)bias[j]);
  else if (g->beta != 0)
    for (int64_t j = 0; j < t->cols; j++)
      c[j] += s[j];
  else if (bias)
    for (int64_t j = 0; j < t->cols; j++)
      c[j] = s[j] + bias[j];
  else if (s != c)
    memcpy(c, s, (size_t)t->cols * sizeof *c);
  if (!g->gate && g->act == SLEY_RELU)
    for (int64_t j = 0; j < t->cols; j++)
      c[j] = c[j] < 0 ? 0 : c[j];
}

void sl_gemm_finish(const sl_gemm_args *g, const sl_gemm_tile *t, const void *s, int64_t lds) {
  const sl_activate_grad_args gradient = g->gate ? gradient_of(g, t) : (sl_activate_grad_args){0};
  const bool narrow = stays_f32(g, s);
  double v[SL_TILE];
  for (int64_t i = 0; i < t->rows; i++) {
    if (narrow) {
      finish_f32(g, t, i, (const float *)s + i * lds);
    } else {
      combine(g, t, i, s, lds, v);
      if (!g->gate)
        sl_activate(g->act, g->slope, v, t->cols);
      sl_doubles_store(g->c, g->dtype, (t->row + i) * g->ldc + t->col, t->cols, v);
    }
    if (g->gate)
      sl_activate_grad_row(&gradient, i);
  }
}
