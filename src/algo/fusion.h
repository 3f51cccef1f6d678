/* SPDX-License-Identifier: Apache-2.0 */
/* Fusion: a row of X that several ranks of a workgroup need crosses to it once, to the member whose place in
 * the workgroup matches the owner's (its relay), and is loaded from there. Source: CoLa, section 4.2,
 * algorithm 2. */
#ifndef SLEY_ALGO_FUSION_H
#define SLEY_ALGO_FUSION_H

#include "plan/inspect.h"

typedef struct sl_fusion {
  /* Columns this rank relays for its workgroup, ascending; owner p's at relay_begin[p] .. [p+1]. */
  int64_t *relay, *relay_begin;
  /* This rank's rows of X that relay rank q is sent, ascending; out_begin[q] .. [q+1]. */
  int64_t *out, *out_begin;
  /* Places in relay that member i of the workgroup loads, ascending; hop_begin[i] .. [i+1]. */
  int64_t *hop, *hop_begin;
  /* This rank's halo entries that come through relay q, ascending; take_begin[q] .. [q+1]. */
  int64_t *take, *take_begin;
} sl_fusion;

/* Member of group that relays rows of (or sums rows for) a rank outside it. */
int sl_relay_of(const sl_comm *comm, int group, int outsider);

/* use: flags of the halo entries to consider, or NULL for all. Collective, agreed. */
sley_status sl_fuse(const sl_inspection *ins, const uint8_t *use, sl_fusion *out);
void sl_fusion_free(sl_fusion *fusion);

/* ranks + 1 starts from ranks counts. */
sley_status sl_starts(const int64_t *count, int ranks, int64_t **out);

/* Distinct values of an array of numbers below range: a set and its ascending list. */
sley_status sl_distinct(const int64_t *numbers, int64_t count, int64_t range, sl_team *team, sl_colset *set,
                        int64_t **list);

#endif
