/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a sparse product in parts: each row in one of them, and no part more than a row's work beside its
 * share. */
#include "ops/spgemm_split.h"
#include "support.h"

static double work_of(const sley_csr *a, const sley_csr *b, int64_t begin, int64_t end, double *largest) {
  double work = 0;
  for (int64_t row = begin; row < end; row++) {
    double own = 1;
    for (int64_t e = a->rowptr[row]; e < a->rowptr[row + 1]; e++) {
      const int32_t k = ((const int32_t *)a->col)[e];
      own += (double)(b->rowptr[k + 1] - b->rowptr[k]);
    }
    work += own;
    *largest = own > *largest ? own : *largest;
  }
  return work;
}

static void parts_have_their_shares(void **state) {
  (void)state;
  static const char *const names[] = {"rmat:scale=12,edgefactor=8", "er:n=9000,nnz=30000", "er:n=5,nnz=9",
                                      "band:n=3000,width=4", "er:n=400,nnz=0"};
  enum { MOST = 9 };
  sl_team *team;
  assert_sley_ok(sl_team_create(3, &team));
  for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
    sley_read_options options = SLEY_READ_OPTIONS_INIT;
    sley_matrix *m;
    sley_csr a;
    assert_sley_ok(sley_matrix_read(names[n], &options, &m));
    assert_sley_ok(sley_matrix_csr(m, &a));
    for (int parts = 1; parts <= MOST; parts++) {
      const int64_t first = a.rows / 7 * (parts % 3), end = a.rows - a.rows / 9 * (parts % 2);
      int64_t begin[MOST + 1];
      double largest = 0, total = work_of(&a, &a, first, end, &largest);
      assert_sley_ok(sl_spgemm_split(&a, &a, first, end, parts, team, begin));
      assert_int_equal(begin[0], first);
      assert_int_equal(begin[parts], end);
      for (int part = 0; part < parts; part++) {
        double unused = 0;
        assert_true(begin[part] <= begin[part + 1]);
        const double work = work_of(&a, &a, begin[part], begin[part + 1], &unused);
        assert_true(work <= total / parts + largest && work >= total / parts - largest);
      }
    }
    sley_matrix_destroy(m);
  }
  sl_team_destroy(team);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(parts_have_their_shares)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
