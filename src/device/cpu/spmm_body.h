/* SPDX-License-Identifier: Apache-2.0 */
/* The SpMM kernel, included once by each file that has defined value (float or double), vec (LANES of them),
 * mask and the vec_ operations. A row's accumulators, up to PANEL vectors of features at a time, stay in
 * registers while its entries pass in stored order: acc = fma(alpha val, x, acc), the order kernel.h
 * documents, so that every instruction set gives the same bits. What the time goes into is the loads of X's
 * rows, which are as good as random; they are fetched AHEAD entries early.
 *
 * The parameters declared const below are constants at every call, and each call is inlined: the compiler
 * makes a loop without branches of each. */

enum { PANEL = 8, AHEAD = 8, LINE_VALUES = 64 / sizeof(value) };

#define INLINE static inline __attribute__((always_inline))

/* One panel of a part: features [c, c + width) with vectors = ceil(width / LANES) <= PANEL; whole: width
 * fills them. */
typedef struct panel {
  int64_t row, row_end, feature, width;
} panel;

INLINE int64_t column(const void *col, int64_t j, const sley_index index) {
  return index == SLEY_I32 ? ((const int32_t *)col)[j] : ((const int64_t *)col)[j];
}

INLINE void run_panel(const sl_spmm_args *args, const panel *p, const int vectors, const bool whole,
                      const bool unit, const sley_index index) {
  const sl_spmm_matrix *a = args->a;
  const value *val = a->val, *x = (const value *)args->x + p->feature;
  const int64_t ldx = args->ldx, ldy = args->ldy, last_entry = a->rowptr[a->rows] - 1;
  const int body = whole ? vectors : vectors - 1;
  const mask tail = mask_of(p->width - (vectors - 1) * LANES);

  for (int64_t i = p->row; i < p->row_end; i++) {
    value *y = (value *)args->y + (a->rowid ? a->rowid[i] : i) * ldy + p->feature;
    if (args->beta != 0 && args->beta != 1)
      for (int64_t c = 0; c < p->width; c++)
        y[c] = (value)(args->beta * (double)y[c]);
    vec acc[PANEL];
#pragma GCC unroll 16
    for (int v = 0; v < vectors; v++)
      acc[v] = vec_zero();
    if (args->beta != 0) {
#pragma GCC unroll 16
      for (int v = 0; v < body; v++)
        acc[v] = vec_load(y + v * LANES);
      if (!whole)
        acc[body] = vec_load_part(y + body * LANES, tail);
    }
    for (int64_t j = a->rowptr[i], end = a->rowptr[i + 1]; j < end; j++) {
      const value *next = x + column(a->col, j + AHEAD < last_entry ? j + AHEAD : last_entry, index) * ldx;
#pragma GCC unroll 16
      for (int c = 0; c < vectors * LANES; c += LINE_VALUES)
        __builtin_prefetch(next + c, 0, 3);
      const value *row = x + column(a->col, j, index) * ldx;
      const vec s = vec_all(unit ? val[j] : (value)(args->alpha * (double)val[j]));
#pragma GCC unroll 16
      for (int v = 0; v < body; v++)
        acc[v] = vec_fma(s, vec_load(row + v * LANES), acc[v]);
      if (!whole)
        acc[body] = vec_fma(s, vec_load_part(row + body * LANES, tail), acc[body]);
    }
#pragma GCC unroll 16
    for (int v = 0; v < body; v++)
      vec_store(y + v * LANES, acc[v]);
    if (!whole)
      vec_store_part(y + body * LANES, tail, acc[body]);
  }
}

INLINE void choose_panel(const sl_spmm_args *args, const panel *p, const bool unit, const sley_index index) {
  const int vectors = (int)((p->width + LANES - 1) / LANES);
  const bool whole = p->width % LANES == 0;
  switch (vectors * 2 + whole) {
  case 2:
    run_panel(args, p, 1, false, unit, index);
    break;
  case 3:
    run_panel(args, p, 1, true, unit, index);
    break;
  case 4:
    run_panel(args, p, 2, false, unit, index);
    break;
  case 5:
    run_panel(args, p, 2, true, unit, index);
    break;
  case 6:
  case 7:
    run_panel(args, p, 3, false, unit, index);
    break;
  case 8:
    run_panel(args, p, 4, false, unit, index);
    break;
  case 9:
    run_panel(args, p, 4, true, unit, index);
    break;
  case 10:
  case 11:
    run_panel(args, p, 5, false, unit, index);
    break;
  case 12:
  case 13:
    run_panel(args, p, 6, false, unit, index);
    break;
  case 14:
  case 15:
    run_panel(args, p, 7, false, unit, index);
    break;
  case 16:
    run_panel(args, p, 8, false, unit, index);
    break;
  default:
    run_panel(args, p, 8, true, unit, index);
  }
}

INLINE void run_part(const sl_spmm_args *args, const sl_spmm_part *part, const sley_index index) {
  panel p = {.row = part->row, .row_end = part->row_end};
  for (int64_t c = part->feature; c < part->feature_end; c += p.width) {
    int64_t left = part->feature_end - c;
    p.feature = c;
    p.width = left < PANEL * LANES ? left : PANEL * LANES;
    if (args->alpha == 1)
      choose_panel(args, &p, true, index);
    else
      choose_panel(args, &p, false, index);
  }
}

static void run_part_i32(const sl_spmm_args *args, const sl_spmm_part *part) {
  run_part(args, part, SLEY_I32);
}

static void run_part_i64(const sl_spmm_args *args, const sl_spmm_part *part) {
  run_part(args, part, SLEY_I64);
}

static sley_status run(sl_queue *queue, const sl_kernel_args *args) {
  const sl_spmm_args *a = &args->spmm;
  return sl_cpu_spmm_run(queue, a, a->a->index == SLEY_I32 ? run_part_i32 : run_part_i64);
}

/* Portable fma is a call. */
static double cost(const sl_kernel_args *args) {
  return sl_cpu_spmm_cost(&args->spmm, LANES > 1 ? 2 * LANES : 0.2);
}
