/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel of dropout. */
#include "device/cpu/cpu.h"
#include "device/cpu/dense/activate.h"
#include "device/cpu/dense/doubles.h"
#include "device/cpu/dense/philox.h"

typedef struct dropout {
  const sl_dropout_args *a;
  uint32_t key[2], threshold;
  double factor;
} dropout;

/* Sets v to act(v + bias), for columns from j on. */
static void add_and_activate(const sl_dropout_args *a, int64_t j, int64_t count, double *v) {
  double bias[SL_DOUBLES];
  if (a->bias) {
    sl_doubles_load(a->bias, a->dtype, j, count, bias);
    for (int64_t c = 0; c < count; c++)
      v[c] += bias[c];
  }
  sl_activate(a->act, a->slope, v, count);
}

static void drop_row(const dropout *d, int64_t i) {
  const sl_dropout_args *a = d->a;
  const uint64_t number = a->row ? (uint64_t)a->row[i] : (uint64_t)a->first_row + (uint64_t)i;
  double v[SL_DOUBLES];
  uint32_t word[SL_DOUBLES] = {0};
  for (int64_t j = 0; j < a->cols; j += SL_DOUBLES) {
    const int64_t count = a->cols - j < SL_DOUBLES ? a->cols - j : SL_DOUBLES;
    const int64_t column = a->column ? a->column[i] : j;
    const uint32_t counter[] = {(uint32_t)(column / SL_DROPOUT_WORDS), (uint32_t)number,
                                (uint32_t)(number >> 32), a->stream};
    if (d->threshold > 0)
      sl_philox(d->key, counter, (count + SL_DROPOUT_WORDS - 1) / SL_DROPOUT_WORDS, word);
    if (a->column)
      word[0] = word[column % SL_DROPOUT_WORDS];
    sl_doubles_load(a->in, a->dtype, i * a->ld_in + j, count, v);
    add_and_activate(a, j, count, v);
    for (int64_t c = 0; c < count; c++) {
      const double kept = v[c] * d->factor;
      v[c] = word[c] < d->threshold ? 0 : kept;
    }
    sl_doubles_store(a->out, a->dtype, i * a->ld_out + j, count, v);
  }
}

static sley_status drop_rows(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  for (int64_t i = begin; i < end; i++)
    drop_row(context, i);
  return SLEY_OK;
}

static sley_status dropout_run(sl_queue *queue, const sl_kernel_args *args) {
  const sl_dropout_args *a = &args->dropout;
  const uint64_t seed = a->device_seed ? *a->device_seed : a->seed;
  dropout d = {.a = a,
               .key = {(uint32_t)seed, (uint32_t)(seed >> 32)},
               .threshold = sl_dropout_threshold(a->p),
               .factor = 1 / (1 - a->p)};
  if (d.threshold > 0 && !sl_philox_is_there())
    return sl_fail(SLEY_ERR_UNSUPPORTED,
                   "dropout: this build has no Random123: install librandom123-dev and build again");
  if (a->rows <= 0 || a->cols <= 0)
    return SLEY_OK;
  return sl_team_for(sl_cpu_queue_team(queue), a->rows, sl_rows_grain(a->cols), drop_rows, &d);
}

static bool dropout_ok(const sl_kernel_args *args) {
  return sl_dropout_ok(&args->dropout);
}

const sl_kernel sl_cpu_dropout = {.name = "dropout",
                                  .op = SL_OP_DROPOUT,
                                  .ok = dropout_ok,
                                  .cost = sl_cost_of_bytes,
                                  SL_KERNEL_KEEPS_NOTHING,
                                  .run = dropout_run};
