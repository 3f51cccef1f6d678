/* SPDX-License-Identifier: Apache-2.0 */
/* An ordering by METIS (Karypis and Kumar 1998): recursive bisection, part by part. It depends only on the
 * graph and the seed. METIS draws from the random numbers of the C library, which it seeds first. Debian's
 * METIS has 32-bit numbers. */
#include <metis.h>

#include "order/builtin.h"
#include "order/divided.h"

static sley_status divide(int64_t count, void *begin, void *neighbour, void *weight, int64_t parts,
                          uint64_t seed, void *part) {
  idx_t vertices = (idx_t)count, wanted = (idx_t)parts, constraints = 1, cut, options[METIS_NOPTIONS];
  METIS_SetDefaultOptions(options);
  options[METIS_OPTION_SEED] = (idx_t)(seed & INT32_MAX);
  options[METIS_OPTION_NUMBERING] = 0;
  int got = METIS_PartGraphRecursive(&vertices, &constraints, begin, neighbour, NULL, NULL, weight, &wanted,
                                     NULL, NULL, options, &cut, part);
  if (got == METIS_OK)
    return SLEY_OK;
  return sl_fail(got == METIS_ERROR_MEMORY ? SLEY_ERR_MEMORY : SLEY_ERR_INTERNAL,
                 "METIS could not divide a graph of %lld vertices (its error %d)%s", (long long)count, got,
                 got == METIS_ERROR_MEMORY ? ": out of memory" : "");
}

static const sl_divider metis = {.name = "METIS", .number_bytes = sizeof(idx_t), .divide = divide};

static sley_status order_metis(const sley_matrix *matrix, uint64_t seed, sl_team *team, int64_t *perm) {
  return sl_order_divided(matrix, &metis, false, seed, team, perm);
}

static sley_status order_weighted(const sley_matrix *matrix, uint64_t seed, sl_team *team, int64_t *perm) {
  return sl_order_divided(matrix, &metis, true, seed, team, perm);
}

const sl_ordering sl_order_metis = {"metis", "METIS's graph partitioning, part by part", order_metis};
const sl_ordering sl_order_metis_weighted = {"metis", "as metis, but edges of hubs weigh less",
                                             order_weighted};
