/* SPDX-License-Identifier: Apache-2.0 */
#include "device/cuda/spgemm/numeric.cuh"

sley_status sl_spgemm_launch_numeric_f64(sl_queue *queue, const sl_spgemm_sides *sides,
                                         const sl_cuda_spgemm *p, const sl_spgemm_state *state) {
  return sley::launch_numeric<double>(queue, sides, p, state);
}
