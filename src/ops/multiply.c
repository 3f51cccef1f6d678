/* SPDX-License-Identifier: Apache-2.0 */
/* Products of matrices that remember what kernels have prepared for them. */
#include "ops/multiply.h"

#include "base/memory.h"
#include "base/value.h"
#include "matrix/matrix.h"

/* The product of a matrix and k in which it is prepared: the second, or, if entries are copied, which takes
 * as long as several products, a later one. */
enum { PREPARED_IN = 2, COPIED_IN = 6 };

/* What is kept of one product. Every kernel of the CPU sums in the order of the entries, so the bits do not
 * depend on what is kept. Guarded by the lock, but for what `ready` announces, which then stays the same. */
typedef struct kept {
  const sley_matrix *matrix; /* NULL: dropped, and freed by the last product that uses it */
  int64_t k;
  int threads;
  bool transpose, changing;
  bool needed;      /* there is no product unless it is prepared */
  bool copies;      /* preparing it copies entries */
  int users;        /* products that are running */
  bool busy;        /* one of them prepares */
  bool ready;       /* prepared */
  bool refused;     /* not prepared, for want of memory */
  int64_t calls;    /* products so far */
  int64_t last_use; /* the clock at the last product */
  int64_t bytes;
  sley_matrix *transposed; /* A^T, or NULL */
  sl_spmm_matrix a;
  sl_spmm_problem problem;
  const sl_kernel *kernel;
  void *prepared;
} kept;

static kept *table[SLEY_KEPT_MOST];
static int64_t used_clock, total_bytes, limit_bytes = -1, hits, misses;

/* No product of other threads runs in a forked child. */
void sl_kept_forked(void) {
  for (int i = 0; i < SLEY_KEPT_MOST; i++)
    if (table[i]) {
      table[i]->users = 0;
      table[i]->busy = false;
    }
}

static int64_t limit(void) {
  if (limit_bytes < 0)
    limit_bytes = sl_memory_machine() / 4;
  return limit_bytes;
}

static void release(kept *e) {
  if (e->kernel)
    e->kernel->release(sl_kept_device(), e->prepared);
  sl_matrix_destroy(e->transposed);
  total_bytes -= e->bytes;
  e->bytes = 0;
  e->prepared = NULL;
  e->kernel = NULL;
  e->transposed = NULL;
  e->ready = false;
}

/* Drops an entry; what products use is freed when they end. */
static void drop(int place) {
  kept *e = table[place];
  table[place] = NULL;
  e->matrix = NULL;
  if (e->users > 0)
    return;
  release(e);
  sl_free(e);
}

/* The place of the entry that no product uses and that was used least recently; -1: there is none. */
static int oldest(bool with_bytes) {
  int place = -1;
  for (int i = 0; i < SLEY_KEPT_MOST; i++)
    if (table[i] && table[i]->users == 0 && (!with_bytes || table[i]->bytes > 0) &&
        (place < 0 || table[i]->last_use < table[place]->last_use))
      place = i;
  return place;
}

static void trim(void) {
  for (int place; total_bytes > limit() && (place = oldest(true)) >= 0;)
    drop(place);
}

static void describe(const sley_matrix *matrix, int64_t k, bool changing, const sl_device *device,
                     sl_spmm_matrix *a, sl_spmm_problem *problem) {
  *a = (sl_spmm_matrix){.rows = matrix->rows,
                        .rowptr = matrix->rowptr,
                        .col = matrix->col,
                        .val = matrix->val,
                        .index = matrix->index,
                        .dtype = matrix->dtype};
  *problem = (sl_spmm_problem){.a = a,
                               .k = k,
                               .x_rows = matrix->cols,
                               .in_order = true,
                               .arrives = changing,
                               .figures = &device->figures};
}

static bool copies_entries(const sley_matrix *matrix, int64_t k, bool changing) {
  sl_spmm_matrix a;
  sl_spmm_problem problem;
  const sl_kernel *kernel;
  int64_t passing;
  describe(matrix, k, changing, sl_kept_device(), &a, &problem);
  const sl_kernel_args args = {.op = SL_OP_SPMM, .spmm = {.problem = &problem}};
  return sl_kernel_find(sl_kept_device(), &args, &kernel) == SLEY_OK && kernel->memory(&args, &passing) > 0;
}

/* Whether a product cannot do without A^T. */
static bool is_needed(const sley_matrix *matrix, const sley_multiply_options *o) {
  return o->transpose && sl_is_16_bit(matrix->dtype);
}

