/* SPDX-License-Identifier: Apache-2.0 */
/* A complete algorithm with a kind of step of its own in one file, as CONTRIBUTING describes it. The new step
 * first copies X to a buffer, from which the halo and the products read. Its plans are predicted, described,
 * executed, executed again with an unchanged input, and with values that travel in a narrower type, on every
 * transport and device. */
#include <stdatomic.h>
#include <stdio.h>

#include "algo/algorithm.h"
#include "base/memory.h"
#include "base/random.h"
#include "exec/exec.h"
#include "mirror.h"
#include "plan/describe.h"
#include "plan/step.h"
#include "predict/cost.h"
#include "ranks.h"

/* ---- the kind of step: copies X's rows to buffer `index`; data: bytes for its prediction */

static _Atomic int bound, released;

static int copy_writes(const sl_plan *plan, const sl_step *step) {
  (void)plan;
  return step->index;
}

static int copy_uses(sl_plan *plan, sl_step *step, int **used) {
  (void)plan;
  used[0] = &step->index;
  return 1;
}

static void copy_describe(const sl_plan *plan, const sl_step *step, char *line, size_t bytes) {
  snprintf(line, bytes, "copy X to %s", SL_BUFFER(plan, step->index)->name);
}

static void copy_cost(const sl_plan *plan, const sl_step *step, sl_step_cost *sum) {
  (void)plan;
  sum->bytes += *(const double *)step->data;
}

static sley_status copy_bind(sl_run *run, const sl_step *step, void **state) {
  (void)run, (void)step;
  int *runs;
  SL_TRY(SL_NEW_ZERO(runs, 1, "a step's state"));
  *state = runs;
  atomic_fetch_add(&bound, 1);
  return SLEY_OK;
}

static void copy_release(sl_run *run, void *state) {
  (void)run;
  atomic_fetch_add(&released, state != NULL);
  sl_free(state);
}

static sley_status copy_run(sl_run *run, const sl_step *step, void *state) {
  const sl_buffer *buffer = SL_BUFFER(run->plan, step->index);
  ++*(int *)state;
  if (buffer->rows == 0 || buffer->row_bytes == 0)
    return SLEY_OK;
  return sl_kernel_run(run->queue, &(sl_kernel_args){.op = SL_OP_ROWS,
                                                     .rows = {.count = buffer->rows,
                                                              .bytes = buffer->row_bytes,
                                                              .src = run->memory[SL_BUFFER_X],
                                                              .src_stride = run->stride[SL_BUFFER_X],
                                                              .dst = run->memory[step->index],
                                                              .dst_stride = run->stride[step->index],
                                                              .dtype = run->plan->dtype}});
}

static const sl_step_kind copy_step = {SL_STEP_DEFAULTS,
                                       .name = "copy",
                                       .writes = copy_writes,
                                       .uses = copy_uses,
                                       .describe = copy_describe,
                                       .cost = copy_cost,
                                       .bind = copy_bind,
                                       .release = copy_release,
                                       .run = copy_run};

/* ---- the algorithm */

static sley_status build_with(const sl_inspection *ins, sl_plan *plan, double bytes) {
  int copy, buffer, exchange, local, remote;
  int64_t row_bytes = ins->wishes->row_bytes;
  double *counted = sl_plan_alloc(plan, 1, sizeof *counted);
  if (!counted)
    return SLEY_ERR_MEMORY;
  *counted = bytes;
  SL_TRY(sl_plan_add_buffer(plan, "a copy of X", ins->x_rows, row_bytes, &copy));
  SL_TRY(sl_plan_add_buffer(plan, "halo", ins->halo->count, row_bytes, &buffer));
  SL_TRY(sl_plan_add_halo(plan, "halo", ins->halo, SL_HALO_GATHER, copy, buffer, row_bytes, SL_GRAIN_PEER,
                          &exchange));
  SL_TRY(sl_plan_divide(plan, exchange, &local, &remote));
  SL_TRY(sl_plan_append_step(plan, &(sl_step){.kind = &copy_step, .index = copy, .data = counted}));
  SL_TRY(sl_plan_add_step(plan, SL_STEP_BEGIN, exchange));
  SL_TRY(sl_plan_add_step(plan, SL_STEP_SPMM, local));
  SL_TRY(sl_plan_add_step(plan, SL_STEP_END, exchange));
  return sl_plan_add_step(plan, SL_STEP_SPMM, remote);
}

