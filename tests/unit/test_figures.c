/* SPDX-License-Identifier: Apache-2.0 */
/* The figures of devices: on GPUs on which models were fitted they are as fitted, on others they follow the
 * properties. */
#include "device/cpu/cpu.h"
#include "device/figures.h"
#include "support.h"

enum { LANES = 132 * 2048 };

static const sl_gpu_properties h200 = {"NVIDIA H200", 132, LANES, 62914560, 4.8143e12},
                               h100 = {"NVIDIA H100 80GB HBM3", 132, LANES, 52428800, 3.35e12};

static void the_fitted_gpus_have_what_was_fitted(void **state) {
  (void)state;
  const sl_gpu_properties *gpus[] = {&h200, &h100};
  for (int i = 0; i < 2; i++) {
    const sl_device_figures f = sl_figures_of_gpu(gpus[i]);
    assert_int_equal(f.processors, sl_figures_hopper.processors);
    assert_int_equal(f.lanes, sl_figures_hopper.lanes);
    assert_true(f.cache == sl_figures_hopper.cache && f.launch == sl_figures_hopper.launch);
    assert_true(f.memory == sl_figures_hopper.memory && f.stream == sl_figures_hopper.stream);
    assert_true(f.plain == sl_figures_hopper.plain);
    assert_memory_equal(f.fill, sl_figures_hopper.fill, sizeof f.fill);
    assert_memory_equal(f.gemm, sl_figures_hopper.gemm, sizeof f.gemm);
    assert_memory_equal(&f.windows, &sl_figures_hopper.windows, sizeof f.windows);
    assert_memory_equal(&f.window_starts, &sl_figures_hopper.window_starts, sizeof f.window_starts);
  }
}

static void a_part_of_a_gpu_is_filled_by_less(void **state) {
  (void)state;
  sl_gpu_properties part = h200;
  part.name = "NVIDIA H200 MIG 1g.18gb";
  part.processors /= 4;
  part.lanes /= 4;
  part.cache /= 2;
  const sl_device_figures f = sl_figures_of_gpu(&part);
  assert_int_equal(f.processors, 33);
  assert_true(f.cache == sl_figures_hopper.cache / 2);
  for (int i = 0; i < SL_FILLS; i++)
    assert_int_equal(f.fill[i], sl_figures_hopper.fill[i] / 4);
  part.lanes = 1;
  for (int i = 0; i < SL_FILLS; i++)
    assert_true(sl_figures_of_gpu(&part).fill[i] >= 1);
}

static void other_gpus_follow_their_memory(void **state) {
  (void)state;
  sl_gpu_properties other = {"NVIDIA A100-SXM4-80GB", 108, 108 * 2048, 40 << 20, 2.4e12};
  sl_device_figures f = sl_figures_of_gpu(&other);
  assert_true(f.memory == sl_figures_hopper.memory / 2 && f.stream == sl_figures_hopper.stream / 2);
  assert_true(f.gemm[SL_GEMM_LIBRARY].memory == sl_figures_hopper.gemm[SL_GEMM_LIBRARY].memory / 2);
  assert_true(f.gemm[SL_GEMM_LIBRARY].products == sl_figures_hopper.gemm[SL_GEMM_LIBRARY].products);
  assert_int_equal(f.fill[SL_FILL_STREAM_WARPS], 108 * 32);
  other.memory = other.cache = 0; /* the driver does not say */
  f = sl_figures_of_gpu(&other);
  assert_true(f.memory == sl_figures_hopper.memory && f.cache == sl_figures_hopper.cache);
}

static void cores_count_threads(void **state) {
  (void)state;
  sl_device *device;
  assert_sley_ok(sl_cpu_ops.open(0, 3, &device));
  assert_int_equal(device->figures.processors, 3);
  assert_memory_equal(&device->figures.cores, &sl_figures_cores.cores, sizeof device->figures.cores);
  device->ops->close(device);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_fitted_gpus_have_what_was_fitted),
                                     cmocka_unit_test(a_part_of_a_gpu_is_filled_by_less),
                                     cmocka_unit_test(other_gpus_follow_their_memory),
                                     cmocka_unit_test(cores_count_threads)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
