/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/exec.h"

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/memory.h"
#include "exec/convert.h"
#include "exec/fetch.h"
#include "transport/trace/trace.h"

/* A part with the kernel chosen for it. */
typedef struct bound_part {
  sl_spmm_matrix a;
  sl_spmm_problem problem; /* of a */
  const sl_kernel *kernel;
  void *prepared;
  bool shared; /* prepared is another's */
  bool waits;  /* the kernel waits for rows that arrive in stages */
} bound_part;

struct sl_exec {
  const sl_plan *plan;
  const sl_exec *wide; /* whose buffers and parts it uses, or NULL */
  sl_comm *comm;
  sl_queue *queue;
  sl_trace *trace; /* NULL unless the comm is traced */
  size_t value_bytes, sum_bytes;
  void **memory;   /* of each buffer; X and Y: the caller's, set by run */
  int64_t *stride; /* bytes between rows of each */
  bound_part *parts;
  sl_exchange **exchanges;
  bool *lent_out;      /* of each exchange: ended, its rows not reclaimed */
  int lent_count;      /* of those */
  uintptr_t *pages;    /* of the X of all ranks, for parts in place, which want rows without gaps */
  void *packed;        /* own X without gaps, where the caller's has some */
  sl_lent *lent;       /* what an exchange lends: one a peer */
  sl_fetches *fetches; /* one-sided, if the plan has any */
  sl_conversions *conversions;
  void *result;     /* Y computed apart, if the plan wants that */
  sl_queue *beside; /* for steps beside, if the plan has any */
  sl_event *forked, *joined;
};

static bool fetches(const sl_plan *plan) {
  return plan->steps.count > 0 && SL_STEP(plan, 0)->kind == SL_STEP_PUBLISH;
}

static bool forks(const sl_plan *plan) {
  for (int i = 0; i < plan->steps.count; i++)
    if (SL_STEP(plan, i)->kind == SL_STEP_FORK)
      return true;
  return false;
}

/* Whether a buffer is the plan's own memory. */
static bool is_borrowed(const sl_exec *exec, int buffer) {
  return SL_BUFFER(exec->plan, buffer)->constant && exec->comm->device->ops->host_addresses;
}

static sley_status share_buffers(sl_exec *exec) {
  const sl_exec *wide = exec->wide;
  for (int i = SL_BUFFER_Y + 1; i < exec->plan->buffers.count; i++) {
    exec->stride[i] = SL_BUFFER(exec->plan, i)->row_bytes;
    exec->memory[i] = wide->memory[i];
  }
  exec->pages = wide->pages;
  exec->lent = wide->lent;
  exec->packed = wide->packed;
  exec->result = wide->result;
  exec->conversions = wide->conversions;
  return SLEY_OK;
}

static sley_status bind_buffers(sl_exec *exec) {
  const sl_plan *plan = exec->plan;
  const sl_device_ops *device = exec->comm->device->ops;
  SL_TRY(SL_NEW_ZERO(exec->memory, plan->buffers.count, "buffers"));
  SL_TRY(SL_NEW_ZERO(exec->stride, plan->buffers.count, "buffers"));
  if (exec->wide)
    return share_buffers(exec);
  for (int i = SL_BUFFER_Y + 1; i < plan->buffers.count; i++) {
    const sl_buffer *buffer = SL_BUFFER(plan, i);
    exec->stride[i] = buffer->row_bytes;
    int64_t bytes = buffer->rows * buffer->row_bytes;
    if (is_borrowed(exec, i)) {
      exec->memory[i] = (void *)buffer->constant;
      continue;
    }
    if (buffer->constant)
      SL_TRY(sl_device_upload(exec->queue, buffer->constant, bytes, buffer->name, &exec->memory[i]));
    else
      SL_TRY(device->alloc(exec->comm->device, bytes, buffer->name, &exec->memory[i]));
  }
  if (plan->segment) {
    SL_TRY(SL_NEW_ZERO(exec->pages, plan->segment[exec->comm->size] / SL_X_PAGE, "pages of X"));
    SL_TRY(SL_NEW(exec->lent, exec->comm->size, "pages of X"));
    int64_t x_bytes = plan->x_rows * SL_BUFFER(plan, SL_BUFFER_X)->row_bytes;
    SL_TRY(device->alloc(exec->comm->device, x_bytes, "packed X", &exec->packed));
  }
  int64_t result_bytes = plan->rows * SL_BUFFER(plan, SL_BUFFER_Y)->row_bytes;
  if (plan->separate_result || plan->wide_result)
    SL_TRY(device->alloc(exec->comm->device, result_bytes, "the result", &exec->result));
  return sl_conversions_create(plan, exec->queue, &exec->conversions);
}

