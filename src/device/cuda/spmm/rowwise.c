/* SPDX-License-Identifier: Apache-2.0 */
/* The row-wise product with X in several GPUs' memories: preparation, the search for a shape by timing, and
 * the table of shapes tried. */
#include <math.h>

#include "base/memory.h"
#include "base/value.h"
#include "device/cuda/cuda.h"
#include "device/cuda/spmm/rowwise.h"
#include "device/product.h"

enum { TIMED_RUNS = 3 };

/* Bytes of new values that refill holds on the device at a time, if they come from the host. */
enum { WINDOW_BYTES = 4 << 20 };

/* The shape before a search. */
static const sl_neighbour_shape first_shape = {16, 2, 4};

typedef struct rowwise {
  sl_neighbour_split split; /* lists of the halves, in host memory; after preparation only the row starts are
                               kept */
  sl_rowwise_run run;       /* pointers to device memory; operands are set at each run */
  sl_neighbour_shape shape;
  sl_neighbour_shape fixed; /* figures that the caller fixed and that are not searched; 0: not fixed */
  sl_neighbour_table table;
  int listed;      /* partition size (ps) of the lists in device memory */
  int64_t longest; /* entries of the longest partition in the current lists */
  int shared_most; /* most bytes of shared memory of a block */
  int64_t k, value_bytes, sum_bytes;
  sl_neighbour_word *word; /* device memory */
  void *window;            /* device memory */
  sley_dtype dtype;
} rowwise;

/* Returns whether the arguments qualify; columns must fit in 32 bits. */
static bool rowwise_ok(const sl_kernel_args *args) {
  const sl_spmm_problem *p = args->spmm.problem;
  return p->pages && p->segment && p->segments <= SL_NEIGHBOUR_OWNERS &&
         p->segment[p->segments] <= INT32_MAX && p->a->rows <= INT32_MAX && !p->a->rowid && !p->a->resident &&
         !p->in_order && !p->arrives && sley_dtype_bytes(p->a->dtype) != 0;
}

static void free_lists(sl_device *device, rowwise *r) {
  device->ops->free(device, r->run.partial);
  device->ops->free(device, (void *)r->run.joined);
  device->ops->free(device, (void *)r->run.remote);
  device->ops->free(device, (void *)r->run.local);
  r->run.partial = NULL;
  r->run.joined = NULL;
  r->run.local = r->run.remote = NULL;
  r->listed = 0;
}

static void rowwise_release(sl_device *device, void *prepared) {
  rowwise *r = prepared;
  if (!r)
    return;
  free_lists(device, r);
  device->ops->free(device, r->window);
  device->ops->free(device, r->word);
  device->ops->free(device, (void *)r->run.remote_val);
  device->ops->free(device, (void *)r->run.remote_owner);
  device->ops->free(device, (void *)r->run.remote_col);
  device->ops->free(device, (void *)r->run.local_val);
  device->ops->free(device, (void *)r->run.local_col);
  sl_neighbour_split_free(&r->split);
  sl_free(r);
}

/* Makes the lists for a partition size, in device memory. *fits: false if they need more than half of the
 * free memory. */
static sley_status make_lists(rowwise *r, sl_queue *queue, int ps, bool *fits) {
  const sl_device_ops *ops = queue->device->ops;
  sl_neighbour_lists lists;
  int64_t free = 0, total = 0;
  *fits = true;
  if (r->listed == ps)
    return SLEY_OK;
  free_lists(queue->device, r);
  sley_status status = sl_neighbour_lists_make(&r->split, ps, &lists);
  int64_t parts = (lists.locals + lists.remotes) * (int64_t)sizeof *lists.local;
  int64_t joins = lists.joins * (int64_t)sizeof *lists.joined, sums = lists.slots * r->k * r->sum_bytes;
  SL_TRY_GOTO(status, status, done);
  SL_TRY_GOTO(status, ops->memory(queue->device, &free, &total), done);
  r->run.locals = lists.locals;
  r->run.remotes = lists.remotes;
  r->longest = lists.longest;
  *fits = parts + joins + sums <= free / 2;
  if (!*fits)
    goto done;
  SL_TRY_GOTO(status,
              sl_device_upload_private(queue, lists.local, lists.locals * (int64_t)sizeof *lists.local,
                                       "neighbour partitions", (void **)&r->run.local),
              done);
  SL_TRY_GOTO(status,
              sl_device_upload_private(queue, lists.remote, lists.remotes * (int64_t)sizeof *lists.remote,
                                       "neighbour partitions", (void **)&r->run.remote),
              done);
  SL_TRY_GOTO(
      status,
      sl_device_upload_private(queue, lists.joined, joins, "neighbour partitions", (void **)&r->run.joined),
      done);
  SL_TRY_GOTO(status,
              ops->alloc_private(queue->device, sums, "sums of neighbour partitions", &r->run.partial), done);
  r->run.joins = lists.joins;
  r->listed = ps;
done:
  sl_neighbour_lists_free(&lists);
  return status;
}

