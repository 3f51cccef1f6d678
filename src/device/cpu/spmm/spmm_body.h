/* SPDX-License-Identifier: Apache-2.0 */
/* The SpMM kernel, the same for every type and instruction set. A file that includes it, one per type and
 * instruction set, has included before:
 * - a lanes_*.h with ISA; STREAMS: whether there are stores that bypass the caches; REGISTERS; MOST_PARTS:
 *   into how many parts a vector may be divided for loads; sum (float or double), vec (LANES sums) and the
 *   vec_ operations; mask: the valid values of a row's last vector if it is incomplete, and whether it is the
 *   row's only one (alone), for partial moves;
 * - a values_*.h with DTYPE; value, the type of A and X, and its loads as vec and its stores; NARROW: whether
 *   value differs from sum, so that Y may have either type.
 *
 * The including file gets SPMM_KERNEL, the descriptor of the kernel.
 *
 * A row's accumulators, up to PANEL vectors of features at a time, stay in registers while its entries pass
 * in stored order: acc = fma(alpha val, x, acc). This is the order of op_spmm.h, so every instruction set
 * returns the same bits. Narrow products are summed in bundles of rows (bundled.h). */

#include <string.h>

#include "device/cpu/spmm/bundled.h"
#include "device/cpu/spmm/cache_lines.h"
#include "device/cpu/spmm/moves.h"

enum {
  /* A row of one vector is a chain of dependent sums. Rows of at least this many entries are summed several
   * at a time. */
  TOGETHER_LEAST = 24,
  /* Entries whose values are converted, or multiplied by alpha, at a time. */
  CHUNK = 64,
  /* If lines of Y contain parts of several rows or panels, a few rows of Y, of STAGED_AT_ONCE bytes or
   * slightly more, are first computed in the caches. More rows would evict rows of X, which are read from end
   * to end, from the nearest cache. Staging does not pay for rows shorter than STAGED_LEAST bytes, for rows
   * of at most STAGED_ENTRIES entries, or for rows longer than STAGE_BYTES, which share few lines. */
  STAGE_BYTES = 16 << 10,
  STAGED_AT_ONCE = 2 << 10,
  STAGED_LEAST = 256,
  STAGED_ENTRIES = 2,
  /* A block has at least BLOCK_ROWS rows and about BLOCK_BYTES bytes of Y. Its panels are summed one after
   * the other. */
  BLOCK_ROWS = 4,
  BLOCK_BYTES = 4 << 10
};

/* Sets out to alpha val, in the type of sums. Not inlined, because every loop calls it. */
static __attribute__((noinline)) void scale_factors(const value *val, double alpha, int64_t count, sum *out) {
  for (int64_t i = 0; i < count; i++)
    out[i] = alpha == 1 ? widen(val[i]) : (sum)(alpha * (double)widen(val[i]));
}

/* How many entries ahead rows of X are prefetched; 0: not at all. */
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

/* Sums several rows, the first `common` entries of each in turn, so that their chains of dependent sums
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

/* For alpha = 1, beta 0 or 1, and values in the type of sums: values need no scaling. */
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

