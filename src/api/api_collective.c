/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives of the public interface: argument checks. */
#include <string.h>

#include "transport/dense.h"

/* What the caller gave, over the defaults; shorter structs of older programs are fine. */
static sley_status read_options(const sley_collective_options *given, sl_dense_spec *out) {
  sley_collective_options o = SLEY_COLLECTIVE_OPTIONS_INIT;
  *out = (sl_dense_spec){.kind = o.kind};
  if (!given || given->struct_size < sizeof given->struct_size || given->struct_size > sizeof o)
    return sl_fail(SLEY_ERR_ARG,
                   "sley_collective_options of %zu bytes: start from SLEY_COLLECTIVE_OPTIONS_INIT",
                   given ? given->struct_size : 0);
  memcpy(&o, given, given->struct_size);
  *out = (sl_dense_spec){.kind = o.kind,
                         .op = o.kind == SLEY_ALLGATHER ? SLEY_SUM : o.op,
                         .type = o.type,
                         .count = o.counts ? 0 : o.count,
                         .counts = o.counts,
                         .any_order = o.any_order};
  return SLEY_OK;
}

sley_status sley_collective_create(sley_comm *comm, const sley_collective_options *options,
                                   sley_collective **out) {
  if (!comm)
    return sl_fail(SLEY_ERR_ARG, "sley_collective_create: no comm");
  sl_dense_spec spec;
  sley_status status = read_options(options, &spec);
  if (status == SLEY_OK && !out)
    status = sl_fail(SLEY_ERR_ARG, "sley_collective_create: out is NULL");
  if (out)
    *out = NULL;
  SL_TRY(sl_agree_alike(comm, status));
  return sl_dense_create(comm, &spec, out);
}

/* Of no handle nothing is known, not even whom to tell. */
sley_status sley_collective_run(sley_collective *collective, const void *src, void *dst) {
  if (!collective)
    return sl_fail(SLEY_ERR_ARG, "sley_collective_run: no collective");
  return sl_dense_run(collective, src, dst, sl_dense_comm(collective)->queue);
}

void sley_collective_destroy(sley_collective *collective) {
  sl_dense_destroy(collective);
}
