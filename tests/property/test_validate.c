/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of CSR arrays: whether rows ascend, and which row is bad. */
#include "support.h"

#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "base/team.h"
#include "base/types.h"
#include "matrix/matrix.h"

/* Whether rows ascend, for rows of drawn lengths, of which many are empty, and with one descent at a drawn
 * place, which may be a row's beginning and then does not count. */
static void a_descent_is_seen(void **state) {
  (void)state;
  enum { ROWS = 40, MOST = 5000 };
  int64_t rowptr[ROWS + 1];
  void *col = sl_alloc(MOST * ROWS, sizeof(int64_t), "columns"),
       *val = sl_alloc_zero(MOST * ROWS, 8, "values");
  for (int n = 0; n < 400; n++) {
    const sley_index index = n % 2 ? SLEY_I64 : SLEY_I32;
    rowptr[0] = n % 3;
    for (int64_t i = 0; i < ROWS; i++) {
      const int64_t length =
          sl_below(sl_random(5, (uint64_t)n, (uint64_t)i), n % 7 ? 6 : MOST) * (i % 3 != 0);
      rowptr[i + 1] = rowptr[i] + length;
      for (int64_t e = 0; e < length; e++)
        sl_index_set(col, index, rowptr[i] + e, e + 1);
    }
    const int64_t entries = rowptr[ROWS] - rowptr[0];
    const int64_t at = rowptr[0] + sl_below(sl_random(6, (uint64_t)n, 0), entries > 0 ? entries : 1);
    bool wanted = true, sorted;
    if (entries > 0 && n % 4)
      sl_index_set(col, index, at, 0);
    for (int64_t i = 0; i < ROWS; i++)
      for (int64_t e = rowptr[i] + 1; e < rowptr[i + 1]; e++)
        wanted = wanted && sl_index_at(col, index, e) >= sl_index_at(col, index, e - 1);
    const sley_csr csr = {ROWS, MOST + 1, rowptr, col, val, index, SLEY_F32};
    assert_sley_ok(sl_csr_validate(&csr, NULL, &sorted));
    assert_int_equal(sorted, wanted);
    if (entries == 0)
      continue;
    sl_index_set(col, index, at, n % 8 < 4 ? -1 : MOST + 1);
    assert_int_equal(sl_csr_validate(&csr, NULL, n % 16 < 8 ? NULL : &sorted), SLEY_ERR_INPUT);
  }
  sl_free(val);
  sl_free(col);
}

static void first_bad_row_is_named(void **state) {
  (void)state;
  enum { ROWS = 30000 };
  sl_team *team;
  assert_sley_ok(sl_team_create(4, &team));
  int64_t *rowptr = sl_alloc(ROWS + 1, sizeof *rowptr, "row pointers");
  int32_t *col = sl_alloc(ROWS, sizeof *col, "columns");
  float *val = sl_alloc_zero(ROWS, sizeof *val, "values");
  for (int i = 0; i < ROWS; i++) {
    rowptr[i] = i;
    col[i] = i;
  }
  rowptr[ROWS] = ROWS;
  sley_csr csr = {ROWS, ROWS, rowptr, col, val, SLEY_I32, SLEY_F32};
  bool sorted;
  assert_sley_ok(sl_csr_validate(&csr, team, &sorted));
  assert_true(sorted);
  col[29000] = ROWS;
  col[12345] = -1;
  for (int repeat = 0; repeat < 20; repeat++) {
    assert_int_equal(sl_csr_validate(&csr, team, &sorted), SLEY_ERR_INPUT);
    assert_non_null(strstr(sley_last_error(), "row 12345: column -1"));
  }
  rowptr[20000] = 0;
  assert_int_equal(sl_csr_validate(&csr, team, &sorted), SLEY_ERR_INPUT);
  assert_non_null(strstr(sley_last_error(), "row 19999: rowptr descends"));
  rowptr[0] = -1;
  assert_int_equal(sl_csr_validate(&csr, team, &sorted), SLEY_ERR_INPUT);
  sl_free(val);
  sl_free(col);
  sl_free(rowptr);
  sl_team_destroy(team);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_descent_is_seen),
      cmocka_unit_test(first_bad_row_is_named),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
