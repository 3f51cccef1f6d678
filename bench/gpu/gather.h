/* SPDX-License-Identifier: Apache-2.0 */
/* The exchange of a plan by itself: how long the ranks' halo rows take to arrive when nothing else runs. */
#ifndef SLEY_BENCH_GPU_GATHER_H
#define SLEY_BENCH_GPU_GATHER_H

#include "sley.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bench_gather bench_gather;

/* Repeats the plan's first exchange with a buffer of its own. *bytes: bytes that this rank receives from
 * others. *out is NULL, and *bytes 0, if the plan has none. Collective. */
sley_status bench_gather_create(sley_comm *comm, sley_plan *plan, bench_gather **out, int64_t *bytes);

/* take enqueues one exchange of the rows of x, which are contiguous: it is complete when this rank's halo has
 * arrived. If the plan aligns X, other rows are taken in place of x. return waits until the other ranks have
 * theirs; x may not change before. Collective. */
sley_status bench_gather_take(bench_gather *gather, const void *x);
sley_status bench_gather_return(bench_gather *gather);

void bench_gather_destroy(bench_gather *gather); /* Collective. */

#ifdef __cplusplus
}
#endif
#endif
