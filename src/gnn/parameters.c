/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters in flat arrays. */
#include "gnn/parameters.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "base/value.h"

enum { ALIGNMENT = 64 };

int sl_parameters_add(sl_parameters *p, int layer, const char *what, int64_t rows, int64_t cols,
                      double limit) {
  if (p->count == SL_MOST_PARAMETERS)
    return -1;
  const int64_t step = ALIGNMENT / (int64_t)sley_dtype_bytes(p->dtype);
  sl_parameter *one = &p->one[p->count];
  *one = (sl_parameter){.rows = rows, .cols = cols, .at = p->values, .limit = limit};
  snprintf(one->name, sizeof one->name, "%d.%s", layer, what);
  p->values += (rows * cols + step - 1) / step * step;
  return p->count++;
}

/* A random number in [-1, 1) of 53 bits. */
static double drawn(uint64_t seed, int number, int64_t i) {
  return 2 * sl_unit(sl_random(seed, (uint64_t)number, (uint64_t)i)) - 1;
}

static int64_t bytes_of(const sl_parameters *p, sley_dtype dtype) {
  return p->values * (int64_t)sley_dtype_bytes(dtype);
}

/* Copies values to device memory. Waits. */
static sley_status put(const sl_parameters *p, const void *host, sley_dtype dtype, void *to) {
  sl_queue *queue = p->comm->queue;
  SL_TRY(queue->ops->copy(queue, SL_COPY_TO_DEVICE, to, host, bytes_of(p, dtype)));
  return queue->ops->queue_wait(queue);
}

/* Writes the initial values and zeros. zeros: an array in the type of sums, whose elements are at least as
 * large as the values. */
static sley_status put_first(sl_parameters *p, uint64_t seed, const void *zeros, void *values) {
  const sley_dtype sums = sl_sum_dtype(p->dtype);
  for (int n = 0; n < p->count; n++)
    for (int64_t i = 0; i < p->one[n].rows * p->one[n].cols; i++)
      sl_value_set(values, p->dtype, p->one[n].at + i, p->one[n].limit * drawn(seed, n, i));
  SL_TRY(put(p, values, p->dtype, p->value));
  SL_TRY(put(p, zeros, p->dtype, p->grad));
  SL_TRY(put(p, zeros, sums, p->first));
  SL_TRY(put(p, zeros, sums, p->second));
  *p->step = 0;
  return SLEY_OK;
}

/* Sets initial values; gradients, moments and steps become 0. */
static sley_status start(sl_parameters *p, uint64_t seed) {
  void *zeros = sl_alloc_zero(p->values, sley_dtype_bytes(sl_sum_dtype(p->dtype)), "parameters"),
       *values = sl_alloc_zero(p->values, sley_dtype_bytes(p->dtype), "parameters");
  const sley_status status = zeros && values ? put_first(p, seed, zeros, values) : SLEY_ERR_MEMORY;
  sl_free(values);
  sl_free(zeros);
  return status;
}

static sley_status take_array(const sl_parameters *p, sley_dtype dtype, void **out) {
  sl_device *device = p->comm->device;
  return device->ops->alloc(device, bytes_of(p, dtype), "parameters", out);
}

static sley_status take_unit(sl_parameters *p) {
  const int64_t bytes = (int64_t)sley_dtype_bytes(p->dtype);
  void *host = sl_alloc(bytes, 1, "parameters");
  if (!host)
    return SLEY_ERR_MEMORY;
  sl_value_set(host, p->dtype, 0, 1);
  return sl_dense_upload(p->comm, host, bytes, &p->unit);
}

static sley_status take_memory(sl_parameters *p, uint64_t seed) {
  const sley_dtype sums = sl_sum_dtype(p->dtype);
  SL_TRY(take_array(p, p->dtype, &p->value));
  SL_TRY(take_array(p, p->dtype, &p->grad));
  SL_TRY(take_array(p, sums, &p->first));
  SL_TRY(take_array(p, sums, &p->second));
  SL_TRY(SL_NEW_ZERO(p->step, 1, "parameters"));
  SL_TRY(take_unit(p));
  return start(p, seed);
}

static void share_memory(sl_parameters *p) {
  p->value = p->of->value;
  p->grad = p->of->grad;
  p->first = p->of->first;
  p->second = p->of->second;
  p->step = p->of->step;
  p->unit = p->of->unit;
  p->sum = p->of->sum;
}

sley_status sl_parameters_open(sl_parameters *p, uint64_t seed) {
  if (p->of) {
    share_memory(p);
    return SLEY_OK;
  }
  SL_TRY(sl_agree(p->comm, take_memory(p, seed)));
  return sl_dense_create(
      p->comm,
      &(sl_dense_spec){
          .kind = SLEY_ALLREDUCE, .op = SLEY_SUM, .type = (sley_type)p->dtype, .count = p->values},
      &p->sum);
}

sley_status sl_parameters_restart(sl_parameters *p, uint64_t seed) {
  return sl_agree(p->comm, start(p, seed));
}

sl_rows sl_parameter_in(const sl_parameters *p, void *array, int number) {
  const sl_parameter *one = &p->one[number];
  return (sl_rows){.data = (char *)array + one->at * (int64_t)sley_dtype_bytes(p->dtype),
                   .rows = one->rows,
                   .cols = one->cols,
                   .ld = one->cols};
}

sl_rows sl_parameter_value(const sl_parameters *p, int number) {
  return sl_parameter_in(p, p->value, number);
}

sl_rows sl_parameter_grad(const sl_parameters *p, int number) {
  return sl_parameter_in(p, p->grad, number);
}

int64_t sl_parameters_bytes(const sl_parameters *p) {
  const int64_t value = (int64_t)sley_dtype_bytes(p->dtype),
                sum = (int64_t)sley_dtype_bytes(sl_sum_dtype(p->dtype));
  return p->of ? 0 : p->values * 2 * (value + sum) + value;
}

sley_status sl_parameters_sum(sl_parameters *p) {
  if (p->comm->size == 1)
    return SLEY_OK;
  return sl_dense_run(p->sum, p->grad, p->grad, p->comm->queue);
}

sley_status sl_parameters_descend(sl_parameters *p, const sl_dense_work *work, double rate, double decay) {
  const sl_rows value = {.data = p->value, .rows = p->values, .cols = 1, .ld = 1},
                grad = {.data = p->grad, .rows = p->values, .cols = 1, .ld = 1},
                one = {.data = p->unit, .rows = 1, .cols = 1, .ld = 1};
  const sl_product step = {.a = grad, .b = one, .alpha = -rate, .beta = 1 - rate * decay};
  return sl_dense_multiply(work, &step, value);
}

static void give_memory(sl_parameters *p) {
  void *const all[] = {p->unit, p->second, p->first, p->grad, p->value};
  sl_dense_destroy(p->sum);
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (all[i])
      p->comm->device->ops->free(p->comm->device, all[i]);
  sl_free(p->step);
}

void sl_parameters_close(sl_parameters *p) {
  if (p->comm && !p->of)
    give_memory(p);
  memset(p, 0, sizeof *p);
}
