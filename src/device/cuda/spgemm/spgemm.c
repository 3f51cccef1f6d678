/* SPDX-License-Identifier: Apache-2.0 */
/* The sparse product on a GPU. The host waits twice: for the number of rows in each bin, and, after counting,
 * for the number of entries of C. 64-bit columns need up to five more waits. The working memory grows only
 * with the rows of C, except for copies of 64-bit columns. */
#include <inttypes.h>

#include "base/interrupt.h"
#include "device/cuda/spgemm/kept.h"
#include "device/cuda/spgemm/spgemm.h"
#include "device/cuda/spgemm/spgemm_memory.h"

typedef struct product {
  const sl_spgemm_args *args;
  sl_queue *queue;
  sl_spgemm_memory memory;
  sl_cuda_spgemm problem;
  sl_cuda_spgemm_kept *kept;
  void *temporary;
  int64_t temporary_bytes;
} product;

static sley_status to_host(const product *self, void *host, const void *device, int64_t bytes) {
  return self->queue->ops->copy(self->queue, SL_COPY_TO_HOST, host, device, bytes);
}

/* ---- columns */

/* Reads an operand's first row pointer and its number of entries. */
static sley_status entries_of(const product *self, const sley_csr *csr, int64_t *first, int64_t *count) {
  int64_t end;
  SL_TRY(to_host(self, first, csr->rowptr, sizeof *first));
  SL_TRY(to_host(self, &end, csr->rowptr + csr->rows, sizeof end));
  *count = end - *first;
  return SLEY_OK;
}

/* Finds the distinct columns of B. Frees the key and the temporary memory. */
static sley_status name_columns(product *self, const int64_t *col, int64_t count, void *names) {
  sl_cuda_spgemm *p = &self->problem;
  const int64_t bytes = sl_spgemm_names_bytes(count);
  void *key, *temporary, *number;
  SL_TRY(sl_spgemm_take(&self->memory, sizeof(int64_t), "the number of B's columns", &number));
  SL_TRY(sl_spgemm_take(&self->memory, count * (int64_t)sizeof(int64_t), "columns to be sorted", &key));
  SL_TRY(sl_spgemm_take(&self->memory, bytes, "memory to sort columns in", &temporary));
  SL_TRY(sl_spgemm_launch_names(self->queue, col, count, key, temporary, bytes, names, number));
  SL_TRY(to_host(self, &p->cols, number, sizeof p->cols));
  for (int i = 0; i < 3; i++)
    sl_spgemm_give_last(&self->memory);
  if (p->cols > INT32_MAX)
    return sl_fail(SLEY_ERR_OVERFLOW,
                   "sley_spgemm: B has entries in %" PRId64 " columns: a GPU takes 2^31 - 1 at most",
                   p->cols);
  p->names = names;
  return SLEY_OK;
}

/* Allocates the operand's columns as 32-bit numbers for the kernels. *out is indexed by the original row
 * pointers. */
static sley_status convert_columns(product *self, const sley_csr *csr, int64_t first, int64_t count,
                                   const int32_t **out) {
  const sl_cuda_spgemm *p = &self->problem;
  const void *col = (const char *)csr->col + (size_t)first * sl_index_bytes(csr->index);
  void *narrow;
  SL_TRY(sl_spgemm_take(&self->memory, count * (int64_t)sizeof(int32_t), "columns of 32 bits", &narrow));
  SL_TRY(p->names ? sl_spgemm_launch_rename(self->queue, col, csr->index, count, p->names, p->cols, narrow)
                  : sl_spgemm_launch_narrow(self->queue, col, count, 0, narrow));
  *out = (const int32_t *)((uintptr_t)narrow - (uintptr_t)first * sizeof(int32_t));
  return SLEY_OK;
}