/* What is known of a part's product now. */
static sl_spmm_problem problem_of(const sl_exec *exec, const sl_part *part, const sl_spmm_matrix *a) {
  const sl_plan *plan = exec->plan;
  return (sl_spmm_problem){.a = a,
                           .k = part->k,
                           .x_rows = SL_BUFFER(plan, part->x)->rows,
                           .far_rows = part->far ? SL_BUFFER(plan, part->far)->rows : 0,
                           .stages = part->stages,
                           .stage_end = part->stage_end,
                           .pages = part->in_place ? exec->pages : NULL,
                           .segment = part->in_place ? plan->segment : NULL,
                           .segments = exec->comm->size,
                           .own = exec->comm->rank,
                           .wide_y = sl_part_is_wide(plan, part),
                           .in_order = plan->reproducible,
                           .arrives = part->arrives_in >= 0,
                           .library = part->arrives_in < 0 ? plan->library : NULL,
                           .team = exec->comm->team};
}

/* Takes a kernel for a part, and lets it inspect the matrix where that is here already. */
static sley_status bind_part(sl_exec *exec, int index) {
  const sl_part *part = SL_PART(exec->plan, index);
  bound_part *bound = &exec->parts[index];
  if (bound->kernel || part->a.rows == 0 || part->k == 0)
    return SLEY_OK;
  const bound_part *model = exec->wide ? &exec->wide->parts[index] : NULL;
  bool shared = model && model->kernel && model->kernel->narrows && model->prepared;
  bound->a = shared ? model->a : part->a;
  if (part->arrives_in >= 0 && !shared) {
    const char *base = exec->memory[part->arrives_in];
    bound->a.rowid = (const int64_t *)(base + part->rowid_at);
    bound->a.rowptr = (const int64_t *)(base + part->rowptr_at);
    bound->a.col = base + part->col_at;
    bound->a.val = base + part->val_at;
  }
  bound->problem = problem_of(exec, part, &bound->a);
  if (shared) {
    bound->kernel = model->kernel;
    bound->prepared = model->prepared;
    bound->shared = true; /* and does not wait: narrower rows may be too short for that */
    return SLEY_OK;
  }
  sl_spmm_matrix known = bound->a;
  if (part->arrives_in >= 0)
    known.rows = 0; /* its arrays have no contents yet */
  sl_spmm_problem problem = problem_of(exec, part, &known);
  sl_kernel_args args = {.op = SL_OP_SPMM, .spmm = {.problem = &problem}};
  SL_TRY(sl_kernel_find(exec->comm->device, &args, &bound->kernel));
  bound->waits = bound->kernel->waits && bound->kernel->waits(&args);
  if (part->arrives_in >= 0)
    return SLEY_OK;
  args.spmm.problem = &bound->problem;
  return bound->kernel->prepare(exec->comm->device, exec->queue, &args, &bound->prepared);
}

static sley_status bind_local(sl_exec *exec) {
  SL_TRY(bind_buffers(exec));
  SL_TRY(SL_NEW_ZERO(exec->parts, exec->plan->parts.count, "bound parts"));
  SL_TRY(SL_NEW_ZERO(exec->exchanges, exec->plan->exchanges.count, "bound exchanges"));
  SL_TRY(SL_NEW_ZERO(exec->lent_out, exec->plan->exchanges.count, "bound exchanges"));
  if (forks(exec->plan)) {
    sl_device *device = exec->comm->device;
    SL_TRY(device->ops->queue_create(device, NULL, &exec->beside));
    SL_TRY(device->ops->event_create(device, &exec->forked));
    SL_TRY(device->ops->event_create(device, &exec->joined));
  }
  for (int i = 0; i < exec->plan->steps.count; i++)
    if (SL_STEP(exec->plan, i)->kind == SL_STEP_SPMM)
      SL_TRY(bind_part(exec, SL_STEP(exec->plan, i)->index));
  return SLEY_OK;
}

