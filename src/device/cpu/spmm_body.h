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
  /* Entries whose values are converted, or multiplied by alpha, at a time. */
  CHUNK = 64,
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

/* alpha val, in the type of sums; a call, since it stands in every loop. */
static __attribute__((noinline)) void scale_factors(const value *val, double alpha, int64_t count, sum *out) {
  for (int64_t i = 0; i < count; i++)
    out[i] = alpha == 1 ? widen(val[i]) : (sum)(alpha * (double)widen(val[i]));
}

INLINE int64_t column(const void *col, int64_t j, const sley_index index) {
  return index == SLEY_I32 ? ((const int32_t *)col)[j] : ((const int64_t *)col)[j];
}

/* The row of X that is column c's. */
INLINE const char *x_row(const operands *o, int64_t c, const bool paged) {
  if (!paged)
    return o->x + c * o->stride;
  return (const char *)(o->pages[(uint64_t)c / SL_X_PAGE] + (uintptr_t)(c * o->stride)) + o->offset;
}

INLINE void fetch_entry(const operands *o, int64_t j, const int vectors, const sley_index index,
                        const bool paged) {
  if (!paged && vectors * LANES <= UNFETCHED_LINES * LINE_VALUES)
    return;
  const char *row = x_row(o, column(o->col, j, index), paged);
  for (int line = 0; line < FETCHED_LINES; line++)
    __builtin_prefetch(row + line * 64, 0, 3);
}

/* acc += factor * the row of X that is column c's. */
INLINE void add_entry(const operands *o, int64_t c, sum factor, vec *acc, const int vectors, const bool whole,
                      const bool paged) {
  const int body = whole ? vectors : vectors - 1;
  const value *row = (const value *)x_row(o, c, paged);
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
  const bool direct = !NARROW && o.unit; /* values are factors as they are */
  const int together = vectors == 1 ? 4 : vectors == 2 ? 2 : 1;

  for (int64_t i = p->row; i < p->row_end;) {
    vec acc[4][PANEL];
    int64_t common = 0;
    int rows = 1;
    if (together > 1 && i + together <= p->row_end) {
      rows = together;
      common = direct ? shortest_row(rowptr + i, together) : 0;
    }
    if (together > 1 && common >= TOGETHER_LEAST) {
      const char *col[4];
      const sum *val[4];
#pragma GCC unroll 4
      for (int r = 0; r < together; r++) {
        begin_row(&o, beta, p->width, y + (a->rowid ? a->rowid[i + r] : i + r) * stride, acc[r], vectors,
                  whole);
        col[r] = (const char *)o.col + rowptr[i + r] * (int64_t)sl_index_bytes(index);
        val[r] = (const sum *)o.val + rowptr[i + r];
      }
      for (int64_t n = 0; n < common; n++)
#pragma GCC unroll 4
        for (int r = 0; r < together; r++)
          add_entry(&o, column(col[r], n, index), val[r][n], acc[r], vectors, whole, paged);
#pragma GCC unroll 4
      for (int r = 0; r < together; r++) {
        for (int64_t j = rowptr[i + r] + common; j < rowptr[i + r + 1]; j++)
          add_entry(&o, column(o.col, j, index), ((const sum *)o.val)[j], acc[r], vectors, whole, paged);
        end_row(&o, stream, y + (a->rowid ? a->rowid[i + r] : i + r) * stride, acc[r], vectors, whole);
      }
      i += together;
      continue;
    }
    for (const int64_t last = i + rows; i < last; i++) {
      char *row = y + (a->rowid ? a->rowid[i] : i) * stride;
      begin_row(&o, beta, p->width, row, acc[0], vectors, whole);
      const int64_t end = rowptr[i + 1], ahead = end <= fetchable ? AHEAD : 0;
      if (direct)
        for (int64_t j = rowptr[i]; j < end; j++) {
          fetch_entry(&o, j + ahead, vectors, index, paged);
          add_entry(&o, column(o.col, j, index), ((const sum *)o.val)[j], acc[0], vectors, whole, paged);
        }
      else
        for (int64_t j = rowptr[i]; j < end;) {
          sum factor[CHUNK];
          const int64_t first = j, last_of_chunk = end - j < CHUNK ? end : j + CHUNK;
          scale_factors(o.val + j, o.alpha, last_of_chunk - j, factor);
          for (; j < last_of_chunk; j++) {
            fetch_entry(&o, j + ahead, vectors, index, paged);
            add_entry(&o, column(o.col, j, index), factor[j - first], acc[0], vectors, whole, paged);
          }
        }
      end_row(&o, stream, row, acc[0], vectors, whole);
    }
  }
  if (stream)
    stream_end();
}

