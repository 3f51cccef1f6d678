/* SPDX-License-Identifier: Apache-2.0 */
/* A rank's device through the public interface, on the device the tests run on. */
#include <math.h>

#include "mirror.h"
#include "sley.h"
#include "transport/transport.h"

#define EXPECT(condition)                                                                                    \
  do {                                                                                                       \
    if (!(condition))                                                                                        \
      return sl_fail(SLEY_ERR_INTERNAL, "%s:%d: %s does not hold", __FILE__, __LINE__, #condition);          \
  } while (0)

enum { BYTES = 1000 };

static sley_status copy_main(sley_comm *comm, void *arg) {
  (void)arg;
  unsigned char there_and[BYTES], back[BYTES] = {0};
  for (int i = 0; i < BYTES; i++)
    there_and[i] = (unsigned char)(i * 7 + sley_comm_rank(comm));
  EXPECT(strcmp(sley_comm_device(comm), test_device()) == 0);
  EXPECT(*sley_comm_device_note(comm) == 0);
  void *a = NULL, *b = NULL, *nothing = NULL;
  SL_TRY(sley_comm_alloc(comm, BYTES, &a));
  SL_TRY(sley_comm_alloc(comm, BYTES, &b));
  SL_TRY(sley_comm_alloc(comm, 0, &nothing));
  SL_TRY(sley_comm_copy(comm, a, there_and, BYTES, SLEY_TO_DEVICE));
  SL_TRY(sley_comm_copy(comm, b, a, BYTES, SLEY_WITHIN));
  SL_TRY(sley_comm_copy(comm, back, b, BYTES, SLEY_TO_HOST));
  EXPECT(memcmp(back, there_and, BYTES) == 0);
  SL_TRY(sley_comm_wait(comm));
  SL_TRY(sley_comm_set_stream(comm, NULL));
  SL_TRY(sley_comm_copy(comm, a, nothing, 0, SLEY_WITHIN));
  SL_TRY(sley_comm_copy(comm, NULL, NULL, 0, SLEY_TO_HOST));
  sley_comm_free(comm, nothing);
  sley_comm_free(comm, b);
  sley_comm_free(comm, NULL);
  EXPECT(sley_comm_alloc(comm, -1, &b) == SLEY_ERR_ARG && !b);
  EXPECT(sley_comm_alloc(comm, 8, NULL) == SLEY_ERR_ARG);
  EXPECT(sley_comm_copy(comm, a, NULL, 8, SLEY_TO_DEVICE) == SLEY_ERR_ARG);
  EXPECT(sley_comm_copy(comm, NULL, there_and, 8, SLEY_TO_DEVICE) == SLEY_ERR_ARG);
  EXPECT(sley_comm_copy(comm, a, there_and, -8, SLEY_TO_DEVICE) == SLEY_ERR_ARG);
  EXPECT(sley_comm_copy(comm, a, there_and, 8, (sley_copy)3) == SLEY_ERR_ARG);
  if (test_on_cpu())
    EXPECT(sley_comm_set_stream(comm, there_and) == SLEY_ERR_UNSUPPORTED);
  sley_comm_free(comm, a);
  return SLEY_OK;
}

/* Sizes from nothing to several fragments of large copies, which do not end with one. */
static const int64_t private_bytes[] = {0, 1, 4097, (3 << 20) + 5, (20 << 20) + 7, 8 << 20};
enum { PRIVATE = sizeof private_bytes / sizeof *private_bytes };

/* Byte i of what is written to a block in a round. */
static unsigned char byte_of(int rank, int round, int block, int64_t i) {
  return (unsigned char)(i * 31 + i / 4093 + 17 * rank + 5 * round + block);
}

static sley_status write_private(sley_comm *comm, int round, int b, unsigned char *host, void **out) {
  for (int64_t i = 0; i < private_bytes[b]; i++)
    host[i] = byte_of(comm->rank, round, b, i);
  return sl_device_upload_private(comm->queue, host, private_bytes[b], "a test", out);
}

static sley_status read_private(sley_comm *comm, int round, int b, unsigned char *host, const void *block) {
  SL_TRY(comm->queue->ops->copy(comm->queue, SL_COPY_TO_HOST, host, block, private_bytes[b]));
  for (int64_t i = 0; i < private_bytes[b]; i++)
    EXPECT(host[i] == byte_of(comm->rank, round, b, i));
  return SLEY_OK;
}

/* Blocks are taken, the odd ones given back and taken anew, then the even ones, and none disturbs another. */
static sley_status private_main(sley_comm *comm, void *arg) {
  unsigned char *host = arg;
  host += comm->rank * (private_bytes[4] + 1);
  const sl_device_ops *ops = comm->device->ops;
  void *block[PRIVATE];
  for (int b = 0; b < PRIVATE; b++)
    SL_TRY(write_private(comm, 0, b, host, &block[b]));
  for (int round = 1; round < 3; round++)
    for (int b = round % 2; b < PRIVATE; b += 2) {
      SL_TRY(read_private(comm, 0, b, host, block[b]));
      ops->free(comm->device, block[b]);
      SL_TRY(write_private(comm, round, b, host, &block[b]));
    }
  int64_t available = 0, total = 0;
  SL_TRY(ops->memory(comm->device, &available, &total));
  EXPECT(available >= 0 && available <= total);
  void *none = &none;
  EXPECT(ops->alloc_private(comm->device, -1, "a test", &none) == SLEY_ERR_MEMORY && !none);
  EXPECT(ops->alloc_private(comm->device, INT64_MAX / 2, "a test", &none) == SLEY_ERR_MEMORY && !none);
  for (int b = 0; b < PRIVATE; b++) {
    SL_TRY(read_private(comm, 2 - b % 2, b, host, block[b]));
    ops->free(comm->device, block[b]);
  }
  return SLEY_OK;
}

static sley_status run_on(const char *device, sley_rank_fn fn, void *arg) {
  sley_rank_options options = SLEY_RANK_OPTIONS_INIT;
  options.ranks = 3;
  options.threads = 2;
  options.device = device;
  return sley_run_ranks(&options, fn, arg);
}

static void test_memory_of_a_rank(void **state) {
  (void)state;
  assert_sley_ok(run_on(test_device(), copy_main, NULL));
}

static void test_private_memory_of_a_device(void **state) {
  (void)state;
  unsigned char *host = malloc(3 * (size_t)(private_bytes[4] + 1));
  assert_non_null(host);
  assert_sley_ok(run_on(test_device(), private_main, host));
  free(host);
}

static void test_no_comm(void **state) {
  (void)state;
  void *block;
  assert_string_equal(sley_comm_device(NULL), "");
  assert_string_equal(sley_comm_device_note(NULL), "");
  assert_int_equal(sley_comm_alloc(NULL, 8, &block), SLEY_ERR_ARG);
  assert_int_equal(sley_comm_copy(NULL, block, block, 0, SLEY_WITHIN), SLEY_ERR_ARG);
  assert_int_equal(sley_comm_wait(NULL), SLEY_ERR_ARG);
  assert_int_equal(sley_comm_set_stream(NULL, NULL), SLEY_ERR_ARG);
  sley_comm_free(NULL, NULL);
}

static sley_status name_main(sley_comm *comm, void *name) {
  if (sley_comm_rank(comm) == 0)
    snprintf(name, 16, "%s", sley_comm_device(comm));
  return SLEY_OK;
}

/* Without GPUs, whatever the reason: by name an error that says so, by "auto" the cpu. */
static void test_device_that_is_not_there(void **state) {
  (void)state;
  char name[16] = "";
  setenv("CUDA_VISIBLE_DEVICES", "", 1);
  setenv("SLEY_MOCK_DEVICES", "0", 1);
  if (test_on_cpu()) { /* elsewhere the GPUs have been seen by now */
    assert_int_equal(run_on("cuda", name_main, name), SLEY_ERR_UNSUPPORTED);
    assert_non_null(strstr(sley_last_error(), "cuda"));
    assert_sley_ok(run_on("auto", name_main, name));
    assert_string_equal(name, "cpu");
  }
  assert_int_equal(run_on("abacus", name_main, name), SLEY_ERR_ARG);
  assert_non_null(strstr(sley_last_error(), "abacus"));
  assert_sley_ok(run_on(NULL, name_main, name));
  assert_string_equal(name, "cpu");
}

/* Programs of before the field know nothing of devices. */
static void test_older_options(void **state) {
  (void)state;
  char name[16] = "";
  sley_rank_options options = SLEY_RANK_OPTIONS_INIT;
  options.struct_size = offsetof(sley_rank_options, device);
  options.device = "abacus";
  assert_sley_ok(sley_run_ranks(&options, name_main, name));
  assert_string_equal(name, "cpu");
}

enum { ROWS = 90, K = 5 };

/* The devices can do without the hosts. */
static bool can_capture(const sl_comm *comm) {
  const sl_device_ops *ops = comm->device->ops;
  return ops->host_addresses ||
         (ops->signals && ops->count() >= comm->size && ops->reach(comm->device, comm->device) &&
          !(getenv("SLEY_MOCK_REACH") && strcmp(getenv("SLEY_MOCK_REACH"), "no") == 0));
}

/* Y of this rank's rows, by a plan of an algorithm. */
static sley_status multiply(sley_comm *comm, const sley_matrix *block, const int64_t *begin, const char *algo,
                            bool capture, float *y) {
  sley_plan_options options = SLEY_PLAN_OPTIONS_INIT;
  options.algo = algo;
  options.capture = capture;
  float x[ROWS * K];
  mirror there[2];
  sley_plan *plan = NULL;
  int64_t first = begin[sley_comm_rank(comm)], bytes = (begin[sley_comm_rank(comm) + 1] - first) * K * 4;
  SL_TRY(sley_dense_random(3, first, bytes / (K * 4), K, NULL, SLEY_F32, x, K));
  sley_status status = mirror_open(comm, x, bytes, &there[0]);
  if (status == SLEY_OK)
    status = mirror_open(comm, y, bytes, &there[1]);
  if (status == SLEY_OK)
    status = sley_plan_create(comm, block, begin, begin, K, &options, &plan);
  for (int turn = 0; turn < 3 && status == SLEY_OK; turn++) /* nothing waits or is freed in between */
    status = sley_spmm(plan, 1, there[0].here, K, 0, there[1].here, K);
  if (status == SLEY_OK)
    status = mirror_fetch(&there[1]);
  if (status == SLEY_OK)
    status = sley_comm_barrier(comm);
  sley_plan_destroy(plan);
  mirror_close(&there[1]);
  mirror_close(&there[0]);
  return status;
}

/* rowwise finds its shape by timing, and with it the order of its sums: another plan's last bits may differ.
 */
static bool is_as_good(const char *algo, const float *a, const float *b) {
  bool timed = strcmp(algo, "rowwise") == 0;
  for (int i = 0; i < ROWS * K; i++)
    if (timed ? fabsf(a[i] - b[i]) > 1e-5f * (1 + fabsf(a[i])) : memcmp(&a[i], &b[i], sizeof a[i]) != 0)
      return false;
  return true;
}

static sley_status capture_main(sley_comm *comm, void *arg) {
  sley_matrix *matrix = arg, *block;
  int64_t begin[4];
  float plain[ROWS * K] = {0}, captured[ROWS * K] = {0};
  SL_TRY(sley_partition_equal(ROWS, 3, begin));
  int rank = sley_comm_rank(comm);
  SL_TRY(sley_matrix_row_block(matrix, begin[rank], begin[rank + 1] - begin[rank], &block));
  for (const char *const *algo = sley_algorithms(); *algo; algo++) {
    sley_status status = multiply(comm, block, begin, *algo, true, captured);
    if (!can_capture(comm)) {
      EXPECT(status == SLEY_ERR_UNSUPPORTED && strstr(sley_last_error(), "captured"));
      continue;
    }
    SL_TRY(status);
    SL_TRY(multiply(comm, block, begin, *algo, false, plain));
    if (!is_as_good(*algo, plain, captured))
      return sl_fail(SLEY_ERR_INTERNAL, "%s: a plan to capture gave another Y", *algo);
  }
  sley_matrix_destroy(block);
  return SLEY_OK;
}

/* The devices of ranks that are threads need no host between them, or the plan says that they do. */
static void test_plans_to_capture(void **state) {
  (void)state;
  sley_matrix *matrix;
  assert_sley_ok(sley_matrix_read("er:n=90,nnz=700", NULL, &matrix));
  assert_sley_ok(run_on(test_device(), capture_main, matrix));
  sley_matrix_destroy(matrix);
}

/* What the tests have set must be gone in the next setting. */
static int show_devices(void **state) {
  (void)state;
  return unsetenv("CUDA_VISIBLE_DEVICES") | unsetenv("SLEY_MOCK_DEVICES");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_plans_to_capture),
      cmocka_unit_test(test_memory_of_a_rank),
      cmocka_unit_test(test_private_memory_of_a_device),
      cmocka_unit_test(test_no_comm),
      cmocka_unit_test(test_older_options),
      cmocka_unit_test(test_device_that_is_not_there),
  };
  return cmocka_run_group_tests(tests, NULL, show_devices);
}
