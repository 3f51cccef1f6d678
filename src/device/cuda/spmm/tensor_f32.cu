/* SPDX-License-Identifier: Apache-2.0 */
/* SpMM over row windows on Tensor cores, values of type f32. */
#include "device/cuda/spmm/tensor.cuh"

sley_status sl_cuda_tensor_f32(sl_queue *queue, const sl_tensor_run *run) {
  return sley::launch_tensor_of<float>(queue, *run);
}
