/* SPDX-License-Identifier: Apache-2.0 */
/* C = A B, or A B^T, of matrices: B is transposed where asked for, and the product's arrays become a matrix.
 */
#include "ops/spgemm.h"

#include <inttypes.h>

#include "device/op_spgemm.h"

/* What is left of the limit for the product itself. */
static sley_status leave(int64_t limit, int64_t taken, int64_t *left) {
  *left = limit;
  if (limit == 0 || taken == 0)
    return SLEY_OK;
  if (taken >= limit)
    return sl_fail(SLEY_ERR_MEMORY,
                   "sley_spgemm: the transpose of B takes %" PRId64 " bytes: a mem_limit of %" PRId64
                   " is too low",
                   taken, limit);
  *left = limit - taken;
  return SLEY_OK;
}

static void report(const sl_spgemm_result *made, int64_t taken, sley_spgemm_info *info) {
  *info = (sley_spgemm_info){.products = made->products,
                             .nnz = made->nnz,
                             .compression = made->nnz > 0 ? (double)made->products / (double)made->nnz : 0,
                             .peak_bytes = taken + made->peak,
                             .passes = made->passes};
}

sley_status sl_spgemm_matrix(const sley_matrix *a, const sley_matrix *b, const sley_spgemm_options *options,
                             sl_team *team, sley_matrix **out, sley_spgemm_info *info) {
  sley_matrix *transposed = NULL;
  *out = NULL;
  const int64_t taken = options->transpose_b ? sl_csr_bytes(b->cols, b->nnz, b->index, b->dtype) : 0;
  sl_spgemm_args args = {.semiring = options->semiring};
  SL_TRY(leave(options->mem_limit, taken, &args.limit));
  if (options->transpose_b)
    SL_TRY(sl_matrix_transpose(b, team, &transposed));
  sley_csr mask;
  if (options->mask) {
    mask = sl_matrix_csr(options->mask);
    args.mask = &mask;
  }
  args.a = sl_matrix_csr(a);
  args.b = sl_matrix_csr(transposed ? transposed : b);
  sl_spgemm_result made;
  sley_status status = sl_spgemm(&args, team, &made);
  if (status == SLEY_ERR_MEMORY && taken > 0 && options->mem_limit > 0)
    sl_fail_prefix(status, "besides %" PRId64 " bytes of the limit, which the transpose of B takes: ", taken);
  if (status == SLEY_OK)
    status = sl_matrix_adopt(a->rows, args.b.cols, made.index, a->dtype,
                             (sl_csr_arrays){made.rowptr, made.col, made.val}, -1, out);
  if (status == SLEY_OK && info)
    report(&made, taken, info);
  sl_matrix_destroy(transposed);
  return status;
}
