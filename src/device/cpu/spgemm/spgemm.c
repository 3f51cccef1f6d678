/* SPDX-License-Identifier: Apache-2.0 */
/* C = A B on the CPU. Threads take chunks of rows in ascending order. Each computes a chunk in a buffer of
 * its own and copies it to its place in C, which is known when all chunks before it are complete. So each row
 * is computed once, and only C grows with the result. If the memory limit does not allow as many entries as
 * there are products, a first pass counts the entries. Source of the row-wise product: Gustavson, Two fast
 * algorithms for sparse matrices, ACM TOMS 4, 1978. */
#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

#include "base/interrupt.h"
#include "base/memory.h"
#include "base/value.h"
#include "device/cpu/cpu.h"
#include "device/cpu/spgemm/chunk_places.h"
#include "device/cpu/spgemm/spgemm_plan.h"

typedef enum pass { PASS_ALL, PASS_COUNT, PASS_FILL } pass;

typedef struct product {
  const sl_spgemm_args *args;
  const sl_spgemm_allocator *memory;
  const sl_spgemm_problem *problem;
  const sl_spgemm_plan *plan;
  sl_spgemm_rows *rows;
  sl_spgemm_result *out;
  sl_spgemm_places places; /* used by PASS_ALL */
  pass pass;
  int threads;          /* threads that take part */
  _Atomic int64_t next; /* next chunk to be taken */
} product;

/* A buffer of a thread, which holds a computed chunk or is free. */
typedef struct buffer {
  int64_t chunk; /* number of the chunk; -1: free */
  int64_t entries;
  void *col, *val;
  int64_t *count; /* entries of each row */
} buffer;

typedef struct worker {
  product *job;
  sl_spgemm_space space;
  buffer buffers[SL_SPGEMM_BUFFERS];
  int used; /* buffers that have been allocated */
} worker;

static sley_status open_buffer(worker *self, buffer *b) {
  const product *job = self->job;
  const int64_t room = job->plan->chunk_room + SL_SPGEMM_SPILL;
  static const char WHAT[] = "rows of a sparse product";
  b->chunk = -1;
  if (!(b->col = sl_alloc(room, sl_index_bytes(job->problem->index), WHAT)) ||
      !(b->val = sl_alloc(room, sley_dtype_bytes(job->problem->dtype), WHAT)))
    return SLEY_ERR_MEMORY;
  return SL_NEW(b->count, SL_SPGEMM_CHUNK_ROWS, WHAT);
}

static void close_worker(worker *self) {
  for (int b = 0; b < self->used; b++) {
    sl_free(self->buffers[b].col);
    sl_free(self->buffers[b].val);
    sl_free(self->buffers[b].count);
  }
  sl_spgemm_space_end(&self->space);
}

/* Sets the row pointers of a chunk whose first entry is entry `place` of C. */
static void place_rows(product *job, int64_t chunk, const int64_t *count, int64_t place) {
  const int64_t begin = job->plan->chunk[chunk], end = job->plan->chunk[chunk + 1];
  for (int64_t i = begin; i < end; i++) {
    place += count[i - begin];
    job->out->rowptr[i + 1] = place;
  }
}

/* Copies a completed chunk to its place and frees the buffer. */
static void place_buffer(product *job, buffer *b, int64_t place) {
  const size_t index = sl_index_bytes(job->problem->index), value = sley_dtype_bytes(job->args->a.dtype);
  char *val = (char *)job->out->val + (size_t)place * value;
  memcpy((char *)job->out->col + (size_t)place * index, b->col, (size_t)b->entries * index);
  if (job->problem->dtype == job->args->a.dtype)
    memcpy(val, b->val, (size_t)b->entries * value);
  else
    sl_values_convert(job->problem->dtype, b->val, job->args->a.dtype, val, b->entries);
  if (job->pass == PASS_ALL)
    place_rows(job, b->chunk, b->count, place);
  b->chunk = -1;
}

/* Copies the thread's chunks whose places are known, in order. wait: waits until it can copy at least the
 * first. */
static void place_known(worker *self, bool wait) {
  for (;;) {
    buffer *first = NULL;
    for (int b = 0; b < self->used; b++)
      if (self->buffers[b].chunk >= 0 && (!first || self->buffers[b].chunk < first->chunk))
        first = &self->buffers[b];
    const int64_t place = first ? sl_spgemm_places_of(&self->job->places, first->chunk, wait) : -1;
    if (place < 0)
      return;
    place_buffer(self->job, first, place);
    wait = false;
  }
}

static buffer *free_buffer(worker *self) {
  for (int b = 0; b < self->used; b++)
    if (self->buffers[b].chunk < 0)
      return &self->buffers[b];
  return NULL;
}