static sley_status take_columns(product *self) {
  const sley_csr *b = &self->args->b, *mask = self->args->mask;
  sl_cuda_spgemm *p = &self->problem;
  int64_t first, count;
  if (b->index == SLEY_I32) {
    p->b_col = b->col;
  } else {
    SL_TRY(entries_of(self, b, &first, &count));
    if (p->c_index == SLEY_I64) {
      void *names;
      SL_TRY(sl_spgemm_take(&self->memory, count * (int64_t)sizeof(int64_t), "the distinct columns of B",
                            &names));
      SL_TRY(name_columns(self, (const int64_t *)b->col + first, count, names));
    }
    SL_TRY(convert_columns(self, b, first, count, &p->b_col));
  }
  if (!mask)
    return SLEY_OK;
  p->mask_rowptr = mask->rowptr;
  p->mask_col = mask->col;
  if (mask->index == SLEY_I32 && !p->names)
    return SLEY_OK;
  SL_TRY(entries_of(self, mask, &first, &count));
  return convert_columns(self, mask, first, count, &p->mask_col);
}

/* ---- the passes */

/* Allocates the working memory: the queue's kept block, or a new block. */
static sley_status take_block(product *self, int64_t bytes, void **out) {
  const char *what = "bins of rows";
  if (bytes > SL_SPGEMM_KEPT_BYTES)
    return sl_spgemm_take(&self->memory, bytes, what, out);
  SL_TRY(sl_spgemm_count(&self->memory, bytes, what));
  return sl_cuda_spgemm_block(self->queue, self->kept, bytes, out);
}

/* Allocates row pointers, and one block for everything that grows with the rows. */
static sley_status take_memory(product *self) {
  sl_cuda_spgemm *p = &self->problem;
  sl_spgemm_result *out = self->args->out;
  const int64_t numbers = sl_device_bytes(p->rows * (int64_t)sizeof(uint32_t));
  const int64_t state = sl_device_bytes(sizeof *p->state);
  void *block;
  SL_TRY(sl_spgemm_take_result(&self->memory, p->rows + 1, sizeof(int64_t), "row pointers",
                               (void **)&out->rowptr));
  p->c_rowptr = out->rowptr;
  self->temporary_bytes = sl_spgemm_scan_bytes(p->rows);
  SL_TRY(take_block(self, state + 4 * numbers + self->temporary_bytes, &block));
  char *at = block;
  p->state = block;
  p->bound = (uint32_t *)(void *)(at + state);
  p->list = (uint32_t *)(void *)(at + state + numbers);
  p->first = (int32_t *)(void *)(at + state + 2 * numbers);
  p->span = (uint32_t *)(void *)(at + state + 3 * numbers);
  self->temporary = at + state + 4 * numbers;
  return SLEY_OK;
}

static sley_status read_state(product *self) {
  sl_spgemm_state *state = self->kept->state;
  SL_TRY(to_host(self, state, self->problem.state, sizeof *state));
  SL_TRY(self->queue->ops->queue_wait(self->queue)); /* copies to pinned memory do not wait */
  return sl_interrupted();
}

/* Opens side streams for a pass, from those that are kept; the queue itself takes one bin, so one stream
 * fewer is needed. */
static sley_status open_sides(const product *self, sl_spgemm_sides *out) {
  int bins = 0;
  for (int bin = SL_SPGEMM_EMPTY + 1; bin < SL_SPGEMM_BINS; bin++)
    bins += self->kept->state->rows[bin] > 0;
  const int wanted = bins > 0 ? bins - 1 : 0;
  SL_TRY(sl_cuda_spgemm_open_sides(self->kept, wanted));
  *out = self->kept->sides;
  out->used = out->used < wanted ? out->used : wanted;
  return SLEY_OK;
}

