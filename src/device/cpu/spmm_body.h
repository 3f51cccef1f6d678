/* SPDX-License-Identifier: Apache-2.0 */
/* The SpMM kernel, the same for every type and instruction set. A file that includes it, one per type and
 * instruction set, has included
 *   - a lanes_*.h: ISA; sum (float or double), vec (LANES of them), mask and the vec_ operations;
 *   - a values_*.h: DTYPE; value, the type of A and X, and how it is loaded as vec and stored; NARROW:
 * whether value is not sum, so that Y may be of either. It gets SPMM_KERNEL, the descriptor of the kernel.
 *
 * A row's accumulators, up to PANEL vectors of features at a time, stay in registers while its entries pass
 * in stored order: acc = fma(alpha val, x, acc), the order of op_spmm.h, so that every instruction set gives
 * the same bits.
 *
 * The parameters declared const int, bool or sley_index below are constants at every call, and each call is
 * inlined: the compiler makes a loop of its own for each. */

enum {
  PANEL = 8, /* vectors */
  LINE_VALUES = 64 / sizeof(value),
  /* The loads of X's rows are as good as random. An out-of-order core hides those of short rows by itself; of
   * longer ones, and of rows found through pages, the first lines are fetched some entries early, and the
   * hardware follows with the rest. */
  UNFETCHED_LINES = 2,
  FETCHED_LINES = 2,
  AHEAD = 32,
  /* One vector a row makes a chain of dependent sums; rows of at least this length are summed several at a
     time. */
  TOGETHER_LEAST = 24,
  /* A Y beyond this many bytes goes past the caches, which spares reading what is overwritten. */
  STREAM_BYTES = 8 << 20
};

#define INLINE static inline __attribute__((always_inline))

/* What run_panel works on: features [feature, feature + width) of stored rows [row, row_end). */
typedef struct panel {
  int64_t row, row_end, feature, width;
} panel;

/* The operands as the innermost loop wants them. */
typedef struct operands {
  const void *col;
  const value *val;
  const char *x;
  int64_t stride; /* of X in bytes */
  const uintptr_t *pages;
  int64_t offset; /* bytes from a row's start to the panel */
  double alpha;
  bool unit; /* alpha is 1 */
  bool wide; /* Y holds sums */
  mask tail; /* of the last vector, if that is not whole */
} operands;

INLINE int64_t column(const void *col, int64_t j, const sley_index index) {
  return index == SLEY_I32 ? ((const int32_t *)col)[j] : ((const int64_t *)col)[j];
}

/* The row of X that entry j takes. */
INLINE const char *x_row(const operands *o, int64_t j, const sley_index index, const bool paged) {
  int64_t c = column(o->col, j, index);
  if (!paged)
    return o->x + c * o->stride;
  return (const char *)(o->pages[(uint64_t)c / SL_X_PAGE] + (uintptr_t)(c * o->stride)) + o->offset;
}

INLINE void fetch_entry(const operands *o, int64_t j, const int vectors, const sley_index index,
                        const bool paged) {
  const char *row = x_row(o, j, index, paged);
  if (!paged && vectors * LANES <= UNFETCHED_LINES * LINE_VALUES)
    return;
  for (int line = 0; line < FETCHED_LINES; line++)
    __builtin_prefetch(row + line * 64, 0, 3);
}

INLINE void add_entry(const operands *o, int64_t j, vec *acc, const int vectors, const bool whole,
                      const sley_index index, const bool paged) {
  const int body = whole ? vectors : vectors - 1;
  const value *row = (const value *)x_row(o, j, index, paged);
  sum factor = widen(o->val[j]);
  if (__builtin_expect(!o->unit, 0))
    factor = (sum)(o->alpha * (double)factor);
  const vec s = vec_all(factor);
#pragma GCC unroll 16
  for (int v = 0; v < body; v++)
    acc[v] = vec_fma(s, load_values(row + v * LANES), acc[v]);
  if (!whole)
    acc[body] = vec_fma(s, load_values_part(row + body * LANES, o->tail), acc[body]);
}

/* Whether Y holds values that sums must be rounded to. */
INLINE bool is_rounded(const operands *o) {
  return NARROW && !o->wide;
}

/* Of rounded values; a call, since rows begin seldom and the code stands in every loop. */
static __attribute__((noinline)) void scale_values(const value *y, double beta, int64_t width, sum *out) {
  for (int64_t c = 0; c < width; c++)
    out[c] = (sum)(beta * (double)widen(y[c]));
}

