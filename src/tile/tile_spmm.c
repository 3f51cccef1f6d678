/* SPDX-License-Identifier: Apache-2.0 */
#include "tile/tile_spmm.h"

#include <string.h>

#include "base/clock.h"
#include "base/memory.h"

enum { MS = 1000, WORD = sizeof(int64_t) };

/* ---- what will move */

static void count(const sl_tile_spmm *p, int rank, int64_t bytes, sl_counters *to) {
  const sl_link link = sl_link_to(p->comm, rank);
  to->bytes[link] += bytes;
  to->messages[link] += bytes > 0;
}

static sley_traffic traffic_of(const sl_counters *c) {
  return (sley_traffic){c->bytes[SL_LINK_DIRECT],     c->messages[SL_LINK_DIRECT], c->bytes[SL_LINK_MESSAGE],
                        c->messages[SL_LINK_MESSAGE], c->bytes[SL_LINK_SELF],      c->messages[SL_LINK_SELF]};
}

/* Fetched: tiles of this rank's tasks, and products for its tiles of Y. Put: a word for each product that it
 * pushes. */
static void predict(sl_tile_spmm *p) {
  const sl_tile_operands *o = &p->operands;
  sl_counters sum = {0};
  sl_tile_task task;
  for (sl_walk walk = sl_walk_begin(o, p->comm->rank); sl_walk_next(&walk, &task);) {
    const sl_tile_pointer *a = sl_tile_at(o->a, task.i, task.l), *x = sl_tile_at(o->x, task.l, task.j);
    count(p, a->rank, a->bytes, &sum);
    count(p, x->rank, x->bytes, &sum);
    if (p->sums->queue)
      count(p, sl_tile_at(o->y, task.i, task.j)->rank, WORD, &sum);
    p->report.tasks++;
    p->report.flops += 2 * a->entries * sl_tile_width(&o->y->tiling, task.j);
  }
  const sl_tiling *t = &o->y->tiling;
  for (sl_own_tile at = sl_own_first(t, p->comm->rank); p->sums->queue && sl_own_is(t, &at);
       sl_own_next(t, &at))
    for (task = (sl_tile_task){.i = at.i, .j = at.j}; task.l < o->a->tiling.across; task.l++)
      if (sl_task_is(o, &task))
        count(p, sl_task_rank(o, &task), sl_product_bytes(p->sums, &task), &sum);
  p->report.predicted = traffic_of(&sum);
}

/* ---- memory */

/* Tiles of the stationary matrix are this rank's own, and need no room. */
static sley_status open_pair(const sl_tile_operands *o, sl_tile_pair *pair) {
  pair->a = (sl_tile_fetch){.of = o->a};
  pair->x = (sl_tile_fetch){.of = o->x};
  if (o->stationary != SL_STATIONARY_A)
    SL_TRY(sl_tile_fetch_open(&pair->a, o->a));
  return o->stationary == SL_STATIONARY_B ? SLEY_OK : sl_tile_fetch_open(&pair->x, o->x);
}

sley_status sl_tile_spmm_create(const sl_tile_operands *operands, int buffers, sl_tile_spmm **out) {
  sl_comm *comm = operands->y->comm;
  sl_tile_spmm *p;
  *out = NULL;
  sley_status status = SL_NEW_ZERO(p, 1, "a product of matrices in tiles");
  if (status == SLEY_OK) {
    p->comm = comm;
    p->operands = *operands;
    status = open_pair(&p->operands, &p->pair[0]);
    if (status == SLEY_OK)
      status = open_pair(&p->operands, &p->pair[1]);
  }
  status = sl_agree(comm, status);
  if (status == SLEY_OK)
    status = sl_tile_sums_create(&p->operands, buffers, &p->sums);
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
  for (int i = 0; i < 2; i++) {
    sl_tile_fetch_close(&p->pair[i].a);
    sl_tile_fetch_close(&p->pair[i].x);
  }
  sl_tile_sums_destroy(p->sums);
  sl_free(p);
}

/* ---- a run */

/* One run: its time goes to one part of the report after the other. */
typedef struct run {
  sl_tile_spmm *p;
  double alpha, since;
} run;

static void spend(run *r, double *on) {
  const double now = sl_now();
  *on += MS * (now - r->since);
  r->since = now;
}

static sley_status begin_pair(sl_tile_pair *pair) {
  SL_TRY(sl_tile_begin(&pair->a, pair->task.i, pair->task.l));
  return sl_tile_begin(&pair->x, pair->task.l, pair->task.j);
}

/* y = beta y + alpha A X, in the type of sums; numbered: stored rows go to the rows that they are, else they
 * follow each other. */
static sley_status multiply(const run *r, const sl_tile *a, const sl_tile *x, bool numbered, double beta,
                            void *y) {
  const sl_tiled *of = r->p->operands.a;
  const sl_spmm_matrix matrix = {.rows = a->stored,
                                 .rowid = numbered ? a->rowid : NULL,
                                 .rowptr = a->rowptr,
                                 .col = a->col,
                                 .val = a->val,
                                 .index = of->index,
                                 .dtype = of->dtype};
  const sl_spmm_problem problem = {
      .a = &matrix, .k = x->cols, .x_rows = x->rows, .wide_y = true, .arrives = true};
  const sl_spmm_run product = {.problem = &problem,
                               .alpha = r->alpha,
                               .beta = beta,
                               .x = x->val,
                               .ldx = x->cols,
                               .y = y,
                               .ldy = x->cols};
  SL_TRY(sl_kernel_run(r->p->comm->queue, &(sl_kernel_args){.op = SL_OP_SPMM, .spmm = product}));
  return r->p->comm->device->ops->queue_wait(r->p->comm->queue);
}

