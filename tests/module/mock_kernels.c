/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of the mock device: each checks that every address lies in memory of a device within reach, and
 * leaves the work to a kernel of the CPU, later. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/value.h"
#include "device/neighbour_search.h"
#include "device/neighbours.h"
#include "device/product.h"
#include "mock.h"
#include "mock_memory.h"

sley_status mock_check(const sl_queue *queue, const void *address, const char *what) {
  int at = mock_memory_device(address), mine = ((const mock_device *)queue->device)->ordinal;
  if (at < 0)
    return sl_fail(SLEY_ERR_INTERNAL, "a kernel was given %s in the host's memory", what);
  if (at != mine && mock_environment_says("SLEY_MOCK_REACH", "no"))
    return sl_fail(SLEY_ERR_INTERNAL,
                   "a kernel of device %d was given %s of device %d, which it cannot reach", mine, what, at);
  return SLEY_OK;
}

static bool kernel_ok(const sl_kernel_args *args) {
  return args->op != SL_OP_SPMM || !args->spmm.problem->pages;
}

/* As the CPU's, which does the work. */
static bool convert_ok(const sl_kernel_args *args) {
  const sl_device cpu = {mock_cpu(), sl_figures_cores};
  const sl_kernel *kernel;
  return sl_kernel_find(&cpu, args, &kernel) == SLEY_OK;
}

/* As kernels that have no use for narrow products. */
static bool wide_ok(const sl_kernel_args *args) {
  return kernel_ok(args) && args->spmm.problem->k > 8;
}

static double wide_cost(const sl_device_figures *figures, const sl_kernel_args *args) {
  (void)figures, (void)args;
  return 1; /* only where it is asked for */
}

/* Likewise, which gets both memories of X as one. */
static bool update_ok(const sl_kernel_args *args) {
  sl_kernel_args joined = *args;
  sl_spmm_problem problem;
  if (args->update.product.problem) {
    problem = *args->update.product.problem;
    problem.far_rows = 0;
    joined.update.product.problem = &problem;
    if (problem.pages)
      return false;
  }
  return convert_ok(&joined);
}

static bool rowwise_ok(const sl_kernel_args *args) {
  const sl_spmm_problem *p = args->spmm.problem;
  return p->pages && !p->in_order && !p->arrives;
}

/* Not at every k, so that products that wait for all rows are tested too. */
static bool kernel_waits(const sl_kernel_args *args) {
  return args->spmm.problem->k % 3 != 0;
}

/* So that plans make both kinds of updates. */
static bool update_pays(const sl_device_figures *figures, int64_t rows, int64_t entries, int64_t k) {
  (void)figures, (void)rows, (void)entries;
  return k <= 33;
}

static double kernel_cost(const sl_device_figures *figures, const sl_kernel_args *args) {
  (void)figures, (void)args;
  return 0;
}

/* What is prepared is what the CPU's kernels read, the matrix in the device's memory; and what was tried. */
typedef struct prepared_spmm {
  sl_spmm_matrix a;         /* resident: its columns and values are another's */
  sl_neighbour_split split; /* of a part in place, in the host's memory */
  sl_neighbour_table table;
  int pieces;
  int64_t piece_end[SL_PIECES_MOST];
} prepared_spmm;

static void release(sl_device *device, void *prepared) {
  sl_spmm_matrix *a = prepared;
  if (!a)
    return;
  sl_neighbour_split_free(&((prepared_spmm *)prepared)->split);
  mock_give(device, (void *)a->rowid);
  mock_give(device, (void *)a->rowptr);
  if (!a->resident) {
    mock_give(device, (void *)a->col);
    mock_give(device, (void *)a->val);
  }
  sl_free(a);
}

static sley_status upload(sl_queue *queue, const void *host, int64_t bytes, const void **out) {
  void *block;
  SL_TRY(mock_take(queue->device, bytes, "a part", &block));
  *out = block;
  return mock_copy(queue, SL_COPY_TO_DEVICE, block, host, bytes);
}

