/* SPDX-License-Identifier: Apache-2.0 */
/* The fused update, values of type f32. */
#include "device/cuda/spmm/update_sums.cuh"

sley_status sl_cuda_update_sums_f32(sl_queue *queue, const sl_update_sums *run) {
  return sley::launch_update_sums<float>(queue, *run);
}
