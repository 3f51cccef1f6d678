/* SPDX-License-Identifier: Apache-2.0 */
#include "allocations.h"

#include "base/memory.h"
#include "support.h"

int64_t fail_each_allocation(const rank_case *c, sl_rank_main main, void *arg, sley_status end) {
  sl_memory_fail_at(0);
  assert_int_equal(run_case(c, main, arg), end);
  int64_t count = sl_memory_count();
  const int64_t before = sl_memory_now();
  sley_status status = SLEY_ERR_MEMORY;
  for (int64_t nth = 1 + (int64_t)test_first((uint64_t)count); status == SLEY_ERR_MEMORY;
       nth += (int64_t)test_share()) {
    sl_memory_fail_at(nth);
    status = run_case(c, main, arg);
    count = sl_memory_count();
    sl_memory_fail_at(0);
    if (sl_memory_now() != before)
      fail_msg("allocation %lld: %lld bytes stay: %s", (long long)nth, (long long)(sl_memory_now() - before),
               sley_last_error());
  }
  assert_int_equal(status, end); /* no allocation was left to fail */
  return count;
}