static void free_buffers(sl_exec *exec) {
  sl_device *device = exec->comm->device;
  if (exec->packed)
    device->ops->free(device, exec->packed);
  if (exec->result)
    device->ops->free(device, exec->result);
  for (int i = SL_BUFFER_Y + 1; exec->memory && i < exec->plan->buffers.count; i++)
    if (exec->memory[i] && !is_borrowed(exec, i))
      device->ops->free(device, exec->memory[i]);
  sl_conversions_destroy(exec->conversions);
  sl_free(exec->lent);
  sl_free(exec->pages);
}

void sl_exec_destroy(sl_exec *exec) {
  if (!exec)
    return;
  const sl_plan *plan = exec->plan;
  sl_fetches_destroy(exec->fetches);
  for (int i = plan->exchanges.count - 1; exec->exchanges && i >= 0; i--)
    if (exec->exchanges[i])
      exec->comm->ops->exchange_destroy(exec->exchanges[i]);
  for (int i = 0; exec->parts && i < plan->parts.count; i++)
    if (exec->parts[i].prepared && !exec->parts[i].shared)
      exec->parts[i].kernel->release(exec->comm->device, exec->parts[i].prepared);
  if (exec->beside) {
    (void)exec->beside->ops->queue_wait(exec->beside);
    exec->comm->device->ops->queue_destroy(exec->beside);
  }
  if (exec->forked)
    exec->comm->device->ops->event_destroy(exec->forked);
  if (exec->joined)
    exec->comm->device->ops->event_destroy(exec->joined);
  if (!exec->wide)
    free_buffers(exec);
  sl_free(exec->lent_out);
  sl_free(exec->exchanges);
  sl_free(exec->parts);
  sl_free(exec->stride);
  sl_free(exec->memory);
  sl_free(exec);
}

/* Moves or adds all rows of one strided array to another. */
static sley_status move_rows(const sl_exec *exec, int64_t rows, int64_t bytes, const void *src,
                             int64_t src_stride, void *dst, int64_t dst_stride, bool add) {
  sl_kernel_args args = {.op = SL_OP_ROWS,
                         .rows = {.count = rows,
                                  .bytes = bytes,
                                  .src = src,
                                  .src_stride = src_stride,
                                  .dst = dst,
                                  .dst_stride = dst_stride,
                                  .add = add,
                                  .dtype = exec->plan->dtype}};
  if (rows == 0 || bytes == 0)
    return SLEY_OK;
  return sl_kernel_run(exec->queue, &args);
}

static sley_status scale(const sl_exec *exec, sley_dtype dtype, int64_t rows, int64_t k, double beta, void *y,
                         int64_t stride) {
  sl_kernel_args args = {.op = SL_OP_SCALE,
                         .scale = {.rows = rows,
                                   .k = k,
                                   .beta = beta,
                                   .y = y,
                                   .ldy = stride / (int64_t)sley_dtype_bytes(dtype),
                                   .dtype = dtype}};
  if (rows == 0 || k == 0 || beta == 1)
    return SLEY_OK;
  return sl_kernel_run(exec->queue, &args);
}

/* Y = beta Y + result, rounded once. */
static sley_status round_result(const sl_exec *exec, double beta, void *y, int64_t y_stride) {
  const sl_plan *plan = exec->plan;
  sl_kernel_args args = {.op = SL_OP_ROUND,
                         .round = {.rows = plan->rows,
                                   .k = plan->k,
                                   .sums = exec->result,
                                   .ld_sums = plan->k,
                                   .beta = beta,
                                   .y = y,
                                   .ldy = y_stride / (int64_t)exec->value_bytes,
                                   .dtype = plan->dtype}};
  if (plan->rows == 0 || plan->k == 0)
    return SLEY_OK;
  return sl_kernel_run(exec->queue, &args);
}