/* A free buffer. While there is none this rank adds what others have pushed: they may wait for buffers, too.
 */
static sley_status await_buffer(run *r, int *buffer) {
  sl_tile_sums *s = r->p->sums;
  for (;;) {
    SL_TRY(sl_tile_queue_buffer(s->queue, buffer));
    if (*buffer >= 0)
      return SLEY_OK;
    SL_TRY(sl_tile_sums_drain(s, NULL));
  }
}

/* Makes a product in a buffer, and pushes it to the owner of its tile of Y. */
static sley_status multiply_and_push(run *r, const sl_tile_task *task, const sl_tile *a, const sl_tile *x) {
  sl_tile_sums *s = r->p->sums;
  sley_tile_report *to = &r->p->report;
  int buffer;
  SL_TRY(await_buffer(r, &buffer));
  spend(r, &to->accumulate_ms);
  void *product = sl_tile_queue_contents(s->queue, buffer);
  SL_TRY(multiply(r, a, x, false, 0, product));
  spend(r, &to->compute_ms);
  if (a->rowid)
    memcpy(sl_product_rows(s, task, product), a->rowid, (size_t)a->stored * sizeof *a->rowid);
  SL_TRY(sl_tile_sums_push(s, task, buffer));
  SL_TRY(sl_tile_sums_drain(s, NULL));
  spend(r, &to->accumulate_ms);
  return SLEY_OK;
}

static sley_status run_task(run *r, sl_tile_pair *pair) {
  sl_tile_sums *s = r->p->sums;
  sl_tile a, x;
  SL_TRY(sl_tile_wait(&pair->a, &a));
  SL_TRY(sl_tile_wait(&pair->x, &x));
  spend(r, &r->p->report.communicate_ms);
  if (s->queue)
    return multiply_and_push(r, &pair->task, &a, &x);
  SL_TRY(multiply(r, &a, &x, true, 1, sl_tile_sums_at(s, pair->task.i, pair->task.j)));
  spend(r, &r->p->report.compute_ms);
  return SLEY_OK;
}

/* All tasks of this rank; the tiles of the next one come while one is multiplied. */
static sley_status run_tasks(run *r) {
  sl_tile_pair *now = &r->p->pair[0], *next = &r->p->pair[1];
  sl_walk walk = sl_walk_begin(&r->p->operands, r->p->comm->rank);
  bool more = sl_walk_next(&walk, &now->task);
  if (more)
    SL_TRY(begin_pair(now));
  while (more) {
    more = sl_walk_next(&walk, &next->task);
    if (more)
      SL_TRY(begin_pair(next));
    SL_TRY(run_task(r, now));
    sl_tile_pair *done = now;
    now = next;
    next = done;
  }
  return SLEY_OK;
}

/* Products of other ranks, until all have come. */
static sley_status add_the_rest(run *r) {
  sl_tile_sums *s = r->p->sums;
  while (s->added < s->expected) {
    bool any;
    SL_TRY(sl_tile_sums_drain(s, &any));
    spend(r, any ? &r->p->report.accumulate_ms : &r->p->report.imbalance_ms);
  }
  return SLEY_OK;
}

static sley_status run_all(run *r, double beta) {
  sl_tile_spmm *p = r->p;
  SL_TRY(sl_tile_sums_begin(p->sums, beta));
  spend(r, &p->report.compute_ms);
  SL_TRY(run_tasks(r));
  SL_TRY(add_the_rest(r));
  SL_TRY(sl_tile_sums_end(p->sums, beta));
  SL_TRY(p->comm->ops->wait(p->comm));
  spend(r, &p->report.compute_ms);
  return SLEY_OK;
}

sley_status sl_tile_spmm_run(sl_tile_spmm *p, double alpha, double beta) {
  sley_tile_report *to = &p->report;
  sl_counters before, after;
  run r = {.p = p, .alpha = alpha, .since = sl_now()};
  const double start = r.since;
  to->compute_ms = to->communicate_ms = to->accumulate_ms = to->imbalance_ms = 0;
  p->comm->ops->counters(p->comm, &before);
  sley_status status = sl_abort_on_error(p->comm, run_all(&r, beta));
  if (status == SLEY_OK)
    status = p->comm->ops->barrier(p->comm);
  spend(&r, &to->imbalance_ms);
  to->total_ms = MS * (r.since - start);
  p->comm->ops->counters(p->comm, &after);
  for (int link = 0; link < SL_LINK_COUNT; link++) {
    after.bytes[link] -= before.bytes[link];
    after.messages[link] -= before.messages[link];
  }
  to->counted = traffic_of(&after);
  p->failed = p->failed || status != SLEY_OK;
  return status;
}
