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

/* Number of rows that are summed at the same time, because the sums of a row wait for each other, and the
 * number of entries from which this is faster. */
enum { TOGETHER = 4, TOGETHER_LEAST = 16 };

/* Entries of the shortest of the rows [first, first + TOGETHER). */
static inline int64_t shortest(const int64_t *rowptr) {
  int64_t least = INT64_MAX;
  for (int r = 0; r < TOGETHER; r++)
    least = rowptr[r + 1] - rowptr[r] < least ? rowptr[r + 1] - rowptr[r] : least;
  return least;
}

/* Sums rows [first, end) of values of a type with columns of a type. */
#define ROWS(name, type, index, multiply_add, attributes)                                                    \
  attributes static void name(const vector_run *v, int64_t first, int64_t end) {                             \
    const int64_t *rowptr = v->matrix->rowptr;                                                               \
    const index *col = v->matrix->col;                                                                       \
    const type *val = v->matrix->val, *x = v->x;                                                             \
    type *y = v->y;                                                                                          \
    for (int64_t i = first; i < end;) {                                                                      \
      type sum[TOGETHER] = {0};                                                                              \
      const int64_t *at = rowptr + i;                                                                        \
      const int64_t common = end - i >= TOGETHER && at[1] - at[0] >= TOGETHER_LEAST ? shortest(at) : 0;      \
      const bool together = common >= TOGETHER_LEAST;                                                        \
      for (int64_t n = 0; together && n < common; n++)                                                       \
        for (int r = 0; r < TOGETHER; r++)                                                                   \
          sum[r] = multiply_add(val[at[r] + n], x[col[at[r] + n]], sum[r]);                                  \
      for (int r = 0; r < (together ? TOGETHER : 1); r++, i++) {                                             \
        type one = sum[r];                                                                                   \
        for (int64_t j = at[r] + (together ? common : 0); j < at[r + 1]; j++)                                \
          one = multiply_add(val[j], x[col[j]], one);                                                        \
        y[i * v->ldy] = one;                                                                                 \
      }                                                                                                      \
    }                                                                                                        \
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
