/* SPDX-License-Identifier: Apache-2.0 */
/* A loadable device for the tests: three of the CPU under the name cuda, whose memory the host is told it
 * cannot address. What the host does wrong with lists and the order of calls shows without a GPU. With
 * SLEY_MOCK_REACH=no no device loads another's memory; with SLEY_MOCK_DEVICES=0 there is none. */
#include <stdlib.h>
#include <string.h>

#include "base/module.h"
#include "device/cpu/cpu.h"

static sl_device_ops mock;

static bool environment_says(const char *name, const char *value) {
  const char *given = getenv(name);
  return given && strcmp(given, value) == 0;
}

static int count(void) {
  if (!environment_says("SLEY_MOCK_DEVICES", "0"))
    return 3;
  sl_fail(SLEY_ERR_UNSUPPORTED, "no GPU is visible");
  return 0;
}

static sley_status open_one(int ordinal, int threads, sl_device **out) {
  int devices = count();
  if (devices == 0)
    return SLEY_ERR_UNSUPPORTED;
  if (ordinal < 0 || ordinal >= devices)
    return sl_fail(SLEY_ERR_UNSUPPORTED, "there is no device %d", ordinal);
  SL_TRY(sl_cpu_ops.open(0, threads, out));
  (*out)->ops = &mock;
  return SLEY_OK;
}

static bool reach(sl_device *device, sl_device *other) {
  return device == other || !environment_says("SLEY_MOCK_REACH", "no");
}

/* Contents are never zeros by chance. */
static sley_status take(sl_device *device, int64_t bytes, const char *what, void **out) {
  SL_TRY(sl_cpu_ops.alloc(device, bytes, what, out));
  memset(*out, 0xA5, (size_t)bytes);
  return SLEY_OK;
}

static sley_status queue_create(sl_device *device, void *native, sl_queue **out) {
  SL_TRY(sl_cpu_ops.queue_create(device, native, out));
  (*out)->ops = &mock;
  return SLEY_OK;
}

static sley_status queue_create_urgent(sl_device *device, sl_queue **out) {
  return queue_create(device, NULL, out);
}

const void *sl_device_module(int abi, int *built_for);

const void *sl_device_module(int abi, int *built_for) {
  *built_for = SL_MODULE_ABI;
  if (abi != SL_MODULE_ABI)
    return NULL;
  mock = sl_cpu_ops;
  mock.name = "cuda";
  mock.host_addresses = false;
  mock.count = count;
  mock.open = open_one;
  mock.reach = reach;
  mock.alloc = take;
  mock.queue_create = queue_create;
  mock.queue_create_urgent = queue_create_urgent;
  return &mock;
}
