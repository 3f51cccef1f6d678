/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of steps that all algorithms share. plan/step.h describes the slots. */
#include <stdio.h>

#include "exec/exec_inside.h"

/* run is the first member of an sl_exec. */
static sl_exec *exec_of(sl_run *run) {
  return (sl_exec *)run;
}

static const char *name_of(const sl_plan *plan, int buffer) {
  return SL_BUFFER(plan, buffer)->name;
}

/* ---- begin, map, arrive, end: an exchange */

static int64_t list_rows(const sl_row_list *lists, int count) {
  int64_t rows = 0;
  for (int i = 0; i < count; i++)
    rows += lists[i].count;
  return rows;
}

static void describe_exchange(const char *verb, const sl_plan *plan, int index, char *line, size_t bytes) {
  const sl_plan_exchange *x = SL_EXCHANGE(plan, index);
  snprintf(line, bytes,
           "%s exchange %d, %s: send %lld rows of %s to %d ranks, receive %lld from %d into %s%s", verb,
           index, x->spec.name, (long long)list_rows(x->spec.send, x->spec.sends), name_of(plan, x->src),
           x->spec.sends, (long long)list_rows(x->spec.recv, x->spec.recvs), x->spec.recvs,
           name_of(plan, x->dst), x->spec.add ? " (added)" : "");
}

static int begin_writes(const sl_plan *plan, const sl_step *step) {
  return SL_EXCHANGE(plan, step->index)->dst;
}

static void begin_describe(const sl_plan *plan, const sl_step *step, char *line, size_t bytes) {
  describe_exchange("begin", plan, step->index, line, bytes);
}

static sley_status begin_run(sl_run *run, const sl_step *step, void *state) {
  (void)state;
  int src = SL_EXCHANGE(run->plan, step->index)->src, dst = SL_EXCHANGE(run->plan, step->index)->dst;
  return run->comm->ops->exchange_begin(exec_of(run)->exchanges[step->index], run->memory[src],
                                        run->stride[src], run->memory[dst], run->stride[dst], run->queue);
}

const sl_step_kind sl_step_begin = {SL_STEP_DEFAULTS,
                                    .name = "begin",
                                    .acts = SL_ACT_BEGIN | SL_ACT_MOVE,
                                    .writes = begin_writes,
                                    .describe = begin_describe,
                                    .run = begin_run};

static void map_describe(const sl_plan *plan, const sl_step *step, char *line, size_t bytes) {
  snprintf(line, bytes, "map exchange %d, %s: its rows are read in place until its end", step->index,
           SL_EXCHANGE(plan, step->index)->spec.name);
}

/* Enters the address src of rank p's rows of X for all pages of p's segment. */
static void set_pages(const sl_exec *exec, int p, const void *src) {
  const int64_t *segment = exec->run.plan->segment;
  uintptr_t base = (uintptr_t)src - (uintptr_t)(segment[p] * exec->run.stride[SL_BUFFER_X]);
  for (int64_t page = segment[p] / SL_X_PAGE; page < segment[p + 1] / SL_X_PAGE; page++)
    exec->pages[page] = base;
}

static sley_status map_run(sl_run *run, const sl_step *step, void *state) {
  (void)state;
  const sl_exec *exec = exec_of(run);
  const sl_exchange_spec *spec = &SL_EXCHANGE(run->plan, step->index)->spec;
  SL_TRY(run->comm->ops->exchange_map(exec->exchanges[step->index], exec->mapped, run->queue));
  set_pages(exec, run->comm->rank, run->memory[SL_BUFFER_X]);
  for (int i = 0; i < spec->recvs; i++)
    set_pages(exec, spec->recv[i].peer, exec->mapped[i].src);
  return SLEY_OK;
}

const sl_step_kind sl_step_map = {SL_STEP_DEFAULTS,
                                  .name = "map",
                                  .acts = SL_ACT_MAP | SL_ACT_MOVE,
                                  .describe = map_describe,
                                  .run = map_run};

static void arrive_describe(const sl_plan *plan, const sl_step *step, char *line, size_t bytes) {
  snprintf(line, bytes, "arrive exchange %d, %s: its first piece has arrived", step->index,
           SL_EXCHANGE(plan, step->index)->spec.name);
}

