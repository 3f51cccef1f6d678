/* SPDX-License-Identifier: Apache-2.0 */
#include "collective/sparse_spec.h"

const char *sl_sparse_reason_text(sl_sparse_reason reason) {
  static const char *const texts[SL_SPARSE_REASONS] = {[SL_SPARSE_ASKED] = "as asked for",
                                                       [SL_SPARSE_ALONE] = "nothing travels",
                                                       [SL_SPARSE_NO_KERNELS] = "the device cannot compress",
                                                       [SL_SPARSE_SMALL] = "dense is faster at any density",
                                                       [SL_SPARSE_ENOUGH_ZEROS] = "enough zeros",
                                                       [SL_SPARSE_FEW_ZEROS] = "too few zeros",
                                                       [SL_SPARSE_MISSED] = "too few zeros in the last run",
                                                       [SL_SPARSE_HELD] = "too few zeros when last counted"};
  return (unsigned)reason < SL_SPARSE_REASONS ? texts[reason] : "unknown";
}
