/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel of SL_OP_UPDATE, the same for every type and instruction set. Included after spmm_body.h: the
 * rows of its product are multiplied by W while they are in the nearest caches. The including file gets
 * UPDATE_KERNEL, the descriptor.
 *
 * A few rows of T are multiplied by a few vectors of columns of W at a time. Their sums stay in registers
 * while the rows of W pass in ascending order, the order of op_update.h. W is not copied; docs/DEVICES.md
 * reports the speed. */
#ifndef SLEY_DEVICE_CPU_SPMM_UPDATE_BODY_H
#define SLEY_DEVICE_CPU_SPMM_UPDATE_BODY_H

#include "device/cpu/spmm/spmm_body.h"

enum {
  AT_ONCE = REGISTERS / 4, /* number of rows of T whose sums are computed at once */
  MOST_VECTORS = 3         /* maximum number of vectors of each row */
};

/* Rows of T and Z, and a panel of columns of W and Z. */
typedef struct dense {
  operands o;
  const sum *t;
  int64_t ldt, k, width;
  const value *w;
  int64_t ldw;
  double beta;
  value *z;
  int64_t ldz;
  const int64_t *rowid; /* row numbers in z, starting with the first row; NULL: consecutive rows */
  bool stream;
} dense;

/* Computes rows [first, first + rows) of Z. */
INLINE void update_rows(const dense *d, int64_t first, const int rows, const int vectors, const int last) {
  vec acc[AT_ONCE][MOST_VECTORS];
  value *z[AT_ONCE];
#pragma GCC unroll 8
  for (int r = 0; r < rows; r++) {
    z[r] = d->z + (d->rowid ? d->rowid[first + r] : first + r) * d->ldz;
    begin_row(&d->o, d->beta, d->width, z[r], acc[r], vectors, last);
  }
  const sum *t = d->t + first * d->ldt;
  const value *w = d->w;
  for (int64_t l = 0; l < d->k; l++, w += d->ldw) {
    vec from[MOST_VECTORS];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++)
      from[v] = load_x(&d->o, w, v, vectors, last);
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) {
      const vec s = vec_all(t[r * d->ldt + l]);
#pragma GCC unroll 4
      for (int v = 0; v < vectors; v++)
        acc[r][v] = vec_fma(s, from[v], acc[r][v]);
    }
  }
  const bool stream = STREAMS && last == WHOLE && d->stream;
#pragma GCC unroll 8
  for (int r = 0; r < rows; r++)
    end_row(&d->o, stream, z[r], acc[r], vectors, last);
}

typedef void dense_body(const dense *d, int64_t rows);

/* Separate functions: inside one function the loops would keep each other's constants in registers. */
#define DENSE_BODY(vectors, last)                                                                            \
  static __attribute__((noinline)) void dense_##vectors##_##last(const dense *d, int64_t rows) {             \
    int64_t i = exists(last) ? 0 : rows;                                                                     \
    for (; i + AT_ONCE <= rows; i += AT_ONCE)                                                                \
      update_rows(d, i, AT_ONCE, vectors, last);                                                             \
    for (; i < rows; i++)                                                                                    \
      update_rows(d, i, 1, vectors, last);                                                                   \
  }
DENSE_BODY(1, WHOLE)
DENSE_BODY(1, MASKED)
DENSE_BODY(2, WHOLE)
DENSE_BODY(2, MASKED)
DENSE_BODY(3, WHOLE)
DENSE_BODY(3, MASKED)

/* Number of vectors in the next panel, out of `left`; 4 are divided into 2 and 2. */
static int64_t dense_panel_of(int64_t left) {
  return left == MOST_VECTORS + 1 ? 2 : left < MOST_VECTORS ? left : MOST_VECTORS;
}

/* Returns whether Z is written past the caches: if it is not read, is large, and no line is shared by two
 * rows. */
static bool streams_z(const sl_update_args *a, const sl_core_figures *figures, int64_t rows) {
  uint64_t line = (uintptr_t)a->z | (uint64_t)a->ldz * sizeof(value);
  return STREAMS && a->beta == 0 && rows * a->n * (int64_t)sizeof(value) > figures->streamed &&
         line % 64 == 0 && LANES * sizeof(value) % 64 == 0;
}

/* Runs panel after panel of W, each over `rows` rows. rowid and t belong to the first of these rows. */
static void update_panels(const sl_update_args *a, const sum *t, int64_t ldt, int64_t k, const int64_t *rowid,
                          int64_t first, int64_t rows, bool stream) {
  static dense_body *const body[][2] = {
      {dense_1_WHOLE, dense_1_MASKED}, {dense_2_WHOLE, dense_2_MASKED}, {dense_3_WHOLE, dense_3_MASKED}};
  dense d = {.t = t, .ldt = ldt, .k = k, .ldw = a->ldw, .ldz = a->ldz, .beta = a->beta, .rowid = rowid};
  d.stream = stream;
  for (int64_t c = 0; c < a->n; c += d.width) {
    const int64_t left = a->n - c, vectors = dense_panel_of((left + LANES - 1) / LANES);
    d.width = left < vectors * LANES ? left : vectors * LANES;
    d.o.tail = mask_of(d.width - (vectors - 1) * LANES, vectors == 1);
    d.w = (const value *)a->w + c;
    d.z = (value *)a->z + c + (rowid ? 0 : first * a->ldz);
    body[vectors - 1][d.width % LANES != 0](&d, rows);
  }
}