/* Sets *out to a free buffer, or to NULL if another thread has failed. */
static sley_status next_buffer(worker *self, buffer **out) {
  if ((*out = free_buffer(self)))
    return SLEY_OK;
  if (self->used < self->job->plan->buffers)
    return open_buffer(self, *out = &self->buffers[self->used++]);
  place_known(self, true);
  *out = free_buffer(self);
  return SLEY_OK;
}

/* Returns whether any row of the chunk needs an accumulator. */
static bool needs_space(const sl_spgemm_problem *p, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; i++)
    if (sl_spgemm_row_room(p, i) > 0 && (p->mask || p->bound[i] > p->short_most))
      return true;
  return false;
}

/* Computes a chunk. Writes it directly to C if all chunks before it are complete and C has the type of sums;
 * else the buffer keeps it. */
static void make_chunk(worker *self, buffer *b, int64_t chunk) {
  product *job = self->job;
  const int64_t begin = job->plan->chunk[chunk], end = job->plan->chunk[chunk + 1];
  const int64_t place = job->pass == PASS_ALL && job->problem->dtype == job->args->a.dtype
                            ? sl_spgemm_places_of(&job->places, chunk, false)
                            : -1;
  char *col = b->col, *val = b->val;
  if (place >= 0) {
    col = (char *)job->out->col + (size_t)place * sl_index_bytes(job->problem->index);
    val = (char *)job->out->val + (size_t)place * sley_dtype_bytes(job->problem->dtype);
  }
  const int64_t entries = job->rows(job->problem, &self->space, begin, end, col, val, b->count);
  if (job->pass == PASS_ALL)
    sl_spgemm_places_made(&job->places, chunk, entries);
  if (place >= 0) {
    place_rows(job, chunk, b->count, place);
    return;
  }
  b->chunk = chunk;
  b->entries = entries;
}

/* Finishes a chunk: in two passes its place was known before it was computed. */
static void finish_chunk(worker *self, buffer *b, int64_t chunk) {
  product *job = self->job;
  const int64_t begin = job->plan->chunk[chunk], end = job->plan->chunk[chunk + 1];
  if (job->pass == PASS_ALL) {
    place_known(self, false);
  } else if (job->pass == PASS_FILL) {
    place_buffer(job, b, job->out->rowptr[begin]);
  } else {
    memcpy(job->out->rowptr + begin + 1, b->count, (size_t)(end - begin) * sizeof *b->count);
    b->chunk = -1;
  }
}

static sley_status make_chunks(worker *self) {
  product *job = self->job;
  const sl_spgemm_plan *plan = job->plan;
  for (;;) {
    buffer *b;
    SL_TRY(sl_interrupted());
    SL_TRY(next_buffer(self, &b));
    if (!b)
      return SLEY_OK;
    const int64_t chunk = atomic_fetch_add_explicit(&job->next, 1, memory_order_relaxed);
    if (chunk >= plan->chunks)
      break;
    if (needs_space(job->problem, plan->chunk[chunk], plan->chunk[chunk + 1]))
      SL_TRY(sl_spgemm_space_fit(&self->space, job->problem, plan->dense, plan->row_columns));
    make_chunk(self, b, chunk);
    finish_chunk(self, b, chunk);
  }
  for (int b = 0; b < self->used; b++)
    place_known(self, true);
  return SLEY_OK;
}

static sley_status work(void *context, int thread, int threads) {
  (void)threads;
  product *job = context;
  if (thread >= job->threads)
    return SLEY_OK;
  worker self = {.job = job};
  sley_status status = make_chunks(&self);
  if (status != SLEY_OK && job->pass == PASS_ALL)
    sl_spgemm_places_fail(&job->places);
  close_worker(&self);
  return status;
}

static sley_status run_pass(product *job, pass p, sl_team *team) {
  job->pass = p;
  atomic_store(&job->next, 0);
  return sl_team_run(team, work, job);
}

static sley_status allocate_entries(product *job, int64_t entries) {
  const sl_spgemm_allocator *m = job->memory;
  sl_spgemm_result *out = job->out;
  out->col = m->alloc(m->context, entries, sl_index_bytes(out->index), "columns of a product");
  if (out->col)
    out->val = m->alloc(m->context, entries, sley_dtype_bytes(job->args->a.dtype), "values of a product");
  return out->col && out->val ? SLEY_OK : SLEY_ERR_MEMORY;
}

/* Frees the part of C's memory that was reserved for products but is not used by entries. */
static sley_status shrink_entries(product *job) {
  const sl_spgemm_allocator *m = job->memory;
  sl_spgemm_result *out = job->out;
  SL_TRY(m->shrink(m->context, &out->col, out->nnz, sl_index_bytes(out->index), "columns of a product"));
  return m->shrink(m->context, &out->val, out->nnz, sley_dtype_bytes(job->args->a.dtype),
                   "values of a product");
}