static sley_status upload_matrix(sl_queue *queue, const sl_spmm_matrix *from, sl_spmm_matrix *a) {
  int64_t entries = from->rowptr[from->rows];
  if (from->rowid)
    SL_TRY(upload(queue, from->rowid, from->rows * 8, (const void **)&a->rowid));
  SL_TRY(upload(queue, from->rowptr, (from->rows + 1) * 8, (const void **)&a->rowptr));
  if (from->resident) {
    SL_TRY(mock_check(queue, from->col, "columns of a part"));
    SL_TRY(mock_check(queue, from->val, "values of a part"));
    a->col = from->col;
    a->val = from->val;
    return SLEY_OK;
  }
  SL_TRY(upload(queue, from->col, entries * (int64_t)sl_index_bytes(from->index), &a->col));
  return upload(queue, from->val, entries * (int64_t)sley_dtype_bytes(from->dtype), &a->val);
}

static sley_status prepare(sl_device *device, sl_queue *queue, const sl_kernel_args *args, void **prepared) {
  *prepared = NULL;
  if (!mock_is_product(args))
    return SLEY_OK;
  const sl_spmm_problem *problem = args->spmm.problem;
  const sl_spmm_matrix *from = problem->a;
  prepared_spmm *made;
  SL_TRY(SL_NEW_ZERO(made, 1, "a part"));
  sl_spmm_matrix *a = &made->a;
  *a = (sl_spmm_matrix){
      .rows = from->rows, .index = from->index, .dtype = from->dtype, .resident = from->resident};
  made->pieces = problem->pieces;
  if (made->pieces > 0)
    memcpy(made->piece_end, problem->piece_end, (size_t)made->pieces * sizeof *made->piece_end);
  sley_status status = upload_matrix(queue, from, a);
  if (status == SLEY_OK && problem->pages)
    status = sl_neighbour_split_make(from, problem->segment, problem->segments, problem->own, &made->split);
  if (status != SLEY_OK) {
    release(device, a);
    return status;
  }
  *prepared = a;
  return SLEY_OK;
}

static sley_status refill(sl_device *device, sl_queue *queue, const sl_kernel_args *args, const void *val,
                          sl_values_in where, void *prepared) {
  const sl_spmm_matrix *a = mock_is_product(args) ? args->spmm.problem->a : NULL;
  const prepared_spmm *made = prepared;
  (void)device;
  if (!made)
    return SLEY_OK;
  char *kept = (char *)made->a.val + (size_t)a->rowptr[0] * sley_dtype_bytes(a->dtype);
  return sl_device_copy_values(queue, a, val, where, kept);
}

static int64_t kernel_memory(const sl_kernel_args *args, int64_t *passing) {
  const sl_spmm_matrix *a = args->spmm.problem->a;
  int64_t entries = a->rowptr[a->rows];
  *passing = sl_device_bytes(0); /* while shapes are tried */
  return (a->rowid ? sl_device_bytes(a->rows * 8) : 0) + sl_device_bytes((a->rows + 1) * 8) +
         sl_device_bytes(entries * (int64_t)sl_index_bytes(a->index)) +
         sl_device_bytes(entries * (int64_t)sley_dtype_bytes(a->dtype));
}

static sley_status check_pages(sl_queue *queue, const sl_spmm_run *run) {
  const sl_spmm_problem *s = run->problem;
  int64_t row_bytes = run->ldx * (int64_t)sley_dtype_bytes(s->a->dtype);
  for (int p = 0; p < s->segments; p++)
    if (s->segment[p] < s->segment[p + 1] && s->pages[s->segment[p] / SL_X_PAGE]) /* else none is read */
      SL_TRY(mock_check(
          queue, (const void *)(s->pages[s->segment[p] / SL_X_PAGE] + (uintptr_t)(s->segment[p] * row_bytes)),
          "rows of X"));
  return SLEY_OK;
}

