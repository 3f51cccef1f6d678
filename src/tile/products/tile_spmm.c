/* SPDX-License-Identifier: Apache-2.0 */
#include "tile/products/tile_spmm.h"

#include "base/memory.h"

enum { WORD = sizeof(int64_t) };

/* ---- creation */

static int64_t flops_of(const sl_tile_spmm *p, const sl_tile_task *task) {
  return 2 * sl_tile_at(p->operands.a, task->i, task->l)->entries *
         sl_tile_width(&p->operands.y->tiling, task->j);
}

/* Predicts the traffic besides tiles: a word for each product that this rank pushes, and the products for its
 * tiles of Y. */
static void predict(sl_tile_spmm *p) {
  const sl_tile_operands *o = &p->operands;
  const sl_tiling *t = &o->y->tiling;
  sl_tile_task task;
  for (sl_walk walk = sl_walk_begin(o, p->comm->rank); sl_walk_next(&walk, &task);) {
    if (p->sums->queue)
      sl_task_predict(&p->loop, sl_tile_at(o->y, task.i, task.j)->rank, WORD);
    p->report.flops += flops_of(p, &task);
  }
  for (sl_own_tile at = sl_own_first(t, p->comm->rank); p->sums->queue && sl_own_is(t, &at);
       sl_own_next(t, &at))
    for (task = (sl_tile_task){.i = at.i, .j = at.j}; task.l < o->a->tiling.across; task.l++)
      if (sl_task_is(o, &task))
        sl_task_predict(&p->loop, sl_task_rank(o, &task), sl_product_bytes(p->sums, &task));
}

sley_status sl_tile_spmm_create(const sl_tile_operands *operands, int buffers, sl_tile_spmm **out) {
  sl_comm *comm = operands->y->comm;
  sl_tile_spmm *p;
  *out = NULL;
  sley_status status = SL_NEW_ZERO(p, 1, "a product of matrices in tiles");
  if (status == SLEY_OK) {
    p->comm = comm;
    p->operands = *operands;
    p->version = operands->a->version;
    status = sl_task_loop_open(&p->loop, &p->operands, &p->report);
  }
  status = sl_agree(comm, status);
  if (status == SLEY_OK)
    status = sl_tile_sums_create(&p->operands, buffers, &p->sums);
  if (status == SLEY_OK)
    status = sl_task_loop_schedule(&p->loop);
  if (status == SLEY_OK && operands->stealing != SL_STEAL_NOTHING)
    status = sl_claims_create(&p->operands, &p->claims);
  if (status != SLEY_OK) {
    sl_tile_spmm_destroy(p);
    return status;
  }
  predict(p);
  *out = p;
  return SLEY_OK;
}

void sl_tile_spmm_destroy(sl_tile_spmm *p) {
  if (!p)
    return;
  sl_task_loop_close(&p->loop);
  sl_claims_destroy(p->claims);
  sl_tile_sums_destroy(p->sums);
  sl_free(p);
}

/* ---- a run */

/* Sets y to beta y + alpha A X, in the type of sums. numbered: stored rows are added to the rows with their
 * numbers; otherwise they are contiguous. */
static sley_status multiply(const sl_tile_spmm *p, const sl_tile *a, const sl_tile *x, bool numbered,
                            double beta, void *y) {
  const sl_tiled *of = p->operands.a;
  const sl_spmm_matrix matrix = {.rows = a->stored,
                                 .rowid = numbered ? a->rowid : NULL,
                                 .rowptr = a->rowptr,
                                 .col = a->col,
                                 .val = a->val,
                                 .index = of->index,
                                 .dtype = of->dtype};
  sl_spmm_problem problem = {.a = &matrix,
                             .k = x->cols,
                             .x_rows = x->rows,
                             .wide_y = true,
                             .arrives = true,
                             .figures = &p->comm->device->figures};
  const sl_spmm_run product = {.problem = &problem,
                               .alpha = p->alpha,
                               .beta = beta,
                               .x = x->val,
                               .ldx = x->cols,
                               .y = y,
                               .ldy = x->cols};
  const sl_kernel_args args = {.op = SL_OP_SPMM, .spmm = product};
  const sl_kernel *kernel;
  sl_spmm_matrix known = matrix; /* the part of the matrix that the host can read */
  if (!p->comm->device->ops->host_addresses)
    known.rows = 0;
  problem.a = &known;
  SL_TRY(sl_kernel_find(p->comm->device, &args, &kernel));
  problem.a = &matrix;
  return kernel->run(p->comm->queue, &args);
}