/* Separate functions: inside one function the loops would keep each other's constants in registers. */
#define GENERAL_BODY(name, index, paged, vectors, last)                                                      \
  static __attribute__((noinline)) void general_##name##_##vectors##_##last(const sl_spmm_run *args,         \
                                                                            const panel *p) {                \
    if (exists(last))                                                                                        \
      run_general(args, p, vectors, last, index, paged);                                                     \
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

/* All ways to move the last vector; for rare operands, only those that are needed. */
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

/* 64-bit column indices are rare: the general bodies alone, for all operands. */
#define WIDE_BODY(name, index, paged, vectors, others)                                                       \
  GENERAL_BODY(name, index, paged, vectors, WHOLE)                                                           \
  GENERAL_BODY(name, index, paged, vectors, MASKED)                                                          \
  static panel_body *const general_##name##_##vectors[] = {                                                  \
      general_##name##_##vectors##_WHOLE, general_##name##_##vectors##_MASKED,                               \
      general_##name##_##vectors##_MASKED, general_##name##_##vectors##_MASKED};

/* Bodies for each number of vectors in a panel; BODY is PANEL_BODY or WIDE_BODY. */
#define PANEL_BODIES(BODY, name, index, paged, others)                                                       \
  BODY(name, index, paged, 1, others)                                                                        \
  BODY(name, index, paged, 2, others)                                                                        \
  BODY(name, index, paged, 3, others)                                                                        \
  BODY(name, index, paged, 4, others)                                                                        \
  BODY(name, index, paged, 5, others)                                                                        \
  BODY(name, index, paged, 6, others)                                                                        \
  BODY(name, index, paged, 7, others)                                                                        \
  BODY(name, index, paged, 8, others)
#define PANEL_TABLE(kind, name)                                                                              \
  static panel_body *const *const kind##_##name[] = {                                                        \
      kind##_##name##_1, kind##_##name##_2, kind##_##name##_3, kind##_##name##_4,                            \
      kind##_##name##_5, kind##_##name##_6, kind##_##name##_7, kind##_##name##_8};

PANEL_BODIES(PANEL_BODY, i32, SLEY_I32, false, PLAIN_ALL)
PANEL_TABLE(general, i32)
PANEL_TABLE(plain, i32)
PANEL_BODIES(PANEL_BODY, paged_i32, SLEY_I32, true, PLAIN_FEW)
PANEL_TABLE(general, paged_i32)
PANEL_TABLE(plain, paged_i32)
PANEL_BODIES(WIDE_BODY, i64, SLEY_I64, args->problem->pages != NULL, )
PANEL_TABLE(general, i64)

typedef panel_body *const *const panel_bodies; /* indexed by the number of vectors, then by how the last one
                                                * is moved */

/* Returns the bodies for the operands of a run. */
static panel_bodies *bodies_of(const sl_spmm_run *args) {
  if (args->problem->a->index == SLEY_I64)
    return general_i64;
  if (args->problem->pages)
    return is_general(args) ? general_paged_i32 : plain_paged_i32;
  return is_general(args) ? general_i32 : plain_i32;
}

/* Number of vectors in the next panel, out of `left`. No panel is much narrower than the others, unless only
 * a small part of a vector would be left over (small). */
static int64_t panel_of(int64_t left, bool small) {
  if (left <= PANEL)
    return left;
  return left >= PANEL + PANEL / 2 || (small && left == PANEL + 1) ? PANEL : (left + 1) / 2;
}

/* Runs panel after panel, each over all rows. */
static void run_block(const sl_spmm_run *args, const sl_spmm_part *part, panel *p) {
  panel_bodies *const body = bodies_of(args);
  const bool small = (part->feature_end - part->feature - 1) % LANES < LANES / 4;
  for (int64_t c = part->feature; c < part->feature_end; c += p->width) {
    const int64_t left = part->feature_end - c, vectors = panel_of((left + LANES - 1) / LANES, small);
    p->feature = c;
    p->width = left < vectors * LANES ? left : vectors * LANES;
    body[vectors - 1][is_general(args) ? p->width % LANES != 0 : last_of(p->width)](args, p);
  }
}

/* Runs block after block of rows. A block is the whole part if a panel of X fits in a near cache but whole
 * rows do not; else it is small, so that rows of X are read from end to end. */
static void run_each(const sl_spmm_run *args, const sl_spmm_part *part, bool stream) {
  const int64_t width = part->feature_end - part->feature;
  const bool one = part->panels || width <= PANEL * LANES;
  int64_t rows = one ? part->row_end - part->row : BLOCK_BYTES / (width * (int64_t)sizeof(value));
  rows = rows < BLOCK_ROWS ? BLOCK_ROWS : rows - rows % BLOCK_ROWS;
  panel p = {.stream = stream, .near = part->near};
  for (p.row = part->row; p.row < part->row_end; p.row = p.row_end) {
    p.row_end = part->row_end - p.row < rows ? part->row_end : p.row + rows;
    run_block(args, part, &p);
  }
  if (stream)
    stream_end();
}

/* Copies to Y like memcpy: whole lines past the caches, parts of lines through them. */
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

/* Computes a few rows at a time in a buffer and copies them to Y past the caches. If rows are contiguous, an
 * incomplete line waits in the buffer for the next rows. */
static void run_staged(const sl_spmm_run *args, const sl_spmm_part *part, int64_t bytes) {
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
        false);
    if (joined) {
      char *const to = y + row * row_bytes - kept;
      const int64_t made = kept + count * row_bytes;
      kept = row + count < part->row_end ? (int64_t)((uintptr_t)(to + made) % LINE) : 0;
      stream_bytes(to, stage, made - kept);
      memcpy(stage, stage + made - kept, LINE); /* only `kept` bytes are needed; a constant size is faster */
      continue;
    }
    for (int64_t i = 0; i < count; i++)
      stream_bytes(y + (a->rowid ? a->rowid[row + i] : row + i) * args->ldy * bytes, stage + i * row_bytes,
                   row_bytes);
  }
  stream_end();
}

