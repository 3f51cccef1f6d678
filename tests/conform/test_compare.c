/* SPDX-License-Identifier: Apache-2.0 */
/* A comparison has, for each algorithm, exactly the figures of a dry plan, and for auto the figures of the
 * chosen plan, for all shapes, partitions and options, also if not all columns fit. If no plan is possible,
 * the comparison fails with the same error. */
#include "base/random.h"
#include "matrix/matrix.h"
#include "ranks.h"

enum { MOST_RANKS = 8, MOST_NAMES = 16 };

typedef struct sample {
  sley_matrix *matrix;
  int64_t begin[MOST_RANKS + 1], x_begin[MOST_RANKS + 1], k;
  sley_plan_options options;
  const char *names[MOST_NAMES];
} sample;

static sley_status same_texts(const sley_plan_info *a, const sley_plan_info *b) {
  EXPECT(strcmp(a->algo, b->algo) == 0);
  EXPECT(strcmp(a->reason, b->reason) == 0);
  return SLEY_OK;
}

/* Compares all figures except limit_bytes, which without a limit is a share of the memory that is free at the
 * moment. */
static sley_status same_figures(const sley_plan_info *a, const sley_plan_info *b) {
  EXPECT(a->rows == b->rows && a->cols == b->cols && a->nnz == b->nnz && a->k == b->k);
  EXPECT(a->remote_nnz == b->remote_nnz && a->halo_rows == b->halo_rows);
  EXPECT(memcmp(&a->predicted, &b->predicted, sizeof a->predicted) == 0);
  EXPECT(a->predicted_ms == b->predicted_ms);
  EXPECT(memcmp(&a->phases, &b->phases, sizeof a->phases) == 0);
  EXPECT(a->memory_bytes == b->memory_bytes && a->needed_bytes == b->needed_bytes);
  EXPECT(a->column_width == b->column_width && a->column_blocks == b->column_blocks);
  EXPECT(a->rank_messages == b->rank_messages && a->wire == b->wire && a->wire_bound == b->wire_bound);
  return SLEY_OK;
}

static sley_status plan_dry(sley_comm *comm, const sample *s, const sley_matrix *block, int i,
                            sley_plan **out) {
  sley_plan_options options = s->options;
  options.algo = s->names[i];
  options.dry = true;
  return sley_plan_create(comm, block, s->begin, s->x_begin, s->k, &options, out);
}

/* Compares the plan of names[i] with its entry in the comparison. Cover rows that were counted for one
 * algorithm are also known to later algorithms, and to auto's plan if the choice has considered cover. */
static sley_status compare_with_plan(sley_comm *comm, const sample *s, const sley_matrix *block, int i,
                                     const sley_comparison *comparison) {
  sley_plan_info compared, planned;
  sley_plan *plan = NULL;
  SL_TRY(plan_dry(comm, s, block, i, &plan));
  sley_status status = sley_plan_info_get(plan, &planned);
  if (status == SLEY_OK)
    status = sley_comparison_get(comparison, i, &compared);
  if (status == SLEY_OK)
    status = same_texts(&compared, &planned);
  if (status == SLEY_OK)
    status = same_figures(&compared, &planned);
  if (status == SLEY_OK && planned.cover_rows >= 0 && compared.cover_rows != planned.cover_rows)
    status = sl_fail(SLEY_ERR_INTERNAL, "cover rows: %lld in the comparison, %lld in the plan",
                     (long long)compared.cover_rows, (long long)planned.cover_rows);
  sley_plan_destroy(plan);
  if (status != SLEY_OK)
    return sl_fail(SLEY_ERR_INTERNAL, "%s: %s", s->names[i], sley_last_error());
  return SLEY_OK;
}

/* Returns an error unless a plan of every name is possible. */
static sley_status try_plans(sley_comm *comm, const sample *s, const sley_matrix *block) {
  for (int i = 0; s->names[i]; i++) {
    sley_plan *plan = NULL;
    SL_TRY(plan_dry(comm, s, block, i, &plan));
    sley_plan_destroy(plan);
  }
  return SLEY_OK;
}

