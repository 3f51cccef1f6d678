/* SPDX-License-Identifier: Apache-2.0 */
/* Top-k of the public interface: argument checks. */
#include "base/interrupt.h"
#include "base/structs.h"
#include "base/value.h"
#include "collective/topk.h"

static sley_status check_aligned(const char *call, const char *name, const void *array, sley_dtype dtype) {
  const size_t bytes = sley_dtype_bytes(dtype);
  return (uintptr_t)array % bytes == 0
             ? SLEY_OK
             : sl_fail(SLEY_ERR_ARG, "%s: %s must be aligned to the %zu bytes of a value", call, name, bytes);
}

static sley_status check_share(const char *name, double share) {
  return share > 0 && share <= 1
             ? SLEY_OK
             : sl_fail(SLEY_ERR_ARG, "sley_topk_create: %s is %g: it must be greater than 0 and at most 1",
                       name, share);
}

static sley_status check_options(const sley_topk_options *o) {
  if (sley_dtype_bytes(o->dtype) == 0)
    return sl_fail(SLEY_ERR_ARG, "sley_topk_create: there is no dtype %d", (int)o->dtype);
  if (o->count < 0)
    return sl_fail(SLEY_ERR_ARG, "sley_topk_create: count is %lld: it must be 0 or more",
                   (long long)o->count);
  if (o->count > INT64_MAX / (int64_t)sizeof(double))
    return sl_fail(SLEY_ERR_OVERFLOW, "sley_topk_create: %lld values have more than 2^63 bytes",
                   (long long)o->count);
  SL_TRY(check_share("density", o->density));
  SL_TRY(check_share("sample", o->sample));
  if (!(o->residual_factor >= 0 && o->residual_factor <= 1))
    return sl_fail(SLEY_ERR_ARG, "sley_topk_create: residual_factor is %g: it must be from 0 to 1",
                   o->residual_factor);
  return check_aligned("sley_topk_create", "residual", o->residual, sl_sum_dtype(o->dtype));
}

sley_status sley_topk_create(sley_comm *comm, const sley_topk_options *options, sley_topk **out) {
  sley_topk_options o = SLEY_TOPK_OPTIONS_INIT;
  if (out)
    *out = NULL;
  if (!comm || !options || !out)
    return sl_fail(SLEY_ERR_ARG, "sley_topk_create: %s is NULL",
                   !comm      ? "comm"
                   : !options ? "options"
                              : "out");
  SL_TRY(sl_struct_take("sley_topk_options", options, sizeof o, &o));
  SL_TRY(check_options(&o));
  return sl_topk_create(comm, &o, out);
}

sley_status sley_topk_run(sley_topk *topk, const void *src, void *dst) {
  if (!topk)
    return sl_fail(SLEY_ERR_ARG, "sley_topk_run: no top-k");
  if (sl_topk_count(topk) > 0 && (!src || !dst))
    return sl_fail(SLEY_ERR_ARG, "sley_topk_run: %s is NULL", src ? "dst" : "src");
  SL_TRY(check_aligned("sley_topk_run", "src", src, sl_topk_dtype(topk)));
  SL_TRY(check_aligned("sley_topk_run", "dst", dst, sl_topk_dtype(topk)));
  SL_TRY(sl_interrupted());
  return sl_topk_run(topk, src, dst);
}

static sley_status check_host(const char *call, const sley_topk *topk, const void *host) {
  return topk && (host || sl_topk_count(topk) == 0) ? SLEY_OK
                                                    : sl_fail(SLEY_ERR_ARG, "%s: topk or host is NULL", call);
}

sley_status sley_topk_residual_get(const sley_topk *topk, void *host) {
  SL_TRY(check_host("sley_topk_residual_get", topk, host));
  return sl_topk_residual_get(topk, host);
}

sley_status sley_topk_residual_set(sley_topk *topk, const void *host) {
  SL_TRY(check_host("sley_topk_residual_set", topk, host));
  return sl_topk_residual_set(topk, host);
}

sley_status sley_topk_info_get(const sley_topk *topk, sley_topk_info *out) {
  if (!topk || !out)
    return sl_fail(SLEY_ERR_ARG, "sley_topk_info_get: topk or out is NULL");
  return sl_topk_info(topk, out);
}

void sley_topk_destroy(sley_topk *topk) {
  sl_topk_destroy(topk);
}
