/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel of log-softmax and the negative log-likelihood. Each task is a block of rows and has its own sum
 * of losses. */
#include <math.h>

#include "base/memory.h"
#include "device/cpu/cpu.h"
#include "device/cpu/dense/doubles.h"
#include "device/cpu/dense/exps.h"

typedef struct loss {
  const sl_nll_args *a;
  int64_t block_rows;
  double (*sums)[2]; /* sums of each block; NULL if they are not computed */
} loss;

/* Figures from which a row's outputs are computed. */
typedef struct row_figures {
  double most, sum, log_sum;
} row_figures;

static int64_t load_logits(const sl_nll_args *a, int64_t i, int64_t j, double *z) {
  const int64_t count = a->classes - j < SL_DOUBLES ? a->classes - j : SL_DOUBLES;
  sl_doubles_load(a->logits, a->dtype, i * a->ld + j, count, z);
  return count;
}

/* Sets z to exp(logit - most) for a run of the row's logits from class j on. Returns the length of the run.
 */
static int64_t load_powers(const sl_nll_args *a, int64_t i, int64_t j, double most, double *z) {
  const int64_t count = load_logits(a, i, j, z);
  for (int64_t c = 0; c < count; c++)
    z[c] -= most;
  sl_exps(z, count);
  return count;
}

static double most_of_row(const sl_nll_args *a, int64_t i) {
  double z[SL_DOUBLES], most = -INFINITY;
  for (int64_t j = 0; j < a->classes; j += SL_DOUBLES) {
    const int64_t count = load_logits(a, i, j, z);
    for (int64_t c = 0; c < count; c++)
      most = z[c] > most ? z[c] : most;
  }
  return most;
}

/* Adds the terms in SL_NLL_LANES lanes, then the lanes by halves. SL_DOUBLES is a multiple of the lanes. */
static double sum_of_row(const sl_nll_args *a, int64_t i, double most) {
  double z[SL_DOUBLES], lane[SL_NLL_LANES] = {0};
  for (int64_t j = 0; j < a->classes; j += SL_DOUBLES) {
    const int64_t count = load_powers(a, i, j, most, z);
    for (int64_t c = 0; c < count; c++)
      lane[c % SL_NLL_LANES] += z[c];
  }
  for (int d = SL_NLL_LANES / 2; d > 0; d /= 2)
    for (int l = 0; l < d; l++)
      lane[l] += lane[l + d];
  return lane[0];
}

static row_figures figures_of_row(const sl_nll_args *a, int64_t i) {
  row_figures r = {.most = most_of_row(a, i)};
  r.sum = sum_of_row(a, i, r.most);
  r.log_sum = log(r.sum);
  return r;
}

static double loss_of_row(const sl_nll_args *a, int64_t i, const row_figures *r) {
  const int64_t label = a->label[i];
  if (label == -1)
    return 0;
  if (label < 0 || label >= a->classes)
    return NAN;
  return (r->most - sl_value_at(a->logits, a->dtype, i * a->ld + label)) + r->log_sum;
}

static void write_log_probs(const sl_nll_args *a, int64_t i, const row_figures *r) {
  double z[SL_DOUBLES];
  for (int64_t j = 0; j < a->classes; j += SL_DOUBLES) {
    const int64_t count = load_logits(a, i, j, z);
    for (int64_t c = 0; c < count; c++)
      z[c] = (z[c] - r->most) - r->log_sum;
    sl_doubles_store(a->log_probs, a->dtype, i * a->ld_log_probs + j, count, z);
  }
}

static void write_grad(const sl_nll_args *a, int64_t i, const row_figures *r) {
  const int64_t label = a->label[i];
  const bool known = label >= 0 && label < a->classes;
  const double factor = a->device_scale ? a->grad_scale * *a->device_scale : a->grad_scale;
  const double scale = known ? factor : NAN;
  double z[SL_DOUBLES];
  for (int64_t j = 0; j < a->classes; j += SL_DOUBLES) {
    const int64_t count = load_powers(a, i, j, r->most, z);
    for (int64_t c = 0; c < count; c++)
      z[c] = label == -1 ? 0 : scale * (z[c] / r->sum - (j + c == label ? 1 : 0));
    sl_doubles_store(a->grad, a->dtype, i * a->ld_grad + j, count, z);
  }
}

/* Writes the outputs of row i and returns its loss. */
static double work_on_row(const sl_nll_args *a, int64_t i) {
  const row_figures r = figures_of_row(a, i);
  const double lost = loss_of_row(a, i, &r);
  if (a->row_loss)
    a->row_loss[i] = lost;
  if (a->log_probs)
    write_log_probs(a, i, &r);
  if (a->grad)
    write_grad(a, i, &r);
  return lost;
}

static sley_status work_on_blocks(void *context, int64_t begin, int64_t end, int thread) {
  const loss *l = context;
  const sl_nll_args *a = l->a;
  (void)thread;
  for (int64_t b = begin; b < end; b++) {
    const int64_t first = b * l->block_rows, last = first + l->block_rows;
    double sum = 0, counted = 0;
    for (int64_t i = first; i < last && i < a->rows; i++) {
      sum += work_on_row(a, i);
      counted += a->label[i] != -1;
    }
    if (l->sums) {
      l->sums[b][0] = sum;
      l->sums[b][1] = counted;
    }
  }
  return SLEY_OK;
}

static void add_blocks(const loss *l, int64_t blocks, double *to) {
  to[0] = to[1] = 0;
  for (int64_t first = 0; first < blocks; first += SL_SUM_GROUP) {
    double group[2] = {0};
    for (int64_t b = first; b < first + SL_SUM_GROUP && b < blocks; b++) {
      group[0] += l->sums[b][0];
      group[1] += l->sums[b][1];
    }
    to[0] += group[0];
    to[1] += group[1];
  }
}

static sley_status nll_run(sl_queue *queue, const sl_kernel_args *args) {
  const sl_nll_args *a = &args->nll;
  loss l = {.a = a, .block_rows = sl_sum_rows(a->rows, 2)};
  const int64_t blocks = sl_sum_blocks(a->rows, 2);
  if (a->sums)
    SL_TRY(SL_NEW(l.sums, blocks, "sums of losses"));
  sley_status status = sl_team_for(sl_cpu_queue_team(queue), blocks, 1, work_on_blocks, &l);
  if (status == SLEY_OK && a->sums)
    add_blocks(&l, blocks, a->sums);
  sl_free(l.sums);
  return status;
}

static bool nll_ok(const sl_kernel_args *args) {
  return sl_nll_ok(&args->nll);
}

const sl_kernel sl_cpu_nll = {.name = "likelihood",
                              .op = SL_OP_NLL,
                              .ok = nll_ok,
                              .cost = sl_cost_of_bytes,
                              SL_KERNEL_KEEPS_NOTHING,
                              .run = nll_run};