/* acc = beta y */
INLINE void begin_row(const operands *o, double beta, int64_t width, void *row, vec *acc, const int vectors,
                      const bool whole) {
  const int body = whole ? vectors : vectors - 1;
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
      acc[v] = vec_load(scaled + v * LANES);
    return;
  }
  sum *y = row;
  if (beta != 1)
    for (int64_t c = 0; c < width; c++)
      y[c] = (sum)(beta * (double)y[c]);
#pragma GCC unroll 16
  for (int v = 0; v < body; v++)
    acc[v] = vec_load(y + v * LANES);
  if (!whole)
    acc[body] = vec_load_part(y + body * LANES, o->tail);
}

INLINE void end_rounded(const operands *o, bool stream, value *y, const vec *acc, const int vectors,
                        const bool whole) {
  const int body = whole ? vectors : vectors - 1;
  if (stream) {
#pragma GCC unroll 16
    for (int v = 0; v < body; v++)
      stream_values(y + v * LANES, acc[v]);
    return;
  }
#pragma GCC unroll 16
  for (int v = 0; v < body; v++)
    store_values(y + v * LANES, acc[v]);
  if (!whole)
    store_values_part(y + body * LANES, o->tail, acc[body]);
}

INLINE void end_row(const operands *o, bool stream, void *row, const vec *acc, const int vectors,
                    const bool whole) {
  if (is_rounded(o)) {
    end_rounded(o, stream, row, acc, vectors, whole);
    return;
  }
  const int body = whole ? vectors : vectors - 1;
  sum *y = row;
  if (stream) {
#pragma GCC unroll 16
    for (int v = 0; v < body; v++)
      vec_stream(y + v * LANES, acc[v]);
    return;
  }
#pragma GCC unroll 16
  for (int v = 0; v < body; v++)
    vec_store(y + v * LANES, acc[v]);
  if (!whole)
    vec_store_part(y + body * LANES, o->tail, acc[body]);
}

/* Whether Y's lines, of values of these bytes, are written whole, once and too many to stay in the caches. */
INLINE bool may_stream(const sl_spmm_run *args, const panel *p, int64_t bytes) {
  uint64_t misaligned =
      ((uintptr_t)args->y | (uint64_t)(args->ldy * bytes) | (uint64_t)(p->feature * bytes)) % 64;
  return args->beta == 0 && misaligned == 0 && args->problem->a->rows * p->width * bytes > STREAM_BYTES;
}

INLINE int64_t shortest_row(const int64_t *rowptr, const int rows) {
  int64_t least = rowptr[1] - rowptr[0];
  for (int r = 1; r < rows; r++)
    least = rowptr[r + 1] - rowptr[r] < least ? rowptr[r + 1] - rowptr[r] : least;
  return least;
}

INLINE void run_panel(const sl_spmm_run *args, const panel *p, const int vectors, const bool whole,
                      const sley_index index, const bool paged) {
  const sl_spmm_matrix *a = args->problem->a;
  const operands o = {.col = a->col,
                      .val = a->val,
                      .x = paged ? NULL : (const char *)((const value *)args->x + p->feature),
                      .stride = args->ldx * (int64_t)sizeof(value),
                      .pages = args->problem->pages,
                      .offset = p->feature * (int64_t)sizeof(value),
                      .alpha = args->alpha,
                      .unit = args->alpha == 1,
                      .wide = args->problem->wide_y,
                      .tail = mask_of(p->width - (vectors - 1) * LANES)};
  const int64_t bytes = is_rounded(&o) ? sizeof(value) : sizeof(sum), stride = args->ldy * bytes;
  const int64_t *rowptr = a->rowptr, fetchable = rowptr[a->rows] - AHEAD;
  const double beta = args->beta;
  const bool stream = whole && may_stream(args, p, bytes);
  char *const y = (char *)args->y + p->feature * bytes;
  const int together = vectors == 1 ? 4 : vectors == 2 ? 2 : 1;

  for (int64_t i = p->row; i < p->row_end;) {
    vec acc[4][PANEL];
    int64_t common = 0;
    int rows = 1;
    if (together > 1 && i + together <= p->row_end) {
      rows = together;
      common = shortest_row(rowptr + i, together);
    }
    if (together > 1 && common >= TOGETHER_LEAST) {
#pragma GCC unroll 4
      for (int r = 0; r < together; r++)
        begin_row(&o, beta, p->width, y + (a->rowid ? a->rowid[i + r] : i + r) * stride, acc[r], vectors,
                  whole);
      for (int64_t n = 0; n < common; n++)
#pragma GCC unroll 4
        for (int r = 0; r < together; r++)
          add_entry(&o, rowptr[i + r] + n, acc[r], vectors, whole, index, paged);
#pragma GCC unroll 4
      for (int r = 0; r < together; r++) {
        for (int64_t j = rowptr[i + r] + common; j < rowptr[i + r + 1]; j++)
          add_entry(&o, j, acc[r], vectors, whole, index, paged);
        end_row(&o, stream, y + (a->rowid ? a->rowid[i + r] : i + r) * stride, acc[r], vectors, whole);
      }
      i += together;
      continue;
    }
    for (const int64_t last = i + rows; i < last; i++) {
      char *row = y + (a->rowid ? a->rowid[i] : i) * stride;
      begin_row(&o, beta, p->width, row, acc[0], vectors, whole);
      const int64_t begin = rowptr[i], end = rowptr[i + 1], ahead = end <= fetchable ? AHEAD : 0;
      for (int64_t j = begin; j < end; j++) {
        fetch_entry(&o, j + ahead, vectors, index, paged);
        add_entry(&o, j, acc[0], vectors, whole, index, paged);
      }
      end_row(&o, stream, row, acc[0], vectors, whole);
    }
  }
  if (stream)
    stream_end();
}

