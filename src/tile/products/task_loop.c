/* SPDX-License-Identifier: Apache-2.0 */
#include "tile/products/task_loop.h"

#include <string.h>

#include "base/clock.h"
#include "base/interrupt.h"

enum { MS = 1000 };

/* ---- traffic */

static void add_traffic(sley_traffic *to, sl_link link, int64_t bytes, int64_t messages) {
  int64_t *of_bytes = link == SL_LINK_DIRECT    ? &to->direct_bytes
                      : link == SL_LINK_MESSAGE ? &to->message_bytes
                                                : &to->self_bytes;
  int64_t *of_messages = link == SL_LINK_DIRECT    ? &to->direct_messages
                         : link == SL_LINK_MESSAGE ? &to->message_messages
                                                   : &to->self_messages;
  *of_bytes += bytes;
  *of_messages += messages;
}

void sl_task_predict(sl_task_loop *loop, int rank, int64_t bytes) {
  add_traffic(&loop->report->predicted, sl_link_to(loop->comm, rank), bytes, bytes > 0);
}

void sl_task_predict_exchange(sl_task_loop *loop, int rank, int64_t bytes) {
  const sl_row_list list = {.peer = rank, .count = bytes, .bytes = 1};
  add_traffic(&loop->report->predicted, sl_link_to(loop->comm, rank), bytes,
              loop->comm->ops->list_messages(loop->comm, &list, SL_GRAIN_PEER));
}

static void predict(sl_task_loop *loop) {
  const sl_tile_operands *o = loop->o;
  sl_tile_task task;
  for (sl_walk walk = sl_walk_begin(o, loop->comm->rank); sl_walk_next(&walk, &task); loop->report->tasks++) {
    if (o->schedule)
      continue;
    const sl_tile_pointer *a = sl_tile_at(o->a, task.i, task.l), *x = sl_tile_at(o->x, task.l, task.j);
    sl_task_predict(loop, a->rank, a->bytes);
    sl_task_predict(loop, x->rank, x->bytes);
    if (o->mask) {
      const sl_tile_pointer *mask = sl_tile_at(o->mask, task.i, task.j);
      sl_task_predict(loop, mask->rank, mask->bytes);
    }
  }
}

/* ---- memory */

/* Opens the fetches of both tiles. Stationary tiles are this rank's own and need no memory, unless tasks are
 * stolen. The mask is divided like Y. A product of two sparse tiles reads rows of the second tile for each
 * entry of the first, twice. */
static sley_status open_pair(const sl_tile_operands *o, sl_tile_pair *pair) {
  const bool steals = o->stealing != SL_STEAL_NOTHING;
  const sl_tile_reader reader = o->y->sparse ? SL_TILE_FOR_DEVICE_OFTEN : SL_TILE_FOR_DEVICE;
  sl_tile_fetch_open_own(&pair->a, o->a, reader);
  sl_tile_fetch_open_own(&pair->x, o->x, reader);
  if (o->mask)
    sl_tile_fetch_open_own(&pair->mask, o->mask, SL_TILE_FOR_DEVICE);
  if (o->mask && sl_tile_pushes(o))
    SL_TRY(sl_tile_fetch_open(&pair->mask, o->mask, SL_TILE_FOR_DEVICE));
  if (o->stationary != SL_STATIONARY_A || steals)
    SL_TRY(sl_tile_fetch_open(&pair->a, o->a, reader));
  return o->stationary == SL_STATIONARY_B && !steals ? SLEY_OK : sl_tile_fetch_open(&pair->x, o->x, reader);
}

sley_status sl_task_loop_open(sl_task_loop *loop, const sl_tile_operands *o, sley_tile_report *report) {
  *loop = (sl_task_loop){.o = o, .comm = o->y->comm, .report = report};
  for (int i = 0; i < 2 && !o->schedule; i++)
    SL_TRY(open_pair(o, &loop->pair[i]));
  predict(loop);
  return SLEY_OK;
}

sley_status sl_task_loop_schedule(sl_task_loop *loop) {
  return loop->o->schedule ? loop->o->schedule->create(loop, &loop->state) : SLEY_OK;
}

