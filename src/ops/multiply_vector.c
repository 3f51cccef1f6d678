/* SPDX-License-Identifier: Apache-2.0 */
/* y = A x for one column, without preparation: the plain loop over CSR, which the definition of op_spmm.h
 * describes. Kernels of SpMM are vectors of columns, of which one column uses a single lane. */
#include <math.h>

#include "ops/multiply.h"

#include "matrix/matrix.h"

/* Parts per thread, of about equal numbers of entries; and the number of entries from which a loop over them
 * lasts a millisecond or more. */
enum { PARTS_PER_THREAD = 8, LONG = 1 << 20 };

typedef struct vector_run {
  const sley_matrix *matrix;
  const void *x;
  void *y;
  int64_t ldy, parts;
  bool fused; /* the machine has instructions for fused multiply-adds */
} vector_run;

#if defined(__x86_64__)
#define FUSED __attribute__((target("fma")))
#else
#define FUSED
#endif

/* Sums wait for each other within a row. Rows that have at least so many entries on average are therefore
 * summed two at a time: one of the first and one of the second half of the entries, so that each half is read
 * from end to end. The ends of shorter rows would cost more than this saves. */
enum { TWO_LEAST = 12 };

/* Sums rows [first, end) of values of a type with columns of a type: one after the other, and two at a time,
 * from the rows before `middle` and the others. */
#define ROWS(name, type, index, multiply_add, attributes)                                                    \
  attributes static void name##_one(const vector_run *v, int64_t first, int64_t end) {                       \
    const int64_t *rowptr = v->matrix->rowptr;                                                               \
    const index *col = v->matrix->col;                                                                       \
    const type *val = v->matrix->val, *x = v->x;                                                             \
    type *y = v->y;                                                                                          \
    const int64_t ldy = v->ldy;                                                                              \
    int64_t j = rowptr[first];                                                                               \
    for (int64_t i = first; i < end; i++) {                                                                  \
      type sum = 0;                                                                                          \
      for (const int64_t last = rowptr[i + 1]; j < last; j++)                                                \
        sum = multiply_add(val[j], x[col[j]], sum);                                                          \
      y[i * ldy] = sum;                                                                                      \
    }                                                                                                        \
  }                                                                                                          \
  attributes static void name##_two(const vector_run *v, int64_t first, int64_t middle, int64_t end) {       \
    const int64_t *rowptr = v->matrix->rowptr;                                                               \
    const index *col = v->matrix->col;                                                                       \
    const type *val = v->matrix->val, *x = v->x;                                                             \
    type *y = v->y, a = 0, b = 0;                                                                            \
    int64_t row_a = first, row_b = middle, at_a = rowptr[first], at_b = rowptr[middle];                      \
    while (row_a < middle && row_b < end) {                                                                  \
      const int64_t left_a = rowptr[row_a + 1] - at_a, left_b = rowptr[row_b + 1] - at_b;                    \
      const int64_t common = left_a < left_b ? left_a : left_b;                                              \
      for (int64_t n = 0; n < common; n++) {                                                                 \
        a = multiply_add(val[at_a + n], x[col[at_a + n]], a);                                                \
        b = multiply_add(val[at_b + n], x[col[at_b + n]], b);                                                \
      }                                                                                                      \
      at_a += common;                                                                                        \
      at_b += common;                                                                                        \
      if (left_a == common) {                                                                                \
        y[row_a++ * v->ldy] = a;                                                                             \
        a = 0;                                                                                               \
      }                                                                                                      \
      if (left_b == common) {                                                                                \
        y[row_b++ * v->ldy] = b;                                                                             \
        b = 0;                                                                                               \
      }                                                                                                      \
    }                                                                                                        \
    const int64_t rest = row_a < middle ? row_a : row_b, rest_end = row_a < middle ? middle : end;           \
    int64_t at = row_a < middle ? at_a : at_b;                                                               \
    type sum = row_a < middle ? a : b;                                                                       \
    for (int64_t i = rest; i < rest_end; i++, sum = 0) {                                                     \
      for (; at < rowptr[i + 1]; at++)                                                                       \
        sum = multiply_add(val[at], x[col[at]], sum);                                                        \
      y[i * v->ldy] = sum;                                                                                   \
    }                                                                                                        \
  }                                                                                                          \
  static void name(const vector_run *v, int64_t first, int64_t end) {                                        \
    const int64_t *rowptr = v->matrix->rowptr;                                                               \
    if (rowptr[end] - rowptr[first] < TWO_LEAST * (end - first))                                             \
      name##_one(v, first, end);                                                                             \
    else                                                                                                     \
      name##_two(v, first, first + sl_csr_split(end - first, rowptr + first, 1, 2), end);                    \
  }
#define ROWS_OF(suffix, attributes)                                                                          \
  ROWS(rows_f32_i32_##suffix, float, int32_t, __builtin_fmaf, attributes)                                    \
  ROWS(rows_f32_i64_##suffix, float, int64_t, __builtin_fmaf, attributes)                                    \
  ROWS(rows_f64_i32_##suffix, double, int32_t, __builtin_fma, attributes)                                    \
  ROWS(rows_f64_i64_##suffix, double, int64_t, __builtin_fma, attributes)

ROWS_OF(fused, FUSED)
ROWS_OF(called, )

typedef void rows_body(const vector_run *r, int64_t first, int64_t end);

/* By fused, the type of values (SLEY_F32, SLEY_F64) and whether columns have 64 bits. */
static rows_body *const bodies[2][2][2] = {
    {{rows_f32_i32_called, rows_f32_i64_called}, {rows_f64_i32_called, rows_f64_i64_called}},
    {{rows_f32_i32_fused, rows_f32_i64_fused}, {rows_f64_i32_fused, rows_f64_i64_fused}}};

static sley_status run_parts(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  const vector_run *r = context;
  const sley_matrix *m = r->matrix;
  bodies[r->fused][m->dtype == SLEY_F64][m->index == SLEY_I64](
      r, sl_csr_split(m->rows, m->rowptr, (int)begin, (int)r->parts),
      sl_csr_split(m->rows, m->rowptr, (int)end, (int)r->parts));
  return SLEY_OK;
}

bool sl_multiply_is_vector(const sley_matrix *matrix, int64_t k, const sley_multiply_options *o) {
  return k == 1 && o->ldx == 1 && o->alpha == 1 && o->beta == 0 && !o->transpose &&
         (matrix->dtype == SLEY_F32 || matrix->dtype == SLEY_F64);
}

sley_status sl_multiply_vector(const sley_matrix *matrix, sl_team *team, const sley_multiply_options *o,
                               const void *x, void *y) {
#if defined(__x86_64__)
  const bool fused = __builtin_cpu_supports("fma") != 0;
#else
  const bool fused = true;
#endif
  vector_run r = {.matrix = matrix, .x = x, .y = y, .ldy = o->ldy, .fused = fused};
  r.parts = (int64_t)PARTS_PER_THREAD * sl_team_size(team);
  return matrix->nnz < LONG ? sl_team_for_brief(team, r.parts, run_parts, &r)
                            : sl_team_for(team, r.parts, 1, run_parts, &r);
}
