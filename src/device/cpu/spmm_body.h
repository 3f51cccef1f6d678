/* SPDX-License-Identifier: Apache-2.0 */
/* The SpMM kernel, the same for every type and instruction set. A file that includes it, one per type and
 * instruction set, has included
 *   - a lanes_*.h: ISA; STREAMS: whether it has stores that bypass the caches; REGISTERS; MOST_PARTS: into
 * how many parts a vector may be divided for loads; sum (float or double), vec (LANES of them) and the vec_
 * operations; mask: which values of a row's last vector there are, if that is not whole, and whether it is
 * the only one (alone), for part moves;
 *   - a values_*.h: DTYPE; value, the type of A and X, and how it is loaded as vec and stored; NARROW:
 * whether value is not sum, so that Y may be of either. It gets SPMM_KERNEL, the descriptor of the kernel.
 *
 * A row's accumulators, up to PANEL vectors of features at a time, stay in registers while its entries pass
 * in stored order: acc = fma(alpha val, x, acc), the order of op_spmm.h, so that every instruction set gives
 * the same bits. Narrow products are summed in bundles of rows (spmm_bundles.h). */

#include <string.h>

#include "device/cpu/spmm_bundles.h"
#include "device/cpu/spmm_lines.h"
#include "device/cpu/spmm_moves.h"

enum {
  /* One vector a row makes a chain of dependent sums; rows of at least this length are summed several at a
     time. */
  TOGETHER_LEAST = 24,
  /* Entries whose values are converted, or multiplied by alpha, at a time. */
  CHUNK = 64,
  /* Where X and Y have more than this many bytes, Y goes past the caches, which spares reading what is
   * overwritten. */
  STREAM_BYTES = 16 << 20,
  /* Where they have more than this, rows of Y of several panels that do consist of whole lines are summed one
   * after the other (spmm_lines.h), not a few at a time. */
  LINES_BYTES = 40 << 20,
  /* Where lines of Y hold parts of several rows or panels, a few rows of Y are made in the caches first, of
   * STAGED_AT_ONCE bytes or a little more: more would push the rows of X, which are read from end to end, out
   * of the nearest cache. Rows shorter than STAGED_LEAST, or of no more than STAGED_ENTRIES entries, take
   * longer so than it spares, longer ones than STAGE_BYTES have few lines that they share. */
  STAGE_BYTES = 16 << 10,
  STAGED_AT_ONCE = 2 << 10,
  STAGED_LEAST = 256,
  STAGED_ENTRIES = 2,
  /* Rows of at least this many at a time are summed panel after panel, and of about so many bytes of Y. */
  BLOCK_ROWS = 4,
  BLOCK_BYTES = 4 << 10
};

/* alpha val, in the type of sums; a call, since it stands in every loop. */
static __attribute__((noinline)) void scale_factors(const value *val, double alpha, int64_t count, sum *out) {
  for (int64_t i = 0; i < count; i++)
    out[i] = alpha == 1 ? widen(val[i]) : (sum)(alpha * (double)widen(val[i]));
}

/* Entries from the one that is summed to the one whose row of X is fetched; 0: none is. */
static int64_t entries_ahead(const panel *p, const bool paged) {
  return p->near && !paged ? 0 : AHEAD;
}

INLINE void fetch_entry(const operands *o, int64_t j, const int vectors, const sley_index index,
                        const bool paged) {
  if (paged || vectors * LANES > UNFETCHED_LINES * LINE_VALUES)
    fetch_lines(x_row(o, column(o->col, j, index), paged), FETCHED_LINES);
}

