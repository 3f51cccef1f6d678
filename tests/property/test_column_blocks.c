/* SPDX-License-Identifier: Apache-2.0 */
/* Plans that do not fit in memory. Products in blocks of columns must be right, move exactly the predicted
 * bytes and have the same bits. The predicted memory must be at least the memory that is used, and must be
 * known before any is allocated. */
#include "spmm_case.h"

#include "mirror.h"
#include "ops/spmm.h"
#include "ranks.h"
#include "transport/transport.h"

/* Square, wide and tall; rows of very different lengths. */
static const char *const shapes[] = {"rmat:scale=9,edgefactor=8,seed=3",
                                     "er:rows=300,cols=700,nnz=4000,seed=1",
                                     "er:rows=700,cols=300,nnz=4000,seed=2"};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static spmm_case make_case(const char *algo, int ranks, uint64_t seed) {
  static const int64_t widths[] = {37, 65, 131, 96, 67};
  return (spmm_case){.algo = algo,
                     .ranks = ranks,
                     .workgroup = seed % 3 == 0 ? (ranks + 1) / 2 : ranks,
                     .threads = 1 + (int)(seed % 2),
                     .k = widths[seed % 5],
                     .partition = seed % 2 ? "rows" : "nnz",
                     .alpha = 1,
                     .pad = (int64_t)(seed % 3),
                     .room = seed % 2 ? 0.75 : 0.4};
}

/* Whether plans with little memory can omit copies that other plans have, and so may not need blocks. */
static bool has_lean_plans(void) {
  enum { MOST = 64 };
  sley_kernel kernel[MOST];
  int count = 0;
  const char *device = getenv("SLEY_TEST_DEVICE");
  assert_sley_ok(sley_kernels(device ? device : "cpu", kernel, MOST, &count));
  for (int i = 0; i < count && i < MOST; i++)
    if (strcmp(kernel[i].name, "hybrid") == 0)
      return true;
  return false;
}

static void blocks_are_right(void **state) {
  (void)state;
  const bool may_be_lean = has_lean_plans();
  uint64_t seed = 0, run = 0, lean = 0;
  for (int s = 0; s < SHAPES; s++) {
    sley_matrix *matrix = spmm_case_matrix(shapes[s], (sley_dtype)(s % 4));
    for (const char *const *algo = sley_algorithms(); *algo; algo++)
      for (int ranks = 1; ranks <= 4; ranks++, seed++) {
        if (test_draw(test_share_of(12)) != 0)
          continue;
        run++;
        spmm_case c = make_case(*algo, ranks, seed);
        spmm_outcome out;
        spmm_case_check(matrix, &c, &out);
        const sley_plan_info *info = &out.info;
        if (may_be_lean && info->column_blocks == 1 && info->needed_bytes <= info->limit_bytes) {
          lean++;
          continue;
        }
        if (info->column_blocks < 2 || info->needed_bytes <= info->limit_bytes)
          fail_msg("%s on %d ranks, k %lld: %lld blocks, needs %lld of %lld", *algo, ranks, (long long)c.k,
                   (long long)info->column_blocks, (long long)info->needed_bytes,
                   (long long)info->limit_bytes);
        assert_true(info->column_width < c.k);
        assert_true(info->column_width < 32 || info->column_width % 32 == 0);
        assert_int_equal(info->column_blocks, (c.k + info->column_width - 1) / info->column_width);
        c.alpha = -0.5;
        c.beta = 2;
        c.transpose = true;
        spmm_case_check(matrix, &c, &out);
      }
    sley_matrix_destroy(matrix);
  }
  assert_true(run == 0 || 2 * lean < run);
}

static void bits_do_not_depend_on_blocks(void **state) {
  (void)state;
  uint64_t seed = 0;
  sley_matrix *matrix = spmm_case_matrix(shapes[0], SLEY_F32);
  for (const char *const *algo = sley_algorithms(); *algo; algo++) {
    spmm_case c = make_case(*algo, 1 + (int)(seed % 4), seed);
    spmm_outcome blocks, whole;
    c.reproducible = true;
    c.beta = seed++ % 2 ? 0.25 : 0;
    spmm_case_check(matrix, &c, &blocks);
    assert_true(blocks.info.column_blocks > 1);
    c.room = 0;
    c.ranks = c.workgroup = 1;
    spmm_case_check(matrix, &c, &whole);
    assert_int_equal(whole.info.column_blocks, 1);
    assert_true(blocks.bits == whole.bits);
  }
  sley_matrix_destroy(matrix);
}