static sley_status count_rows(product *self) {
  SL_TRY(sl_spgemm_launch_count(self->queue, &self->problem));
  SL_TRY(read_state(self));
  const sl_spgemm_state *state = self->kept->state;
  self->args->out->products = (int64_t)state->products;
  if (state->products == 0)
    return SLEY_OK;
  sl_spgemm_sides sides;
  SL_TRY(open_sides(self, &sides));
  SL_TRY(sl_spgemm_launch_symbolic(self->queue, &sides, &self->problem, state));
  SL_TRY(sl_spgemm_launch_place(self->queue, &self->problem, self->temporary, self->temporary_bytes));
  SL_TRY(read_state(self));
  self->args->out->nnz = (int64_t)state->entries;
  return SLEY_OK;
}

static sley_status make_rows(product *self) {
  static sl_spgemm_numeric *const launch[] = {[SLEY_F32] = sl_spgemm_launch_numeric_f32,
                                              [SLEY_F64] = sl_spgemm_launch_numeric_f64,
                                              [SLEY_F16] = sl_spgemm_launch_numeric_f16,
                                              [SLEY_BF16] = sl_spgemm_launch_numeric_bf16};
  sl_spgemm_result *out = self->args->out;
  SL_TRY(sl_spgemm_take_result(&self->memory, out->nnz, sl_index_bytes(out->index), "columns of a product",
                               &out->col));
  SL_TRY(sl_spgemm_take_result(&self->memory, out->nnz, sley_dtype_bytes(self->problem.dtype),
                               "values of a product", &out->val));
  if (out->nnz == 0)
    return SLEY_OK;
  self->problem.c_col = out->col;
  self->problem.c_val = out->val;
  sl_spgemm_sides sides;
  SL_TRY(open_sides(self, &sides));
  return launch[self->problem.dtype](self->queue, &sides, &self->problem, self->kept->state);
}

static void describe(product *self) {
  const sl_spgemm_args *args = self->args;
  sl_spgemm_result *out = args->out;
  out->index = args->b.index == SLEY_I32 ? SLEY_I32 : sl_index_for(args->b.cols);
  out->passes = 2;
  self->problem = (sl_cuda_spgemm){.semiring = args->semiring,
                                   .accumulator = args->accumulator,
                                   .dtype = args->a.dtype,
                                   .rows = args->a.rows,
                                   .cols = args->b.cols,
                                   .b_rows = args->b.rows,
                                   .a_rowptr = args->a.rowptr,
                                   .b_rowptr = args->b.rowptr,
                                   .a_col = args->a.col,
                                   .a_index = args->a.index,
                                   .a_val = args->a.val,
                                   .b_val = args->b.val,
                                   .c_index = out->index};
}

static sley_status spgemm_run(sl_queue *queue, const sl_kernel_args *kernel_args) {
  const sl_spgemm_args *args = &kernel_args->spgemm;
  product self = {.args = args, .queue = queue};
  sl_spgemm_memory_begin(&self.memory, queue->device, args);
  SL_TRY(sl_cuda_use(queue->device));
  SL_TRY(sl_cuda_spgemm_kept_of(queue, &self.kept));
  describe(&self);
  sley_status status = take_columns(&self);
  if (status == SLEY_OK)
    status = take_memory(&self);
  if (status == SLEY_OK)
    status = count_rows(&self);
  if (status == SLEY_OK)
    status = make_rows(&self);
  const sley_status done =
      queue->ops->queue_wait(queue); /* memory is freed after this, also after an error */
  if (status == SLEY_OK)
    status = done;
  return sl_spgemm_memory_end(&self.memory, status);
}

/* Rows are numbered with 32 bits. */
static bool spgemm_ok(const sl_kernel_args *args) {
  return sl_spgemm_ok(&args->spgemm) && args->spgemm.a.rows <= UINT32_MAX;
}

const sl_kernel sl_cuda_spgemm_kernel = {.name = "sparse product",
                                         .op = SL_OP_SPGEMM,
                                         .ok = spgemm_ok,
                                         .cost = sl_cost_of_bytes,
                                         SL_KERNEL_KEEPS_NOTHING,
                                         .run = spgemm_run};