/* Computes a product in a buffer, and pushes it to the owner of its tile of Y. */
static sley_status multiply_and_push(sl_tile_spmm *p, const sl_tile_task *task, const sl_tile *a,
                                     const sl_tile *x) {
  sl_tile_sums *s = p->sums;
  int buffer = task->buffer;
  if (!p->claims)
    SL_TRY(sl_tile_sums_buffer(s, true, &buffer));
  sl_task_spend(&p->loop, &p->report.accumulate_ms);
  void *product = sl_tile_queue_contents(s->queue, buffer);
  SL_TRY(multiply(p, a, x, false, 0, product));
  sl_task_spend(&p->loop, &p->report.compute_ms);
  if (a->rowid)
    SL_TRY(p->comm->device->ops->copy(p->comm->queue, SL_COPY_WITHIN, sl_product_rows(s, task, product),
                                      a->rowid, a->stored * WORD));
  SL_TRY(sl_tile_sums_push(s, task, buffer));
  SL_TRY(sl_tile_sums_drain(s, NULL));
  sl_task_spend(&p->loop, &p->report.accumulate_ms);
  return SLEY_OK;
}

static sley_status run_task(void *context, sl_task_loop *loop, const sl_tile_task *task, const sl_tile *a,
                            const sl_tile *x) {
  sl_tile_spmm *p = context;
  if (p->claims) {
    p->report.tasks++;
    p->report.flops += flops_of(p, task);
  }
  sl_task_count_stage(loop, task, flops_of(p, task));
  if (p->sums->queue)
    return multiply_and_push(p, task, a, x);
  SL_TRY(multiply(p, a, x, true, 1, sl_tile_sums_at(p->sums, task->i, task->j)));
  sl_task_spend(loop, &p->report.compute_ms);
  return SLEY_OK;
}

/* A rank claims a task only when it has a free buffer, so that each claimed task is computed without
 * waiting. */
static sley_status next_claim(void *context, bool waits, sl_tile_task *task, bool *any) {
  sl_tile_spmm *p = context;
  int buffer;
  *any = false;
  SL_TRY(sl_tile_sums_buffer(p->sums, waits, &buffer));
  if (buffer < 0)
    return SLEY_OK;
  SL_TRY(sl_claims_next(p->claims, task, any));
  task->buffer = buffer;
  if (!*any)
    sl_tile_queue_put_back(p->sums->queue, buffer);
  return SLEY_OK;
}

/* Adds products of other ranks until all have arrived, and sends what this rank still has to send. */
static sley_status add_the_rest(sl_tile_spmm *p) {
  while (p->sums->added < p->sums->expected) {
    bool any;
    SL_TRY(sl_tile_sums_drain(p->sums, &any));
    if (!any)
      sl_tile_queue_nap();
    sl_task_spend(&p->loop, any ? &p->report.accumulate_ms : &p->report.imbalance_ms);
  }
  return p->sums->queue ? sl_tile_queue_settle(p->sums->queue) : SLEY_OK;
}

static sley_status run_all(sl_tile_spmm *p, double beta) {
  SL_TRY(sl_tile_sums_begin(p->sums, beta));
  sl_task_spend(&p->loop, &p->report.compute_ms);
  if (p->claims) {
    p->report.tasks = p->report.flops = 0; /* tasks and flops are counted as they are claimed */
    SL_TRY(sl_claims_begin(p->claims));
    SL_TRY(sl_task_loop_run(&p->loop, next_claim, p, run_task, p));
    p->report.stolen = p->claims->stolen;
  } else {
    SL_TRY(sl_task_loop_run(&p->loop, NULL, NULL, run_task, p));
  }
  SL_TRY(add_the_rest(p));
  SL_TRY(sl_tile_sums_end(p->sums, beta));
  SL_TRY(p->comm->ops->wait(p->comm));
  sl_task_spend(&p->loop, &p->report.compute_ms);
  return SLEY_OK;
}

sley_status sl_tile_spmm_run(sl_tile_spmm *p, double alpha, double beta) {
  p->alpha = alpha;
  sl_task_loop_start(&p->loop);
  sley_status status = sl_abort_on_error(p->comm, run_all(p, beta));
  if (status == SLEY_OK)
    status = p->comm->ops->barrier(p->comm);
  sl_task_spend(&p->loop, &p->report.imbalance_ms);
  sl_task_loop_stop(&p->loop);
  p->failed = p->failed || status != SLEY_OK;
  return status;
}
