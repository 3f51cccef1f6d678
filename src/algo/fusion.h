/* SPDX-License-Identifier: Apache-2.0 */
/* Fusion: a row of X that several ranks of a workgroup need is sent to the workgroup once, to the relay: the
 * member whose place in the workgroup matches the owner's. The other members load the row from the relay.
 * Source: CoLa, section 4.2, algorithm 2. */
#ifndef SLEY_ALGO_FUSION_H
#define SLEY_ALGO_FUSION_H

#include "plan/inspect.h"

typedef struct sl_fusion {
  /* Columns that this rank relays for its workgroup, ascending. The columns of owner p are
   * relay[relay_begin[p]] .. relay[relay_begin[p + 1] - 1]; the other lists are indexed in the same way. */
  int64_t *relay, *relay_begin;
  /* This rank's rows of X that are sent to relay q, ascending. */
  int64_t *out, *out_begin;
  /* Positions in relay of the rows that member i of the workgroup loads, ascending. */
  int64_t *hop, *hop_begin;
  /* This rank's halo entries that come through relay q, ascending. */
  int64_t *take, *take_begin;
} sl_fusion;

/* Returns the member of group that relays rows from a rank outside the group, or sums rows for it. */
int sl_relay_of(const sl_comm *comm, int group, int outsider);

/* Finds the lists. use: flags of the halo entries to include, or NULL for all. Collective, agreed. */
sley_status sl_fuse(const sl_inspection *ins, const uint8_t *use, sl_fusion *out);
void sl_fusion_free(sl_fusion *fusion);

/* Computes ranks + 1 first positions from ranks counts. */
sley_status sl_starts(const int64_t *count, int ranks, int64_t **out);

/* Finds the distinct values of an array of numbers below range, as a set and as an ascending list. */
sley_status sl_distinct(const int64_t *numbers, int64_t count, int64_t range, sl_team *team, sl_colset *set,
                        int64_t **list);

#endif
