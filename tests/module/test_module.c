/* SPDX-License-Identifier: Apache-2.0 */
/* Transports as modules, through the shared library as a user has it: found by name at run time, used like a
 * built-in one, and refused with a reason. */
#include "support.h"

static sley_status count_main(sley_comm *comm, void *arg) {
  int *ranks = arg;
  if (sley_comm_rank(comm) == 0)
    *ranks = sley_comm_size(comm) * 10 + sley_comm_workgroup(comm);
  return sley_comm_barrier(comm);
}

static sley_status run_on(const char *transport, int *ranks) {
  sley_rank_options options = SLEY_RANK_OPTIONS_INIT;
  options.ranks = 3;
  options.workgroup = 2;
  options.threads = 1;
  options.transport = transport;
  return sley_run_ranks(&options, count_main, ranks);
}

static void test_module_is_found_by_name(void **state) {
  (void)state;
  setenv("SLEY_MODULE_PATH", SLEY_MOCK_DIR, 1);
  unsetenv("SLEY_MOCK_RAN");
  int ranks = 0;
  assert_sley_ok(run_on("mock", &ranks));
  assert_int_equal(ranks, 32);
  assert_string_equal(getenv("SLEY_MOCK_RAN"), "yes");
}

static void test_unknown_transport(void **state) {
  (void)state;
  setenv("SLEY_MODULE_PATH", SLEY_MOCK_DIR, 1);
  static const char *const names[] = {"no-such", "", "../x", "Mock"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    int ranks = 0;
    assert_int_equal(run_on(names[i], &ranks), SLEY_ERR_ARG);
    assert_non_null(strstr(sley_last_error(), "there is no transport \""));
    assert_int_equal(ranks, 0);
  }
}

static void test_module_of_another_version(void **state) {
  (void)state;
  setenv("SLEY_MODULE_PATH", SLEY_MOCK_DIR "/old", 1);
  int ranks = 0;
  assert_sley_ok(run_on("nvshmem", &ranks)); /* ranks turn to another; test_backends_... sees why */
}

static const sley_backend *backend_called(const char *kind, const char *name) {
  const sley_backend *backends;
  int count;
  assert_sley_ok(sley_backends(&backends, &count));
  for (int i = 0; i < count; i++)
    if (strcmp(backends[i].kind, kind) == 0 && strcmp(backends[i].name, name) == 0)
      return &backends[i];
  fail_msg("no %s called %s is listed", kind, name);
  return NULL;
}

static void test_backends_are_listed_with_reasons(void **state) {
  (void)state;
  setenv("SLEY_MODULE_PATH", SLEY_MOCK_DIR "/old", 1);
  assert_true(backend_called("device", "cpu")->available);
  assert_true(backend_called("transport", "threads")->available);
  const sley_backend *old = backend_called("transport", "nvshmem");
  assert_false(old->available);
  assert_non_null(strstr(old->detail, "interface 0000999"));
  const sley_backend *optional = backend_called("transport", "mpi");
  assert_true(optional->available || strstr(optional->detail, "libsley_mpi.so"));
  assert_int_equal(sley_transport_found("mpi"), optional->available ? SLEY_OK : SLEY_ERR_UNSUPPORTED);
  assert_int_equal(sley_transport_found("pigeon"), SLEY_ERR_ARG);
  assert_int_equal(sley_backends(NULL, NULL), SLEY_ERR_ARG);
}

static void test_options_are_checked(void **state) {
  (void)state;
  int ranks = 0;
  sley_rank_options options = SLEY_RANK_OPTIONS_INIT;
  assert_int_equal(sley_run_ranks(&options, NULL, NULL), SLEY_ERR_ARG);
  options.ranks = 0;
  assert_int_equal(sley_run_ranks(&options, count_main, &ranks), SLEY_ERR_ARG);
  options.ranks = 2;
  options.threads = -1;
  assert_int_equal(sley_run_ranks(&options, count_main, &ranks), SLEY_ERR_ARG);
  options.threads = 0;
  options.workgroup = -1;
  assert_int_equal(sley_run_ranks(&options, count_main, &ranks), SLEY_ERR_ARG);
  options.workgroup = 0;
  options.struct_size = 3;
  assert_int_equal(sley_run_ranks(&options, count_main, &ranks), SLEY_ERR_ARG);
  options.struct_size = sizeof options + 8;
  assert_int_equal(sley_run_ranks(&options, count_main, &ranks), SLEY_ERR_ARG);
  assert_int_equal(ranks, 0);
  options.struct_size = sizeof options;
  assert_sley_ok(sley_run_ranks(&options, count_main, &ranks));
  assert_int_equal(ranks, 22);
  assert_sley_ok(sley_run_ranks(NULL, count_main, &ranks));
  assert_int_equal(ranks, 11);
  assert_int_equal(sley_comm_rank(NULL), -1);
  assert_int_equal(sley_comm_size(NULL), 0);
  assert_int_equal(sley_comm_workgroup(NULL), 0);
  assert_int_equal(sley_comm_barrier(NULL), SLEY_ERR_ARG);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_module_is_found_by_name),
      cmocka_unit_test(test_unknown_transport),
      cmocka_unit_test(test_module_of_another_version),
      cmocka_unit_test(test_backends_are_listed_with_reasons),
      cmocka_unit_test(test_options_are_checked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
