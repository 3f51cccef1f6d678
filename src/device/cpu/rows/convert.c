/* SPDX-License-Identifier: Apache-2.0 */
/* Copies or adds listed rows and converts their type, over the team. Used if values travel in a narrower type
 * than they are computed in. */
#include "device/cpu/rows/convert.h"

#include "device/cpu/cpu.h"

static void narrow_f16(uint16_t *to, const float *from, int64_t count) {
  for (int64_t j = 0; j < count; j++)
    to[j] = sl_f16_of_f32(from[j]);
}

static void widen_f16(float *to, const uint16_t *from, int64_t count) {
  for (int64_t j = 0; j < count; j++)
    to[j] = sl_f32_of_f16(from[j]);
}

#include "device/cpu/rows/convert_body.h"

void sl_cpu_convert_row_portable(char *dst, sley_dtype to, const char *src, sley_dtype from, int64_t k,
                                 bool add) {
  convert_row(dst, to, src, from, k, add);
}

/* GRAIN_BYTES: bytes that a thread claims at a time. AHEAD: rows of a list that are prefetched, the first
 * AHEAD_BYTES of each. */
enum { GRAIN_BYTES = 256 << 10, AHEAD = 8, AHEAD_BYTES = 512, LINE = 64 };

typedef struct conversion {
  const sl_convert_args *a;
  sl_cpu_convert_row *row;
  int64_t src_bytes;
} conversion;

static const char *src_row(const sl_convert_args *a, int64_t i) {
  return (const char *)a->src + (a->src_rows ? a->src_rows[i] : a->src_first + i) * a->src_stride;
}

static char *dst_row(const sl_convert_args *a, int64_t i) {
  return (char *)a->dst + (a->dst_rows ? a->dst_rows[i] : a->dst_first + i) * a->dst_stride;
}

static sley_status convert_rows(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  const conversion *c = context;
  const sl_convert_args *a = c->a;
  for (int64_t i = begin; i < end; i++) {
    if (a->src_rows && i + AHEAD < end) {
      const char *ahead = src_row(a, i + AHEAD);
      for (int64_t at = 0; at < c->src_bytes && at < AHEAD_BYTES; at += LINE)
        __builtin_prefetch(ahead + at, 0, 3);
    }
    c->row(dst_row(a, i), a->to, src_row(a, i), a->from, a->k, a->add);
  }
  return SLEY_OK;
}

static sley_status convert_run(sl_queue *queue, const sl_kernel_args *args) {
  const sl_convert_args *a = &args->convert;
  if (a->count <= 0 || a->k <= 0)
    return SLEY_OK;
  conversion c = {a, sl_cpu_convert_row_find(), a->k * (int64_t)sley_dtype_bytes(a->from)};
  int64_t grain = GRAIN_BYTES / (c.src_bytes + a->k * (int64_t)sley_dtype_bytes(a->to)) + 1;
  return sl_team_for(sl_cpu_queue_team(queue), a->count, grain, convert_rows, &c);
}

const sl_kernel sl_cpu_convert = {.name = "convert",
                                  .op = SL_OP_CONVERT,
                                  .ok = sl_convert_ok,
                                  .cost = sl_cost_of_bytes,
                                  SL_KERNEL_KEEPS_NOTHING,
                                  .run = convert_run};