static sley_status build_copied(const sl_inspection *ins, sl_plan *plan) {
  return build_with(ins, plan, 2 * (double)ins->x_rows * (double)ins->wishes->row_bytes);
}

static sley_status build_dear(const sl_inspection *ins, sl_plan *plan) {
  return build_with(ins, plan, 1e15);
}

static const sl_algorithm copied = {.name = "halo-copied",
                                    .summary = "as halo, from a copy of X",
                                    .consider = sl_consider_always,
                                    .prepare = sl_prepare_no_more,
                                    .build = build_copied};
static const sl_algorithm dear = {.name = "halo-dear",
                                  .summary = "as halo-copied, said to take long",
                                  .consider = sl_consider_always,
                                  .prepare = sl_prepare_no_more,
                                  .build = build_dear};

/* ---- products with whole numbers, whose sums are exact */

enum { ROWS = 37, K = 5, LD = 7 };

typedef enum way { PLAIN, KEEPS_INPUT, NARROW, IN_ORDER, WAYS } way;

typedef struct sample {
  uint64_t seed;
  way way;
  int64_t begin[9];
} sample;

static double entry_at(const sample *s, int64_t row, int64_t col) {
  uint64_t bits = sl_random(s->seed, (uint64_t)row, (uint64_t)col);
  return bits % 4 ? 0 : (double)(bits / 4 % 7) - 3;
}

static float x_at(int64_t row, int64_t j) {
  return (float)((row * 5 + j * 3) % 17 - 8);
}

static sley_status make_block(const sample *s, int rank, sley_matrix **out) {
  int64_t rows = s->begin[rank + 1] - s->begin[rank], rowptr[ROWS + 1] = {0}, count = 0;
  int32_t col[ROWS * ROWS];
  float val[ROWS * ROWS];
  for (int64_t i = 0; i < rows; i++) {
    for (int32_t j = 0; j < ROWS; j++)
      if (entry_at(s, s->begin[rank] + i, j) != 0) {
        col[count] = j;
        val[count++] = (float)entry_at(s, s->begin[rank] + i, j);
      }
    rowptr[i + 1] = count;
  }
  sley_csr csr = {.rows = rows,
                  .cols = ROWS,
                  .index = SLEY_I32,
                  .dtype = SLEY_F32,
                  .rowptr = rowptr,
                  .col = col,
                  .val = val};
  return sley_matrix_from_csr(&csr, SLEY_COPY, out);
}

static sley_status check(const sample *s, int rank, const float *y, double scale) {
  for (int64_t row = s->begin[rank]; row < s->begin[rank + 1]; row++)
    for (int64_t j = 0; j < K; j++) {
      double sum = 0;
      for (int64_t col = 0; col < ROWS; col++)
        sum += scale * entry_at(s, row, col) * (double)x_at(col, j);
      EXPECT((double)y[(row - s->begin[rank]) * LD + j] == sum);
    }
  return SLEY_OK;
}

/* Runs the plan. With an unchanged input, runs it a second time with other rows of X, which must not be read.
 */
static sley_status execute(const sample *s, const sl_plan *plan, sl_exec *exec, const mirror *x,
                           float *values, const mirror *y) {
  SL_TRY(sl_exec_run(exec, false, 1, x->here, LD, 0, y->here, LD));
  SL_TRY(mirror_fetch(y));
  SL_TRY(check(s, plan->comm->rank, y->host, 1));
  for (int64_t i = 0; i < plan->x_rows * LD; i++)
    values[i] *= 2;
  SL_TRY(mirror_send(x));
  bool unchanged = s->way == KEEPS_INPUT;
  SL_TRY(sl_exec_run(exec, unchanged, 1, x->here, LD, 0, y->here, LD));
  SL_TRY(mirror_fetch(y));
  return check(s, plan->comm->rank, y->host, unchanged ? 1 : 2);
}

