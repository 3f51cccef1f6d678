/* SPDX-License-Identifier: Apache-2.0 */
/* Reduces several arrays to one, value by value, over the team. It works block by block, so that the sums
 * stay in the nearest cache. The reference for all devices. */
#include <string.h>

#include "base/half.h"
#include "device/cpu/rows/convert.h"
#include "device/cpu/cpu.h"

/* BLOCK: values of a block. GRAIN_BYTES: bytes of all parts that a thread claims at a time. */
enum { BLOCK = 1024, GRAIN_BYTES = 256 << 10 };

typedef union block {
  float f32[BLOCK];
  double f64[BLOCK];
  uint64_t u64[BLOCK];
} block;

typedef struct reduction {
  const sl_reduce_args *a;
  int64_t value_bytes;
  sl_cpu_convert_row *convert;
} reduction;

static inline uint64_t bits_of_double(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static inline double double_of_bits(uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* If values are equal, they can only differ in the sign of zero: the minimum is the bitwise or, the maximum
 * the bitwise and. NaN results from adding the two. */
#define JOINS(type, name, bits_of, of_bits)                                                                  \
  static void sum_##name(type *to, const type *from, int64_t count) {                                        \
    for (int64_t i = 0; i < count; i++)                                                                      \
      to[i] += from[i];                                                                                      \
  }                                                                                                          \
  static void min_##name(type *to, const type *from, int64_t count) {                                        \
    for (int64_t i = 0; i < count; i++) {                                                                    \
      type a = to[i], b = from[i], least = a < b ? a : b;                                                    \
      least = a == b ? of_bits(bits_of(a) | bits_of(b)) : least;                                             \
      to[i] = a != a || b != b ? a + b : least;                                                              \
    }                                                                                                        \
  }                                                                                                          \
  static void max_##name(type *to, const type *from, int64_t count) {                                        \
    for (int64_t i = 0; i < count; i++) {                                                                    \
      type a = to[i], b = from[i], most = a > b ? a : b;                                                     \
      most = a == b ? of_bits(bits_of(a) & bits_of(b)) : most;                                               \
      to[i] = a != a || b != b ? a + b : most;                                                               \
    }                                                                                                        \
  }                                                                                                          \
  static void join_##name(sley_reduce op, type *to, const type *from, int64_t count) {                       \
    if (op == SLEY_SUM)                                                                                      \
      sum_##name(to, from, count);                                                                           \
    else if (op == SLEY_MIN)                                                                                 \
      min_##name(to, from, count);                                                                           \
    else                                                                                                     \
      max_##name(to, from, count);                                                                           \
  }

JOINS(float, f32, sl_bits_of_float, sl_float_of_bits)
JOINS(double, f64, bits_of_double, double_of_bits)

static void join_i64(sley_reduce op, uint64_t *to, const uint64_t *from, int64_t count) {
  if (op == SLEY_SUM)
    for (int64_t i = 0; i < count; i++)
      to[i] += from[i];
  else if (op == SLEY_MIN)
    for (int64_t i = 0; i < count; i++)
      to[i] = (int64_t)from[i] < (int64_t)to[i] ? from[i] : to[i];
  else
    for (int64_t i = 0; i < count; i++)
      to[i] = (int64_t)from[i] > (int64_t)to[i] ? from[i] : to[i];
}

/* Replaces every NaN by the documented one. */
static void settle_f32(float *values, int64_t count) {
  const float quiet = sl_float_of_bits(UINT32_C(0x7fc00000));
  for (int64_t i = 0; i < count; i++)
    values[i] = values[i] != values[i] ? quiet : values[i];
}

static void settle_f64(double *values, int64_t count) {
  const double quiet = double_of_bits(UINT64_C(0x7ff8000000000000));
  for (int64_t i = 0; i < count; i++)
    values[i] = values[i] != values[i] ? quiet : values[i];
}

static const char *part_of(const reduction *r, int p, int64_t first) {
  return (const char *)sl_reduce_part(r->a, p) + first * r->value_bytes;
}

/* Joins values of part p to the block; the first part is copied. */
static void join_part(const reduction *r, int p, int64_t first, int64_t count, block *to, block *wide) {
  const sl_reduce_args *a = r->a;
  const char *from = part_of(r, p, first);
  if (a->type == SLEY_TYPE_F16 || a->type == SLEY_TYPE_BF16) {
    block *into = p == 0 ? to : wide;
    r->convert((char *)into->f32, SLEY_F32, from, (sley_dtype)a->type, count, false);
    if (p > 0)
      join_f32(a->op, to->f32, wide->f32, count);
  } else if (p == 0) {
    memcpy(to, from, (size_t)(count * r->value_bytes));
  } else if (a->type == SLEY_TYPE_F32) {
    join_f32(a->op, to->f32, (const float *)from, count);
  } else if (a->type == SLEY_TYPE_F64) {
    join_f64(a->op, to->f64, (const double *)from, count);
  } else {
    join_i64(a->op, to->u64, (const uint64_t *)from, count);
  }
}

static void reduce_block(const reduction *r, int64_t first, int64_t count) {
  const sl_reduce_args *a = r->a;
  block sum, wide;
  char *dst = (char *)a->dst + first * r->value_bytes;
  for (int p = 0; p < a->parts; p++)
    join_part(r, p, first, count, &sum, &wide);
  if (a->type == SLEY_TYPE_F64)
    settle_f64(sum.f64, count);
  else if (a->type != SLEY_TYPE_I64)
    settle_f32(sum.f32, count);
  if (a->type == SLEY_TYPE_F16 || a->type == SLEY_TYPE_BF16)
    r->convert(dst, (sley_dtype)a->type, (const char *)sum.f32, SLEY_F32, count, false);
  else
    memcpy(dst, &sum, (size_t)(count * r->value_bytes));
}

static sley_status reduce_range(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  for (int64_t first = begin; first < end; first += BLOCK)
    reduce_block(context, first, end - first < BLOCK ? end - first : BLOCK);
  return SLEY_OK;
}

static sley_status reduce_run(sl_queue *queue, const sl_kernel_args *args) {
  const sl_reduce_args *a = &args->reduce;
  if (a->count <= 0)
    return SLEY_OK;
  reduction r = {a, (int64_t)sley_type_bytes(a->type), sl_cpu_convert_row_find()};
  int64_t grain = GRAIN_BYTES / (r.value_bytes * (a->parts + 1)) + 1;
  return sl_team_for(sl_cpu_queue_team(queue), a->count, grain, reduce_range, &r);
}

static bool reduce_ok(const sl_kernel_args *args) {
  return sl_reduces(&args->reduce);
}

const sl_kernel sl_cpu_reduce = {.name = "reduce",
                                 .op = SL_OP_REDUCE,
                                 .ok = reduce_ok,
                                 .cost = sl_cost_of_bytes,
                                 SL_KERNEL_KEEPS_NOTHING,
                                 .run = reduce_run};
