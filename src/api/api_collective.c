/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives of the public interface: argument checks. */
#include "base/structs.h"
#include "collective/handle.h"
#include "collective/ways.h"

const char *const *sley_collective_kinds(void) {
  return sl_collective_kind_names();
}

sley_status sley_collective_kind_get(sley_collective_kind kind, sley_collective_kind_info *out) {
  const sl_collective_kind *row = sl_collective_kind_of(kind);
  if (!row || !out)
    return sl_fail(SLEY_ERR_ARG, "sley_collective_kind_get: out is NULL, or there is no kind %d", (int)kind);
  *out = row->info;
  return SLEY_OK;
}

sley_status sley_collective_way_get(sley_collective_way way, sley_collective_way_info *out) {
  const sl_way *row = sl_way_of(way);
  if (!row || !out)
    return sl_fail(SLEY_ERR_ARG, "sley_collective_way_get: out is NULL, or there is no way %d", (int)way);
  *out = row->info;
  return SLEY_OK;
}

/* Copies the caller's options over the defaults. */
static sley_status take_options(const sley_collective_options *given, sley_collective_options *out) {
  *out = (sley_collective_options)SLEY_COLLECTIVE_OPTIONS_INIT;
  if (!given)
    return sl_fail(SLEY_ERR_ARG,
                   "sley_collective_create: options is NULL: start from SLEY_COLLECTIVE_OPTIONS_INIT");
  SL_TRY(sl_struct_take("sley_collective_options", given, sizeof *out, out));
  if ((unsigned)out->compress > SLEY_COMPRESS_COO || !sl_way_of(out->way))
    return sl_fail(SLEY_ERR_ARG, "sley_collective_create: compress %d or way %d does not exist",
                   (int)out->compress, (int)out->way);
  return SLEY_OK;
}

sley_status sley_collective_create(sley_comm *comm, const sley_collective_options *options,
                                   sley_collective **out) {
  if (!comm)
    return sl_fail(SLEY_ERR_ARG, "sley_collective_create: no comm");
  sley_collective_options o;
  sley_status status = take_options(options, &o);
  if (status == SLEY_OK && !out)
    status = sl_fail(SLEY_ERR_ARG, "sley_collective_create: out is NULL");
  if (out)
    *out = NULL;
  SL_TRY(sl_agree_alike(comm, status));
  const sl_collective_kind *kind = sl_collective_kind_of(o.kind); /* NULL is refused below, with the other
                                                                     wrong values */
  const sl_dense_spec spec = {.kind = o.kind,
                              .op = kind && !kind->info.reduces ? SLEY_SUM : o.op,
                              .type = o.type,
                              .count = o.counts ? 0 : o.count,
                              .counts = o.counts,
                              .any_order = o.any_order};
  return sl_collective_create(comm, &spec, &o, out);
}

/* The result is not agreed, because without a handle the other ranks are unknown. */
sley_status sley_collective_run(sley_collective *collective, const void *src, void *dst) {
  if (!collective)
    return sl_fail(SLEY_ERR_ARG, "sley_collective_run: no collective");
  return sl_collective_run(collective, src, dst);
}

sley_status sley_collective_info_get(const sley_collective *collective, sley_collective_info *out) {
  if (!collective || !out)
    return sl_fail(SLEY_ERR_ARG, "sley_collective_info_get: collective or out is NULL");
  return sl_collective_info(collective, out);
}

void sley_collective_destroy(sley_collective *collective) {
  sl_collective_destroy(collective);
}