static sley_status upload_half(sl_queue *queue, const sl_neighbour_half *half, int64_t rows,
                               int64_t value_bytes, const int32_t **col, const uint8_t **owner,
                               const void **val) {
  int64_t entries = half->rowptr[rows];
  SL_TRY(sl_device_upload_private(queue, half->col, entries * (int64_t)sizeof *half->col, "a part's columns",
                                  (void **)col));
  if (owner)
    SL_TRY(
        sl_device_upload_private(queue, half->owner, entries, "owners of a part's columns", (void **)owner));
  return sl_device_upload_private(queue, half->val, entries * value_bytes, "a part's values", (void **)val);
}

static int64_t window_bytes(const sl_spmm_matrix *a) {
  int64_t entries = sl_spmm_entries(a);
  int64_t bytes = entries * (int64_t)sley_dtype_bytes(a->dtype);
  return bytes < WINDOW_BYTES ? bytes : WINDOW_BYTES;
}

/* Uploads the places by which refill distributes values to the halves. */
static sley_status upload_places(sl_queue *queue, const sl_spmm_matrix *a, rowwise *r) {
  SL_TRY(sl_device_upload_private(queue, r->split.word, r->split.words * (int64_t)sizeof *r->split.word,
                                  "places of a part's values", (void **)&r->word));
  sl_free(r->split.word);
  r->split.word = NULL;
  return queue->device->ops->alloc_private(queue->device, window_bytes(a), "new values of a part",
                                           &r->window);
}

/* Frees the host's copies of arrays that the device now has. */
static void forget_entries(sl_neighbour_half *half) {
  sl_free(half->val);
  sl_free(half->owner);
  sl_free(half->col);
  half->val = NULL;
  half->owner = NULL;
  half->col = NULL;
}

/* The shape used before a search: the caller's fixed figures, else the first shape. */
static sl_neighbour_shape shape_before(const sl_neighbour_shape *fixed) {
  return (sl_neighbour_shape){fixed->ps ? fixed->ps : first_shape.ps,
                              fixed->dist ? fixed->dist : first_shape.dist,
                              fixed->wpb ? fixed->wpb : first_shape.wpb};
}

static sley_status prepare(rowwise *r, sl_queue *queue, const sl_spmm_problem *a) {
  bool fits;
  const int ordinal = ((const sl_cuda_device *)queue->device)->ordinal;
  SL_TRY(
      sl_cuda_check(cudaDeviceGetAttribute(&r->shared_most, cudaDevAttrMaxSharedMemoryPerBlockOptin, ordinal),
                    "asking for shared memory"));
  SL_TRY(sl_neighbour_split_make(a->a, a->segment, a->segments, a->own, &r->split));
  SL_TRY(upload_half(queue, &r->split.local, a->a->rows, r->value_bytes, &r->run.local_col, NULL,
                     &r->run.local_val));
  SL_TRY(upload_half(queue, &r->split.remote, a->a->rows, r->value_bytes, &r->run.remote_col,
                     &r->run.remote_owner, &r->run.remote_val));
  SL_TRY(upload_places(queue, a->a, r));
  forget_entries(&r->split.local);
  forget_entries(&r->split.remote);
  SL_TRY(make_lists(r, queue, r->shape.ps, &fits));
  return fits ? SLEY_OK
              : sl_fail(SLEY_ERR_MEMORY,
                        "the row-wise kernel's sums do not fit in the GPU's memory: take more ranks");
}