void sl_task_loop_close(sl_task_loop *loop) {
  if (loop->state)
    loop->o->schedule->destroy(loop->state);
  for (int i = 0; i < 2; i++) {
    sl_tile_fetch_close(&loop->pair[i].a);
    sl_tile_fetch_close(&loop->pair[i].x);
    sl_tile_fetch_close(&loop->pair[i].mask);
  }
}

/* ---- a run */

void sl_task_loop_start(sl_task_loop *loop) {
  sley_tile_report *r = loop->report;
  r->total_ms = r->compute_ms = r->communicate_ms = r->accumulate_ms = r->imbalance_ms = 0;
  if (loop->o->stage_flops)
    memset(loop->o->stage_flops, 0, (size_t)sl_tile_stages(loop->o) * sizeof *loop->o->stage_flops);
  loop->comm->ops->counters(loop->comm, &loop->before);
  loop->started = loop->since = sl_now();
}

void sl_task_loop_stop(sl_task_loop *loop) {
  sl_counters after;
  loop->report->total_ms = MS * (loop->since - loop->started);
  loop->report->counted = (sley_traffic){0};
  loop->comm->ops->counters(loop->comm, &after);
  for (int link = 0; link < SL_LINK_COUNT; link++)
    add_traffic(&loop->report->counted, (sl_link)link, after.bytes[link] - loop->before.bytes[link],
                after.messages[link] - loop->before.messages[link]);
}

void sl_task_count_stage(sl_task_loop *loop, const sl_tile_task *task, int64_t flops) {
  if (loop->o->stage_flops)
    loop->o->stage_flops[sl_task_stage(loop->o, task)] += flops;
}

void sl_task_spend(sl_task_loop *loop, double *part) {
  const double now = sl_now();
  *part += MS * (now - loop->since);
  loop->since = now;
}

static sley_status begin_pair(sl_tile_pair *pair) {
  SL_TRY(sl_tile_begin(&pair->a, pair->task.i, pair->task.l));
  if (pair->mask.of)
    SL_TRY(sl_tile_begin(&pair->mask, pair->task.i, pair->task.j));
  return sl_tile_begin(&pair->x, pair->task.l, pair->task.j);
}

static sley_status run_task(sl_task_loop *loop, sl_tile_pair *pair, sl_task_body body, void *context) {
  sl_tile a, x;
  SL_TRY(sl_tile_wait(&pair->a, &a));
  SL_TRY(sl_tile_wait(&pair->x, &x));
  if (pair->mask.of)
    SL_TRY(sl_tile_wait(&pair->mask, &loop->mask));
  sl_task_spend(loop, &loop->report->communicate_ms);
  return body(context, loop, &pair->task, &a, &x);
}

/* The source of all tasks of this rank. */
static sley_status next_of_walk(void *context, bool waits, sl_tile_task *task, bool *any) {
  (void)waits;
  *any = sl_walk_next(context, task);
  return SLEY_OK;
}

static sley_status ask(sl_task_source source, void *context, bool waits, sl_tile_pair *pair, bool *any) {
  SL_TRY(source(context, waits, &pair->task, any));
  return *any ? begin_pair(pair) : SLEY_OK;
}

sley_status sl_task_loop_run(sl_task_loop *loop, sl_task_source source, void *source_context,
                             sl_task_body body, void *context) {
  sl_tile_pair *now = &loop->pair[0], *next = &loop->pair[1];
  sl_walk walk = sl_walk_begin(loop->o, loop->comm->rank);
  bool have, ahead;
  if (loop->state) {
    const sley_status status = loop->o->schedule->run(loop->state, body, context);
    if (status != SLEY_OK && loop->comm->size > 1) /* before exchanges in flight are destroyed */
      loop->comm->ops->abort(loop->comm, status);
    return status;
  }
  if (!source) {
    source = next_of_walk;
    source_context = &walk;
  }
  SL_TRY(ask(source, source_context, true, now, &have));
  while (have) {
    SL_TRY(sl_interrupted());
    SL_TRY(ask(source, source_context, false, next, &ahead));
    SL_TRY(run_task(loop, now, body, context));
    if (!ahead)
      SL_TRY(ask(source, source_context, true, next, &ahead));
    sl_tile_pair *done = now;
    now = next;
    next = done;
    have = ahead;
  }
  sl_task_spend(loop, &loop->report->communicate_ms); /* the time in which it finds that no tasks are left to
                                                         claim */
  return SLEY_OK;
}
