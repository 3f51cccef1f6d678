/* SPDX-License-Identifier: Apache-2.0 */
/* Names of types and formats; the backends available on this machine, why others are not, and the kernels of
 * devices. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collective/ways.h"
#include "device/asked_kernel.h"
#include "device/device.h"
#include "io/io.h"
#include "ops/spmm.h"
#include "transport/transport_registry.h"

enum { BACKENDS = 16, DETAIL = 512 };

const char *const *sley_types(void) {
  static const char *const names[] = {
      [SLEY_TYPE_F32] = "f32", [SLEY_TYPE_F64] = "f64", [SLEY_TYPE_F16] = "f16", [SLEY_TYPE_BF16] = "bf16",
      [SLEY_TYPE_I64] = "i64", [SLEY_TYPE_I8] = "i8",   [SLEY_TYPE_U8] = "u8",   NULL};
  return names;
}

static const char *dtypes[SLEY_BF16 + 2];

static void take_dtypes(void) {
  memcpy(dtypes, sley_types(), (SLEY_BF16 + 1) * sizeof *dtypes);
}

const char *const *sley_dtypes(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, take_dtypes);
  return dtypes;
}

const char *const *sley_wires(void) {
  return sl_wires;
}

const char *const *sley_reduces(void) {
  static const char *const names[] = {[SLEY_SUM] = "sum", [SLEY_MIN] = "min", [SLEY_MAX] = "max", NULL};
  return names;
}

const char *const *sley_collective_ways(void) {
  return sl_way_names();
}

const char *sley_format_summary(const char *format) {
  return format ? sl_format_summary(format) : NULL;
}

typedef struct table {
  sley_backend backends[BACKENDS];
  char details[BACKENDS][DETAIL];
} table;

/* The key of each calling thread's own table. Thread-local memory would exist in every thread of a
 * program. */
static pthread_key_t key;
static bool has_key;

static void make_key(void) {
  has_key = pthread_key_create(&key, free) == 0; /* free belongs to the C library, which is never unloaded */
}

static sley_status own_table(table **out) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, make_key);
  *out = has_key ? pthread_getspecific(key) : NULL;
  if (*out)
    return SLEY_OK;
  *out = has_key ? calloc(1, sizeof **out) : NULL;
  if (*out && pthread_setspecific(key, *out) == 0)
    return SLEY_OK;
  free(*out);
  return sl_fail(SLEY_ERR_MEMORY, "out of memory for the list of backends");
}

static void fill(table *t, int at, const char *kind, const char *name, bool available, const char *detail) {
  snprintf(t->details[at], DETAIL, "%s", detail);
  t->backends[at] =
      (sley_backend){.kind = kind, .name = name, .available = available, .detail = t->details[at]};
}

static void look_up_device(table *t, int at, const char *name) {
  const sl_device_ops *ops;
  sl_device *device;
  bool available = sl_device_backend(name, &ops) == SLEY_OK && ops->open(0, 1, &device) == SLEY_OK;
  fill(t, at, "device", name, available, available ? ops->describe(device) : sley_last_error());
  if (available)
    ops->close(device);
}

static void look_up_transport(table *t, int at, const char *name) {
  const sl_transport_backend *backend;
  const char *text = sl_transport_backend_find(name, &backend) == SLEY_OK ? backend->describe() : NULL;
  fill(t, at, "transport", name, text != NULL, text ? text : sley_last_error());
}

const char *const *sley_transports(void) {
  return sl_transport_names;
}

sley_status sley_transport_found(const char *name) {
  const sl_transport_backend *backend;
  if (!name)
    return sl_fail(SLEY_ERR_ARG, "sley_transport_found: no name");
  SL_TRY(sl_transport_backend_find(name, &backend));
  return backend->describe() ? SLEY_OK : SLEY_ERR_UNSUPPORTED;
}

sley_status sley_backends(const sley_backend **out, int *count) {
  if (!out || !count)
    return sl_fail(SLEY_ERR_ARG, "sley_backends: an argument is NULL");
  int at = 0;
  table *t;
  SL_TRY(own_table(&t));
  for (const char *const *name = sl_device_names; *name && at < BACKENDS; name++)
    look_up_device(t, at++, *name);
  for (const char *const *name = sl_transport_names; *name && at < BACKENDS; name++)
    look_up_transport(t, at++, *name);
  *out = t->backends;
  *count = at;
  return SLEY_OK;
}

sley_status sley_kernels(const char *device, sley_kernel *out, int room, int *count) {
  const sl_device_ops *ops;
  if (!count || room < 0 || (room > 0 && !out))
    return sl_fail(SLEY_ERR_ARG, "sley_kernels: out or count is NULL, or room is negative");
  SL_TRY(sl_device_backend(device ? device : "cpu", &ops));
  *count = 0;
  for (const sl_kernel *const *each = ops->kernels; *each; each++) {
    if ((*each)->op != SL_OP_SPMM)
      continue;
    if (*count < room)
      out[*count] = (sley_kernel){.name = sl_kernel_short_name(*each), .library = (*each)->library};
    (*count)++;
  }
  return SLEY_OK;
}
