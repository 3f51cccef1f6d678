/* SPDX-License-Identifier: Apache-2.0 */
/* The exchange of a plan by itself: what the ranks' halo rows take to arrive when nothing else runs. */
#ifndef SLEY_BENCH_GPU_GATHER_H
#define SLEY_BENCH_GPU_GATHER_H

#include "sley.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bench_gather bench_gather;

/* The first exchange of the plan again, with a buffer of its own. *bytes: what this rank receives from
 * others. *out is NULL, with *bytes 0, if the plan has none. Collective. */
sley_status bench_gather_create(sley_comm *comm, sley_plan *plan, bench_gather **out, int64_t *bytes);

/* Enqueues one exchange of the rows of x, without gaps between them: until this rank's halo is there; and
 * until the others have theirs too, without which x may not change. Collective. */
sley_status bench_gather_take(bench_gather *gather, const void *x);
sley_status bench_gather_return(bench_gather *gather);

void bench_gather_destroy(bench_gather *gather); /* Collective. */

#ifdef __cplusplus
}
#endif
#endif
