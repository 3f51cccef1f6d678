/* SPDX-License-Identifier: Apache-2.0 */
/* The table of the cuda device's kernels: of those that can serve, the cheapest runs. */
#include "device/cuda/cuda.h"

const sl_kernel *const sl_cuda_kernels[] = {
    &sl_cuda_spmm_stream, &sl_cuda_spmm_plain, &sl_cuda_spmm_cusparse, &sl_cuda_spmm_rowwise,
    &sl_cuda_rows,        &sl_cuda_pull,       &sl_cuda_arrive,        &sl_cuda_await,
    &sl_cuda_scale,       &sl_cuda_round,      &sl_cuda_convert,       &sl_cuda_columns,
    &sl_cuda_needs,       &sl_cuda_tally,      &sl_cuda_cut,           NULL,
};

sley_status sl_cuda_prepare_nothing(sl_device *device, sl_queue *queue, const sl_kernel_args *args,
                                    void **prepared) {
  (void)device;
  (void)queue;
  (void)args;
  *prepared = NULL;
  return SLEY_OK;
}

void sl_cuda_release_nothing(sl_device *device, void *prepared) {
  (void)device;
  (void)prepared;
}