static sley_status run_plan(const sample *s, const sl_plan *plan) {
  sl_comm *comm = plan->comm;
  float x_values[ROWS * LD + 1] = {0}, y_values[ROWS * LD + 1] = {0};
  mirror x = {0}, y = {0};
  sl_exec *exec = NULL;
  for (int64_t i = 0; i < plan->x_rows * LD; i++)
    x_values[i] = i % LD < K ? x_at(s->begin[comm->rank] + i / LD, i % LD) : -1000;
  sley_status status = mirror_open(comm, x_values, plan->x_rows * LD * (int64_t)sizeof(float), &x);
  if (status == SLEY_OK)
    status = mirror_open(comm, y_values, plan->rows * LD * (int64_t)sizeof(float), &y);
  status = sl_agree(comm, status);
  if (status == SLEY_OK)
    status = sl_exec_create(plan, &exec);
  if (status == SLEY_OK)
    status = sl_agree(comm, execute(s, plan, exec, &x, x_values, &y));
  sl_exec_destroy(exec);
  mirror_close(&y);
  mirror_close(&x);
  return status;
}

static sley_status plan_and_run(const sample *s, sl_inspection *ins) {
  sl_plan plan = {0}, dry = {0};
  char *text = NULL;
  sley_status status = sl_algorithm_build(&copied, ins, false, &plan);
  if (status == SLEY_OK)
    status = sl_plan_predict(ins, &plan);
  if (status == SLEY_OK)
    status = sl_algorithm_build(&dear, ins, true, &dry);
  if (status == SLEY_OK)
    status = sl_plan_predict(ins, &dry);
  if (status == SLEY_OK && dry.figures.predicted_seconds < plan.figures.predicted_seconds + 1)
    status = sl_fail(SLEY_ERR_INTERNAL, "the cost of the new step is not counted: %g s, %g s",
                     dry.figures.predicted_seconds, plan.figures.predicted_seconds);
  if (status == SLEY_OK)
    status = sl_plan_describe(&plan, &text);
  if (status == SLEY_OK && !strstr(text, "copy X to a copy of X\n"))
    status = sl_fail(SLEY_ERR_INTERNAL, "the new step is not described: %s", text);
  sl_free(text);
  if (status == SLEY_OK)
    status = run_plan(s, &plan);
  sl_plan_free(&dry);
  sl_plan_free(&plan);
  return status;
}

static sley_status rank_main(sl_comm *comm, void *arg) {
  const sample *s = arg;
  sley_matrix *block = NULL;
  sl_inspection ins;
  sl_plan_wishes wishes = sl_plan_wishes_for(K, SLEY_F32);
  wishes.keeps_input = s->way == KEEPS_INPUT;
  wishes.has_wire = s->way == NARROW;
  wishes.reproducible = s->way == IN_ORDER;
  wishes.wire = s->way == NARROW ? SLEY_BF16 : SLEY_F32;
  sley_status status = sl_agree(comm, make_block(s, comm->rank, &block));
  if (status == SLEY_OK)
    status = sl_inspect(comm, block, s->begin, s->begin, &wishes, &ins);
  if (status == SLEY_OK) {
    status = plan_and_run(s, &ins);
    sl_inspection_free(&ins);
  }
  sley_matrix_destroy(block);
  return status;
}

static void run_samples(const rank_case *c) {
  for (int i = 0; i < WAYS; i++) {
    sample s = {.seed = c->seed, .way = (way)i};
    assert_sley_ok(sley_partition_equal(ROWS, c->ranks, s.begin));
    assert_case_ok(c, run_case(c, rank_main, &s));
  }
}

static void a_new_kind_of_step_serves(void **state) {
  (void)state;
  each_case(run_samples);
  assert_int_equal(bound, released);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_new_kind_of_step_serves)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