static sley_status check_spmm(sl_queue *queue, mock_task *t) {
  sl_spmm_run *s = &t->args.spmm;
  if (s->problem->a->rows == 0 || s->problem->k == 0)
    return SLEY_OK;
  t->problem = *s->problem;
  t->a = s->prepared ? *(const sl_spmm_matrix *)s->prepared : *s->problem->a;
  if (s->arrivals) {
    const prepared_spmm *made = s->prepared;
    SL_TRY(mock_check(queue, s->arrivals, "words of pieces"));
    t->pieces = made->pieces;
    memcpy(t->piece_end, made->piece_end, sizeof made->piece_end);
  }
  s->prepared = NULL;
  t->problem.a = &t->a;
  s->problem = &t->problem;
  if (t->args.op == SL_OP_SPMM)
    SL_TRY(mock_check(queue, s->y, "Y"));
  SL_TRY(mock_check(queue, t->a.rowptr, "an array of A"));
  if (t->problem.far_rows > 0)
    SL_TRY(mock_check(queue, s->far, "far rows of X"));
  return t->problem.pages        ? check_pages(queue, s)
         : t->problem.x_rows > 0 ? mock_check(queue, s->x, "X")
                                 : SLEY_OK;
}

/* The caller may change its pages before the work runs. */
static sley_status copy_pages(const sl_spmm_problem *s, uintptr_t **out) {
  size_t bytes = (size_t)(s->segment[s->segments] / SL_X_PAGE) * sizeof **out;
  *out = malloc(bytes + 1);
  if (!*out)
    return sl_fail(SLEY_ERR_MEMORY, "no memory for work of the mock device");
  memcpy(*out, s->pages, bytes);
  return SLEY_OK;
}

static sley_status copy_list(mock_task *t, const void *list, size_t bytes) {
  if (!(t->arrays = malloc(bytes + 1)))
    return sl_fail(SLEY_ERR_MEMORY, "no memory for work of the mock device");
  if (bytes > 0)
    memcpy(t->arrays, list, bytes);
  return SLEY_OK;
}

/* The list of arrays to compress, of compressed ones, or of those to reduce, which is not used after run. */
static sley_status copy_arrays(mock_task *t) {
  sl_compress_args *c = &t->args.compress;
  sl_reduce_args *r = &t->args.reduce;
  sl_decompress_args *d = &t->args.decompress;
  sl_sparse_sum_args *s = &t->args.sparse_sum;
  if (t->args.op == SL_OP_COMPRESS) {
    SL_TRY(copy_list(t, c->part, (size_t)c->parts * sizeof *c->part));
    c->part = t->arrays;
  } else if (t->args.op == SL_OP_DECOMPRESS) {
    SL_TRY(copy_list(t, d->part, (size_t)d->parts * sizeof *d->part));
    d->part = t->arrays;
  } else if (t->args.op == SL_OP_REDUCE && r->at) {
    SL_TRY(copy_list(t, r->at, (size_t)r->parts * sizeof *r->at));
    r->at = t->arrays;
  } else if (t->args.op == SL_OP_SPARSE_SUM) {
    SL_TRY(copy_list(t, s->src, (size_t)s->parts * sizeof *s->src));
    s->src = t->arrays;
  }
  return SLEY_OK;
}

sley_status mock_join_x(sl_spmm_run *s, sl_spmm_problem *p, void **out) {
  size_t value = sley_dtype_bytes(p->a->dtype), row = (size_t)p->k * value;
  char *all = malloc((size_t)(p->x_rows + p->far_rows) * row);
  *out = all;
  if (!all)
    return sl_fail(SLEY_ERR_MEMORY, "no memory for work of the mock device");
  const sl_spmm_matrix *a = p->a;
  for (int64_t j = a->rowptr[0]; j < a->rowptr[a->rows]; j++) { /* the other rows may be on their way yet */
    int64_t c = sl_index_at(a->col, a->index, j);
    const char *from = c < p->x_rows ? (const char *)s->x + (size_t)(c * s->ldx) * value
                                     : (const char *)s->far + (size_t)((c - p->x_rows) * s->ldfar) * value;
    memcpy(all + (size_t)c * row, from, row);
  }
  s->x = all;
  s->ldx = p->k;
  p->far_rows = 0;
  return SLEY_OK;
}

static sley_status check_rows(sl_queue *queue, const sl_rows_args *a) {
  if (a->count == 0 || a->bytes == 0)
    return SLEY_OK;
  SL_TRY(mock_check(queue, a->src, "rows"));
  SL_TRY(mock_check(queue, a->dst, "rows"));
  if (a->src_rows)
    SL_TRY(mock_check(queue, a->src_rows, "a list"));
  return a->dst_rows ? mock_check(queue, a->dst_rows, "a list") : SLEY_OK;
}