static sley_status rowwise_prepare(sl_device *device, sl_queue *queue, const sl_kernel_args *args,
                                   void **prepared) {
  const sl_spmm_problem *a = args->spmm.problem;
  *prepared = NULL;
  if (a->a->rows == 0 || a->k == 0)
    return SLEY_OK;
  rowwise *r;
  SL_TRY(SL_NEW_ZERO(r, 1, "a row-wise product"));
  r->fixed = sl_neighbour_fixed(&a->rowwise);
  r->shape = shape_before(&r->fixed);
  r->run.choice = a->rowwise;
  r->k = a->k;
  r->dtype = a->a->dtype;
  r->value_bytes = (int64_t)sley_dtype_bytes(r->dtype);
  r->sum_bytes = (int64_t)sley_dtype_bytes(sl_sum_dtype(r->dtype));
  r->run.own = a->own;
  sley_status status = prepare(r, queue, a);
  if (status != SLEY_OK) {
    rowwise_release(device, r);
    return status;
  }
  *prepared = r;
  return SLEY_OK;
}

/* Memory with the lists of the first shape. The search tries other shapes only within half of the free
 * memory. */
static int64_t rowwise_memory(const sl_kernel_args *args, int64_t *passing) {
  enum { ARRAYS = 11 }; /* arrays whose sizes are rounded up */
  const sl_spmm_matrix *a = args->spmm.problem->a;
  int64_t entries = sl_spmm_entries(a);
  const sl_neighbour_shape fixed = sl_neighbour_fixed(&args->spmm.problem->rowwise),
                           first = shape_before(&fixed);
  int64_t partitions = entries / first.ps + 2 * a->rows, value_bytes = (int64_t)sley_dtype_bytes(a->dtype),
          sum_bytes = (int64_t)sley_dtype_bytes(sl_sum_dtype(a->dtype));
  *passing = 0;
  int64_t words = (entries + SL_NEIGHBOUR_WORD - 1) / SL_NEIGHBOUR_WORD;
  return entries * (4 + 1 + value_bytes) + words * (int64_t)sizeof(sl_neighbour_word) + window_bytes(a) +
         partitions * (int64_t)sizeof(sl_neighbour_part) + a->rows * (int64_t)sizeof(sl_neighbour_row) +
         partitions * args->spmm.problem->k * sum_bytes + ARRAYS * sl_device_bytes(0);
}

/* Values from the host pass through the window, part after part, in the queue's order. */
static sley_status rowwise_refill(sl_device *device, sl_queue *queue, const sl_kernel_args *args,
                                  const void *val, sl_values_in where, void *prepared) {
  const sl_spmm_matrix *a = args->spmm.problem->a;
  const rowwise *r = prepared;
  if (!r)
    return SLEY_OK;
  const char *from = (const char *)val + a->rowptr[0] * r->value_bytes;
  int64_t entries = sl_spmm_entries(a),
          most = where == SL_VALUES_IN_HOST ? WINDOW_BYTES / r->value_bytes : entries;
  for (int64_t first = 0, count; first < entries; first += count) {
    const void *there = from + first * r->value_bytes;
    count = entries - first < most ? entries - first : most;
    if (where == SL_VALUES_IN_HOST) {
      SL_TRY(device->ops->copy(queue, SL_COPY_TO_DEVICE, r->window, there, count * r->value_bytes));
      there = r->window;
    }
    SL_TRY(sl_rowwise_split_values(queue, r->word, there, first, count, r->value_bytes,
                                   (void *)r->run.local_val, (void *)r->run.remote_val));
  }
  return SLEY_OK;
}

static sley_status run_shape(const rowwise *r, const sl_neighbour_shape *shape, sl_queue *queue,
                             const sl_spmm_run *a) {
  const sl_spmm_problem *problem = a->problem;
  sl_rowwise_run run = r->run;
  for (int p = 0; p < problem->segments; p++)
    run.base[p] =
        problem->segment[p] < problem->segment[p + 1] ? problem->pages[problem->segment[p] / SL_X_PAGE] : 0;
  run.y = a->y;
  run.k = problem->k;
  run.ldx = a->ldx;
  run.ldy = a->ldy;
  run.alpha = a->alpha;
  run.beta = a->beta;
  run.wide_y = problem->wide_y;
  return sl_rowwise_launch(queue, &run, r->dtype, shape);
}

static sley_status rowwise_run(sl_queue *queue, const sl_kernel_args *args) {
  const rowwise *r = args->spmm.prepared;
  return r ? run_shape(r, &r->shape, queue, &args->spmm) : SLEY_OK;
}

