/* SPDX-License-Identifier: Apache-2.0 */
/* Y = alpha A^T X + beta Y without A^T: the plain loop over CSR that adds each entry to the row of Y of its
 * column. Row c of A^T has the entries of column c in the order of A's rows, so every element of Y is summed
 * in the order that op_spmm.h defines. Threads share the columns of X and Y, never an element. */
#include <string.h>

#include "ops/multiply.h"

#include "base/cores.h"
#include "matrix/matrix.h"

/* Columns of X and Y that a thread takes at a time, at least: fewer would be read and written in parts of
 * cache lines that threads share. BLOCK: columns whose sums a loop of constant length adds. */
enum { FEATURES_LEAST = 16, BLOCK = 8 };

typedef struct scatter {
  const sley_matrix *matrix;
  const void *x;
  void *y;
  int64_t ldx, ldy, k;
  double alpha, beta;
} scatter;

#if defined(__x86_64__)
#define FUSED __attribute__((target("avx2,fma")))
#else
#define FUSED
#endif

/* Scales features [first, end) of all rows of Y by beta; 0 sets them. */
#define SCALE(name, type)                                                                                    \
  static void name(const scatter *s, int64_t first, int64_t end) {                                           \
    const bool joined = s->ldy == end - first;                                                               \
    const int64_t rows = joined ? 1 : s->matrix->cols,                                                       \
                  count = joined ? s->matrix->cols * s->ldy : end - first;                                   \
    for (int64_t c = 0; c < rows; c++) {                                                                     \
      type *y = (type *)s->y + c * s->ldy + first;                                                           \
      if (s->beta == 0)                                                                                      \
        memset(y, 0, (size_t)count * sizeof *y);                                                             \
      else if (s->beta != 1)                                                                                 \
        for (int64_t f = 0; f < count; f++)                                                                  \
          y[f] = (type)(s->beta * (double)y[f]);                                                             \
    }                                                                                                        \
  }
SCALE(scale_f32, float)
SCALE(scale_f64, double)

/* Adds the entries of all rows to features [first, end), of which there are `width` if that is not 0. X and Y
 * do not overlap. */
#define ENTRIES(name, type, index, multiply_add, width, attributes)                                          \
  attributes static void name(const scatter *s, int64_t first, int64_t end) {                                \
    const sley_matrix *a = s->matrix;                                                                        \
    const int64_t *rowptr = a->rowptr, ldx = s->ldx, ldy = s->ldy, count = width ? width : end - first;      \
    const index *col = a->col;                                                                               \
    const type *val = a->val;                                                                                \
    const double alpha = s->alpha;                                                                           \
    type *const y = (type *)s->y + first;                                                                    \
    for (int64_t i = 0; i < a->rows; i++) {                                                                  \
      const type *restrict row = (const type *)s->x + i * ldx + first;                                       \
      for (int64_t e = rowptr[i]; e < rowptr[i + 1]; e++) {                                                  \
        const type factor = alpha == 1 ? val[e] : (type)(alpha * (double)val[e]);                            \
        type *restrict to = y + (int64_t)col[e] * ldy;                                                       \
        for (int64_t f = 0; f < count; f++)                                                                  \
          to[f] = multiply_add(factor, row[f], to[f]);                                                       \
      }                                                                                                      \
    }                                                                                                        \
  }
#define ENTRIES_OF(kind, type, index, multiply_add, suffix, attributes)                                      \
  ENTRIES(any_##kind##_##suffix, type, index, multiply_add, 0, attributes)                                   \
  ENTRIES(one_##kind##_##suffix, type, index, multiply_add, 1, attributes)                                   \
  ENTRIES(block_##kind##_##suffix, type, index, multiply_add, BLOCK, attributes)
#define ENTRIES_ALL(suffix, attributes)                                                                      \
  ENTRIES_OF(f32_i32, float, int32_t, __builtin_fmaf, suffix, attributes)                                    \
  ENTRIES_OF(f32_i64, float, int64_t, __builtin_fmaf, suffix, attributes)                                    \
  ENTRIES_OF(f64_i32, double, int32_t, __builtin_fma, suffix, attributes)                                    \
  ENTRIES_OF(f64_i64, double, int64_t, __builtin_fma, suffix, attributes)
ENTRIES_ALL(fused, FUSED)
ENTRIES_ALL(called, )

typedef void entries_body(const scatter *s, int64_t first, int64_t end);
typedef struct entries_bodies {
  entries_body *any, *one, *block;
} entries_bodies;

/* By fused, the type of values (SLEY_F32, SLEY_F64) and whether columns have 64 bits. */
#define BODIES(kind, suffix)                                                                                 \
  { any_##kind##_##suffix, one_##kind##_##suffix, block_##kind##_##suffix }
static const entries_bodies bodies[2][2][2] = {
    {{BODIES(f32_i32, called), BODIES(f32_i64, called)}, {BODIES(f64_i32, called), BODIES(f64_i64, called)}},
    {{BODIES(f32_i32, fused), BODIES(f32_i64, fused)}, {BODIES(f64_i32, fused), BODIES(f64_i64, fused)}}};

static bool is_fused(void) {
#if defined(__x86_64__)
  return __builtin_cpu_supports("fma") != 0 && __builtin_cpu_supports("avx2") != 0;
#else
  return true;
#endif
}

static sley_status add_features(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  const scatter *s = context;
  const sley_matrix *a = s->matrix;
  const entries_bodies *body = &bodies[is_fused()][a->dtype == SLEY_F64][a->index == SLEY_I64];
  const int64_t first = begin * FEATURES_LEAST,
                last = end * FEATURES_LEAST < s->k ? end * FEATURES_LEAST : s->k;
  (a->dtype == SLEY_F64 ? scale_f64 : scale_f32)(s, first, last);
  (last - first == 1 ? body->one : last - first == BLOCK ? body->block : body->any)(s, first, last);
  return SLEY_OK;
}

sley_status sl_multiply_scatter(const sley_matrix *matrix, sl_team *team, int64_t k,
                                const sley_multiply_options *o, const void *x, void *y) {
  scatter s = {.matrix = matrix, .x = x, .y = y, .ldx = o->ldx, .ldy = o->ldy, .k = k};
  s.alpha = o->alpha;
  s.beta = o->beta;
  const int64_t pieces = (k + FEATURES_LEAST - 1) / FEATURES_LEAST, threads = sl_team_size(team);
  return sl_team_for(team, pieces, (pieces + threads - 1) / threads, add_features, &s);
}