static sley_status check_signals(sl_queue *queue, const sl_signals *signals, mock_task *t) {
  t->signals = *signals;
  memcpy(t->lend, signals->lend, (size_t)signals->lends * sizeof *signals->lend);
  SL_TRY(mock_check(queue, signals->own, "a board"));
  for (int i = 0; i < signals->lends && t->args.op == SL_OP_PULL; i++)
    SL_TRY(mock_check(queue, signals->lend[i].board, "a peer's board"));
  return SLEY_OK;
}

static sley_status check_pull(sl_queue *queue, mock_task *t) {
  const sl_pull_args *a = &t->args.pull;
  memcpy(t->source, a->source, (size_t)a->sources * sizeof *a->source);
  if (a->pieces > 0) {
    memcpy(t->piece_end, a->piece_end, (size_t)(a->pieces - 1) * sizeof *a->piece_end);
    SL_TRY(mock_check(queue, a->arrived, "words of pieces"));
  }
  if (a->signals)
    SL_TRY(check_signals(queue, a->signals, t));
  if (a->count == 0)
    return SLEY_OK;
  SL_TRY(mock_check(queue, a->list, "a list"));
  SL_TRY(!a->add && mock_memory_is_pinned(a->dst) ? SLEY_OK : mock_check(queue, a->dst, "rows"));
  for (int i = 0; i < a->sources; i++)
    if (a->source[i].src && a->source[i].bytes > 0)
      SL_TRY(mock_check(queue, a->source[i].src, "rows"));
  return SLEY_OK;
}

static sley_status check_round(sl_queue *queue, const sl_round_args *a) {
  if (a->rows == 0 || a->k == 0)
    return SLEY_OK;
  SL_TRY(mock_check(queue, a->sums, "sums"));
  return mock_check(queue, a->y, "Y");
}

static sley_status check_update(sl_queue *queue, const sl_update_args *a) {
  if (!a->product.problem && a->rows > 0 && a->k > 0)
    SL_TRY(mock_check(queue, a->t, "rows of T"));
  if (a->n == 0)
    return SLEY_OK;
  if (a->product.problem || a->k > 0)
    SL_TRY(mock_check(queue, a->w, "W"));
  return mock_check(queue, a->z, "Z");
}

static sley_status check_convert(sl_queue *queue, const sl_convert_args *a) {
  if (a->count == 0 || a->k == 0)
    return SLEY_OK;
  SL_TRY(mock_check(queue, a->src, "rows"));
  SL_TRY(mock_check(queue, a->dst, "rows"));
  if (a->src_rows)
    SL_TRY(mock_check(queue, a->src_rows, "a list"));
  return a->dst_rows ? mock_check(queue, a->dst_rows, "a list") : SLEY_OK;
}

static sley_status check_reduce(sl_queue *queue, const sl_reduce_args *a) {
  if (a->count == 0)
    return SLEY_OK;
  for (int p = 0; p < a->parts; p++)
    SL_TRY(mock_check(queue, sl_reduce_part(a, p), "a part"));
  return mock_check(queue, a->dst, "a result");
}

static sley_status check_block(sl_queue *queue, const sl_block_arrays *b) {
  SL_TRY(mock_check(queue, b->rowptr, "rows of a block"));
  return mock_check(queue, b->col, "columns of a block");
}

static sley_status check_map(sl_queue *queue, const sl_cut_map *map) {
  const void *arrays[] = {map->words, map->row_part, map->part, map->place};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
    if (arrays[i])
      SL_TRY(mock_check(queue, arrays[i], "a map of columns"));
  return SLEY_OK;
}