typedef void panel_body(const sl_spmm_run *args, const panel *p);

/* Functions of their own: in one function the loops would have each other's constants in their registers. */
#define PANEL_BODY(name, index, paged, vectors, whole)                                                       \
  static __attribute__((noinline)) void panel_##name##_##vectors##_##whole(const sl_spmm_run *args,          \
                                                                           const panel *p) {                 \
    run_panel(args, p, vectors, whole, index, paged);                                                        \
  }

/* By vectors, the last of them whole or not; of those that are rare the general one. */
#define PANEL_BODIES(name, index, paged)                                                                     \
  PANEL_BODY(name, index, paged, 1, false)                                                                   \
  PANEL_BODY(name, index, paged, 1, true)                                                                    \
  PANEL_BODY(name, index, paged, 2, false)                                                                   \
  PANEL_BODY(name, index, paged, 2, true)                                                                    \
  PANEL_BODY(name, index, paged, 3, false)                                                                   \
  PANEL_BODY(name, index, paged, 4, false)                                                                   \
  PANEL_BODY(name, index, paged, 4, true)                                                                    \
  PANEL_BODY(name, index, paged, 5, false)                                                                   \
  PANEL_BODY(name, index, paged, 6, false)                                                                   \
  PANEL_BODY(name, index, paged, 7, false)                                                                   \
  PANEL_BODY(name, index, paged, 8, false)                                                                   \
  PANEL_BODY(name, index, paged, 8, true)                                                                    \
  static panel_body *const panels_##name[PANEL + 1][2] = {                                                   \
      [1] = {panel_##name##_1_false, panel_##name##_1_true},                                                 \
      [2] = {panel_##name##_2_false, panel_##name##_2_true},                                                 \
      [3] = {panel_##name##_3_false, panel_##name##_3_false},                                                \
      [4] = {panel_##name##_4_false, panel_##name##_4_true},                                                 \
      [5] = {panel_##name##_5_false, panel_##name##_5_false},                                                \
      [6] = {panel_##name##_6_false, panel_##name##_6_false},                                                \
      [7] = {panel_##name##_7_false, panel_##name##_7_false},                                                \
      [8] = {panel_##name##_8_false, panel_##name##_8_true}};                                                \
  static void run_part_##name(const sl_spmm_run *args, const sl_spmm_part *part) {                           \
    run_panels(args, part, panels_##name);                                                                   \
  }

static void run_panels(const sl_spmm_run *args, const sl_spmm_part *part, panel_body *const body[][2]) {
  panel p = {.row = part->row, .row_end = part->row_end};
  for (int64_t c = part->feature; c < part->feature_end; c += p.width) {
    int64_t left = part->feature_end - c;
    p.feature = c;
    p.width = left < PANEL * LANES ? left : PANEL * LANES;
    body[(p.width + LANES - 1) / LANES][p.width % LANES == 0](args, &p);
  }
}

PANEL_BODIES(i32, SLEY_I32, false)
PANEL_BODIES(i64, SLEY_I64, false)
PANEL_BODIES(paged_i32, SLEY_I32, true)
PANEL_BODIES(paged_i64, SLEY_I64, true)

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

static double cost(const sl_kernel_args *args) {
  return sl_cpu_spmm_cost(args->spmm.problem, LANES, NARROW && (int)ISA != (int)SL_CPU_AVX512);
}

/* The descriptor of the kernel that was compiled here. */
#define SPMM_KERNEL(kernel_name)                                                                             \
  {                                                                                                          \
    .name = kernel_name, .op = SL_OP_SPMM, .ok = ok, .cost = cost, .prepare = sl_cpu_spmm_prepare,           \
    .refill = sl_refill_nothing, .release = sl_cpu_spmm_release, .run = run                                  \
  }