static sley_status arrive_run(sl_run *run, const sl_step *step, void *state) {
  (void)state;
  sl_exec *exec = exec_of(run);
  return sl_exchange_arrive(exec->exchanges[step->index], step->concurrent ? exec->second_queue : run->queue,
                            &exec->words[step->index]);
}

const sl_step_kind sl_step_arrive = {SL_STEP_DEFAULTS,
                                     .name = "arrive",
                                     .acts = SL_ACT_MOVE,
                                     .describe = arrive_describe,
                                     .run = arrive_run};

static void end_describe(const sl_plan *plan, const sl_step *step, char *line, size_t bytes) {
  describe_exchange("end", plan, step->index, line, bytes);
}

static sley_status end_run(sl_run *run, const sl_step *step, void *state) {
  (void)state;
  sl_exec *exec = exec_of(run);
  exec->words[step->index] = NULL;
  SL_TRY(run->comm->ops->exchange_end(exec->exchanges[step->index], run->queue));
  exec->unreclaimed[step->index] = true;
  exec->unreclaimed_count++;
  return SLEY_OK;
}

const sl_step_kind sl_step_end = {SL_STEP_DEFAULTS,
                                  .name = "end",
                                  .acts = SL_ACT_END | SL_ACT_MOVE,
                                  .describe = end_describe,
                                  .run = end_run};

/* ---- spmm: a part */

static int spmm_writes(const sl_plan *plan, const sl_step *step) {
  return SL_PART(plan, step->index)->y;
}

static int spmm_uses(sl_plan *plan, sl_step *step, int **used) {
  sl_part *part = SL_PART(plan, step->index);
  int count = 0;
  used[count++] = &part->x;
  used[count++] = &part->y;
  if (part->far)
    used[count++] = &part->far;
  if (part->arrives_in >= 0)
    used[count++] = &part->arrives_in;
  return count;
}

static void spmm_describe(const sl_plan *plan, const sl_step *step, char *line, size_t bytes) {
  if (plan->dry) {
    snprintf(line, bytes, "sum part %d", step->index);
    return;
  }
  const sl_part *p = SL_PART(plan, step->index);
  char arrives[64] = "";
  if (p->pieces > 0)
    snprintf(arrives, sizeof arrives, " as %d pieces of exchange %d arrive", p->pieces, p->exchange);
  snprintf(line, bytes, "sum part %d, %s%s: %lld rows, %lld entries, %s%s%s -> %s%s", step->index, p->name,
           arrives, (long long)p->a.rows, (long long)p->nnz, name_of(plan, p->x), p->far ? " and " : "",
           p->far ? name_of(plan, p->far) : "", name_of(plan, p->y),
           p->beta == SL_BETA_USER   ? " (after beta Y)"
           : p->beta == SL_BETA_ZERO ? " (overwriting)"
                                     : "");
}

static void spmm_cost(const sl_plan *plan, const sl_step *step, sl_step_cost *sum) {
  (void)plan, (void)step;
  sum->products++;
}

static sley_status spmm_bind(sl_run *run, const sl_step *step, void **state) {
  (void)state;
  return sl_product_bind(exec_of(run), step->index);
}

static sley_status spmm_run(sl_run *run, const sl_step *step, void *state) {
  (void)state;
  return sl_product_run(exec_of(run), step->index,
                        step->concurrent ? exec_of(run)->second_queue : run->queue);
}

/* Its memory slot is empty: sl_exec_memory counts the parts, and sl_exec_destroy releases them. */
const sl_step_kind sl_step_spmm = {SL_STEP_DEFAULTS,
                                   .name = "spmm",
                                   .acts = SL_ACT_SUM,
                                   .writes = spmm_writes,
                                   .uses = spmm_uses,
                                   .describe = spmm_describe,
                                   .cost = spmm_cost,
                                   .bind = spmm_bind,
                                   .run = spmm_run};

/* ---- fork, join: concurrent steps */

static void fork_describe(const sl_plan *plan, const sl_step *step, char *line, size_t bytes) {
  (void)plan, (void)step;
  snprintf(line, bytes, "fork: the steps marked * run concurrently with the others");
}

static void join_describe(const sl_plan *plan, const sl_step *step, char *line, size_t bytes) {
  (void)plan, (void)step;
  snprintf(line, bytes, "join");
}