INLINE void run_general(const sl_spmm_run *args, const panel *p, const int vectors, const int last,
                        const sley_index index, const bool paged) {
  const sl_spmm_matrix *a = args->problem->a;
  const operands o = operands_of(args, p, vectors, paged);
  const int64_t bytes = is_rounded(&o) ? sizeof(value) : sizeof(sum), stride = args->ldy * bytes;
  const int64_t *rowptr = a->rowptr, most_ahead = entries_ahead(p, paged),
                fetchable = rowptr[a->rows] - most_ahead;
  const bool stream = STREAMS && last == WHOLE && p->stream;
  char *const y = (char *)args->y + p->feature * bytes;
  for (int64_t i = p->row; i < p->row_end; i++) {
    vec acc[PANEL];
    char *row = y + (a->rowid ? a->rowid[i] : i) * stride;
    begin_row(&o, args->beta, p->width, row, acc, vectors, last);
    const int64_t end = rowptr[i + 1], ahead = end <= fetchable ? most_ahead : 0;
    for (int64_t j = rowptr[i]; j < end;) {
      sum factor[CHUNK];
      const int64_t first = j, last_of_chunk = end - j < CHUNK ? end : j + CHUNK;
      scale_factors(o.val + j, o.alpha, last_of_chunk - j, factor);
      for (; j < last_of_chunk; j++) {
        if (ahead)
          fetch_entry(&o, j + ahead, vectors, index, paged);
        add_entry(&o, column(o.col, j, index), factor[j - first], acc, vectors, last, paged);
      }
    }
    end_row(&o, stream, row, acc, vectors, last);
  }
}

/* Several rows, whose first `common` entries are summed in turns, so that their chains of dependent sums
 * overlap. */
INLINE void run_together(const operands *o, const int64_t *rowptr, const int64_t *row, sum *const *y,
                         bool adds, bool stream, const int rows, const int vectors, const int last,
                         const sley_index index, const bool paged, int64_t common) {
  vec acc[4][PANEL];
  const char *col[4];
  const sum *val[4];
#pragma GCC unroll 4
  for (int r = 0; r < rows; r++) {
    begin_plain(o, adds, y[r], acc[r], vectors, last);
    col[r] = (const char *)o->col + rowptr[row[r]] * (int64_t)sl_index_bytes(index);
    val[r] = (const sum *)o->val + rowptr[row[r]];
  }
  for (int64_t n = 0; n < common; n++)
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++)
      add_entry(o, column(col[r], n, index), val[r][n], acc[r], vectors, last, paged);
#pragma GCC unroll 4
  for (int r = 0; r < rows; r++) {
    for (int64_t j = rowptr[row[r]] + common; j < rowptr[row[r] + 1]; j++)
      add_entry(o, column(o->col, j, index), ((const sum *)o->val)[j], acc[r], vectors, last, paged);
    end_row(o, stream, y[r], acc[r], vectors, last);
  }
}

/* alpha is 1, beta 0 or 1, and values are of the type of sums: values are factors as they are. */
INLINE void run_plain(const sl_spmm_run *args, const panel *p, const int vectors, const int last,
                      const sley_index index, const bool paged) {
  const sl_spmm_matrix *a = args->problem->a;
  const operands o = operands_of(args, p, vectors, paged);
  const int64_t *rowptr = a->rowptr, *rowid = a->rowid, ldy = args->ldy, most_ahead = entries_ahead(p, paged),
                fetchable = rowptr[a->rows] - most_ahead;
  const bool stream = STREAMS && last == WHOLE && p->stream, adds = args->beta == 1;
  sum *const y = (sum *)args->y + p->feature;
  const int together = vectors == 1 ? 4 : vectors <= 4 ? 2 : 1;
  const int64_t count = p->row_end - p->row;
  for (int64_t i = 0; i < count;) {
    int rows = 1;
    if (together > 1 && i + together <= count) {
      int64_t row[4], common = INT64_MAX;
      sum *out[4];
      rows = together;
#pragma GCC unroll 4
      for (int r = 0; r < together; r++) {
        row[r] = p->row + i + r;
        out[r] = y + (rowid ? rowid[row[r]] : row[r]) * ldy;
        const int64_t entries = rowptr[row[r] + 1] - rowptr[row[r]];
        common = entries < common ? entries : common;
      }
      if (common >= TOGETHER_LEAST) {
        run_together(&o, rowptr, row, out, adds, stream, together, vectors, last, index, paged, common);
        i += together;
        continue;
      }
    }
    for (const int64_t stop = i + rows; i < stop; i++) {
      vec acc[PANEL];
      const int64_t at = p->row + i, end = rowptr[at + 1], ahead = end <= fetchable ? most_ahead : 0;
      sum *out = y + (rowid ? rowid[at] : at) * ldy;
      begin_plain(&o, adds, out, acc, vectors, last);
      for (int64_t j = rowptr[at]; j < end; j++) {
        if (ahead)
          fetch_entry(&o, j + ahead, vectors, index, paged);
        add_entry(&o, column(o.col, j, index), ((const sum *)o.val)[j], acc, vectors, last, paged);
      }
      end_row(&o, stream, out, acc, vectors, last);
    }
  }
}

