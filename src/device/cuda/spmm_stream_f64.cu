/* SPDX-License-Identifier: Apache-2.0 */
/* SpMM as streams of entries, values of type double. */
#include "device/cuda/spmm_stream.cuh"

cudaError_t sl_stream_f64(const sl_stream_run *run, cudaStream_t stream, int64_t *launches) {
  return sley::launch_stream<double>(*run, stream, launches);
}