/* Finds or makes the entry of a product; NULL: it is not kept. */
static kept *entry_of(sley_matrix *matrix, int64_t k, const sley_multiply_options *o) {
  int free_place = -1;
  for (int i = 0; i < SLEY_KEPT_MOST; i++) {
    kept *e = table[i];
    if (!e)
      free_place = i;
    else if (e->matrix == matrix && e->k == k && e->threads == o->threads && e->transpose == o->transpose &&
             e->changing == o->changing)
      return e;
  }
  if (free_place < 0 && (free_place = oldest(false)) >= 0)
    drop(free_place);
  kept *e = free_place < 0 ? NULL : sl_alloc_zero(1, sizeof *e, "a kept product");
  if (!e)
    return NULL;
  *e = (kept){.matrix = matrix, .k = k, .threads = o->threads, .transpose = o->transpose};
  e->changing = o->changing;
  e->needed = is_needed(matrix, o);
  e->copies = o->transpose || copies_entries(matrix, k, o->changing);
  matrix->forget = sl_kept_clear;
  return table[free_place] = e;
}

/* Prepares a product, of A^T if it has been made. Runs without the lock. */
static sley_status prepare(kept *e, sl_queue *queue, sl_device *device, const sley_matrix *matrix,
                           int64_t room) {
  if (e->transpose) {
    SL_TRY(sl_matrix_transpose(matrix, sl_cpu_queue_team(queue), &e->transposed));
    matrix = e->transposed;
  }
  describe(matrix, e->k, e->changing, device, &e->a, &e->problem);
  const sl_kernel_args args = {.op = SL_OP_SPMM, .spmm = {.problem = &e->problem}};
  const sl_kernel *kernel;
  int64_t passing;
  SL_TRY(sl_kernel_find(device, &args, &kernel));
  int64_t bytes = kernel->memory(&args, &passing);
  if (e->transpose)
    bytes += sl_csr_bytes(matrix->rows, matrix->nnz, matrix->index, matrix->dtype);
  if (bytes > room && !e->needed)
    return SLEY_ERR_MEMORY;
  SL_TRY(kernel->prepare(device, queue, &args, &e->prepared));
  e->kernel = kernel;
  e->bytes = bytes;
  return SLEY_OK;
}

/* Whether the caller is to prepare the entry. If it is needed, a product waits for a thread that does. A
 * transposed matrix that changes is never prepared. */
static bool claims(kept *e) {
  while (e->needed && e->busy)
    sl_kept_wait();
  const bool due = !(e->transpose && e->changing) && e->calls >= (e->copies ? COPIED_IN : PREPARED_IN);
  return (due || e->needed) && !e->ready && !e->busy && !e->refused && (limit() > 0 || e->needed);
}

/* Prepares an entry that the caller has claimed. A failure matters only if it is needed. */
static sley_status make_ready(kept *e, sl_queue *queue, const sley_matrix *matrix) {
  e->busy = true;
  sl_device *device = sl_kept_device();
  int64_t room = limit();
  sl_kept_unlock();
  sley_status status = prepare(e, queue, device, matrix, room);
  sl_kept_lock();
  e->busy = false;
  if (status == SLEY_OK) {
    total_bytes += e->bytes;
    e->ready = true;
  } else {
    release(e);
    e->refused = !e->needed;
  }
  sl_kept_notify();
  return e->needed ? status : SLEY_OK;
}

/* Whether a product runs without preparation, without a kernel of the device. */
static bool is_direct(sley_dtype dtype, int64_t k, const sley_multiply_options *o) {
  return sl_multiply_is_vector(dtype, k, o) || o->transpose;
}

static sley_status run_direct(const sley_csr *a, sl_queue *queue, int64_t k, const sley_multiply_options *o,
                              const void *x, void *y) {
  return o->transpose ? sl_multiply_scatter(a, sl_cpu_queue_team(queue), k, o, x, y)
                      : sl_multiply_vector(a, sl_cpu_queue_team(queue), x, y);
}

/* Runs a product with what is ready, or without preparation. */
static sley_status run(const kept *e, bool ready, sl_queue *queue, const sley_matrix *matrix, int64_t k,
                       const sley_multiply_options *o, const void *x, void *y) {
  sl_spmm_matrix a;
  sl_spmm_problem problem;
  const sl_kernel *kernel = ready ? e->kernel : NULL;
  if ((!ready || o->changing) && is_direct(matrix->dtype, k, o)) {
    const sley_csr csr = sl_matrix_csr(matrix);
    return run_direct(&csr, queue, k, o, x, y);
  }
  if (!ready)
    describe(matrix, k, o->changing, queue->device, &a, &problem);
  const sl_kernel_args args = {.op = SL_OP_SPMM,
                               .spmm = {.problem = ready ? &e->problem : &problem,
                                        .prepared = ready ? e->prepared : NULL,
                                        .alpha = o->alpha,
                                        .beta = o->beta,
                                        .x = x,
                                        .ldx = o->ldx,
                                        .y = y,
                                        .ldy = o->ldy}};
  if (!ready)
    SL_TRY(sl_kernel_find(queue->device, &args, &kernel));
  return kernel->run(queue, &args);
}

