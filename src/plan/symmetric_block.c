/* SPDX-License-Identifier: Apache-2.0 */
/* The ranks add up the sums of their rows' hashes, so no entry travels. */
#include "plan/symmetric_block.h"

#include <string.h>

#include "matrix/matrix.h"

/* Sets *out to whether no rank's rows repeat a column, and all ranks' sums add up to 0. Sums travel in halves
 * of 32 bits, which do not overflow. Collective. */
static sley_status agree(sl_comm *comm, const sl_asymmetry *own, bool *out) {
  int64_t words[2 * SL_ASYMMETRY_SUMS + 1] = {[2 * SL_ASYMMETRY_SUMS] = own->repeats};
  for (int s = 0; s < SL_ASYMMETRY_SUMS; s++) {
    words[2 * s] = (int64_t)(own->sum[s] & UINT32_MAX);
    words[2 * s + 1] = (int64_t)(own->sum[s] >> 32);
  }
  SL_TRY(comm->ops->allreduce(comm, SL_SUM, words, 2 * SL_ASYMMETRY_SUMS + 1));
  *out = words[2 * SL_ASYMMETRY_SUMS] == 0;
  for (int s = 0; s < SL_ASYMMETRY_SUMS; s++)
    *out &= ((uint64_t)words[2 * s + 1] << 32) + (uint64_t)words[2 * s] == 0;
  return SLEY_OK;
}

sley_status sl_is_symmetric(const sl_inspection *ins, bool *out) {
  sl_comm *comm = ins->comm;
  sl_asymmetry own = {.repeats = false};
  *out = false;
  /* the ranks have agreed on both partitions, so all take the same branch */
  if (memcmp(ins->row_begin, ins->col_begin, ((size_t)comm->size + 1) * sizeof *ins->row_begin) != 0)
    return SLEY_OK;
  sl_comm_begin_work(comm, "comparing with the transpose", 1);
  SL_TRY(sl_agree(
      comm, sl_matrix_asymmetry(ins->block, ins->row_begin[comm->rank], true, sl_plan_team(ins), &own)));
  return agree(comm, &own, out);
}
