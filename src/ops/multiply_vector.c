/* SPDX-License-Identifier: Apache-2.0 */
/* y = A x for one column, without preparation: the plain loop over CSR, which the definition of op_spmm.h
 * describes. Kernels of SpMM are vectors of columns, of which one column uses a single lane. */
#include <stdatomic.h>

#include "ops/multiply.h"

#include "matrix/matrix.h"

/* Parts per thread, of about equal numbers of entries; and the number of entries from which a loop over them
 * lasts a millisecond or more. */
enum { PARTS_PER_THREAD = 8, LONG = 1 << 20 };

/* Sums wait for each other within a row. Rows that have at least so many entries on average are therefore
 * summed two at a time: one of the first and one of the second half of the entries, so that each half is read
 * from end to end. The ends of shorter rows would cost more than this saves. */
enum { TWO_LEAST = 12 };

typedef struct vector_run {
  const sley_csr *a;
  const void *x;
  void *y;
  int64_t parts;
  bool fused;      /* the machine has instructions for fused multiply-adds */
  atomic_bool bad; /* a column or a row pointer is out of range */
} vector_run;

#if defined(__x86_64__)
#define FUSED __attribute__((target("fma")))
#else
#define FUSED
#endif

/* Sums rows [first, end) of values of a type with columns of a type: one after the other, and two at a time,
 * from the rows before `middle` and the others. Returns false at a column or a row pointer that is out of
 * range; to check them on the way takes no time, because the sums wait for each other. */
#define OPERANDS(type, index)                                                                                \
  const sley_csr *a = v->a;                                                                                  \
  const uint64_t cols = (uint64_t)a->cols;                                                                   \
  const int64_t *const rowptr = a->rowptr;                                                                   \
  const int32_t *const rowptr32 = a->rowptr32;                                                               \
  const index *col = a->col;                                                                                 \
  const type *val = a->val, *x = v->x;                                                                       \
  type *const y = v->y;
#define POINTER(i) (rowptr32 ? rowptr32[i] : rowptr[i])
#define ADD(sum, at, multiply_add)                                                                           \
  {                                                                                                          \
    const uint64_t c = (uint64_t)(int64_t)col[at];                                                           \
    if (c >= cols)                                                                                           \
      return false;                                                                                          \
    sum = multiply_add(val[at], x[c], sum);                                                                  \
  }
#define ROWS(name, type, index, multiply_add, attributes)                                                    \
  attributes static bool name##_one(const vector_run *v, int64_t first, int64_t end) {                       \
    OPERANDS(type, index)                                                                                    \
    const int64_t most = POINTER(end);                                                                       \
    int64_t j = POINTER(first);                                                                              \
    for (int64_t i = first; i < end; i++) {                                                                  \
      const int64_t last = POINTER(i + 1);                                                                   \
      type sum = 0;                                                                                          \
      if ((uint64_t)(last - j) > (uint64_t)(most - j))                                                       \
        return false;                                                                                        \
      for (; j < last; j++)                                                                                  \
        ADD(sum, j, multiply_add)                                                                            \
                                                                                                             \
      y[i] = sum;                                                                                            \
    }                                                                                                        \
    return true;                                                                                             \
  }                                                                                                          \
  attributes static bool name##_two(const vector_run *v, int64_t first, int64_t middle, int64_t end) {       \
    OPERANDS(type, index)                                                                                    \
    const int64_t most_p = POINTER(middle), most_q = POINTER(end);                                           \
    int64_t row_p = first, row_q = middle, p = POINTER(first), q = most_p;                                   \
    type sum_p = 0, sum_q = 0;                                                                               \
    while (row_p < middle && row_q < end) {                                                                  \
      const int64_t last_p = POINTER(row_p + 1), last_q = POINTER(row_q + 1);                                \
      const int64_t left_p = last_p - p, left_q = last_q - q, common = left_p < left_q ? left_p : left_q;    \
      if (common < 0 || last_p > most_p || last_q > most_q)                                                  \
        return false;                                                                                        \
      for (const int64_t stop = p + common; p < stop; p++, q++) {                                            \
        ADD(sum_p, p, multiply_add)                                                                          \
        ADD(sum_q, q, multiply_add)                                                                          \
      }                                                                                                      \
      if (left_p == common) {                                                                                \
        y[row_p++] = sum_p;                                                                                  \
        sum_p = 0;                                                                                           \
      }                                                                                                      \
      if (left_q == common) {                                                                                \
        y[row_q++] = sum_q;                                                                                  \
        sum_q = 0;                                                                                           \
      }                                                                                                      \
    }                                                                                                        \
    if (row_p == middle) {                                                                                   \
      row_p = row_q;                                                                                         \
      p = q;                                                                                                 \
      sum_p = sum_q;                                                                                         \
      middle = end;                                                                                          \
    }                                                                                                        \
    const int64_t most = POINTER(middle);                                                                    \
    for (; row_p < middle; row_p++, sum_p = 0) {                                                             \
      const int64_t last = POINTER(row_p + 1);                                                               \
      if ((uint64_t)(last - p) > (uint64_t)(most - p))                                                       \
        return false;                                                                                        \
      for (; p < last; p++)                                                                                  \
        ADD(sum_p, p, multiply_add)                                                                          \
                                                                                                             \
      y[row_p] = sum_p;                                                                                      \
    }                                                                                                        \
    return true;                                                                                             \
  }
