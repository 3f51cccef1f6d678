/* SPDX-License-Identifier: Apache-2.0 */
/* Top-k with error feedback (device/op/op_sparsify.h): the values of a gradient that a rank keeps before a
 * sparse collective, and the residual of the others. Nothing here is collective. */
#ifndef SLEY_COLLECTIVE_TOPK_H
#define SLEY_COLLECTIVE_TOPK_H

#include "transport/transport.h"

/* Does the work of sley_topk_create; the options are checked. */
sley_status sl_topk_create(sl_comm *comm, const sley_topk_options *options, sley_topk **out);

/* Properties of a top-k, for checks of a run's arguments. */
sley_dtype sl_topk_dtype(const sley_topk *topk);
int64_t sl_topk_count(const sley_topk *topk);

/* Does the work of sley_topk_run, enqueued on the comm's queue. */
sley_status sl_topk_run(sley_topk *topk, const void *src, void *dst);

/* Do the work of sley_topk_residual_get and sley_topk_residual_set. */
sley_status sl_topk_residual_get(const sley_topk *topk, void *host);
sley_status sl_topk_residual_set(sley_topk *topk, const void *host);

/* See sley_topk_info_get. */
sley_status sl_topk_info(const sley_topk *topk, sley_topk_info *out);

/* NULL: does nothing. */
void sl_topk_destroy(sley_topk *topk);

#endif