INLINE void choose_panel(const sl_spmm_run *args, const panel *p, const sley_index index, const bool paged) {
  const int vectors = (int)((p->width + LANES - 1) / LANES);
  const bool whole = p->width % LANES == 0;
  switch (vectors * 2 + whole) {
  case 2:
    run_panel(args, p, 1, false, index, paged);
    break;
  case 3:
    run_panel(args, p, 1, true, index, paged);
    break;
  case 4:
    run_panel(args, p, 2, false, index, paged);
    break;
  case 5:
    run_panel(args, p, 2, true, index, paged);
    break;
  case 6:
  case 7:
    run_panel(args, p, 3, false, index, paged);
    break;
  case 8:
    run_panel(args, p, 4, false, index, paged);
    break;
  case 9:
    run_panel(args, p, 4, true, index, paged);
    break;
  case 10:
  case 11:
    run_panel(args, p, 5, false, index, paged);
    break;
  case 12:
  case 13:
    run_panel(args, p, 6, false, index, paged);
    break;
  case 14:
  case 15:
    run_panel(args, p, 7, false, index, paged);
    break;
  case 16:
    run_panel(args, p, 8, false, index, paged);
    break;
  default:
    run_panel(args, p, 8, true, index, paged);
  }
}

INLINE void run_part(const sl_spmm_run *args, const sl_spmm_part *part, const sley_index index,
                     const bool paged) {
  panel p = {.row = part->row, .row_end = part->row_end};
  for (int64_t c = part->feature; c < part->feature_end; c += p.width) {
    int64_t left = part->feature_end - c;
    p.feature = c;
    p.width = left < PANEL * LANES ? left : PANEL * LANES;
    choose_panel(args, &p, index, paged);
  }
}

static void run_part_i32(const sl_spmm_run *args, const sl_spmm_part *part) {
  run_part(args, part, SLEY_I32, false);
}

static void run_part_i64(const sl_spmm_run *args, const sl_spmm_part *part) {
  run_part(args, part, SLEY_I64, false);
}

static void run_part_paged_i32(const sl_spmm_run *args, const sl_spmm_part *part) {
  run_part(args, part, SLEY_I32, true);
}

static void run_part_paged_i64(const sl_spmm_run *args, const sl_spmm_part *part) {
  run_part(args, part, SLEY_I64, true);
}

static sley_status run(sl_queue *queue, const sl_kernel_args *args) {
  static const sl_spmm_part_body body[2][2] = {{run_part_i32, run_part_i64},
                                               {run_part_paged_i32, run_part_paged_i64}};
  const sl_spmm_problem *p = args->spmm.problem;
  return sl_cpu_spmm_run(queue, &args->spmm, body[p->pages != NULL][p->a->index == SLEY_I64]);
}

static bool ok(const sl_kernel_args *args) {
  const sl_spmm_problem *p = args->spmm.problem;
  return p->a->dtype == (sley_dtype)DTYPE && p->far_rows == 0 && sl_cpu_has((sl_cpu_isa)ISA);
}

/* Portable fma is a call. */
static double cost(const sl_kernel_args *args) {
  return sl_cpu_spmm_cost(args->spmm.problem, LANES > 1 ? 2 * LANES : 0.2);
}

/* The descriptor of the kernel that was compiled here. */
#define SPMM_KERNEL(kernel_name)                                                                             \
  {                                                                                                          \
    .name = kernel_name, .op = SL_OP_SPMM, .ok = ok, .cost = cost, .prepare = sl_cpu_spmm_prepare,           \
    .refill = sl_refill_nothing, .release = sl_cpu_spmm_release, .run = run                                  \
  }
