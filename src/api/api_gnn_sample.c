/* SPDX-License-Identifier: Apache-2.0 */
/* Neighbour sampling of the public interface: argument checks. */
#include "base/structs.h"
#include "gnn/sample.h"

static sley_status check_options(const char *call, const sley_gnn_sampler_options *o) {
  if (o->rows < 0 || (o->rows > 0 && !o->row))
    return sl_fail(SLEY_ERR_ARG, "%s: row is NULL, or rows is %lld: it must be 0 or more", call,
                   (long long)o->rows);
  if (o->batch < 1)
    return sl_fail(SLEY_ERR_ARG, "%s: batch is %lld: it must be 1 or more", call, (long long)o->batch);
  if (o->hops < 1 || !o->fan_out)
    return sl_fail(SLEY_ERR_ARG, "%s: fan_out is NULL, or hops is %d: it must be 1 or more", call, o->hops);
  for (int hop = 0; hop < o->hops; hop++)
    if (o->fan_out[hop] < 0)
      return sl_fail(SLEY_ERR_ARG, "%s: fan_out[%d] is %lld: it must be 0 or more", call, hop,
                     (long long)o->fan_out[hop]);
  return SLEY_OK;
}

sley_status sley_gnn_sampler_create(const sley_matrix *a, const sley_gnn_sampler_options *options,
                                    sley_gnn_sampler **out) {
  static const char call[] = "sley_gnn_sampler_create";
  sley_gnn_sampler_options chosen = SLEY_GNN_SAMPLER_OPTIONS_INIT;
  if (!a || !out)
    return sl_fail(SLEY_ERR_ARG, "%s: a or out is NULL", call);
  if (a->rows != a->cols)
    return sl_fail(SLEY_ERR_ARG, "%s: the matrix is %lld x %lld: it must be square", call, (long long)a->rows,
                   (long long)a->cols);
  SL_TRY(sl_struct_take("sley_gnn_sampler_options", options, sizeof chosen, &chosen));
  SL_TRY(check_options(call, &chosen));
  return sl_sampler_create(a, &chosen, out);
}

sley_status sley_gnn_sampler_batches(const sley_gnn_sampler *sampler, int64_t *count) {
  if (!sampler || !count)
    return sl_fail(SLEY_ERR_ARG, "sley_gnn_sampler_batches: sampler or count is NULL");
  *count = sl_sampler_batches(sampler);
  return SLEY_OK;
}

sley_status sley_gnn_sampler_draw(sley_gnn_sampler *sampler, int64_t epoch, int64_t batch,
                                  sley_gnn_drawn *out) {
  static const char call[] = "sley_gnn_sampler_draw";
  if (!sampler || !out)
    return sl_fail(SLEY_ERR_ARG, "%s: sampler or out is NULL", call);
  if (epoch < 0 || batch < 0 || batch >= sl_sampler_batches(sampler))
    return sl_fail(SLEY_ERR_ARG, "%s: epoch %lld, batch %lld: an epoch has %lld batches", call,
                   (long long)epoch, (long long)batch, (long long)sl_sampler_batches(sampler));
  return sl_sampler_draw(sampler, epoch, batch, out);
}

void sley_gnn_sampler_destroy(sley_gnn_sampler *sampler) {
  sl_sampler_destroy(sampler);
}