static sley_status check_inspection(sl_queue *queue, const sl_kernel_args *args) {
  if (args->op == SL_OP_COLUMNS) {
    SL_TRY(check_block(queue, &args->columns.block));
    SL_TRY(mock_check(queue, args->columns.bits, "bits"));
    SL_TRY(mock_check(queue, args->columns.owner_begin, "a partition"));
    return mock_check(queue, args->columns.owner_nnz, "counts");
  }
  if (args->op == SL_OP_NEEDS) {
    SL_TRY(check_block(queue, &args->needs.block));
    SL_TRY(mock_check(queue, args->needs.words, "a set"));
    SL_TRY(mock_check(queue, args->needs.piece_row, "pieces"));
    SL_TRY(mock_check(queue, args->needs.needs, "needs"));
    return mock_check(queue, args->needs.piece, "pieces");
  }
  if (args->op == SL_OP_TALLY) {
    SL_TRY(check_block(queue, &args->tally.block));
    SL_TRY(check_map(queue, &args->tally.map));
    return mock_check(queue, args->tally.tally, "counts");
  }
  SL_TRY(check_block(queue, &args->cut.block));
  SL_TRY(check_map(queue, &args->cut.map));
  SL_TRY(mock_check(queue, args->cut.block.val, "values of a block"));
  SL_TRY(mock_check(queue, args->cut.at, "starts"));
  for (int p = 0; p < args->cut.parts; p++) {
    SL_TRY(mock_check(queue, args->cut.col[p], "a part's columns"));
    SL_TRY(mock_check(queue, args->cut.val[p], "a part's values"));
  }
  return SLEY_OK;
}

static sley_status run(sl_queue *queue, const sl_kernel_args *args) {
  mock_task t = {.kind = RUN, .args = *args};
  bool multiplies = mock_is_product(args);
  if (multiplies)
    SL_TRY(check_spmm(queue, &t));
  if (args->op == SL_OP_UPDATE)
    SL_TRY(check_update(queue, &args->update));
  if (args->op == SL_OP_ROWS)
    SL_TRY(check_rows(queue, &args->rows));
  if (args->op == SL_OP_PULL)
    SL_TRY(check_pull(queue, &t));
  if (args->op == SL_OP_ARRIVE)
    SL_TRY(mock_check(queue, args->arrive.words, "words of pieces"));
  if (args->op == SL_OP_AWAIT)
    SL_TRY(check_signals(queue, args->await.signals, &t));
  if (args->op == SL_OP_SCALE && args->scale.rows > 0 && args->scale.k > 0)
    SL_TRY(mock_check(queue, args->scale.y, "Y"));
  if (args->op == SL_OP_ROUND)
    SL_TRY(check_round(queue, &args->round));
  if (args->op == SL_OP_CONVERT)
    SL_TRY(check_convert(queue, &args->convert));
  if (args->op == SL_OP_REDUCE)
    SL_TRY(check_reduce(queue, &args->reduce));
  if (args->op >= SL_OP_COLUMNS && args->op <= SL_OP_CUT)
    SL_TRY(check_inspection(queue, args));
  if (args->op >= SL_OP_AGGREGATE && args->op <= SL_OP_ATTENTION_COLUMNS)
    SL_TRY(mock_check_graph(queue, args));
  if (args->op >= SL_OP_GEMM && args->op <= SL_OP_ADAM)
    SL_TRY(mock_check_dense(queue, args));
  if (args->op >= SL_OP_NONZEROS && args->op <= SL_OP_SPARSIFY)
    SL_TRY(mock_check_compressed(queue, args));
  ((mock_device *)queue->device)->launches++;
  sl_kernel_args known = t.args; /* a kernel that can do without looking at the matrix */
  sl_spmm_matrix types = t.a;
  sl_spmm_problem problem = t.problem;
  if (multiplies) {
    if (args->spmm.problem->a->rows == 0 || args->spmm.problem->k == 0)
      return SLEY_OK;
    types.rows = 0;
    problem.a = &types;
    problem.far_rows = 0;  /* it gets both memories as one */
    problem.kernel = NULL, problem.library = NULL; /* those are this device's */
    known.spmm.problem = &problem;
  }
  SL_TRY(sl_kernel_find(((mock_queue *)queue)->cpu, &known, &t.kernel));
  if (multiplies && args->spmm.problem->pages)
    SL_TRY(copy_pages(args->spmm.problem, &t.pages));
  SL_TRY(copy_arrays(&t));
  return mock_add_task(queue, &t);
}

