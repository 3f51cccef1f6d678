/* SPDX-License-Identifier: Apache-2.0 */
/* Plans with a kernel that is requested by name. If the kernel supports the matrix, the plan uses it for
 * every entry, with the bits of the automatic choice where the documentation promises them; otherwise all
 * ranks refuse it by name. The reported entries of a plan's kernels add up to the entries of the matrix. */
#include "base/random.h"
#include "device/device.h"
#include "matrix/matrix.h"
#include "ranks.h"

enum { MOST_RANKS = 8, MOST_KERNELS = 64, MOST_USES = 16, K = 5 };

typedef struct sample {
  sley_matrix *matrix;
  int64_t begin[MOST_RANKS + 1];
  const char *algo;
  sley_dtype dtype;
  bool reproducible;
} sample;

static int64_t own_rows(const sl_comm *comm, const sample *s) {
  return s->begin[comm->rank + 1] - s->begin[comm->rank];
}

static sley_status plan_with(sl_comm *comm, const sample *s, const sley_matrix *block, const char *kernel,
                             bool dry, sley_plan **out) {
  sley_plan_options options = SLEY_PLAN_OPTIONS_INIT;
  options.algo = s->algo;
  options.kernel = kernel;
  options.reproducible = s->reproducible;
  options.dry = dry;
  return sley_plan_create(comm, block, s->begin, s->begin, K, &options, out);
}

/* Computes this rank's rows of Y, for values of X that depend only on the row. *y is freed with
 * sley_buffer_free. */
static sley_status multiply(sl_comm *comm, sley_plan *plan, const sample *s, void **y) {
  int64_t bytes = own_rows(comm, s) * K * (int64_t)sley_dtype_bytes(s->dtype);
  void *host, *device_x, *device_y;
  SL_TRY(sley_buffer_alloc(bytes, &host));
  SL_TRY(sley_buffer_alloc(bytes, y));
  SL_TRY(sley_dense_random(3, s->begin[comm->rank], own_rows(comm, s), K, NULL, s->dtype, host, K));
  SL_TRY(sley_comm_alloc(comm, bytes, &device_x));
  SL_TRY(sley_comm_alloc(comm, bytes, &device_y));
  SL_TRY(sley_comm_copy(comm, device_x, host, bytes, SLEY_TO_DEVICE));
  SL_TRY(sley_spmm(plan, 1, device_x, K, 0, device_y, K));
  SL_TRY(sley_comm_copy(comm, *y, device_y, bytes, SLEY_TO_HOST));
  sley_comm_free(comm, device_y);
  sley_comm_free(comm, device_x);
  sley_buffer_free(host);
  return SLEY_OK;
}

/* Whether a kernel leaves rows to another if no window suits it. */
static bool may_leave(const char *kernel, const char *to) {
  const bool dense = strcmp(kernel, "dense") == 0;
  return (dense && strcmp(to, "hybrid") == 0) ||
         ((dense || strcmp(kernel, "hybrid") == 0) && strcmp(to, "stream") == 0);
}

/* Checks the uses of a plan: they add up to all entries, and all are of `kernel` unless that is NULL. */
static sley_status check_uses(const sley_plan *plan, const sample *s, const char *kernel) {
  sley_kernel_use use[MOST_USES];
  int count, again;
  int64_t entries = 0;
  SL_TRY(sley_plan_kernels(plan, use, MOST_USES, &count));
  EXPECT(count <= MOST_USES);
  for (int i = 0; i < count; i++) {
    EXPECT(use[i].entries > 0 && use[i].kind <= SLEY_PART_STAGE);
    EXPECT(i == 0 || use[i].kind > use[i - 1].kind || !kernel || may_leave(kernel, "stream"));
    EXPECT(!kernel || strcmp(use[i].kernel, kernel) == 0 || may_leave(kernel, use[i].kernel));
    EXPECT(use[i].copied >= 0 && use[i].copied <= use[i].entries &&
           (use[i].copied > 0) == (use[i].layout != NULL));
    entries += use[i].entries;
  }
  bool slices = strcmp(s->algo, "summa-2d") == 0; /* each slice has its own columns */
  EXPECT(slices ? entries >= s->matrix->nnz : entries == s->matrix->nnz);
  SL_TRY(sley_plan_kernels(plan, NULL, 0, &again));
  EXPECT(again == count);
  return SLEY_OK;
}

/* Checks the uses of a dry plan, which may cover all entries, or none if entries travel. */
static sley_status check_dry(sl_comm *comm, const sample *s, const sley_matrix *block, const char *kernel) {
  sley_kernel_use use[MOST_USES];
  sley_plan *plan;
  int count;
  int64_t entries = 0;
  SL_TRY(plan_with(comm, s, block, kernel, true, &plan));
  SL_TRY(sley_plan_kernels(plan, use, MOST_USES, &count));
  for (int i = 0; i < count; i++)
    entries += use[i].entries;
  if (entries_travel(s->algo, s->reproducible, comm->size))
    EXPECT(count == 0 || entries >= s->matrix->nnz - comm->size);
  else
    EXPECT(entries >= s->matrix->nnz - comm->size && entries <= s->matrix->nnz + comm->size);
  sley_plan_destroy(plan);
  return SLEY_OK;
}

static sley_status check_refusal(const char *kernel) {
  char text[96];
  snprintf(text, sizeof text, "kernel %s of device ", kernel);
  EXPECT(strstr(sley_last_error(), text) && strstr(sley_last_error(), " does not serve it: "));
  return SLEY_OK;
}