typedef void panel_body(const sl_spmm_run *args, const panel *p);

/* Functions of their own, as in spmm_bundles.h. */
#define GENERAL_BODY(name, index, paged, vectors, last)                                                      \
  static __attribute__((noinline)) void general_##name##_##vectors##_##last(const sl_spmm_run *args,         \
                                                                            const panel *p) {                \
    run_general(args, p, vectors, last, index, paged);                                                       \
  }
#define PLAIN_BODY(name, index, paged, vectors, last)                                                        \
  static __attribute__((noinline)) void plain_##name##_##vectors##_##last(const sl_spmm_run *args,           \
                                                                          const panel *p) {                  \
    if (!NARROW && exists(last))                                                                             \
      run_plain(args, p, vectors, last, index, paged);                                                       \
  }

static bool is_general(const sl_spmm_run *args) {
  return NARROW || args->alpha != 1 || (args->beta != 0 && args->beta != 1);
}

/* All ways to move the last vector; for operands that are rare, those that suffice. */
#define PLAIN_ALL(name, index, paged, vectors)                                                               \
  PLAIN_BODY(name, index, paged, vectors, QUARTER)                                                           \
  PLAIN_BODY(name, index, paged, vectors, HALF)                                                              \
  static panel_body *const plain_##name##_##vectors[] = {                                                    \
      plain_##name##_##vectors##_WHOLE, plain_##name##_##vectors##_MASKED,                                   \
      plain_##name##_##vectors##_QUARTER, plain_##name##_##vectors##_HALF};
#define PLAIN_FEW(name, index, paged, vectors)                                                               \
  static panel_body *const plain_##name##_##vectors[] = {                                                    \
      plain_##name##_##vectors##_WHOLE, plain_##name##_##vectors##_MASKED,                                   \
      plain_##name##_##vectors##_MASKED, plain_##name##_##vectors##_MASKED};

#define PANEL_BODY(name, index, paged, vectors, others)                                                      \
  GENERAL_BODY(name, index, paged, vectors, WHOLE)                                                           \
  GENERAL_BODY(name, index, paged, vectors, MASKED)                                                          \
  PLAIN_BODY(name, index, paged, vectors, WHOLE)                                                             \
  PLAIN_BODY(name, index, paged, vectors, MASKED)                                                            \
  others(name, index, paged, vectors) static panel_body *const general_##name##_##vectors[] = {              \
      general_##name##_##vectors##_WHOLE, general_##name##_##vectors##_MASKED};

/* By vectors of a panel. */
#define PANEL_BODIES(name, index, paged, others)                                                             \
  PANEL_BODY(name, index, paged, 1, others)                                                                  \
  PANEL_BODY(name, index, paged, 2, others)                                                                  \
  PANEL_BODY(name, index, paged, 3, others)                                                                  \
  PANEL_BODY(name, index, paged, 4, others)                                                                  \
  PANEL_BODY(name, index, paged, 5, others)                                                                  \
  PANEL_BODY(name, index, paged, 6, others)                                                                  \
  PANEL_BODY(name, index, paged, 7, others)                                                                  \
  PANEL_BODY(name, index, paged, 8, others)                                                                  \
  static panel_body *const *const general_##name[] = {                                                       \
      general_##name##_1, general_##name##_2, general_##name##_3, general_##name##_4,                        \
      general_##name##_5, general_##name##_6, general_##name##_7, general_##name##_8};                       \
  static panel_body *const *const plain_##name[] = {plain_##name##_1, plain_##name##_2, plain_##name##_3,    \
                                                    plain_##name##_4, plain_##name##_5, plain_##name##_6,    \
                                                    plain_##name##_7, plain_##name##_8};                     \
  static __attribute__((noinline)) void lines_##name(const sl_spmm_run *args, const sl_spmm_part *part) {    \
    if (STREAMS && !paged && !NARROW)                                                                        \
      run_lines(args, part, index);                                                                          \
  }                                                                                                          \
  static void run_part_##name(const sl_spmm_run *args, const sl_spmm_part *part) {                           \
    run_panels(args, part, is_general(args) ? general_##name : plain_##name, lines_##name);                  \
  }