/* A product in each shape, with memory taken and given back as a kernel does that makes its lists anew; the
 * lists are made, and looked at by the model alone; the times are made up. */
enum { MULTIPROCESSORS = 4 };

typedef struct tuning {
  sl_queue *queue;
  const sl_kernel_args *args;
} tuning;

static sley_status model_of(const tuning *t, sl_neighbour_trial *trial) {
  const sl_spmm_problem *problem = t->args->spmm.problem;
  const prepared_spmm *made = t->args->spmm.prepared;
  sl_neighbour_lists lists;
  sley_status status = sl_neighbour_lists_make(&made->split, trial->shape.ps, &lists);
  if (status == SLEY_OK)
    trial->model = sl_neighbour_model_of(
        &trial->shape,
        &(sl_neighbour_facts){.locals = lists.locals,
                              .remotes = lists.remotes,
                              .longest = lists.longest,
                              .k = problem->k,
                              .value_bytes = (int64_t)sley_dtype_bytes(problem->a->dtype),
                              .sum_bytes = (int64_t)sley_dtype_bytes(sl_sum_dtype(problem->a->dtype)),
                              .apart = problem->rowwise.apart,
                              .processors = MULTIPROCESSORS});
  sl_neighbour_lists_free(&lists);
  return status;
}

static sley_status time_shape(void *context, sl_neighbour_trial *trial) {
  const tuning *t = context;
  const sl_neighbour_shape *shape = &trial->shape;
  void *lists;
  SL_TRY(model_of(t, trial));
  SL_TRY(mock_take(t->queue->device, 64, "lists", &lists));
  sley_status status = run(t->queue, t->args);
  if (status == SLEY_OK)
    status = mock_queue_wait(t->queue);
  mock_give(t->queue->device, lists);
  int ps = shape->ps == SL_NEIGHBOUR_WHOLE ? SL_NEIGHBOUR_PS_MOST : shape->ps;
  trial->seconds = 1e-3 * (1 + abs(ps - 8) + abs(shape->dist - 2) + abs(shape->wpb - 4));
  return status;
}

static sley_status tune(sl_queue *queue, const sl_kernel_args *args) {
  tuning t = {queue, args};
  prepared_spmm *made = (void *)args->spmm.prepared;
  sl_neighbour_shape fixed = sl_neighbour_fixed(&args->spmm.problem->rowwise);
  return made ? sl_neighbour_search(time_shape, &t, &fixed, &made->table) : SLEY_OK;
}

static const sl_neighbour_table *tuned(const void *prepared) {
  return prepared ? &((const prepared_spmm *)prepared)->table : NULL;
}

static const sl_product_traits mock_product = {SL_PRODUCT_DEFAULTS, .waits = kernel_waits,
                                               .serves_fewer_columns = true};
static const sl_product_traits rowwise_product = {SL_PRODUCT_DEFAULTS, .serves_fewer_columns = true,
                                                  .tune = tune, .tuned = tuned};
static const sl_product_traits update_product = {SL_PRODUCT_DEFAULTS, .pays = update_pays};

#define PARTS .prepare = prepare, .refill = refill, .release = release, .memory = kernel_memory, .run = run
#define KERNEL(kernel_name, operation)                                                                       \
  {                                                                                                          \
    .name = kernel_name, .op = operation, .ok = kernel_ok, .cost = kernel_cost, .product = &mock_product,    \
    PARTS                                                                                                    \
  }