static sley_status check_kernel(sl_comm *comm, const sample *s, const sley_matrix *block, const char *kernel,
                                const void *expected, int64_t *served) {
  sley_plan *plan;
  void *y;
  sley_status status = plan_with(comm, s, block, kernel, false, &plan);
  if (status == SLEY_ERR_UNSUPPORTED || status == SLEY_ERR_PEER)
    return check_refusal(kernel);
  SL_TRY(status);
  SL_TRY(check_uses(plan, s, kernel));
  SL_TRY(multiply(comm, plan, s, &y));
  EXPECT(!s->reproducible ||
         memcmp(y, expected, (size_t)(own_rows(comm, s) * K) * sley_dtype_bytes(s->dtype)) == 0);
  sley_buffer_free(y);
  sley_plan_destroy(plan);
  (*served)++;
  return check_dry(comm, s, block, kernel);
}

static sley_status rank_main(sl_comm *comm, void *arg) {
  const sample *s = arg;
  sley_kernel kernel[MOST_KERNELS];
  sley_matrix *block;
  sley_plan *plan;
  void *expected;
  int count;
  int64_t served = 0;
  SL_TRY(sley_matrix_row_block(s->matrix, s->begin[comm->rank], own_rows(comm, s), &block));
  SL_TRY(sley_kernels(sley_comm_device(comm), kernel, MOST_KERNELS, &count));
  EXPECT(count > 0 && count <= MOST_KERNELS);
  SL_TRY(plan_with(comm, s, block, NULL, false, &plan));
  SL_TRY(check_uses(plan, s, NULL));
  SL_TRY(multiply(comm, plan, s, &expected));
  sley_plan_destroy(plan);
  SL_TRY(check_dry(comm, s, block, "auto"));
  for (int i = 0; i < count; i++)
    if (!kernel[i].library) /* a machine may lack kernels of other libraries */
      SL_TRY(check_kernel(comm, s, block, kernel[i].name, expected, &served));
  EXPECT(served > 0);
  sley_buffer_free(expected);
  sley_matrix_destroy(block);
  return SLEY_OK;
}

static void run_samples(const rank_case *c) {
  enum { ROUNDS = 3 };
  for (uint64_t round = test_first(ROUNDS); round < ROUNDS; round += test_share()) {
    uint64_t draw = sl_random(c->seed, 31, round);
    char text[96];
    sample s = {.algo = sley_algorithms()[sl_below(draw >> 8, count_algorithms())],
                .dtype = (sley_dtype)(draw & 3),
                .reproducible = draw >> 2 & 1};
    sley_read_options read = SLEY_READ_OPTIONS_INIT;
    read.dtype = s.dtype;
    snprintf(text, sizeof text, "er:n=60,nnz=500,seed=%d", (int)(draw >> 40 & 1023));
    assert_sley_ok(sley_matrix_read(text, &read, &s.matrix));
    assert_sley_ok(sley_partition_rows(s.matrix, "nnz", c->ranks, s.begin));
    assert_case_ok(c, run_case(c, rank_main, &s));
    sley_matrix_destroy(s.matrix);
  }
}

static void uses_what_is_asked_for(void **state) {
  (void)state;
  each_case(run_samples);
}

/* Wrong names, and names that differ between ranks, are refused. */
static sley_status arguments_main(sl_comm *comm, void *arg) {
  const sample *s = arg;
  sley_kernel kernel[1];
  sley_matrix *block;
  sley_plan *plan;
  int count;
  SL_TRY(sley_matrix_row_block(s->matrix, s->begin[comm->rank], own_rows(comm, s), &block));
  SL_TRY(sley_kernels("cpu", kernel, 1, &count));
  EXPECT(count > 1 && kernel[0].name && !kernel[0].library);
  EXPECT(sley_kernels(NULL, NULL, 0, &count) == SLEY_OK && count > 1);
  EXPECT(sley_kernels("cpu", NULL, 1, &count) == SLEY_ERR_ARG);
  EXPECT(sley_kernels("cpu", kernel, 1, NULL) == SLEY_ERR_ARG);
  EXPECT(sley_kernels("tpu", kernel, 1, &count) == SLEY_ERR_ARG);
  EXPECT(plan_with(comm, s, block, "f99-none", false, &plan) == SLEY_ERR_ARG);
  EXPECT(strstr(sley_last_error(), "f99-none") && strstr(sley_last_error(), "f32-portable"));
  const char *first[] = {"f32-portable", "f99-none"};
  for (int i = 0; i < 2 && comm->size > 1; i++) {
    EXPECT(plan_with(comm, s, block, comm->rank == 0 ? first[i] : "auto", false, &plan) == SLEY_ERR_ARG);
    EXPECT(strstr(sley_last_error(), "kernel"));
  }
  SL_TRY(plan_with(comm, s, block, "f32-portable", false, &plan));
  EXPECT(sley_plan_kernels(plan, NULL, 1, &count) == SLEY_ERR_ARG);
  EXPECT(sley_plan_kernels(plan, NULL, 0, NULL) == SLEY_ERR_ARG);
  EXPECT(sley_plan_kernels(NULL, NULL, 0, &count) == SLEY_ERR_ARG);
  sley_plan_destroy(plan);
  sley_matrix_destroy(block);
  return SLEY_OK;
}

static void arguments(void **state) {
  (void)state;
  sample s = {.algo = "halo", .begin = {0, 20, 20}};
  for (int ranks = 1; ranks <= 2 && !getenv("SLEY_TEST_DEVICE"); ranks++) {
    rank_case c = {.transport = "threads", .ranks = ranks, .workgroup = 1, .threads = 1};
    assert_sley_ok(sley_matrix_read("er:n=20,nnz=60", NULL, &s.matrix));
    assert_case_ok(&c, run_case(&c, arguments_main, &s));
    sley_matrix_destroy(s.matrix);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(uses_what_is_asked_for), cmocka_unit_test(arguments)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