static sley_status fork_bind(sl_run *run, const sl_step *step, void **state) {
  (void)step, (void)state;
  sl_exec *exec = exec_of(run);
  sl_device *device = run->comm->device;
  if (exec->second_queue)
    return SLEY_OK;
  SL_TRY(device->ops->queue_create(device, NULL, &exec->second_queue));
  SL_TRY(device->ops->event_create(device, &exec->forked));
  return device->ops->event_create(device, &exec->joined);
}

/* Makes a queue wait for the work that another queue has so far. */
static sley_status follow(sl_queue *queue, sl_queue *other, sl_event *event) {
  SL_TRY(other->ops->event_record(other, event));
  return queue->ops->event_wait(queue, event);
}

static sley_status fork_run(sl_run *run, const sl_step *step, void *state) {
  (void)step, (void)state;
  return follow(exec_of(run)->second_queue, run->queue, exec_of(run)->forked);
}

static sley_status join_run(sl_run *run, const sl_step *step, void *state) {
  (void)step, (void)state;
  return follow(run->queue, exec_of(run)->second_queue, exec_of(run)->joined);
}

/* sl_exec_destroy releases the queue and events that fork binds. */
const sl_step_kind sl_step_fork = {SL_STEP_DEFAULTS,
                                   .name = "fork",
                                   .acts = SL_ACT_ORDER,
                                   .describe = fork_describe,
                                   .bind = fork_bind,
                                   .run = fork_run};
const sl_step_kind sl_step_join = {SL_STEP_DEFAULTS,
                                   .name = "join",
                                   .acts = SL_ACT_ORDER,
                                   .describe = join_describe,
                                   .run = join_run};

/* ---- scale, zero, convert: passes over a buffer */

static int scale_writes(const sl_plan *plan, const sl_step *step) {
  (void)plan, (void)step;
  return SL_BUFFER_Y;
}

static void scale_describe(const sl_plan *plan, const sl_step *step, char *line, size_t bytes) {
  (void)plan, (void)step;
  snprintf(line, bytes, "Y = beta Y");
}

static void scale_cost(const sl_plan *plan, const sl_step *step, sl_step_cost *sum) {
  (void)plan, (void)step;
  sum->passes++;
}

static sley_status scale_run(sl_run *run, const sl_step *step, void *state) {
  (void)step, (void)state;
  const sl_plan *plan = run->plan;
  return sl_operand_scale(exec_of(run), plan->wide_result ? plan->sum_dtype : plan->dtype, plan->rows,
                          plan->k, run->beta, run->memory[SL_BUFFER_Y], run->stride[SL_BUFFER_Y]);
}

const sl_step_kind sl_step_scale = {SL_STEP_DEFAULTS,
                                    .name = "scale",
                                    .writes = scale_writes,
                                    .describe = scale_describe,
                                    .cost = scale_cost,
                                    .run = scale_run};

static int zero_writes(const sl_plan *plan, const sl_step *step) {
  (void)plan;
  return step->index;
}

static int zero_uses(sl_plan *plan, sl_step *step, int **used) {
  (void)plan;
  used[0] = &step->index;
  return 1;
}

static void zero_describe(const sl_plan *plan, const sl_step *step, char *line, size_t bytes) {
  snprintf(line, bytes, "%s = 0", name_of(plan, step->index));
}

static sley_status zero_run(sl_run *run, const sl_step *step, void *state) {
  (void)state;
  const sl_buffer *buffer = SL_BUFFER(run->plan, step->index);
  int64_t k = buffer->row_bytes / (int64_t)exec_of(run)->sum_bytes;
  return sl_operand_scale(exec_of(run), run->plan->sum_dtype, buffer->rows, k, 0, run->memory[step->index],
                          run->stride[step->index]);
}

const sl_step_kind sl_step_zero = {SL_STEP_DEFAULTS,
                                   .name = "zero",
                                   .writes = zero_writes,
                                   .uses = zero_uses,
                                   .describe = zero_describe,
                                   .run = zero_run};

static int convert_writes(const sl_plan *plan, const sl_step *step) {
  return SL_CONVERSION(plan, step->index)->dst;
}