/* ---- memory that is used */

enum { RANKS = 3, K = 80 };

typedef struct taking {
  const sley_matrix *matrix;
  int64_t row_begin[RANKS + 1], col_begin[RANKS + 1];
  const char *algo, *wire;
  int64_t mem_limit;
  int64_t taken; /* most of all ranks */
  sley_plan_info info;
} taking;

static sley_status take(sley_comm *comm, void *argument) {
  taking *t = argument;
  int rank = sley_comm_rank(comm);
  sley_plan_options options = SLEY_PLAN_OPTIONS_INIT;
  options.algo = t->algo;
  options.wire = t->wire;
  options.mem_limit = t->mem_limit;
  sley_matrix *block;
  sley_plan *plan = NULL;
  int64_t before, after, total;
  sley_status status = sley_matrix_row_block(t->matrix, t->row_begin[rank],
                                             t->row_begin[rank + 1] - t->row_begin[rank], &block);
  if (status != SLEY_OK)
    return status;
  status = comm->device->ops->memory(comm->device, &before, &total);
  if (status == SLEY_OK)
    status = sley_plan_create(comm, block, t->row_begin, t->col_begin, K, &options, &plan);
  if (status == SLEY_ERR_MEMORY && comm->device->ops->memory(comm->device, &after, &total) == SLEY_OK &&
      after != before)
    status = sl_fail(SLEY_ERR_INTERNAL, "memory is kept by a plan that does not fit");
  if (status == SLEY_OK)
    status = comm->device->ops->memory(comm->device, &after, &total);
  int64_t taken = status == SLEY_OK ? before - after : 0;
  if (status == SLEY_OK)
    status = sley_comm_allreduce(comm, SLEY_MAX, &taken, 1);
  if (status == SLEY_OK && rank == 0) {
    t->taken = taken;
    status = sley_plan_info_get(plan, &t->info);
  }
  sley_plan_destroy(plan);
  sley_matrix_destroy(block);
  return status;
}

static sley_status run(taking *t, int64_t memory) {
  char text[32];
  sley_rank_options ranks = SLEY_RANK_OPTIONS_INIT;
  ranks.ranks = RANKS;
  ranks.device = test_device();
  snprintf(text, sizeof text, "%lld", (long long)memory);
  setenv("SLEY_MOCK_MEMORY", text, 1);
  sley_status status = sley_run_ranks(&ranks, take, t);
  unsetenv("SLEY_MOCK_MEMORY");
  return status;
}

static void check_needed(taking *t) {
  t->mem_limit = 0;
  assert_sley_ok(run(t, (int64_t)1 << 30));
  int64_t needed = t->info.needed_bytes;
  if (t->taken > needed || needed > 2 * t->taken) /* workspaces are freed again */
    fail_msg("%s, wire %s: said to need %lld bytes, took %lld", t->algo, t->wire, (long long)needed,
             (long long)t->taken);
  assert_sley_ok(run(t, needed));
  assert_int_equal(t->info.column_blocks, 1);
  assert_int_equal(run(t, needed - 1), SLEY_ERR_MEMORY);
  assert_non_null(strstr(sley_last_error(), "--mem-limit"));
  t->mem_limit = needed / 2;
  assert_sley_ok(run(t, needed - 1));
  assert_true(t->info.column_blocks > 1);
  if (t->taken > t->mem_limit)
    fail_msg("%s, wire %s: took %lld bytes of %lld", t->algo, t->wire, (long long)t->taken,
             (long long)t->mem_limit);
  t->mem_limit = 1;
  assert_int_equal(run(t, needed), SLEY_ERR_MEMORY);
  assert_non_null(strstr(sley_last_error(), "1 column of the product"));
}

