/* SPDX-License-Identifier: Apache-2.0 */
/* The switches of rowwise (the parameters of the algorithm). With every combination the product must be right and
 * repeat, and its bits must depend only on the partitions. Words must be parsed, refused and agreed between
 * ranks. The timed shapes must be the requested ones, with the numbers of MGG's model. */
#include <math.h>

#include "base/random.h"
#include "chosen_device.h"
#include "device/rowwise_choice.h"
#include "spmm_case.h"

/* Square, wide, tall, with empty rows, dense, without entries, with long rows, smaller than the ranks. */
static const char *const shapes[] = {"er:rows=97,cols=97,nnz=700,seed=1",
                                     "er:rows=40,cols=151,nnz=300,seed=2",
                                     "er:rows=151,cols=40,nnz=300,seed=3",
                                     "er:rows=5,cols=5,nnz=9,seed=4",
                                     "dense:rows=23,cols=119",
                                     "empty:rows=13,cols=11",
                                     "rmat:scale=8,edgefactor=12,seed=5",
                                     "er:rows=1,cols=60,nnz=30,seed=6"};
enum { SHAPES = sizeof shapes / sizeof *shapes, DTYPES = 4, WIDTHS = 5 };
static const sley_dtype dtypes[DTYPES] = {SLEY_F32, SLEY_F16, SLEY_F64, SLEY_BF16};
static const int64_t widths[WIDTHS] = {0, 1, 7, 33, 128};
static const char *const loads[] = {"memory=registers", "memory=shared,get=warp", "get=thread", "get=block"};
enum { LOADS = sizeof loads / sizeof *loads };

/* Checks all combinations of switches with one ps; other parameters are random. */
static void check_switches(const sley_matrix *matrix, uint64_t seed) {
  int ps = 1 + (int)sl_below(sl_random(seed, 0, 0), 32), ranks = 2 + (int)sl_below(sl_random(seed, 1, 0), 3);
  int64_t k = widths[sl_below(sl_random(seed, 2, 0), WIDTHS)];
  uint64_t bits[2], at = 3;
  for (int way = 0; way < 2 * 2 * LOADS; way++) {
    bool whole = way % 2, apart = way / 2 % 2;
    char words[128];
    int length = snprintf(words, sizeof words, "rowwise:ps=%d,partitions=%s,interleave=%s,%s", ps,
                          whole ? "off" : "on", apart ? "off" : "on", loads[way / 4]);
    if (sl_below(sl_random(seed, at++, 0), 2) == 0) { /* else both are searched */
      int dist = 1 + (int)sl_below(sl_random(seed, at++, 0), 16);
      int wpb = 1 + (int)sl_below(sl_random(seed, at++, 0), 16);
      snprintf(words + length, sizeof words - (size_t)length, ",dist=%d,wpb=%d", dist, wpb);
    }
    spmm_case c = {.algo = words,
                   .ranks = ranks,
                   .workgroup = ranks,
                   .threads = 1,
                   .k = k,
                   .partition = seed % 2 ? "rows" : "nnz",
                   .alpha = 0.75,
                   .beta = seed % 3 == 0 ? 0 : -1.5,
                   .pad = (int64_t)(seed % 4)};
    spmm_outcome out;
    spmm_case_check(matrix, &c, &out);
    assert_false(out.tuned);
    if (way >= 2 && bits[whole] != out.bits)
      fail_msg("%s: not the bits of other switches with the same partitions", words);
    bits[whole] = out.bits;
  }
}

static void every_combination_is_right(void **state) {
  (void)state;
  for (int s = 0; s < SHAPES; s++)
    for (int t = (int)test_first(DTYPES); t < DTYPES; t += (int)test_share()) {
      sley_matrix *matrix = spmm_case_matrix(shapes[s], dtypes[t]);
      check_switches(matrix, (uint64_t)(DTYPES * s + t));
      sley_matrix_destroy(matrix);
    }
}

static void words_are_read_or_refused(void **state) {
  (void)state;
  static const char *const wrong[] = {"rowwise:",
                                      "rowwise:ps",
                                      "rowwise:ps=0",
                                      "rowwise:ps=33",
                                      "rowwise:dist=17",
                                      "rowwise:wpb=-1",
                                      "rowwise:wpb=1x",
                                      "rowwise:ps=4,",
                                      "rowwise:partitions=1",
                                      "rowwise:interleave=maybe",
                                      "rowwise:get=all",
                                      "rowwise:warps=4",
                                      "rowwise:ps=999999999",
                                      "rowwise:memory=",
                                      "rowwise:auto,ps=4",
                                      "rowwise:ps=4 ",
                                      "rowwise:partition=off",
                                      "rowwise:ps=4,ps=4",
                                      "rowwise:get=block,memory=registers"};
  sl_rowwise_choice c;
  char text[SL_ROWWISE_CHOICE_BYTES];
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    assert_int_equal(sl_rowwise_choice_read(wrong[i], &c), SLEY_ERR_ARG);
    assert_memory_equal(sley_last_error(), "rowwise: ", 9);
  }
  assert_sley_ok(sl_rowwise_choice_read("rowwise", &c));
  sl_rowwise_choice_describe(&c, text);
  assert_string_equal(text, "partitions=on,interleave=on,memory=registers,get=warp");
  assert_sley_ok(
      sl_rowwise_choice_read("rowwise:get=block,wpb=16,ps=32,interleave=off,dist=3,partitions=off", &c));
  assert_true(c.ps == 32 && c.dist == 3 && c.wpb == 16);
  sl_rowwise_choice_describe(&c, text);
  assert_string_equal(text, "partitions=off,interleave=off,memory=shared,get=block");
  char again[SL_ROWWISE_CHOICE_BYTES + 8];
  snprintf(again, sizeof again, "rowwise:%s", text);
  assert_sley_ok(sl_rowwise_choice_read(again, &c));
  assert_true(c.whole && c.apart && c.shared && c.get == SL_GET_BY_BLOCK);
}

