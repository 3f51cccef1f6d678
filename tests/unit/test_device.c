/* SPDX-License-Identifier: Apache-2.0 */
/* The device registry, the CPU's memory, queues and events, and the lookup of kernels. */
#include "support.h"

#include "base/memory.h"
#include "base/module.h"
#include "device/cpu/cpu.h"
#include "device/product.h"

static void test_cpu_is_built_in(void **state) {
  (void)state;
  const sl_device_ops *ops;
  assert_sley_ok(sl_device_backend("cpu", &ops));
  assert_string_equal(ops->name, "cpu");
  assert_true(ops->host_addresses);
  sl_device *device;
  assert_sley_ok(ops->open(0, 2, &device));
  assert_ptr_equal(device->ops, ops);
  assert_non_null(strstr(ops->describe(device), "core"));
  assert_non_null(strstr(ops->describe(device), sl_cpu_isa_name()));
  ops->close(device);
  assert_int_equal(ops->count(), 1);
  assert_int_equal(ops->open(1, 2, &device), SLEY_ERR_ARG);
  assert_int_equal(ops->open(0, -1, &device), SLEY_ERR_ARG);
  ops->close(NULL);
}

static void test_missing_backends_say_why(void **state) {
  (void)state;
  const sl_device_ops *ops;
  assert_int_equal(sl_device_backend("abacus", &ops), SLEY_ERR_ARG);
  assert_non_null(strstr(sley_last_error(), "abacus"));
  setenv("SLEY_MODULE_PATH", "/nonexistent/a:/nonexistent/b", 1);
  const void *table;
  assert_int_equal(sl_module_load("absent", "sl_device_module", &table), SLEY_ERR_UNSUPPORTED);
  assert_null(table);
  assert_non_null(strstr(sley_last_error(), "libsley_absent.so"));
  assert_non_null(strstr(sley_last_error(), "/nonexistent/a, /nonexistent/b"));
  unsetenv("SLEY_MODULE_PATH");
}

static void test_broken_module_shows_the_linkers_reason(void **state) {
  (void)state;
  char folder[] = "/tmp/sley-module-XXXXXX", file[64];
  assert_non_null(mkdtemp(folder));
  snprintf(file, sizeof file, "%s/libsley_broken.so", folder);
  FILE *out = fopen(file, "w");
  assert_non_null(out);
  fputs("this is no shared object", out);
  fclose(out);
  setenv("SLEY_MODULE_PATH", folder, 1);
  const void *table;
  assert_int_equal(sl_module_load("broken", "sl_device_module", &table), SLEY_ERR_UNSUPPORTED);
  assert_non_null(strstr(sley_last_error(), "cannot be loaded"));
  unsetenv("SLEY_MODULE_PATH");
  remove(file);
  remove(folder);
}

static void test_memory_queue_and_event(void **state) {
  (void)state;
  int64_t before = sl_memory_now();
  sl_device *device;
  assert_sley_ok(sl_cpu_ops.open(0, 2, &device));
  sl_queue *queue;
  assert_sley_ok(device->ops->queue_create(device, NULL, &queue));
  assert_int_equal(sl_team_size(sl_cpu_queue_team(queue)), 2);
  enum { BYTES = 3000000 }; /* long enough for both threads */
  unsigned char *a, *b;
  assert_sley_ok(device->ops->alloc(device, BYTES, "a test", (void **)&a));
  assert_sley_ok(device->ops->alloc(device, BYTES, "a test", (void **)&b));
  for (int i = 0; i < BYTES; i++)
    a[i] = (unsigned char)(i * 7 + i / 255);
  sl_device_counters counted;
  device->ops->counters(device, &counted);
  assert_int_equal(counted.allocations, 2);
  int64_t available = 0, total = 0;
  assert_sley_ok(device->ops->memory(device, &available, &total));
  assert_true(available > 0 && available <= total);
  assert_true(device->ops->reach(device, device));
  sl_queue *urgent;
  assert_sley_ok(device->ops->queue_create_urgent(device, &urgent));
  device->ops->queue_destroy(urgent);
  assert_int_equal(device->ops->queue_create(device, &counted, &urgent), SLEY_ERR_UNSUPPORTED);
  assert_int_equal(device->ops->queue_move(queue, &counted), SLEY_ERR_UNSUPPORTED);
  assert_sley_ok(device->ops->queue_move(queue, NULL));
  sl_event *event;
  assert_sley_ok(device->ops->event_create(device, &event));
  assert_sley_ok(device->ops->copy(queue, SL_COPY_TO_DEVICE, b, a, BYTES));
  assert_sley_ok(device->ops->event_record(queue, event));
  assert_sley_ok(device->ops->event_wait(queue, event));
  assert_sley_ok(device->ops->queue_wait(queue));
  assert_memory_equal(a, b, BYTES);
  assert_sley_ok(device->ops->copy(queue, SL_COPY_WITHIN, b, a, 0));
  assert_int_equal(device->ops->copy(queue, SL_COPY_WITHIN, b, a, -1), SLEY_ERR_ARG);
  device->ops->event_destroy(event);
  device->ops->free(device, a);
  device->ops->free(device, b);
  device->ops->queue_destroy(queue);
  device->ops->close(device);
  assert_int_equal(sl_memory_now(), before);
}

