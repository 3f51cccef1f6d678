/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the threshold of a gradient from a sample, and removes the values below it from the gradient. The
 * reference for all devices. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/value.h"
#include "device/cpu/cpu.h"
#include "device/cpu/rows/convert.h"

/* ---- the threshold */

enum { GRAIN_PLACES = 4096, DIGIT_BITS = 8, DIGITS = 1 << DIGIT_BITS };

/* Magnitude of the sum at place i, as the bits of a double. Compared as integers, these are ordered as the
 * magnitudes are. */
static uint64_t magnitude_at(const sl_threshold_args *a, int64_t i) {
  const double g = sl_value_at(a->src, a->dtype, i);
  double s = g + sl_value_at(a->residual, sl_sum_dtype(a->dtype), i);
  uint64_t bits;
  if (a->dtype != SLEY_F64)
    s = (double)(float)s; /* the sum of two floats in double, rounded once, equals a sum in float */
  s = isfinite(g) && !isnan(s) ? fabs(s) : INFINITY;
  memcpy(&bits, &s, sizeof bits);
  return bits;
}

static sley_status look_at_places(void *context, int64_t begin, int64_t end, int thread) {
  const sl_threshold_args *a = context;
  (void)thread;
  for (int64_t j = begin; j < end; j++)
    a->work[j] = magnitude_at(a, sl_sample_place(a->count, a->sample, a->seed, j));
  return SLEY_OK;
}

/* Returns the word with this rank, counted from the greatest. Finds its digits one by one, the highest
 * first. */
static uint64_t select_word(const uint64_t *word, int64_t count, int64_t rank) {
  uint64_t found = 0, known = 0; /* known: mask of the bits already found */
  for (int shift = 64 - DIGIT_BITS; shift >= 0; shift -= DIGIT_BITS) {
    int64_t tally[DIGITS] = {0};
    for (int64_t j = 0; j < count; j++)
      if ((word[j] & known) == found)
        tally[word[j] >> shift & (DIGITS - 1)]++;
    int digit = DIGITS - 1;
    for (; rank > tally[digit]; digit--)
      rank -= tally[digit];
    found |= (uint64_t)digit << shift;
    known |= (uint64_t)(DIGITS - 1) << shift;
  }
  return found;
}

static sley_status threshold_run(sl_queue *queue, const sl_kernel_args *args) {
  sl_threshold_args a = args->threshold;
  *a.threshold = 0;
  if (a.rank == 0)
    return SLEY_OK;
  SL_TRY(sl_team_for(sl_cpu_queue_team(queue), a.sample, GRAIN_PLACES, look_at_places, &a));
  const uint64_t found = select_word(a.work, a.sample, a.rank);
  memcpy(a.threshold, &found, sizeof found);
  return SLEY_OK;
}

static bool threshold_ok(const sl_kernel_args *args) {
  return sl_threshold_ok(&args->threshold);
}

const sl_kernel sl_cpu_threshold = {.name = "threshold",
                                    .op = SL_OP_THRESHOLD,
                                    .ok = threshold_ok,
                                    .cost = sl_cost_of_bytes,
                                    SL_KERNEL_KEEPS_NOTHING,
                                    .run = threshold_run};

/* ---- leaving out */

enum { RUN = 512, GRAIN = 64 * RUN }; /* in values */

/* Splits gradients into what is sent (sent, in place) and what stays (residual). most: the greatest magnitude
 * that can be sent. */
static void cut_f32(float threshold, float most, int64_t count, float *restrict sent,
                    float *restrict residual) {
  for (int64_t i = 0; i < count; i++) {
    const float g = sent[i], s = g + residual[i], size = fabsf(s);
    const float within = s > most ? most : s < -most ? -most : s;
    const float whole = size <= FLT_MAX ? within : s, kept = size < threshold ? 0 : whole;
    const float out = fabsf(g) <= FLT_MAX ? kept : g, left = size <= FLT_MAX ? s - kept : 0;
    residual[i] = fabsf(g) <= FLT_MAX ? left + 0.0f : residual[i]; /* because -0 + 0 is +0 */
    sent[i] = out == out ? out + 0.0f : NAN;
  }
}