/* On the mock device, which counts memory: three devices with one rank each. */
static void what_is_needed_is_enough(void **state) {
  (void)state;
  const char *device = getenv("SLEY_MOCK_REACH");
  if (test_on_cpu() || !device)
    skip();
  sley_matrix *matrix = spmm_case_matrix("rmat:scale=11,edgefactor=8,seed=7", SLEY_F32);
  taking t = {.matrix = matrix};
  const uint64_t algorithms = (uint64_t)count_algorithms();
  uint64_t number = 0;
  const uint64_t step = test_share_of(algorithms), first = test_first(algorithms);
  assert_sley_ok(sley_partition_rows(matrix, "nnz", RANKS, t.row_begin));
  memcpy(t.col_begin, t.row_begin, sizeof t.col_begin);
  for (const char *const *algo = sley_algorithms(); *algo; algo++, number++)
    for (int narrow = 0; number % step == first && narrow < (strcmp(*algo, "rowwise") == 0 ? 1 : 2);
         narrow++) {
      t.algo = *algo;
      t.wire = narrow ? "bf16" : "none";
      check_needed(&t);
    }
  sley_matrix_destroy(matrix);
}

/* ---- rows that arrive while others are read */

enum { WIDE = 131, PAIR = 2 };

/* Bytes between the rows of a plan's halo that arrives in pieces; 0: it has none. */
static int64_t arriving_stride(const sley_plan *plan) {
  for (int i = 0; i < plan->plan.buffers.count; i++)
    if (SL_BUFFER(&plan->plan, i)->arrives)
      return SL_BUFFER(&plan->plan, i)->row_bytes;
  return 0;
}

typedef struct narrowing {
  const sley_matrix *matrix;
  int64_t row_begin[PAIR + 1];
  int64_t k;
  int64_t stride[PAIR]
                [2]; /* for each rank: strides of the plan narrowed to k columns, and of one made for k */
} narrowing;

static sley_status narrow(sley_comm *comm, void *argument) {
  narrowing *n = argument;
  const int rank = sley_comm_rank(comm);
  sley_plan_options options = SLEY_PLAN_OPTIONS_INIT;
  sley_plan *wide = NULL, *narrowed = NULL, *own = NULL;
  sley_matrix *block;
  options.algo = "halo";
  sley_status status = sley_matrix_row_block(n->matrix, n->row_begin[rank],
                                             n->row_begin[rank + 1] - n->row_begin[rank], &block);
  if (status == SLEY_OK)
    status = sley_plan_create(comm, block, n->row_begin, n->row_begin, WIDE, &options, &wide);
  if (status == SLEY_OK)
    status = sl_spmm_narrow(wide, n->k, &narrowed);
  if (status == SLEY_OK)
    status = sley_plan_create(comm, block, n->row_begin, n->row_begin, n->k, &options, &own);
  if (status == SLEY_OK) {
    n->stride[rank][0] = arriving_stride(narrowed);
    n->stride[rank][1] = arriving_stride(own);
  }
  sley_plan_destroy(own);
  sley_plan_destroy(narrowed);
  sley_plan_destroy(wide);
  sley_matrix_destroy(block);
  return status;
}

/* A narrowed plan's rows must have the stride of a plan made for its width: kernels cannot read rows that
 * share sectors while other rows arrive. On devices that load each other's memory. */
static void narrowed_rows_arrive_alike(void **state) {
  (void)state;
  const char *reach = getenv("SLEY_MOCK_REACH");
  if (test_on_cpu() || !reach || strcmp(reach, "yes") != 0)
    skip();
  sley_matrix *matrix = spmm_case_matrix(shapes[0], SLEY_F32);
  sley_rank_options ranks = SLEY_RANK_OPTIONS_INIT;
  narrowing n = {.matrix = matrix};
  ranks.ranks = PAIR;
  ranks.device = test_device();
  assert_sley_ok(sley_partition_rows(matrix, "nnz", PAIR, n.row_begin));
  for (n.k = 1; n.k < WIDE; n.k += test_share_of(4)) {
    assert_sley_ok(sley_run_ranks(&ranks, narrow, &n));
    for (int rank = 0; rank < PAIR; rank++) {
      assert_true(n.stride[rank][1] >= n.k * (int64_t)sizeof(float));
      assert_int_equal(n.stride[rank][0], n.stride[rank][1]);
    }
  }
  sley_matrix_destroy(matrix);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(blocks_are_right), cmocka_unit_test(bits_do_not_depend_on_blocks),
      cmocka_unit_test(what_is_needed_is_enough), cmocka_unit_test(narrowed_rows_arrive_alike)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