/* ---- plans */

enum { RANKS = 3, K = 16 };

typedef struct sample {
  const sley_matrix *matrix;
  int64_t begin[RANKS + 1];
  const char *algo[RANKS];
  sley_trial trial; /* the only one of rank 0 */
  int trials;
  char text[8192]; /* rank 0's description */
} sample;

static sley_status plan_rank(sley_comm *comm, void *argument) {
  sample *s = argument;
  int rank = sley_comm_rank(comm);
  sley_plan_options options = SLEY_PLAN_OPTIONS_INIT;
  sley_matrix *block = NULL;
  sley_plan *plan = NULL;
  char *text = NULL;
  options.algo = s->algo[rank];
  sley_status status =
      sley_matrix_row_block(s->matrix, s->begin[rank], s->begin[rank + 1] - s->begin[rank], &block);
  if (status == SLEY_OK)
    status = sley_plan_create(comm, block, s->begin, s->begin, K, &options, &plan);
  if (status == SLEY_OK && rank == 0)
    status = sley_plan_trials(plan, &s->trial, 1, &s->trials);
  if (status == SLEY_OK && rank == 0)
    status = sley_plan_describe(plan, &text);
  if (text)
    snprintf(s->text, sizeof s->text, "%s", text);
  sley_buffer_free(text);
  sley_plan_destroy(plan);
  sley_matrix_destroy(block);
  return status;
}

static sley_status plan_with(sample *s, const char *first, const char *others) {
  sley_rank_options options = SLEY_RANK_OPTIONS_INIT;
  options.ranks = RANKS;
  options.threads = 1;
  options.device = test_device();
  for (int r = 0; r < RANKS; r++)
    s->algo[r] = r == 0 ? first : others;
  return sley_run_ranks(&options, plan_rank, s);
}

/* Counts rank 0's local and remote partitions of at most ps entries. */
static void count_partitions(const sample *s, int64_t ps, int64_t count[2]) {
  sley_csr csr;
  assert_sley_ok(sley_matrix_csr(s->matrix, &csr));
  count[0] = count[1] = 0;
  for (int64_t i = 0; i < s->begin[1]; i++) {
    int64_t entries[2] = {0, 0};
    for (int64_t e = csr.rowptr[i]; e < csr.rowptr[i + 1]; e++)
      entries[((const int32_t *)csr.col)[e] >= s->begin[1]]++;
    for (int h = 0; h < 2; h++)
      count[h] += (entries[h] + ps - 1) / ps;
  }
}

static void a_fixed_shape_is_the_only_one_tried(void **state) {
  (void)state;
  sample s = {.trials = 0};
  sley_matrix *matrix = spmm_case_matrix("rmat:scale=8,edgefactor=12,seed=5", SLEY_F32);
  s.matrix = matrix;
  assert_sley_ok(sley_partition_rows(matrix, "rows", RANKS, s.begin));
  for (int apart = 0; apart < 2; apart++) {
    const char *algo = apart ? "rowwise:ps=5,dist=3,wpb=2,interleave=off" : "rowwise:ps=5,dist=3,wpb=2";
    assert_sley_ok(plan_with(&s, algo, algo));
    if (s.trials == 0) { /* no kernel reads in place */
      assert_null(strstr(s.text, "tried"));
      continue;
    }
    int64_t count[2], most;
    count_partitions(&s, 5, count);
    most = count[0] > count[1] ? count[0] : count[1];
    assert_int_equal(s.trials, 1);
    assert_true(s.trial.chosen && s.trial.ms > 0 && isfinite(s.trial.ms));
    assert_true(s.trial.ps == 5 && s.trial.dist == 3 && s.trial.wpb == 2);
    assert_int_equal(s.trial.workload, 2 * 5 * K * 3);
    assert_int_equal(s.trial.shared_bytes, 5 * 2 * 4 + 2 * 2 * K * 4);
    assert_int_equal(s.trial.warps, apart ? (count[0] + 5) / 6 + (count[1] + 5) / 6 : (most + 2) / 3);
    assert_int_equal(s.trial.blocks, (s.trial.warps + 1) / 2);
    assert_true(s.trial.blocks_per_sm > 0);
    assert_non_null(strstr(s.text, "model: WPW 480, SMEM 296 bytes"));
    assert_non_null(
        strstr(s.text, apart ? "interleave=off,memory=registers" : "interleave=on,memory=registers"));
  }
  assert_int_equal(plan_with(&s, "rowwise:ps=5", "rowwise:ps=6"), SLEY_ERR_ARG);
  assert_non_null(strstr(sley_last_error(), "algo"));
  assert_int_equal(plan_with(&s, "rowwise:ps=five", "rowwise:ps=five"), SLEY_ERR_ARG);
  assert_non_null(strstr(sley_last_error(), "\"ps=five\" is not known"));
  if (test_on_cpu())
    assert_int_equal(s.trials, 0);
  sley_matrix_destroy(matrix);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_combination_is_right),
                                     cmocka_unit_test(words_are_read_or_refused),
                                     cmocka_unit_test(a_fixed_shape_is_the_only_one_tried)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