static void cut_f64(double threshold, int64_t count, double *restrict sent, double *restrict residual) {
  for (int64_t i = 0; i < count; i++) {
    const double g = sent[i], s = g + residual[i], size = fabs(s), kept = size < threshold ? 0 : s;
    const double out = fabs(g) <= DBL_MAX ? kept : g, left = size <= DBL_MAX ? s - kept : 0;
    residual[i] = fabs(g) <= DBL_MAX ? left + 0.0 : residual[i];
    sent[i] = out == out ? out + 0.0 : (double)NAN;
  }
}

typedef struct sparsification {
  const sl_sparsify_args *a;
  sl_cpu_convert_row *convert;
} sparsification;

/* Cuts one run, and returns how many values of it are not zero. */
static int64_t cut_run_f32(const sl_sparsify_args *a, int64_t first, int64_t count) {
  float *dst = (float *)a->dst + first;
  int64_t kept = 0;
  if (a->dst != a->src)
    memcpy(dst, (const float *)a->src + first, (size_t)count * sizeof *dst);
  cut_f32((float)*a->threshold, FLT_MAX, count, dst, (float *)a->residual + first);
  for (int64_t i = 0; i < count; i++)
    kept += dst[i] != 0;
  return kept;
}

static int64_t cut_run_f64(const sl_sparsify_args *a, int64_t first, int64_t count) {
  double *dst = (double *)a->dst + first;
  int64_t kept = 0;
  if (a->dst != a->src)
    memcpy(dst, (const double *)a->src + first, (size_t)count * sizeof *dst);
  cut_f64(*a->threshold, count, dst, (double *)a->residual + first);
  for (int64_t i = 0; i < count; i++)
    kept += dst[i] != 0;
  return kept;
}

/* Like cut_run_f32, but sums are rounded to 16 bits, and the rounding errors are added to the residual. */
static int64_t cut_run_16(const sparsification *c, int64_t first, int64_t count) {
  const sl_sparsify_args *a = c->a;
  uint16_t *dst = (uint16_t *)a->dst + first;
  float *residual = (float *)a->residual + first, sent[RUN], rounded[RUN];
  const float most = a->dtype == SLEY_F16 ? 65504.0f : sl_f32_of_bf16(0x7f7f);
  int64_t kept = 0;
  c->convert((char *)sent, SLEY_F32, (const char *)((const uint16_t *)a->src + first), a->dtype, count,
             false);
  cut_f32((float)*a->threshold, most, count, sent, residual);
  c->convert((char *)dst, a->dtype, (const char *)sent, SLEY_F32, count, false);
  c->convert((char *)rounded, SLEY_F32, (const char *)dst, a->dtype, count, false);
  for (int64_t i = 0; i < count; i++) {
    residual[i] = fabsf(sent[i]) <= FLT_MAX ? residual[i] + (sent[i] - rounded[i]) : residual[i];
    dst[i] = rounded[i] == 0 ? 0 : dst[i];
    kept += dst[i] != 0;
  }
  return kept;
}

static sley_status cut_range(void *context, int64_t begin, int64_t end, int thread) {
  const sparsification *c = context;
  const sl_sparsify_args *a = c->a;
  int64_t kept = 0;
  (void)thread;
  for (int64_t i = begin; i < end; i += RUN) {
    const int64_t count = end - i < RUN ? end - i : RUN;
    kept += a->dtype == SLEY_F32   ? cut_run_f32(a, i, count)
            : a->dtype == SLEY_F64 ? cut_run_f64(a, i, count)
                                   : cut_run_16(c, i, count);
  }
  __atomic_fetch_add(a->kept, kept, __ATOMIC_RELAXED);
  return SLEY_OK;
}

static sley_status sparsify_run(sl_queue *queue, const sl_kernel_args *args) {
  sl_sparsify_args a = args->sparsify;
  sparsification c = {&a, sl_cpu_convert_row_find()};
  *a.kept = 0;
  return sl_team_for(sl_cpu_queue_team(queue), a.count, GRAIN, cut_range, &c);
}

static bool sparsify_ok(const sl_kernel_args *args) {
  return sl_sparsify_ok(&args->sparsify);
}

const sl_kernel sl_cpu_sparsify = {.name = "sparsification",
                                   .op = SL_OP_SPARSIFY,
                                   .ok = sparsify_ok,
                                   .cost = sl_cost_of_bytes,
                                   SL_KERNEL_KEEPS_NOTHING,
                                   .run = sparsify_run};
