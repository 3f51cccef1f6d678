/* SPDX-License-Identifier: Apache-2.0 */
/* What sley_gnn_options_read refuses: numbers that no network of the file's size can have. */
#include <limits.h>
#include <unistd.h>

#include "sley_gnn.h"
#include "support.h"

/* In the order of whole_name in checkpoint.c. */
typedef enum number {
  VERSION,
  MODEL,
  LAYERS,
  FEATURES,
  HIDDEN,
  CLASSES,
  HEADS,
  DTYPE,
  SEED,
  STEP,
  WHOLE
} number;

/* A state of GAT, f32, 3 -> 2 heads of 4 -> 5, as far as options are read from it, with one number changed.
 */
static sley_status read_with(number which, int64_t value, sley_gnn_options *out) {
  static const char *const name[WHOLE] = {"version", "model", "layers", "features", "hidden",
                                          "classes", "heads", "dtype",  "seed",     "step"};
  int64_t whole[WHOLE] = {1, SLEY_GNN_GAT, 2, 3, 4, 5, 2, SLEY_F32, 7, 0};
  const double real = 0.1;
  const float weight[3 * 8 + 8 * 5] = {0};
  sley_array array[WHOLE + 3];
  char path[] = "/tmp/sley_gnn_state_XXXXXX";
  const int file = mkstemp(path);
  assert_true(file >= 0);
  close(file);
  whole[which] = value;
  for (int i = 0; i < WHOLE; i++)
    array[i] = (sley_array){name[i], SLEY_TYPE_I64, 1, SLEY_VECTOR, &whole[i]};
  array[WHOLE] = (sley_array){"slope", SLEY_TYPE_F64, 1, SLEY_VECTOR, &real};
  array[WHOLE + 1] = (sley_array){"dropout", SLEY_TYPE_F64, 1, SLEY_VECTOR, &real};
  array[WHOLE + 2] =
      (sley_array){"0.weight", SLEY_TYPE_F32, sizeof weight / sizeof *weight, SLEY_VECTOR, weight};
  assert_sley_ok(sley_arrays_write(path, array, WHOLE + 3));
  const sley_status status = sley_gnn_options_read(path, out);
  unlink(path);
  return status;
}

static void what_is_right_is_read(void **state) {
  (void)state;
  sley_gnn_options o;
  assert_sley_ok(read_with(SEED, 9, &o));
  assert_int_equal(o.features, 3);
  assert_int_equal(o.hidden, 4);
  assert_int_equal(o.heads, 2);
  assert_int_equal(o.seed, 9);
  assert_sley_ok(read_with(FEATURES, 0, &o));
}

static void what_no_network_has_is_refused(void **state) {
  (void)state;
  const int64_t large[] = {1000, INT32_MAX, 1LL << 31, (1LL << 62) / 3, INT64_MAX};
  const number sizes[] = {LAYERS, FEATURES, HIDDEN, CLASSES, HEADS};
  sley_gnn_options o;
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    for (size_t i = 0; i < sizeof large / sizeof *large; i++)
      assert_int_equal(read_with(sizes[s], large[i], &o), SLEY_ERR_INPUT);
    assert_int_equal(read_with(sizes[s], -1, &o), SLEY_ERR_INPUT);
  }
  assert_int_equal(read_with(MODEL, 5, &o), SLEY_ERR_INPUT);
  assert_int_equal(read_with(DTYPE, 4, &o), SLEY_ERR_INPUT);
  assert_int_equal(read_with(STEP, -1, &o), SLEY_ERR_INPUT);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_right_is_read),
      cmocka_unit_test(what_no_network_has_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