static sley_status compare(sley_comm *comm, const sample *s, const sley_matrix *block) {
  sley_comparison *comparison = NULL;
  sley_plan_info info;
  sley_status status =
      sley_plan_compare(comm, block, s->begin, s->x_begin, s->k, &s->options, s->names, &comparison);
  if (status != SLEY_OK) {
    EXPECT(!comparison);
    EXPECT(try_plans(comm, s, block) == status);
    return SLEY_OK;
  }
  int count = 0;
  for (; s->names[count] && status == SLEY_OK; count++)
    status = compare_with_plan(comm, s, block, count, comparison);
  if (status == SLEY_OK && sley_comparison_get(comparison, count, &info) != SLEY_ERR_ARG)
    status = sl_fail(SLEY_ERR_INTERNAL, "there is a plan beyond the last name");
  sley_comparison_destroy(comparison);
  return status;
}

static sley_status rank_main(sl_comm *comm, void *arg) {
  const sample *s = arg;
  sley_matrix *block = NULL;
  SL_TRY(sl_agree(comm, sley_matrix_row_block(s->matrix, s->begin[comm->rank],
                                              s->begin[comm->rank + 1] - s->begin[comm->rank], &block)));
  sley_status status = compare(comm, s, block);
  sley_matrix_destroy(block);
  return status;
}

/* Draws a memory limit below the need of all columns, so that some plans use blocks and some are refused. */
static int64_t draw_limit(uint64_t draw, int64_t k) {
  return draw % 4 == 3 ? 2000 + sl_below(draw >> 8, 200 * (k + 1)) : 0;
}

static void draw_sample(const rank_case *c, uint64_t round, sample *s) {
  static const int64_t widths[] = {0, 1, 5, 33, 64};
  static const char *const wires[] = {NULL, NULL, "bf16", "f16"};
  uint64_t draw = sl_random(c->seed, 21, round);
  char text[96];
  *s = (sample){.k = widths[draw % 5], .options = SLEY_PLAN_OPTIONS_INIT};
  sley_read_options read = SLEY_READ_OPTIONS_INIT;
  read.dtype = (sley_dtype)(draw >> 4 & 3);
  int rows = 1 + (int)sl_below(draw >> 6, 60), cols = 1 + (int)sl_below(sl_random(c->seed, 22, round), 60);
  snprintf(text, sizeof text, "er:rows=%d,cols=%d,nnz=%d,seed=%d", rows, cols,
           1 + (int)sl_below(draw >> 20, rows * cols), (int)(draw >> 40 & 1023));
  assert_sley_ok(sley_matrix_read(text, &read, &s->matrix));
  assert_sley_ok(sley_partition_rows(s->matrix, draw >> 32 & 1 ? "nnz" : "rows", c->ranks, s->begin));
  assert_sley_ok(sley_partition_equal(s->matrix->cols, c->ranks, s->x_begin));
  s->options.transpose = (draw >> 33 & 3) == 0;
  s->options.reproducible = (draw >> 35 & 3) == 0;
  s->options.renewable = (draw >> 37 & 7) == 0;
  s->options.keep_input = (draw >> 50 & 7) == 0;
  s->options.mem_operands = draw >> 53 & 1;
  s->options.wire = wires[draw >> 54 & 3];
  s->options.mem_limit = draw_limit(draw >> 12, s->k);
  int count = 0;
  if (draw >> 57 & 1)
    s->names[count++] = "auto";
  for (const char *const *name = sley_algorithms(); *name; name++)
    s->names[count++] = *name;
  if (s->options.renewable || s->options.keep_input || s->options.wire) { /* few algorithms support these */
    s->names[0] = "auto";
    s->names[1] = draw >> 58 & 1 ? "halo" : s->names[2];
    s->names[2] = NULL;
  }
}