/* Rank p's rows of X lie at src: enters them at p's segment. */
static void set_pages(const sl_exec *exec, int p, const void *src) {
  const int64_t *segment = exec->plan->segment;
  uintptr_t base = (uintptr_t)src - (uintptr_t)(segment[p] * exec->stride[SL_BUFFER_X]);
  for (int64_t page = segment[p] / SL_X_PAGE; page < segment[p + 1] / SL_X_PAGE; page++)
    exec->pages[page] = base;
}

static sley_status borrow(const sl_exec *exec, int index) {
  const sl_exchange_spec *spec = &SL_EXCHANGE(exec->plan, index)->spec;
  SL_TRY(exec->comm->ops->exchange_borrow(exec->exchanges[index], exec->lent, exec->queue));
  set_pages(exec, exec->comm->rank, exec->memory[SL_BUFFER_X]);
  for (int i = 0; i < spec->recvs; i++)
    set_pages(exec, spec->recv[i].peer, exec->lent[i].src);
  return SLEY_OK;
}

/* What a bound part's kernel is run with. */
static sl_kernel_args product_of(const sl_exec *exec, int index, double alpha, double beta) {
  const sl_part *part = SL_PART(exec->plan, index);
  const bound_part *bound = &exec->parts[index];
  int64_t y_bytes = (int64_t)(bound->problem.wide_y ? exec->sum_bytes : exec->value_bytes);
  return (sl_kernel_args){
      .op = SL_OP_SPMM,
      .spmm = {.problem = &bound->problem,
               .prepared = bound->prepared,
               .alpha = alpha,
               .beta = part->beta == SL_BETA_USER   ? beta
                       : part->beta == SL_BETA_ZERO ? 0
                                                    : 1,
               .x = exec->memory[part->x],
               .ldx = exec->stride[part->x] / (int64_t)exec->value_bytes,
               .far = part->far ? exec->memory[part->far] : NULL,
               .ldfar = part->far ? exec->stride[part->far] / (int64_t)exec->value_bytes : 0,
               .y = exec->memory[part->y],
               .ldy = exec->stride[part->y] / y_bytes,
               .beside_pull = part->beside_pull}};
}

static sley_status sum_part(const sl_exec *exec, int index, sl_queue *queue, double alpha, double beta) {
  const bound_part *bound = &exec->parts[index];
  const sl_part *part = SL_PART(exec->plan, index);
  if (!bound->kernel)
    return SLEY_OK;
  sl_kernel_args args = product_of(exec, index, alpha, beta);
  if (part->stages > 0)
    SL_TRY(sl_exchange_arrive(exec->exchanges[part->exchange], queue,
                              bound->waits ? &args.spmm.arrivals : NULL));
  double begin = exec->trace ? sl_now() : 0;
  sley_status status = bound->kernel->run(queue, &args);
  if (exec->trace)
    sl_trace_span(exec->trace, part->name, begin, sl_now(), -1);
  return status;
}

enum { EVERY_BUFFER = -1, NO_BUFFER = -2 };

/* The rows that ended exchanges sent from a buffer are this rank's again: at the latest, so that it does not
 * wait for a peer that is slow to take them while there is work to do. */
static sley_status reclaim(sl_exec *exec, int buffer) {
  for (int i = 0; i < exec->plan->exchanges.count && exec->lent_count > 0; i++) {
    if (!exec->lent_out[i] || (buffer != EVERY_BUFFER && buffer != SL_EXCHANGE(exec->plan, i)->src))
      continue;
    exec->lent_out[i] = false;
    exec->lent_count--;
    SL_TRY(sl_exchange_reclaim(exec->exchanges[i], exec->queue));
  }
  return SLEY_OK;
}

/* The buffer that a step writes to. */
static int written_by(const sl_plan *plan, const sl_step *step) {
  switch (step->kind) {
  case SL_STEP_BEGIN:
    return SL_EXCHANGE(plan, step->index)->dst;
  case SL_STEP_SPMM:
    return SL_PART(plan, step->index)->y;
  case SL_STEP_FETCH:
    return SL_FETCH(plan, step->index)->dst;
  case SL_STEP_SCALE:
    return SL_BUFFER_Y;
  case SL_STEP_ZERO:
    return step->index;
  case SL_STEP_CONVERT:
    return SL_CONVERSION(plan, step->index)->dst;
  default:
    return NO_BUFFER;
  }
}