/* Does an update's additional work on rows of Z that are in a near cache; values have the type of sums. t and
 * rowid: as in update_panels. */
static void finish_rows(const sl_update_args *a, const sum *t, int64_t k, const int64_t *rowid, int64_t first,
                        int64_t rows) {
  const sl_update_more *more = &a->more;
  const sum *bias = more->bias;
  for (int64_t r = 0; r < rows; r++) {
    const int64_t row = rowid ? rowid[r] : first + r;
    sum *z = (sum *)a->z + row * a->ldz;
    if (more->kept)
      memcpy((sum *)more->kept + row * more->ldkept, t + r * k, (size_t)k * sizeof *t);
    for (int64_t j = 0; bias && j < a->n; j++)
      z[j] += bias[j];
    if (more->gate) {
      const sum *gate = (const sum *)more->gate + row * more->ldgate;
      for (int64_t j = 0; j < a->n; j++)
        z[j] *= gate[j] > 0 ? (sum)1 : (sum)0;
    } else if (more->act == SLEY_RELU) {
      for (int64_t j = 0; j < a->n; j++)
        z[j] = z[j] < 0 ? 0 : z[j];
    }
  }
}

/* Processes a part in blocks: each is summed to T and then multiplied by W. If rows are in bundles, a block
 * is a window of them. */
static void update_part(const sl_spmm_run *args, const sl_spmm_part *part) {
  _Alignas(64) char t[SL_UPDATE_BYTES];
  const sl_update_args *a = (const sl_update_args *)args; /* the product is its first member */
  const sl_spmm_matrix *of = args->problem->a;
  const int64_t k = args->problem->k, row_bytes = k * (int64_t)sizeof(sum);
  const bool more = sl_update_finishes(&a->more),
             stream = !more && streams_z(a, &args->problem->figures->cores, of->rows);
  sl_spmm_matrix rows = *of;
  sl_spmm_problem problem = *args->problem;
  sl_spmm_run run = *args;
  sl_spmm_part block = *part;
  rows.rowid = NULL;
  problem.a = &rows;
  problem.wide_y = true;
  run.problem = &problem;
  run.beta = 0;
  run.ldy = k;
  const int64_t at_once = part->bundles ? part->bundles->window : sl_cpu_update_rows(row_bytes);
  for (; block.row < part->row_end; block.row = block.row_end) {
    block.row_end = part->row_end - block.row < at_once ? part->row_end : block.row + at_once;
    const int64_t count = block.row_end - block.row;
    if (part->bundles)
      block.bundle_end = block.bundle + sl_bundles_of(count, part->bundles->height);
    run.y = (void *)((uintptr_t)t - (uintptr_t)(block.row * row_bytes)); /* address that row 0 would have */
    if (!run_bundles(&run, &block))
      run_each(&run, &block, false);
    block.bundle = block.bundle_end;
    update_panels(a, (const sum *)t, k, k, of->rowid ? of->rowid + block.row : NULL, block.row, count,
                  stream);
    if (more)
      finish_rows(a, (const sum *)t, k, of->rowid ? of->rowid + block.row : NULL, block.row, count);
  }
  if (stream)
    stream_end();
}

/* If T is given: processes a few rows at a time, so that they are loaded once for all panels. */
static sley_status update_range(void *context, int64_t begin, int64_t end, int thread) {
  enum { ROWS = 64 };
  (void)thread;
  const sl_update_given *given = context;
  const sl_update_args *a = given->args;
  const bool stream = streams_z(a, given->figures, a->rows);
  for (int64_t row = begin; row < end; row += ROWS)
    update_panels(a, (const sum *)a->t + row * a->ldt, a->ldt, a->k, NULL, row,
                  end - row < ROWS ? end - row : ROWS, stream);
  if (stream)
    stream_end();
  return SLEY_OK;
}

static sley_status update_run(sl_queue *queue, const sl_kernel_args *args) {
  return sl_cpu_update_run(queue, &args->update, update_part, update_range);
}

static bool update_ok(const sl_kernel_args *args) {
  const sl_spmm_problem *p = args->update.product.problem;
  return args->update.dtype == (sley_dtype)DTYPE && sl_cpu_has((sl_cpu_isa)ISA) &&
         (!p || (p->far_rows == 0 && sl_cpu_update_rows(p->k * (int64_t)sizeof(sum)) > 0));
}

static double update_cost(const sl_device_figures *figures, const sl_kernel_args *args) {
  (void)figures, (void)args;
  return 1.0 / LANES;
}

/* The descriptor of the kernel compiled in this file. */
#define UPDATE_KERNEL(kernel_name)                                                                           \
  {                                                                                                          \
    .name = kernel_name, .op = SL_OP_UPDATE, .ok = update_ok, .cost = update_cost,                           \
    .prepare = sl_cpu_update_prepare, .refill = sl_cpu_update_refill, .memory = sl_cpu_update_memory,        \
    .release = sl_cpu_spmm_release, .product = &sl_product_plain, .run = update_run                          \
  }

#endif