#define ROWS_OF(suffix, attributes)                                                                          \
  ROWS(rows_f32_i32_##suffix, float, int32_t, __builtin_fmaf, attributes)                                    \
  ROWS(rows_f32_i64_##suffix, float, int64_t, __builtin_fmaf, attributes)                                    \
  ROWS(rows_f64_i32_##suffix, double, int32_t, __builtin_fma, attributes)                                    \
  ROWS(rows_f64_i64_##suffix, double, int64_t, __builtin_fma, attributes)

ROWS_OF(fused, FUSED)
ROWS_OF(called, )

typedef struct rows_bodies {
  bool (*one)(const vector_run *v, int64_t first, int64_t end);
  bool (*two)(const vector_run *v, int64_t first, int64_t middle, int64_t end);
} rows_bodies;

/* By fused, the type of values (SLEY_F32, SLEY_F64) and whether columns have 64 bits. */
#define BODIES(kind)                                                                                         \
  { rows_##kind##_one, rows_##kind##_two }
static const rows_bodies bodies[2][2][2] = {
    {{BODIES(f32_i32_called), BODIES(f32_i64_called)}, {BODIES(f64_i32_called), BODIES(f64_i64_called)}},
    {{BODIES(f32_i32_fused), BODIES(f32_i64_fused)}, {BODIES(f64_i32_fused), BODIES(f64_i64_fused)}}};

/* The row of [first, end) at which part `part` of `parts` begins, for parts of about equal numbers of entries
 * and rows; in [first, end] whatever the row pointers are. */
static int64_t split(const sley_csr *a, int64_t first, int64_t end, int64_t part, int64_t parts) {
  const double start = (double)sl_csr_pointer(a, first) + (double)first,
               stop = (double)sl_csr_pointer(a, end) + (double)end,
               target = start + (stop - start) * (double)part / (double)parts;
  int64_t low = first, high = part < parts ? end : first;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if ((double)sl_csr_pointer(a, middle) + (double)middle < target)
      low = middle + 1;
    else
      high = middle;
  }
  return part < parts ? low : end;
}

static bool in_range(const sley_csr *a, int64_t row, int64_t least) {
  const int64_t at = sl_csr_pointer(a, row);
  return at >= least && at <= sl_csr_pointer(a, a->rows);
}

static sley_status run_parts(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  vector_run *r = context;
  const sley_csr *a = r->a;
  const int64_t first = split(a, 0, a->rows, begin, r->parts), last = split(a, 0, a->rows, end, r->parts),
                middle = split(a, first, last, 1, 2), from = sl_csr_pointer(a, first);
  const rows_bodies *body = &bodies[r->fused][a->dtype == SLEY_F64][a->index == SLEY_I64];
  if (!in_range(a, first, sl_csr_pointer(a, 0)) || !in_range(a, middle, from) ||
      !in_range(a, last, sl_csr_pointer(a, middle)))
    atomic_store(&r->bad, true);
  else if (sl_csr_pointer(a, last) - from < TWO_LEAST * (last - first) ? !body->one(r, first, last)
                                                                       : !body->two(r, first, middle, last))
    atomic_store(&r->bad, true);
  return SLEY_OK;
}

bool sl_multiply_is_vector(sley_dtype dtype, int64_t k, const sley_multiply_options *o) {
  return k == 1 && o->ldx == 1 && o->ldy == 1 && o->alpha == 1 && o->beta == 0 && !o->transpose &&
         (dtype == SLEY_F32 || dtype == SLEY_F64);
}

sley_status sl_multiply_vector(const sley_csr *a, sl_team *team, const void *x, void *y) {
#if defined(__x86_64__)
  const bool fused = __builtin_cpu_supports("fma") != 0;
#else
  const bool fused = true;
#endif
  const int64_t first = sl_csr_pointer(a, 0), entries = sl_csr_pointer(a, a->rows) - first;
  vector_run r = {.a = a, .x = x, .y = y, .fused = fused};
  r.parts = (int64_t)PARTS_PER_THREAD * sl_team_size(team);
  atomic_init(&r.bad, first < 0);
  if (!atomic_load(&r.bad))
    SL_TRY(entries < LONG ? sl_team_for_brief(team, r.parts, run_parts, &r)
                          : sl_team_for(team, r.parts, 1, run_parts, &r));
  return atomic_load(&r.bad) ? sl_csr_refuse(a, team) : SLEY_OK;
}
