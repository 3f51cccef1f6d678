/* SPDX-License-Identifier: Apache-2.0 */
/* Sequences of communities rearranged so that halves and quarters of the rows end between them. */
#include "support.h"

#include "base/memory.h"
#include "base/random.h"
#include "order/balance_sequence.h"

static int64_t sum(const int64_t *size, const int32_t *sequence, int32_t count) {
  int64_t total = 0;
  for (int32_t i = 0; i < count; i++)
    total += size[sequence[i]];
  return total;
}

static void halves_meet(void **state) {
  (void)state;
  const int64_t size[] = {5, 5, 3, 3};
  int32_t sequence[] = {0, 1, 2, 3};
  assert_sley_ok(sl_balance_sequence(size, sequence, 4));
  assert_int_equal(sum(size, sequence, 2), 8);
}

static void balanced_sequences_stay(void **state) {
  (void)state;
  const int64_t size[] = {4, 4, 4, 4, 4, 4, 4, 4};
  int32_t sequence[] = {7, 1, 2, 6, 0, 3, 5, 4};
  const int32_t before[] = {7, 1, 2, 6, 0, 3, 5, 4};
  assert_sley_ok(sl_balance_sequence(size, sequence, 8));
  assert_memory_equal(sequence, before, sizeof before);
}

static void small_groups_stay(void **state) {
  (void)state;
  enum { N = 5000 };
  int64_t size[N];
  int32_t sequence[N];
  for (int32_t i = 0; i < N; i++) {
    size[i] = 1;
    sequence[i] = N - 1 - i;
  }
  assert_sley_ok(sl_balance_sequence(size, sequence, N));
  for (int32_t i = 0; i < N; i++)
    assert_int_equal(sequence[i], N - 1 - i);
}

/* Empty groups would make it slow, were they cut off one by one. */
static void empty_groups_cost_little(void **state) {
  (void)state;
  enum { N = 1000000 };
  int64_t *size = calloc(N, sizeof *size);
  int32_t *sequence = calloc(N, sizeof *sequence);
  for (int32_t i = 0; i < N; i++)
    sequence[i] = i;
  for (int32_t full = 0; full < N; full += N / 2 - 1) {
    size[full] = 7;
    assert_sley_ok(sl_balance_sequence(size, sequence, N));
    size[full] = 0;
  }
  free(sequence);
  free(size);
}

/* Sixteen groups of nearly equal size: where half and the quarters end, at most a group's unevenness is cut.
 */
static void uneven_groups_drift_less(void **state) {
  (void)state;
  enum { N = 16, MEAN = 1000 };
  for (uint64_t seed = 0; seed < 200; seed++) {
    int64_t size[N];
    int32_t sequence[N];
    uint32_t met = 0;
    for (int32_t i = 0; i < N; i++) {
      size[i] = MEAN - 50 + sl_below(sl_random(seed, 0, (uint64_t)i), 101);
      sequence[i] = i;
    }
    int64_t total = sum(size, sequence, N);
    assert_sley_ok(sl_balance_sequence(size, sequence, N));
    for (int32_t i = 0; i < N; i++)
      met |= 1u << sequence[i];
    assert_int_equal(met, (1u << N) - 1);
    for (int quarter = 1; quarter < 4; quarter++) {
      int64_t end = sum(size, sequence, quarter * N / 4), want = total * quarter / 4;
      assert_true(end - want <= 50 && want - end <= 50);
    }
  }
}

static void odd_shapes(void **state) {
  (void)state;
  const int64_t empty[] = {0, 0, 0}, one_full[] = {0, 9, 0};
  int32_t sequence[] = {2, 0, 1};
  assert_sley_ok(sl_balance_sequence(empty, sequence, 3));
  assert_sley_ok(sl_balance_sequence(one_full, sequence, 3));
  assert_int_equal(sequence[0] + sequence[1] + sequence[2], 3);
  assert_sley_ok(sl_balance_sequence(empty, sequence, 1));
  assert_sley_ok(sl_balance_sequence(empty, sequence, 0));
  sl_memory_fail_at(1);
  assert_int_equal(sl_balance_sequence(empty, sequence, 3), SLEY_ERR_MEMORY);
  sl_memory_fail_at(0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(halves_meet),
      cmocka_unit_test(balanced_sequences_stay),
      cmocka_unit_test(small_groups_stay),
      cmocka_unit_test(uneven_groups_drift_less),
      cmocka_unit_test(empty_groups_cost_little),
      cmocka_unit_test(odd_shapes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