static void run_samples(const rank_case *c) {
  enum { ROUNDS = 6 };
  for (uint64_t round = test_first(ROUNDS); round < ROUNDS; round += test_share()) {
    sample s;
    draw_sample(c, round, &s);
    assert_case_ok(c, run_case(c, rank_main, &s));
    sley_matrix_destroy(s.matrix);
  }
}

static void says_what_plans_say(void **state) {
  (void)state;
  each_case(run_samples);
}

typedef struct told {
  int count;
  char last[48];
} told;

static void note(void *context, const char *algo) {
  told *t = context;
  t->count++;
  snprintf(t->last, sizeof t->last, "%s", algo);
}

/* Names that appear twice, also as auto's choice, are planned once. All ranks must pass the same names. */
static sley_status arguments_main(sl_comm *comm, void *arg) {
  const sample *s = arg;
  sley_matrix *block;
  static const char *const twice[] = {"halo", "cover", "halo", NULL}, *const none[] = {NULL},
                           *const other[] = {"halo", NULL}, *const unknown[] = {"halo", "hello", NULL};
  sley_plan_options options = SLEY_PLAN_OPTIONS_INIT;
  sley_comparison *comparison;
  sley_plan_info info;
  told seen = {0};
  SL_TRY(sley_matrix_row_block(s->matrix, s->begin[comm->rank],
                               s->begin[comm->rank + 1] - s->begin[comm->rank], &block));
  options.progress = note;
  options.progress_context = &seen;
  SL_TRY(sley_plan_compare(comm, block, s->begin, s->begin, s->k, &options, twice, &comparison));
  EXPECT(seen.count == (comm->rank == 0 ? 2 : 0));
  EXPECT(comm->rank > 0 || strcmp(seen.last, "cover") == 0);
  EXPECT(sley_comparison_get(comparison, 2, &info) == SLEY_OK && strcmp(info.algo, "halo") == 0);
  EXPECT(sley_comparison_get(comparison, 3, &info) == SLEY_ERR_ARG);
  EXPECT(sley_comparison_get(comparison, -1, &info) == SLEY_ERR_ARG);
  sley_comparison_destroy(comparison);
  SL_TRY(sley_plan_compare(comm, block, s->begin, s->begin, s->k, NULL, none, &comparison));
  EXPECT(sley_comparison_get(comparison, 0, &info) == SLEY_ERR_ARG);
  sley_comparison_destroy(comparison);
  EXPECT(sley_plan_compare(comm, block, s->begin, s->begin, s->k, NULL, unknown, &comparison) ==
         SLEY_ERR_ARG);
  EXPECT(strstr(sley_last_error(), "hello"));
  const char *const *mine = comm->rank == 0 ? twice : other;
  EXPECT(comm->size == 1 ||
         sley_plan_compare(comm, block, s->begin, s->begin, s->k, NULL, mine, &comparison) != SLEY_OK);
  EXPECT(comm->size == 1 || strstr(sley_last_error(), "algo"));
  EXPECT(sley_plan_compare(comm, block, s->begin, s->begin, s->k, NULL, NULL, &comparison) == SLEY_ERR_ARG);
  EXPECT(sley_plan_compare(NULL, block, s->begin, s->begin, s->k, NULL, twice, &comparison) == SLEY_ERR_ARG);
  sley_comparison_destroy(NULL);
  sley_matrix_destroy(block);
  return SLEY_OK;
}

static void arguments(void **state) {
  (void)state;
  sample s = {.begin = {0, 20, 20}, .k = 3};
  for (int ranks = 1; ranks <= 2; ranks++) {
    rank_case c = {.transport = "threads", .ranks = ranks, .workgroup = 1, .threads = 1};
    assert_sley_ok(sley_matrix_read("er:n=20,nnz=60", NULL, &s.matrix));
    assert_case_ok(&c, run_case(&c, arguments_main, &s));
    sley_matrix_destroy(s.matrix);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(says_what_plans_say), cmocka_unit_test(arguments)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