static void test_every_allocation_may_fail(void **state) {
  (void)state;
  int64_t before = sl_memory_now();
  for (int nth = 1; nth < 20; nth++) {
    sl_device *device = NULL;
    sl_queue *queue = NULL;
    sl_event *event = NULL;
    sl_memory_fail_at(nth);
    sley_status status = sl_cpu_ops.open(0, 2, &device);
    if (status == SLEY_OK)
      status = sl_cpu_ops.queue_create(device, NULL, &queue);
    if (status == SLEY_OK)
      status = sl_cpu_ops.event_create(device, &event);
    sl_memory_fail_at(0);
    sl_cpu_ops.event_destroy(event);
    sl_cpu_ops.queue_destroy(queue);
    sl_cpu_ops.close(device);
    assert_int_equal(sl_memory_now(), before);
    if (status == SLEY_OK) {
      assert_true(nth > 3);
      return;
    }
    assert_int_equal(status, SLEY_ERR_MEMORY);
  }
  fail_msg("opening a device never succeeds");
}

static void test_instruction_set_can_be_lowered(void **state) {
  (void)state;
  assert_true(sl_cpu_has(SL_CPU_PORTABLE));
  setenv("SLEY_CPU", "portable", 1);
  assert_false(sl_cpu_has(SL_CPU_AVX2));
  assert_false(sl_cpu_has(SL_CPU_AVX512));
  assert_false(sl_cpu_has(SL_CPU_NEON));
  assert_string_equal(sl_cpu_isa_name(), "portable");
  setenv("SLEY_CPU", "avx2", 1);
  assert_false(sl_cpu_has(SL_CPU_AVX512));
  unsetenv("SLEY_CPU");
}

static void test_lookup_takes_the_best_kernel(void **state) {
  (void)state;
  sl_device *device;
  assert_sley_ok(sl_cpu_ops.open(0, 1, &device));
  int64_t rowptr[] = {0, 1};
  int32_t col[] = {0};
  float val[] = {1};
  sl_spmm_matrix a = {
      .rows = 1, .rowptr = rowptr, .col = col, .val = val, .index = SLEY_I32, .dtype = SLEY_F32};
  sl_spmm_problem problem = {.a = &a, .k = 32};
  sl_kernel_args args = {.op = SL_OP_SPMM, .spmm = {.problem = &problem, .ldx = 32, .ldy = 32}};
  const sl_kernel *kernel;
  assert_sley_ok(sl_kernel_find(device, &args, &kernel));
  assert_non_null(strstr(kernel->name, sl_cpu_isa_name()));
  assert_non_null(strstr(kernel->name, "f32"));
  setenv("SLEY_CPU", "portable", 1);
  assert_sley_ok(sl_kernel_find(device, &args, &kernel));
  assert_string_equal(kernel->name, "spmm-f32-portable");
  unsetenv("SLEY_CPU");
  a.dtype = (sley_dtype)9;
  assert_int_equal(sl_kernel_find(device, &args, &kernel), SLEY_ERR_UNSUPPORTED);
  assert_null(kernel);
  device->ops->close(device);
}

/* No slot of a kernel is NULL. */
static void test_every_slot_is_filled(void **state) {
  (void)state;
  for (const sl_kernel *const *each = sl_cpu_kernels; *each; each++) {
    const sl_kernel *k = *each;
    const sl_product_traits *p = k->product;
    assert_true(k->name && k->ok && k->cost && k->prepare && k->refill && k->memory && k->release && k->run);
    assert_true(p && p->pays && p->waits && p->layout && p->copied && p->accuracy && p->stands_for &&
                p->tune && p->tuned);
    assert_true(p == &sl_product_plain || k->op == SL_OP_SPMM || k->op == SL_OP_UPDATE);
  }
}

/* The table has kernels for exactly the instruction sets of which the library says that it was built for
 * them, and portable ones in any case. */
static void test_kernels_of_built_sets(void **state) {
  (void)state;
  static const char *const names[SL_CPU_ISAS] = {[SL_CPU_PORTABLE] = "spmm-f32-portable",
                                                 [SL_CPU_AVX2] = "spmm-f32-avx2",
                                                 [SL_CPU_AVX512] = "spmm-f32-avx512",
                                                 [SL_CPU_NEON] = "spmm-f32-neon"};
  assert_true(sl_cpu_built[SL_CPU_PORTABLE]);
  for (int isa = 0; isa < SL_CPU_ISAS; isa++) {
    bool found = false;
    for (const sl_kernel *const *each = sl_cpu_kernels; *each; each++)
      found |= strcmp((*each)->name, names[isa]) == 0;
    assert_int_equal(found, sl_cpu_built[isa]);
    assert_true(sl_cpu_built[isa] || !sl_cpu_has((sl_cpu_isa)isa));
  }
}

/* "cuda:1" and its like: which device of a kind. */
static void test_numbered_names(void **state) {
  (void)state;
  const sl_device_ops *ops;
  char note[SLEY_ERROR_BYTES];
  int ordinal = 7;
  assert_sley_ok(sl_device_choose_one("cpu", &ops, &ordinal, note, sizeof note));
  assert_int_equal(ordinal, 7);
  assert_sley_ok(sl_device_choose_one("cpu:0", &ops, &ordinal, note, sizeof note));
  assert_ptr_equal(ops, &sl_cpu_ops);
  assert_int_equal(ordinal, 0);
  const char *const wrong[] = {"cpu:", "cpu:-1", "cpu:0x", "cpu:99999999999", "tpu:0", ":0"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    assert_int_equal(sl_device_choose_one(wrong[i], &ops, &ordinal, note, sizeof note), SLEY_ERR_ARG);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_cpu_is_built_in),
      cmocka_unit_test(test_kernels_of_built_sets),
      cmocka_unit_test(test_missing_backends_say_why),
      cmocka_unit_test(test_every_slot_is_filled),
      cmocka_unit_test(test_numbered_names),
      cmocka_unit_test(test_broken_module_shows_the_linkers_reason),
      cmocka_unit_test(test_memory_queue_and_event),
      cmocka_unit_test(test_every_allocation_may_fail),
      cmocka_unit_test(test_instruction_set_can_be_lowered),
      cmocka_unit_test(test_lookup_takes_the_best_kernel),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