static int convert_uses(sl_plan *plan, sl_step *step, int **used) {
  used[0] = &SL_CONVERSION(plan, step->index)->src;
  used[1] = &SL_CONVERSION(plan, step->index)->dst;
  return 2;
}

static void convert_describe(const sl_plan *plan, const sl_step *step, char *line, size_t bytes) {
  const sl_conversion *c = SL_CONVERSION(plan, step->index);
  snprintf(line, bytes, "%lld rows of %s %s %s%s", (long long)c->count, name_of(plan, c->src),
           c->add ? "are added to" : "become rows of", name_of(plan, c->dst),
           c->from == c->to ? "" : ", in another type");
}

static sley_status convert_run(sl_run *run, const sl_step *step, void *state) {
  (void)state;
  int src = SL_CONVERSION(run->plan, step->index)->src, dst = SL_CONVERSION(run->plan, step->index)->dst;
  return sl_conversions_run(exec_of(run)->conversions, run->plan, step->index, run->memory[src],
                            run->stride[src], run->memory[dst], run->stride[dst], run->queue);
}

/* Its cost slot is empty: the cost model uses the plan's conversions. */
const sl_step_kind sl_step_convert = {SL_STEP_DEFAULTS,
                                      .name = "convert",
                                      .acts = SL_ACT_MOVE,
                                      .writes = convert_writes,
                                      .uses = convert_uses,
                                      .describe = convert_describe,
                                      .run = convert_run};

/* ---- publish, fetch, retire: one-sided fetches */

static void publish_describe(const sl_plan *plan, const sl_step *step, char *line, size_t bytes) {
  (void)plan, (void)step;
  snprintf(line, bytes, "publish X for one-sided fetches");
}

static sley_status publish_run(sl_run *run, const sl_step *step, void *state) {
  (void)step, (void)state;
  return sl_fetches_publish(exec_of(run)->fetches, run->memory[SL_BUFFER_X], run->stride[SL_BUFFER_X]);
}

static int fetch_writes(const sl_plan *plan, const sl_step *step) {
  return SL_FETCH(plan, step->index)->dst;
}

static int fetch_uses(sl_plan *plan, sl_step *step, int **used) {
  used[0] = &SL_FETCH(plan, step->index)->dst;
  return 1;
}

static void fetch_describe(const sl_plan *plan, const sl_step *step, char *line, size_t bytes) {
  const sl_fetch *fetch = SL_FETCH(plan, step->index);
  int64_t count = plan->dry ? 0 : fetch->count;
  for (int i = 0; plan->dry && i < plan->fetches.count; i++) /* a dry plan has one step for all fetches */
    count += SL_FETCH(plan, i)->count;
  snprintf(line, bytes, "fetch %lld rows one by one into %s", (long long)count, name_of(plan, fetch->dst));
}

static sley_status fetch_run(sl_run *run, const sl_step *step, void *state) {
  (void)state;
  return sl_fetches_run(exec_of(run)->fetches, step->index,
                        run->memory[SL_FETCH(run->plan, step->index)->dst]);
}

static void retire_describe(const sl_plan *plan, const sl_step *step, char *line, size_t bytes) {
  (void)plan, (void)step;
  snprintf(line, bytes, "wait until no rank fetches any more");
}

static sley_status retire_run(sl_run *run, const sl_step *step, void *state) {
  (void)step, (void)state;
  return sl_fetches_retire(exec_of(run)->fetches);
}

const sl_step_kind sl_step_publish = {SL_STEP_DEFAULTS,
                                      .name = "publish",
                                      .acts = SL_ACT_FETCH | SL_ACT_MOVE,
                                      .describe = publish_describe,
                                      .run = publish_run};
/* Its cost slot is empty: the cost model uses the plan's fetches. */
const sl_step_kind sl_step_fetch = {SL_STEP_DEFAULTS,
                                    .name = "fetch",
                                    .acts = SL_ACT_FETCH | SL_ACT_MOVE,
                                    .writes = fetch_writes,
                                    .uses = fetch_uses,
                                    .describe = fetch_describe,
                                    .run = fetch_run};
const sl_step_kind sl_step_retire = {SL_STEP_DEFAULTS,
                                     .name = "retire",
                                     .acts = SL_ACT_FETCH | SL_ACT_MOVE,
                                     .describe = retire_describe,
                                     .run = retire_run};
