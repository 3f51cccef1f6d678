/* SPDX-License-Identifier: Apache-2.0 */
/* The table of the cuda device's kernels: of those that can serve, the cheapest runs. */
#include "device/cuda/cuda.h"

const sl_kernel *const sl_cuda_kernels[] = {
    &sl_cuda_spmm_stream,
    &sl_cuda_spmm_plain,
    &sl_cuda_spmm_cusparse,
    &sl_cuda_spmm_rowwise,
    &sl_cuda_rows,
    &sl_cuda_pull,
    &sl_cuda_arrive,
    &sl_cuda_await,
    &sl_cuda_scale,
    &sl_cuda_round,
    &sl_cuda_convert,
    &sl_cuda_reduce,
    &sl_cuda_columns,
    &sl_cuda_needs,
    &sl_cuda_tally,
    &sl_cuda_cut,
    NULL,
};
