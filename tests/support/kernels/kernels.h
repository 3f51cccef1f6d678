/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers for tests of kernels: random choices, operands of exact size, and queues of a device
 * (SLEY_TEST_DEVICE, default cpu). */
#ifndef SLEY_TESTS_KERNELS_H
#define SLEY_TESTS_KERNELS_H

#include "image.h"

/* The next random number for the seed and the setting: an integer in 0 .. n-1; a real in [-1, 1); a number
 * from a list. */
int64_t draw(int64_t n);
double draw_real(void);
int64_t pick(const int64_t *list, int64_t count);
#define PICK(...)                                                                                            \
  pick((const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

/* Some of the numbers below count, ascending: none, all, each one drawn independently, or runs of consecutive
 * numbers. `number` is freed by free. */
typedef struct drawn_list {
  int32_t *number;
  int64_t count;
} drawn_list;
drawn_list list_draw(int64_t count);

/* The number of cases to run if there are `all`: one in test_share(). */
int repeats(int all);

/* Memory of exact size, so that a sanitizer detects any access beyond its end; data is `skew` bytes past
 * malloc's alignment. `base` is freed by free. */
typedef struct block {
  char *base, *data;
  size_t bytes;
} block;

block block_of(size_t bytes, size_t skew);
block block_copy(const block *from);

/* Fills a block with random values; with_nan: some are NaN. */
void block_fill(block *b, sley_dtype dtype, bool with_nan);
image image_of_block(sl_queue *queue, const block *b);

/* The largest relative error of rounding to a type. */
double unit_of(sley_dtype dtype);

/* Fails the test unless all values have the same bits, or are NaN in both. */
void assert_same_values(const block *found, const block *expected, sley_dtype dtype, const char *what);

/* Queues of devices with 1, 2 and 5 threads: setup and teardown of a group of tests. */
enum { QUEUES = 3 };
extern sl_queue *queues[QUEUES];
int open_queues(void **state);
int close_queues(void **state);

#endif