static sley_status convert(const sl_exec *exec, int index) {
  int src = SL_CONVERSION(exec->plan, index)->src, dst = SL_CONVERSION(exec->plan, index)->dst;
  return sl_conversions_run(exec->conversions, exec->plan, index, exec->memory[src], exec->stride[src],
                            exec->memory[dst], exec->stride[dst], exec->queue);
}

static sley_status end_exchange(sl_exec *exec, int index) {
  SL_TRY(exec->comm->ops->exchange_end(exec->exchanges[index], exec->queue));
  exec->lent_out[index] = true;
  exec->lent_count++;
  return SLEY_OK;
}

/* A queue goes on once another has come this far. */
static sley_status follow(sl_queue *queue, sl_queue *other, sl_event *event) {
  SL_TRY(other->ops->event_record(other, event));
  return queue->ops->event_wait(queue, event);
}

static sley_status run_step(sl_exec *exec, const sl_step *step, double alpha, double beta) {
  const sl_plan *plan = exec->plan;
  const sl_transport_ops *transport = exec->comm->ops;
  SL_TRY(reclaim(exec, written_by(plan, step)));
  switch (step->kind) {
  case SL_STEP_BEGIN: {
    int src = SL_EXCHANGE(plan, step->index)->src, dst = SL_EXCHANGE(plan, step->index)->dst;
    return transport->exchange_begin(exec->exchanges[step->index], exec->memory[src], exec->stride[src],
                                     exec->memory[dst], exec->stride[dst], exec->queue);
  }
  case SL_STEP_BORROW:
    return borrow(exec, step->index);
  case SL_STEP_END:
    return end_exchange(exec, step->index);
  case SL_STEP_SPMM:
    return sum_part(exec, step->index, step->beside ? exec->beside : exec->queue, alpha, beta);
  case SL_STEP_FORK:
    return follow(exec->beside, exec->queue, exec->forked);
  case SL_STEP_JOIN:
    return follow(exec->queue, exec->beside, exec->joined);
  case SL_STEP_SCALE:
    return scale(exec, plan->wide_result ? plan->sum_dtype : plan->dtype, plan->rows, plan->k, beta,
                 exec->memory[SL_BUFFER_Y], exec->stride[SL_BUFFER_Y]);
  case SL_STEP_ZERO: {
    const sl_buffer *buffer = SL_BUFFER(plan, step->index);
    return scale(exec, plan->sum_dtype, buffer->rows, buffer->row_bytes / (int64_t)exec->sum_bytes, 0,
                 exec->memory[step->index], exec->stride[step->index]);
  }
  case SL_STEP_CONVERT:
    return convert(exec, step->index);
  case SL_STEP_PUBLISH:
    return sl_fetches_publish(exec->fetches, exec->memory[SL_BUFFER_X], exec->stride[SL_BUFFER_X]);
  case SL_STEP_FETCH:
    return sl_fetches_run(exec->fetches, step->index, exec->memory[SL_FETCH(plan, step->index)->dst]);
  case SL_STEP_RETIRE:
    return sl_fetches_retire(exec->fetches);
  }
  return sl_fail(SLEY_ERR_INTERNAL, "a plan has a step of unknown kind %d", (int)step->kind);
}

/* Lets kernels that read X in place settle their shape, by running them on operands of zeros with every
 * rank's X lent: as in a product, all at once. Returns what went wrong here after the ranks have come to the
 * end together. */
