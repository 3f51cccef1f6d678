/* SPDX-License-Identifier: Apache-2.0 */
/* SpMM over row windows on Tensor cores, values of type bf16. */
#include "device/cuda/spmm/tensor.cuh"

sley_status sl_cuda_tensor_bf16(sl_queue *queue, const sl_tensor_run *run) {
  return run->wide_y ? sley::launch_tensor_of<sley::wide<sley::bf16>>(queue, *run)
                     : sley::launch_tensor_of<sley::bf16>(queue, *run);
}