typedef panel_body *const *const panel_bodies; /* by vectors, and how the last are moved */

/* Vectors of the next panel, of those that are left: no panel is much narrower than the others, unless all
 * that is left for it is a small part of a vector. */
static int64_t panel_of(int64_t left, bool small) {
  if (left <= PANEL)
    return left;
  return left >= PANEL + PANEL / 2 || (small && left == PANEL + 1) ? PANEL : (left + 1) / 2;
}

/* Panel after panel, each over all rows. */
static void run_block(const sl_spmm_run *args, const sl_spmm_part *part, panel *p, panel_bodies *body) {
  const bool small = (part->feature_end - part->feature - 1) % LANES < LANES / 4;
  for (int64_t c = part->feature; c < part->feature_end; c += p->width) {
    const int64_t left = part->feature_end - c, vectors = panel_of((left + LANES - 1) / LANES, small);
    p->feature = c;
    p->width = left < vectors * LANES ? left : vectors * LANES;
    body[vectors - 1][is_general(args) ? p->width % LANES != 0 : last_of(p->width)](args, p);
  }
}

/* Block after block of rows. A block is all rows of the part where that keeps a panel of X in a near cache
 * that cannot hold whole rows; else it is small, so that the rows of X are read from end to end. */
static void run_each(const sl_spmm_run *args, const sl_spmm_part *part, bool stream, panel_bodies *body) {
  const int64_t width = part->feature_end - part->feature;
  const bool one = part->panels || width <= PANEL * LANES;
  int64_t rows = one ? part->row_end - part->row : BLOCK_BYTES / (width * (int64_t)sizeof(value));
  rows = rows < BLOCK_ROWS ? BLOCK_ROWS : rows - rows % BLOCK_ROWS;
  panel p = {.stream = stream, .near = part->near};
  for (p.row = part->row; p.row < part->row_end; p.row = p.row_end) {
    p.row_end = part->row_end - p.row < rows ? part->row_end : p.row + rows;
    run_block(args, part, &p, body);
  }
  if (stream)
    stream_end();
}

/* As memcpy, for a part of Y: whole lines past the caches, parts of lines through them. */
static void stream_bytes(char *to, const char *from, int64_t bytes) {
  enum { LINE = 64, STEP = sizeof(vec) };
  const int64_t head = (int64_t)(-(uintptr_t)to % LINE);
  int64_t at = head < bytes ? head : bytes;
  memcpy(to, from, (size_t)at);
  for (; at + LINE <= bytes; at += LINE)
#pragma GCC unroll 4
    for (int i = 0; i < LINE; i += STEP)
      vec_stream((sum *)(to + at + i), vec_load((const sum *)(from + at + i)));
  memcpy(to + at, from + at, (size_t)(bytes - at));
}

/* Some rows after the others, each time into a buffer, which then goes to Y past the caches. Where rows
 * follow each other, a line that is not whole yet waits in the buffer for the next rows. */
static void run_staged(const sl_spmm_run *args, const sl_spmm_part *part, int64_t bytes, panel_bodies *body) {
  enum { LINE = 64 };
  _Alignas(64) char stage[STAGE_BYTES + 2 * LINE];
  const sl_spmm_matrix *a = args->problem->a;
  sl_spmm_matrix rows = *a;
  sl_spmm_problem problem = *args->problem;
  sl_spmm_run run = *args;
  int64_t width = part->feature_end - part->feature, row_bytes = width * bytes,
          at_once = STAGED_AT_ONCE / row_bytes + 1, kept = 0;
  char *const y = (char *)args->y + part->feature * bytes;
  const bool joined = !a->rowid && args->ldy == width;
  problem.a = &rows;
  rows.rowid = NULL;
  run.problem = &problem;
  run.ldy = width;
  for (int64_t row = part->row; row < part->row_end; row += at_once) {
    int64_t count = part->row_end - row < at_once ? part->row_end - row : at_once;
    rows.rowptr = a->rowptr + row;
    rows.rows = a->rows - row;
    run.y = stage + kept - part->feature * bytes;
    run_each(
        &run,
        &(sl_spmm_part){
            .row_end = count, .feature = part->feature, .feature_end = part->feature_end, .near = part->near},
        false, body);
    if (joined) {
      char *const to = y + row * row_bytes - kept;
      const int64_t made = kept + count * row_bytes;
      kept = row + count < part->row_end ? (int64_t)((uintptr_t)(to + made) % LINE) : 0;
      stream_bytes(to, stage, made - kept);
      memcpy(stage, stage + made - kept, LINE); /* `kept` bytes count; copies of a known size are fast */
      continue;
    }
    for (int64_t i = 0; i < count; i++)
      stream_bytes(y + (a->rowid ? a->rowid[row + i] : row + i) * args->ldy * bytes, stage + i * row_bytes,
                   row_bytes);
  }
  stream_end();
}