static sley_status one_pass(product *job, sl_team *team) {
  SL_TRY(allocate_entries(job, job->plan->room + SL_SPGEMM_SPILL));
  SL_TRY(sl_spgemm_places_begin(job->plan->chunks, &job->places));
  const sley_status status = run_pass(job, PASS_ALL, team);
  job->out->nnz = job->places.place[job->places.known];
  sl_spgemm_places_end(&job->places);
  SL_TRY(status);
  return shrink_entries(job);
}

/* Called when the size of C is known: reduces the number of threads to what fits in memory beside C. */
static sley_status fit_threads(product *job) {
  const int64_t limit = job->args->limit, fixed = job->plan->fixed, each = job->plan->each;
  const int64_t result = sl_spgemm_entry_bytes(job->args, job->problem, job->out->nnz);
  while (limit > 0 && job->threads > 1 && fixed + job->threads * each + result > limit)
    job->threads--;
  const int64_t work = fixed + job->threads * each;
  if (limit == 0 || work + result <= limit)
    return SLEY_OK;
  return sl_fail(SLEY_ERR_MEMORY,
                 "sley_spgemm: the product has %" PRId64 " entries, %" PRId64 " bytes, and needs %" PRId64
                 " more to be made: a mem_limit of %" PRId64 " bytes is too low, give at least %" PRId64,
                 job->out->nnz, result, work, limit, work + result);
}

static sley_status two_passes(product *job, sl_team *team) {
  int64_t *rowptr = job->out->rowptr;
  SL_TRY(run_pass(job, PASS_COUNT, team));
  for (int64_t i = 0; i < job->problem->a.rows; i++)
    rowptr[i + 1] += rowptr[i];
  job->out->nnz = rowptr[job->problem->a.rows];
  SL_TRY(fit_threads(job));
  SL_TRY(allocate_entries(job, job->out->nnz));
  return run_pass(job, PASS_FILL, team);
}

static sley_status multiply(product *job, sl_team *team) {
  const sl_spgemm_allocator *m = job->memory;
  sl_spgemm_result *out = job->out;
  out->rowptr = m->alloc(m->context, job->problem->a.rows + 1, sizeof *out->rowptr, "row pointers");
  if (!out->rowptr)
    return SLEY_ERR_MEMORY;
  out->rowptr[0] = 0;
  SL_TRY(job->plan->passes == 1 ? one_pass(job, team) : two_passes(job, team));
  const int64_t counting = job->plan->fixed + job->plan->threads * job->plan->each;
  const int64_t filling = job->plan->fixed + job->threads * job->plan->each +
                          sl_spgemm_entry_bytes(job->args, job->problem, out->nnz);
  out->peak = counting > filling ? counting : filling;
  return SLEY_OK;
}

static void *host_alloc(void *context, int64_t count, size_t bytes_each, const char *what) {
  (void)context;
  return sl_alloc(count, bytes_each, what);
}

static sley_status host_shrink(void *context, void **block, int64_t count, size_t bytes_each,
                               const char *what) {
  (void)context;
  return sl_shrink(block, count, bytes_each, what);
}

static void host_free(void *context, void *block) {
  (void)context;
  sl_free(block);
}

static const sl_spgemm_allocator host_memory = {NULL, host_alloc, host_shrink, host_free};

static sley_status spgemm_run(sl_queue *queue, const sl_kernel_args *kernel_args) {
  const sl_spgemm_args *args = &kernel_args->spgemm;
  sl_spgemm_result *out = args->out;
  sl_team *team = sl_cpu_queue_team(queue);
  sl_spgemm_operands operands;
  sl_spgemm_plan plan = {0};
  *out = (sl_spgemm_result){0};
  sley_status status = sl_spgemm_operands_take(args, &operands);
  if (status == SLEY_OK)
    status = sl_spgemm_plan_make(args, &operands, team, &plan);
  if (status == SLEY_OK) {
    product job = {.args = args,
                   .memory = args->memory ? args->memory : &host_memory,
                   .problem = &operands.problem,
                   .plan = &plan,
                   .rows = sl_spgemm_rows_find(operands.problem.dtype),
                   .threads = plan.threads,
                   .out = out};
    *out =
        (sl_spgemm_result){.index = operands.problem.index, .products = plan.products, .passes = plan.passes};
    status = multiply(&job, team);
    if (status != SLEY_OK) {
      job.memory->free(job.memory->context, out->rowptr);
      job.memory->free(job.memory->context, out->col);
      job.memory->free(job.memory->context, out->val);
      *out = (sl_spgemm_result){0};
    }
  }
  sl_spgemm_plan_end(&plan);
  sl_spgemm_operands_end(&operands);
  return status;
}

static bool spgemm_ok(const sl_kernel_args *args) {
  return sl_spgemm_ok(&args->spgemm);
}

const sl_kernel sl_cpu_spgemm = {.name = "sparse product",
                                 .op = SL_OP_SPGEMM,
                                 .ok = spgemm_ok,
                                 .cost = sl_cost_of_bytes,
                                 SL_KERNEL_KEEPS_NOTHING,
                                 .run = spgemm_run};
