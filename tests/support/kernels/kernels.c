/* SPDX-License-Identifier: Apache-2.0 */
/* Operands and oracles for tests of kernels. */
#include "kernels.h"

#include <math.h>

#include "base/random.h"
#include "base/value.h"
#include "chosen_device.h"

static uint64_t counter;

int64_t draw(int64_t n) {
  return sl_below(sl_random(test_stream(), counter++, 5), n);
}

double draw_real(void) {
  return 2 * sl_unit(sl_random(test_stream(), counter++, 6)) - 1;
}

int64_t pick(const int64_t *list, int64_t count) {
  return list[draw(count)];
}

int repeats(int all) {
  return all / (int)test_share_of((uint64_t)all);
}

drawn_list list_draw(int64_t count) {
  drawn_list list = {.number = malloc((size_t)count * sizeof *list.number + 1)};
  assert_non_null(list.number);
  const int64_t kind = draw(6), kept = PICK(2, 2, 3, 9);
  bool in = kind == 0 || draw(2);
  for (int64_t i = 0; i < count; i++) {
    if (kind >= 4 && draw(8) == 0) /* runs */
      in = !in;
    if (kind == 2 || kind == 3)
      in = draw(kept) == 0;
    if (in && kind != 1)
      list.number[list.count++] = (int32_t)i;
  }
  return list;
}

block block_of(size_t bytes, size_t skew) {
  block b = {.base = malloc(bytes + skew + 1), .bytes = bytes};
  assert_non_null(b.base);
  b.data = b.base + skew;
  return b;
}

block block_copy(const block *from) {
  block b = block_of(from->bytes, (size_t)(from->data - from->base));
  memcpy(b.data, from->data, from->bytes);
  return b;
}

void block_fill(block *b, sley_dtype dtype, bool with_nan) {
  size_t each = sley_dtype_bytes(dtype);
  for (size_t i = 0; i < b->bytes / each; i++)
    sl_value_set(b->data, dtype, (int64_t)i, with_nan ? (double)NAN : draw_real());
}

image image_of_block(sl_queue *queue, const block *b) {
  return image_of(queue, b->data, b->bytes, (size_t)(b->data - b->base));
}

double unit_of(sley_dtype dtype) {
  static const double unit[] = {
      [SLEY_F32] = 0x1p-24, [SLEY_F64] = 0x1p-53, [SLEY_F16] = 0x1p-11, [SLEY_BF16] = 0x1p-8};
  return unit[dtype];
}

void assert_same_values(const block *found, const block *expected, sley_dtype dtype, const char *what) {
  const size_t each = sley_dtype_bytes(dtype);
  assert_int_equal(found->bytes, expected->bytes);
  for (size_t i = 0; i < found->bytes / each; i++) {
    const double a = sl_value_at(found->data, dtype, (int64_t)i),
                 b = sl_value_at(expected->data, dtype, (int64_t)i);
    if (memcmp(found->data + i * each, expected->data + i * each, each) != 0 && !(isnan(a) && isnan(b)))
      fail_msg("%s: value %zu is %.17g, not %.17g", what, i, a, b);
  }
}

sl_queue *queues[QUEUES];

int open_queues(void **state) {
  (void)state;
  const int threads[QUEUES] = {1, 2, 5};
  const sl_device_ops *ops;
  char note[256];
  if (sl_device_choose(test_device(), &ops, note, sizeof note)) {
    fprintf(stderr, "%s\n", sley_last_error());
    return 1;
  }
  for (int q = 0; q < QUEUES; q++) {
    sl_device *device;
    if (ops->open(q % ops->count(), threads[q], &device) || ops->queue_create(device, NULL, &queues[q]))
      return 1;
  }
  return 0;
}

int close_queues(void **state) {
  (void)state;
  for (int q = 0; q < QUEUES && queues[q]; q++) {
    sl_device *device = queues[q]->device;
    device->ops->queue_destroy(queues[q]);
    device->ops->close(device);
  }
  return 0;
}