/* ------------------------------------------------------------------------------------------- the search */

typedef struct tuning {
  rowwise *r;
  sl_queue *queue;
  const sl_spmm_run *args;
  cudaEvent_t begin, end;
} tuning;

static sl_neighbour_model model_of(const tuning *t, const sl_neighbour_shape *shape) {
  const rowwise *r = t->r;
  sl_neighbour_facts facts = {.locals = r->run.locals,
                              .remotes = r->run.remotes,
                              .longest = r->longest,
                              .k = r->k,
                              .value_bytes = r->value_bytes,
                              .sum_bytes = r->sum_bytes,
                              .apart = r->run.choice.apart,
                              .processors = sl_cuda_processors(t->queue)};
  return sl_neighbour_model_of(shape, &facts);
}

/* Returns whether a block can have as much shared memory as the shape needs. */
static bool fits_shared(const rowwise *r, const sl_neighbour_shape *shape) {
  return !r->run.choice.shared ||
         sl_rowwise_layout_of(shape, r->k, r->value_bytes, r->sum_bytes).bytes <= r->shared_most;
}

/* Measures the least time of a few runs, after one that is not counted. */
static sley_status time_shape(void *context, sl_neighbour_trial *trial) {
  tuning *t = context;
  const sl_neighbour_shape *shape = &trial->shape;
  cudaStream_t stream = sl_cuda_stream(t->queue);
  bool fits;
  SL_TRY(make_lists(t->r, t->queue, shape->ps, &fits));
  trial->model = model_of(t, shape);
  fits = fits && fits_shared(t->r, shape);
  for (int run = 0; fits && run <= TIMED_RUNS; run++) {
    float ms = 0;
    SL_TRY(sl_cuda_check(cudaEventRecord(t->begin, stream), "timing"));
    SL_TRY(run_shape(t->r, shape, t->queue, t->args));
    SL_TRY(sl_cuda_check(cudaEventRecord(t->end, stream), "timing"));
    SL_TRY(sl_cuda_check(cudaEventSynchronize(t->end), "timing the row-wise product"));
    SL_TRY(sl_cuda_check(cudaEventElapsedTime(&ms, t->begin, t->end), "timing"));
    if (run > 0 && ms / 1e3 < trial->seconds)
      trial->seconds = ms / 1e3;
  }
  return SLEY_OK;
}

static sley_status rowwise_tune(sl_queue *queue, const sl_kernel_args *args) {
  rowwise *r = (void *)args->spmm.prepared;
  if (!r)
    return SLEY_OK;
  tuning t = {.r = r, .queue = queue, .args = &args->spmm};
  bool fits;
  sley_status status;
  SL_TRY(sl_cuda_use(queue->device));
  SL_TRY(sl_cuda_check(cudaEventCreate(&t.begin), "making an event"));
  SL_TRY_GOTO(status, sl_cuda_check(cudaEventCreate(&t.end), "making an event"), done);
  SL_TRY_GOTO(status, sl_neighbour_search(time_shape, &t, &r->fixed, &r->table), done);
  r->shape = r->table.trial[r->table.best].shape;
  SL_TRY_GOTO(status, make_lists(r, queue, r->shape.ps, &fits), done);
  if (!fits)
    status = sl_fail(SLEY_ERR_MEMORY, "the GPU's memory was taken while the row-wise product was tuned");
done:
  if (t.end)
    (void)cudaEventDestroy(t.end);
  (void)cudaEventDestroy(t.begin);
  return status;
}

static const sl_neighbour_table *rowwise_tuned(const void *prepared) {
  return prepared ? &((const rowwise *)prepared)->table : NULL;
}

static const sl_product_traits rowwise_product = {SL_PRODUCT_DEFAULTS, .serves_fewer_columns = true,
                                                  .tune = rowwise_tune, .tuned = rowwise_tuned};

const sl_kernel sl_cuda_spmm_rowwise = {.name = "spmm-rowwise",
                                        .op = SL_OP_SPMM,
                                        .ok = rowwise_ok,
                                        .cost = sl_cost_of_bytes,
                                        .prepare = rowwise_prepare,
                                        .refill = rowwise_refill,
                                        .release = rowwise_release,
                                        .memory = rowwise_memory,
                                        .product = &rowwise_product,
                                        .run = rowwise_run};
