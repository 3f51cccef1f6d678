/* SPDX-License-Identifier: Apache-2.0 */
/* Y = alpha A^T X + beta Y without A^T: the plain loop over CSR that adds each entry to the row of Y of its
 * column. Row c of A^T has the entries of column c in the order of A's rows, so every element of Y is summed
 * in the order that op_spmm.h defines. Threads share the columns of X and Y, never an element. */
#include <stdatomic.h>
#include <string.h>

#include "ops/multiply.h"

#include "base/cores.h"
#include "matrix/matrix.h"

/* Columns of X and Y that a thread takes at a time, at least: fewer would be read and written in parts of
 * cache lines that threads share. BLOCK: columns that are added at once. */
enum { FEATURES_LEAST = 16, BLOCK = 8 };

typedef struct scatter {
  const sley_csr *a;
  const void *x;
  void *y;
  int64_t ldx, ldy, k;
  double alpha, beta;
  atomic_bool bad; /* a column or a row pointer is out of range */
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
    const int64_t rows = joined ? 1 : s->a->cols, count = joined ? s->a->cols * s->ldy : end - first;        \
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

/* Adds factor times `width` values of a row of X to a row of Y, which do not overlap: all are loaded before
 * any is stored, so that compilers vectorise. */
#define ADD(type, multiply_add, width, from, to)                                                             \
  {                                                                                                          \
    type sum[width];                                                                                         \
    for (int f = 0; f < width; f++)                                                                          \
      sum[f] = multiply_add(factor, (from)[f], (to)[f]);                                                     \
    for (int f = 0; f < width; f++)                                                                          \
      (to)[f] = sum[f];                                                                                      \
  }

/* Adds the entries of all rows to features [first, end), in blocks of `width` and the rest one by one.
 * Returns false at a column or a row pointer that is out of range. */
#define ENTRIES(name, type, index, multiply_add, width, only, attributes)                                    \
  attributes static bool name(const scatter *s, int64_t first, int64_t end) {                                \
    const sley_csr *a = s->a;                                                                                \
    const int64_t ldx = s->ldx, ldy = only && width == 1 ? 1 : s->ldy, count = only ? width : end - first,   \
                  most = sl_csr_pointer(a, a->rows);                                                         \
    const uint64_t cols = (uint64_t)a->cols;                                                                 \
    const index *col = a->col;                                                                               \
    const type *val = a->val;                                                                                \
    const double alpha = s->alpha;                                                                           \
    type *const y = (type *)s->y + first;                                                                    \
    int64_t e = sl_csr_pointer(a, 0);                                                                        \
    if (e < 0)                                                                                               \
      return false;                                                                                          \
    for (int64_t i = 0; i < a->rows; i++) {                                                                  \
      const type *row = (const type *)s->x + i * ldx + first;                                                \
      const int64_t last = sl_csr_pointer(a, i + 1);                                                         \
      if (last < e || last > most)                                                                           \
        return false;                                                                                        \
      for (; e < last; e++) {                                                                                \
        const uint64_t c = (uint64_t)(int64_t)col[e];                                                        \
        const type factor = alpha == 1 ? val[e] : (type)(alpha * (double)val[e]);                            \
        if (c >= cols)                                                                                       \
          return false;                                                                                      \
        type *const to = y + (int64_t)c * ldy;                                                               \
        int64_t done = 0;                                                                                    \
        for (; done + width <= count; done += width)                                                         \
          ADD(type, multiply_add, width, row + done, to + done)                                              \
        for (; done < count; done++)                                                                         \
          ADD(type, multiply_add, 1, row + done, to + done)                                                  \
      }                                                                                                      \
    }                                                                                                        \
    return true;                                                                                             \
  }
#define ENTRIES_OF(kind, type, index, multiply_add, suffix, attributes)                                      \
  ENTRIES(any_##kind##_##suffix, type, index, multiply_add, BLOCK, false, attributes)                        \
  ENTRIES(one_##kind##_##suffix, type, index, multiply_add, 1, true, attributes)                             \
  ENTRIES(block_##kind##_##suffix, type, index, multiply_add, BLOCK, true, attributes)
#define ENTRIES_ALL(suffix, attributes)                                                                      \
  ENTRIES_OF(f32_i32, float, int32_t, __builtin_fmaf, suffix, attributes)                                    \
  ENTRIES_OF(f32_i64, float, int64_t, __builtin_fmaf, suffix, attributes)                                    \
  ENTRIES_OF(f64_i32, double, int32_t, __builtin_fma, suffix, attributes)                                    \
  ENTRIES_OF(f64_i64, double, int64_t, __builtin_fma, suffix, attributes)
ENTRIES_ALL(fused, FUSED)
ENTRIES_ALL(called, )

typedef bool entries_body(const scatter *s, int64_t first, int64_t end);
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
  scatter *s = context;
  const sley_csr *a = s->a;
  const entries_bodies *body = &bodies[is_fused()][a->dtype == SLEY_F64][a->index == SLEY_I64];
  const int64_t first = begin * FEATURES_LEAST,
                last = end * FEATURES_LEAST < s->k ? end * FEATURES_LEAST : s->k;
  (a->dtype == SLEY_F64 ? scale_f64 : scale_f32)(s, first, last);
  entries_body *const add = s->k == 1 && s->ldy == 1 ? body->one
                            : last - first == BLOCK  ? body->block
                                                     : body->any;
  if (!add(s, first, last))
    atomic_store(&s->bad, true);
  return SLEY_OK;
}

sley_status sl_multiply_scatter(const sley_csr *a, sl_team *team, int64_t k, const sley_multiply_options *o,
                                const void *x, void *y) {
  scatter s = {.a = a, .x = x, .y = y, .ldx = o->ldx, .ldy = o->ldy, .k = k};
  s.alpha = o->alpha;
  s.beta = o->beta;
  atomic_init(&s.bad, false);
  const int64_t pieces = (k + FEATURES_LEAST - 1) / FEATURES_LEAST, threads = sl_team_size(team);
  SL_TRY(sl_team_for(team, pieces, (pieces + threads - 1) / threads, add_features, &s));
  return atomic_load(&s.bad) ? sl_csr_refuse(a, team) : SLEY_OK;
}