static sley_status tune_steps(sl_exec *exec) {
  const sl_plan *plan = exec->plan;
  sley_status tuned = SLEY_OK;
  for (int i = 0; i < plan->steps.count; i++) {
    const sl_step *step = SL_STEP(plan, i);
    if (step->kind == SL_STEP_BEGIN || step->kind == SL_STEP_BORROW || step->kind == SL_STEP_END)
      SL_TRY(run_step(exec, step, 1, 0));
    const bound_part *bound = step->kind == SL_STEP_SPMM ? &exec->parts[step->index] : NULL;
    if (!bound || !bound->kernel || !bound->kernel->tune || !SL_PART(plan, step->index)->in_place ||
        tuned != SLEY_OK)
      continue;
    sl_kernel_args args = product_of(exec, step->index, 1, 0);
    tuned = bound->kernel->tune(exec->queue, &args);
  }
  SL_TRY(reclaim(exec, EVERY_BUFFER));
  SL_TRY(exec->comm->device->ops->queue_wait(exec->queue));
  return tuned;
}

/* Collective, agreed. */
static sley_status tune(sl_exec *exec) {
  const sl_plan *plan = exec->plan;
  sl_device *device = exec->comm->device;
  if (!plan->segment || device->ops->host_addresses || plan->k == 0)
    return SLEY_OK;
  void *y = NULL;
  int64_t x_bytes = SL_BUFFER(plan, SL_BUFFER_X)->row_bytes,
          y_bytes = SL_BUFFER(plan, SL_BUFFER_Y)->row_bytes;
  sley_status status = device->ops->alloc(device, plan->rows * y_bytes, "Y to time with", &y);
  if (status == SLEY_OK)
    status = scale(exec, plan->dtype, plan->x_rows, plan->k, 0, exec->packed, x_bytes);
  status = sl_agree(exec->comm, status);
  if (status == SLEY_OK) {
    exec->memory[SL_BUFFER_X] = exec->packed;
    exec->stride[SL_BUFFER_X] = x_bytes;
    exec->memory[SL_BUFFER_Y] = y;
    exec->stride[SL_BUFFER_Y] = y_bytes;
    status = sl_agree(exec->comm, tune_steps(exec));
  }
  device->ops->free(device, y);
  return status;
}

const sl_neighbour_table *sl_exec_tuned(const sl_exec *exec) {
  const sl_neighbour_table *table = NULL;
  for (int i = 0; i < exec->plan->parts.count && !table; i++) {
    const bound_part *bound = &exec->parts[i];
    if (bound->kernel && bound->kernel->tuned)
      table = bound->kernel->tuned(bound->prepared);
  }
  return table && table->count > 0 ? table : NULL;
}

sley_status sl_exec_create_beside(const sl_plan *plan, const sl_exec *wide, sl_exec **out) {
  sl_comm *comm = plan->comm;
  sl_exec *exec = NULL;
  *out = NULL;
  sley_status status = sl_agree(comm, SL_NEW_ZERO(exec, 1, "an execution"));
  if (status != SLEY_OK) {
    sl_free(exec);
    return status;
  }
  exec->plan = plan;
  exec->wide = wide;
  exec->comm = comm;
  exec->queue = comm->queue;
  exec->trace = sl_trace_of(comm);
  exec->value_bytes = sley_dtype_bytes(plan->dtype);
  exec->sum_bytes = sley_dtype_bytes(plan->sum_dtype);
  status = sl_agree(comm, bind_local(exec));
  for (int i = 0; status == SLEY_OK && i < plan->exchanges.count; i++)
    status = comm->ops->exchange_create(comm, &SL_EXCHANGE(plan, i)->spec, &exec->exchanges[i]);
  if (status == SLEY_OK && fetches(plan))
    status = sl_fetches_create(plan, &exec->fetches);
  if (status == SLEY_OK && !wide)
    status = tune(exec);
  if (status != SLEY_OK) {
    sl_exec_destroy(exec);
    return status;
  }
  *out = exec;
  return SLEY_OK;
}

sley_status sl_exec_create(const sl_plan *plan, sl_exec **out) {
  return sl_exec_create_beside(plan, NULL, out);
}