static const sl_kernel spmm = KERNEL("mock-spmm", SL_OP_SPMM), rows = KERNEL("mock-rows", SL_OP_ROWS),
                       pull = KERNEL("mock-pull", SL_OP_PULL), arrive = KERNEL("mock-arrive", SL_OP_ARRIVE),
                       await = KERNEL("mock-await", SL_OP_AWAIT), scale = KERNEL("mock-scale", SL_OP_SCALE),
                       round_sums = KERNEL("mock-round", SL_OP_ROUND),
                       reduce = KERNEL("mock-reduce", SL_OP_REDUCE),
                       columns = KERNEL("mock-columns", SL_OP_COLUMNS),
                       needs = KERNEL("mock-needs", SL_OP_NEEDS), tally = KERNEL("mock-tally", SL_OP_TALLY),
                       cut = KERNEL("mock-cut", SL_OP_CUT),
                       aggregate = KERNEL("mock-aggregate", SL_OP_AGGREGATE),
                       sddmm = KERNEL("mock-sddmm", SL_OP_SDDMM),
                       edge_softmax = KERNEL("mock-edge-softmax", SL_OP_EDGE_SOFTMAX),
                       attention = KERNEL("mock-attention", SL_OP_ATTENTION),
                       attention_rows = KERNEL("mock-attention-rows", SL_OP_ATTENTION_ROWS),
                       attention_columns = KERNEL("mock-attention-columns", SL_OP_ATTENTION_COLUMNS);
static const sl_kernel rowwise = {.name = "mock-spmm-rowwise",
                                  .op = SL_OP_SPMM,
                                  .ok = rowwise_ok,
                                  .cost = kernel_cost,
                                  .product = &rowwise_product,
                                  PARTS};
static const sl_kernel wide = {.name = "mock-spmm-wide",
                               .op = SL_OP_SPMM,
                               .ok = wide_ok,
                               .cost = wide_cost,
                               .product = &sl_product_plain,
                               PARTS};
static const sl_kernel rival = {.name = "mock-rival",
                                .op = SL_OP_SPMM,
                                .library = "mock", /* as a kernel of another library */
                                .ok = kernel_ok,
                                .cost = kernel_cost,
                                .product = &mock_product,
                                PARTS};
static const sl_kernel update = {.name = "mock-update",
                                 .op = SL_OP_UPDATE,
                                 .ok = update_ok,
                                 .cost = kernel_cost,
                                 .product = &update_product,
                                 PARTS};
/* Operations on rows and arrays, of arguments that the CPU takes. */
#define DENSE(kernel_name, operation)                                                                        \
  {                                                                                                          \
    .name = kernel_name, .op = operation, .ok = convert_ok, .cost = kernel_cost, .prepare = prepare,         \
    .refill = refill, .release = release, .memory = sl_memory_nothing, .product = &sl_product_plain,         \
    .run = run                                                                                               \
  }
static const sl_kernel convert = DENSE("mock-convert", SL_OP_CONVERT), gemm = DENSE("mock-gemm", SL_OP_GEMM),
                       column_sums = DENSE("mock-sums", SL_OP_COLUMN_SUMS),
                       activate_grad = DENSE("mock-activation", SL_OP_ACTIVATE_GRAD),
                       dropout = DENSE("mock-dropout", SL_OP_DROPOUT), nll = DENSE("mock-nll", SL_OP_NLL),
                       adam = DENSE("mock-adam", SL_OP_ADAM),
                       nonzeros = DENSE("mock-nonzeros", SL_OP_NONZEROS),
                       compress = DENSE("mock-compress", SL_OP_COMPRESS),
                       decompress = DENSE("mock-decompress", SL_OP_DECOMPRESS),
                       sparse_sum = DENSE("mock-sparse-sum", SL_OP_SPARSE_SUM),
                       threshold = DENSE("mock-threshold", SL_OP_THRESHOLD),
                       sparsify = DENSE("mock-sparsify", SL_OP_SPARSIFY);
const sl_kernel *const mock_kernels[] = {&spmm,
                                         &rowwise,
                                         &wide,
                                         &rival,
                                         &rows,
                                         &pull,
                                         &arrive,
                                         &await,
                                         &scale,
                                         &update,
                                         &round_sums,
                                         &convert,
                                         &reduce,
                                         &columns,
                                         &needs,
                                         &tally,
                                         &cut,
                                         &aggregate,
                                         &sddmm,
                                         &edge_softmax,
                                         &attention,
                                         &attention_rows,
                                         &attention_columns,
                                         &gemm,
                                         &column_sums,
                                         &activate_grad,
                                         &dropout,
                                         &nll,
                                         &adam,
                                         &nonzeros,
                                         &compress,
                                         &decompress,
                                         &sparse_sum,
                                         &threshold,
                                         &sparsify,
                                         &mock_spgemm,
                                         NULL};
