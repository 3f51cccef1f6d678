/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces metis.c in a build without libmetis. */
#include "order/builtin.h"

static sley_status order_metis(const sley_matrix *matrix, uint64_t seed, sl_team *team, int64_t *perm) {
  (void)matrix;
  (void)seed;
  (void)team;
  (void)perm;
  return sl_fail(SLEY_ERR_UNSUPPORTED,
                 "this build has no METIS: install libmetis-dev and build again, or use rabbit");
}

const sl_ordering sl_order_metis = {"metis", "METIS's graph partitioning (not in this build)", order_metis};
const sl_ordering sl_order_metis_weighted = {"metis", "(not in this build)", order_metis};