/* Rows that are read in place must have the same stride on all ranks: that of rows without gaps. */
static sley_status pack_x(sl_exec *exec) {
  int64_t row_bytes = SL_BUFFER(exec->plan, SL_BUFFER_X)->row_bytes;
  if (exec->stride[SL_BUFFER_X] == row_bytes)
    return SLEY_OK;
  SL_TRY(move_rows(exec, exec->plan->x_rows, row_bytes, exec->memory[SL_BUFFER_X], exec->stride[SL_BUFFER_X],
                   exec->packed, row_bytes, false));
  exec->memory[SL_BUFFER_X] = exec->packed;
  exec->stride[SL_BUFFER_X] = row_bytes;
  return SLEY_OK;
}

/* Whether a step has to be run again for an X that has not changed: what fills other buffers than Y has done
 * so. */
static bool makes_result(const sl_plan *plan, const sl_step *step) {
  return step->kind == SL_STEP_FORK || step->kind == SL_STEP_JOIN || written_by(plan, step) == SL_BUFFER_Y;
}

/* The result = Y, in the type of sums. */
static sley_status widen_y(sl_exec *exec, const void *y, int64_t y_stride) {
  const sl_plan *plan = exec->plan;
  sl_kernel_args args = {.op = SL_OP_CONVERT,
                         .convert = {.count = plan->rows,
                                     .k = plan->k,
                                     .src = y,
                                     .src_stride = y_stride,
                                     .from = plan->dtype,
                                     .dst = exec->result,
                                     .dst_stride = SL_BUFFER(plan, SL_BUFFER_Y)->row_bytes,
                                     .to = plan->sum_dtype}};
  return plan->k == 0 ? SLEY_OK : sl_kernel_run(exec->queue, &args);
}

/* All steps, or with an unchanged X those that make Y; then Y = beta Y + result where the result was computed
 * apart: with a beta in the plan's own dtype, always where the result is wider than Y, unless that begins
 * with beta Y. */
static sley_status run_steps(sl_exec *exec, bool unchanged, double alpha, double beta, void *y,
                             int64_t y_stride) {
  const sl_plan *plan = exec->plan;
  int64_t row_bytes = SL_BUFFER(plan, SL_BUFFER_Y)->row_bytes;
  bool apart = plan->wide_result || (plan->separate_result && beta != 0);
  bool begins_with_y = plan->wide_result && plan->begins_with_y && beta != 0;
  double beta_at_end = begins_with_y ? 0 : beta;
  exec->memory[SL_BUFFER_Y] = apart ? exec->result : y;
  exec->stride[SL_BUFFER_Y] = apart ? row_bytes : y_stride;
  if (plan->segment)
    SL_TRY(pack_x(exec));
  if (begins_with_y)
    SL_TRY(widen_y(exec, y, y_stride));
  for (int i = 0; i < plan->steps.count; i++)
    if (!unchanged || makes_result(plan, SL_STEP(plan, i)))
      SL_TRY(run_step(exec, SL_STEP(plan, i), alpha, apart && !begins_with_y ? 0 : beta));
  if (plan->wide_result) {
    SL_TRY(round_result(exec, beta_at_end, y, y_stride));
  } else if (apart) {
    SL_TRY(scale(exec, plan->dtype, plan->rows, plan->k, beta, y, y_stride));
    SL_TRY(move_rows(exec, plan->rows, row_bytes, exec->result, row_bytes, y, y_stride, true));
  }
  return reclaim(exec, EVERY_BUFFER);
}

sley_status sl_exec_run(sl_exec *exec, bool unchanged, double alpha, const void *x, int64_t ldx, double beta,
                        void *y, int64_t ldy) {
  exec->memory[SL_BUFFER_X] = (void *)x;
  exec->stride[SL_BUFFER_X] = ldx * (int64_t)exec->value_bytes;
  /* Exchanges look whether the user has interrupted; a plan of one rank has none. */
  sley_status status = exec->plan->exchanges.count == 0 || unchanged ? sl_interrupted() : SLEY_OK;
  if (status == SLEY_OK)
    status = run_steps(exec, unchanged, alpha, beta, y, ldy * (int64_t)exec->value_bytes);
  if (status != SLEY_OK && status != SLEY_ERR_PEER)
    exec->comm->ops->abort(exec->comm, status);
  if (status != SLEY_OK && exec->beside)
    (void)exec->beside->ops->queue_wait(exec->beside); /* it was not joined */
  return status;
}