/* Whether a part of a Y that goes past the caches is summed line by line (spmm_lines.h). total: bytes of X
 * and Y. With vectors of half a line, rows of more than a few entries are faster by the other ways. */
static bool by_lines(const sl_spmm_run *args, const sl_spmm_part *part, bool misaligned, int64_t total) {
  const sl_spmm_matrix *a = args->problem->a;
  const int64_t width = part->feature_end - part->feature, row_bytes = width * (int64_t)sizeof(sum),
                entries = a->rowptr[part->row_end] - a->rowptr[part->row];
  const bool pays = misaligned || (row_bytes > PANEL * (int64_t)sizeof(vec) && total > LINES_BYTES);
  return pays && !NARROW && !args->problem->pages && !is_general(args) && !a->rowid && args->ldy == width &&
         row_bytes >= STAGED_LEAST &&
         (LINE_VECTORS == 1 || entries <= STAGED_ENTRIES * (part->row_end - part->row));
}

/* Y that is read, or small, goes through the caches. */
static void run_panels(const sl_spmm_run *args, const sl_spmm_part *part, panel_bodies *body,
                       sl_spmm_part_body lines) {
  if (run_bundles(args, part))
    return;
  const sl_spmm_problem *p = args->problem;
  const int64_t bytes = NARROW && !p->wide_y ? sizeof(value) : sizeof(sum),
                row_bytes = (part->feature_end - part->feature) * bytes,
                entries = p->a->rowptr[part->row_end] - p->a->rowptr[part->row];
  const int64_t total = (p->a->rows + p->x_rows) * row_bytes;
  const bool large = STREAMS && args->beta == 0 && total > STREAM_BYTES;
  const uint64_t misaligned =
      ((uintptr_t)args->y | (uint64_t)(args->ldy * bytes) | (uint64_t)(part->feature * bytes)) % 64;
  if (large && by_lines(args, part, misaligned, total))
    lines(args, part);
  else if (large && misaligned && row_bytes >= STAGED_LEAST && row_bytes <= STAGE_BYTES &&
           entries > STAGED_ENTRIES * (part->row_end - part->row))
    run_staged(args, part, bytes, body);
  else
    run_each(args, part, large && !misaligned, body);
}

PANEL_BODIES(i32, SLEY_I32, false, PLAIN_ALL)
PANEL_BODIES(i64, SLEY_I64, false, PLAIN_FEW)
PANEL_BODIES(paged_i32, SLEY_I32, true, PLAIN_FEW)
PANEL_BODIES(paged_i64, SLEY_I64, true, PLAIN_FEW)

static sley_status run(sl_queue *queue, const sl_kernel_args *args) {
  static const sl_spmm_part_body body[2][2] = {{run_part_i32, run_part_i64},
                                               {run_part_paged_i32, run_part_paged_i64}};
  const sl_spmm_problem *p = args->spmm.problem;
  return sl_cpu_spmm_run(queue, &args->spmm, 0, body[p->pages != NULL][p->a->index == SLEY_I64]);
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
    .refill = sl_cpu_spmm_refill, .memory = sl_cpu_spmm_memory, .release = sl_cpu_spmm_release,              \
    .product = &sl_cpu_spmm_product, .run = run                                                              \
  }