/* The lock is held. */
static sley_status take_queue(const sley_multiply_options *o, sl_queue **out) {
  return sl_kept_device() ? sl_team_queue_take(o->threads, out) : SLEY_ERR_MEMORY;
}

sley_status sl_multiply(sley_matrix *matrix, int64_t k, const sley_multiply_options *o, const void *x,
                        void *y) {
  sl_queue *queue;
  kept without = {.transpose = o->transpose, .needed = is_needed(matrix, o), .k = k, .users = 1, .calls = 1};
  sl_kept_lock();
  sley_status status = take_queue(o, &queue);
  if (status != SLEY_OK) {
    sl_kept_unlock();
    return status;
  }
  kept *e = entry_of(matrix, k, o);
  e = e ? e : &without;
  e->users++;
  e->calls++;
  e->last_use = ++used_clock;
  const bool kept_before = e->ready;
  if (claims(e))
    status = make_ready(e, queue, matrix);
  const bool ready = e->ready;
  *(kept_before ? &hits : &misses) += 1;
  sl_kept_unlock();
  if (status == SLEY_OK)
    status = run(e, ready, queue, matrix, k, o, x, y);
  sl_kept_lock();
  e->users--;
  sl_team_queue_return(queue);
  if (e == &without)
    release(e);
  else if (e->users == 0 && !e->matrix) {
    release(e);
    sl_free(e);
  }
  trim();
  sl_kept_unlock();
  return status;
}

/* A product by a kernel of the device, which does not check the arrays and reads row pointers of 64 bits. */
static sley_status run_checked(const sley_csr *csr, sl_queue *queue, int64_t k,
                               const sley_multiply_options *o, const void *x, void *y) {
  int64_t *rowptr = NULL;
  if (csr->rowptr32)
    SL_TRY(sl_csr_widen(csr, &rowptr));
  sley_csr wide = *csr;
  wide.rowptr = rowptr ? rowptr : csr->rowptr;
  sley_status status = sl_csr_validate(&wide, sl_cpu_queue_team(queue), NULL);
  const sley_matrix view = {.rows = csr->rows,
                            .cols = csr->cols,
                            .dtype = csr->dtype,
                            .index = csr->index,
                            .rowptr = wide.rowptr,
                            .col = csr->col,
                            .val = csr->val};
  sley_multiply_options now = *o;
  now.changing = true;
  if (status == SLEY_OK)
    status = run(NULL, false, queue, &view, k, &now, x, y);
  sl_free(rowptr);
  return status;
}

sley_status sl_multiply_arrays(const sley_csr *csr, int64_t k, const sley_multiply_options *o, const void *x,
                               void *y) {
  sl_queue *queue;
  sl_kept_lock();
  sley_status status = take_queue(o, &queue);
  sl_kept_unlock();
  SL_TRY(status);
  status = (is_direct(csr->dtype, k, o) ? run_direct : run_checked)(csr, queue, k, o, x, y);
  sl_kept_lock();
  sl_team_queue_return(queue);
  misses++;
  sl_kept_unlock();
  return status;
}

void sl_kept_get(const sley_matrix *matrix, sley_kept_info *out) {
  sl_kept_lock();
  *out = (sley_kept_info){.limit = limit(), .hits = hits, .misses = misses};
  for (int i = 0; i < SLEY_KEPT_MOST; i++)
    if (table[i] && (!matrix || table[i]->matrix == matrix)) {
      out->products++;
      out->bytes += table[i]->bytes;
    }
  sl_kept_unlock();
}

void sl_kept_clear(const sley_matrix *matrix) {
  sl_kept_lock();
  for (int i = 0; i < SLEY_KEPT_MOST; i++)
    if (table[i] && (!matrix || table[i]->matrix == matrix))
      drop(i);
  sl_kept_unlock();
}

void sl_kept_set_limit(int64_t bytes) {
  sl_kept_lock();
  limit_bytes = bytes;
  trim();
  sl_kept_unlock();
}