/* Returns whether a part, whose Y is written past the caches, is summed line by line (cache_lines.h): if
 * lines are shared, or if X and Y are so large that rows of several panels should be summed one after the
 * other. total: bytes of X and Y. If a vector is half a line, rows of more than a few entries are summed
 * faster in other ways. */
static bool by_lines(const sl_spmm_run *args, const sl_spmm_part *part, bool misaligned, int64_t total) {
  const sl_spmm_matrix *a = args->problem->a;
  const int64_t width = part->feature_end - part->feature, row_bytes = width * (int64_t)sizeof(sum),
                entries = a->rowptr[part->row_end] - a->rowptr[part->row];
  const bool pays = misaligned || (row_bytes > PANEL * (int64_t)sizeof(vec) &&
                                   total > args->problem->figures->cores.by_lines);
  return pays && !NARROW && a->index == SLEY_I32 && !args->problem->pages && !is_general(args) && !a->rowid &&
         args->ldy == width && row_bytes >= STAGED_LEAST &&
         (LINE_VECTORS == 1 || entries <= STAGED_ENTRIES * (part->row_end - part->row));
}

static __attribute__((noinline)) void run_by_lines(const sl_spmm_run *args, const sl_spmm_part *part) {
  if (STREAMS && !NARROW)
    run_lines(args, part, SLEY_I32);
}

/* Selects the way to sum a part. A Y that is read, or small, is written through the caches; writing past them
 * avoids reading memory that is overwritten. */
static void run_part(const sl_spmm_run *args, const sl_spmm_part *part) {
  if (run_bundles(args, part))
    return;
  const sl_spmm_problem *p = args->problem;
  const int64_t bytes = NARROW && !p->wide_y ? sizeof(value) : sizeof(sum),
                row_bytes = (part->feature_end - part->feature) * bytes,
                entries = p->a->rowptr[part->row_end] - p->a->rowptr[part->row];
  const int64_t total = (p->a->rows + p->x_rows) * row_bytes;
  const bool large = STREAMS && args->beta == 0 && total > p->figures->cores.streamed;
  const uint64_t misaligned =
      ((uintptr_t)args->y | (uint64_t)(args->ldy * bytes) | (uint64_t)(part->feature * bytes)) % 64;
  if (large && by_lines(args, part, misaligned, total))
    run_by_lines(args, part);
  else if (large && misaligned && row_bytes >= STAGED_LEAST && row_bytes <= STAGE_BYTES &&
           entries > STAGED_ENTRIES * (part->row_end - part->row))
    run_staged(args, part, bytes);
  else
    run_each(args, part, large && !misaligned);
}

static sley_status run(sl_queue *queue, const sl_kernel_args *args) {
  return sl_cpu_spmm_run(queue, &args->spmm, 0, run_part);
}

static bool ok(const sl_kernel_args *args) {
  const sl_spmm_problem *p = args->spmm.problem;
  return p->a->dtype == (sley_dtype)DTYPE && p->far_rows == 0 && sl_cpu_has((sl_cpu_isa)ISA);
}

static double cost(const sl_device_figures *figures, const sl_kernel_args *args) {
  return sl_cpu_spmm_cost(figures, args->spmm.problem, LANES, NARROW && (int)ISA != (int)SL_CPU_AVX512);
}

/* The descriptor of the kernel compiled in this file. */
#define SPMM_KERNEL(kernel_name)                                                                             \
  {                                                                                                          \
    .name = kernel_name, .op = SL_OP_SPMM, .ok = ok, .cost = cost, .prepare = sl_cpu_spmm_prepare,           \
    .refill = sl_cpu_spmm_refill, .memory = sl_cpu_spmm_memory, .release = sl_cpu_spmm_release,              \
    .product = &sl_cpu_spmm_product, .run = run                                                              \
  }
