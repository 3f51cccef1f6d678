/* SPDX-License-Identifier: Apache-2.0 */
/* SpMM as streams of entries, values of type double. */
#include "device/cuda/spmm/stream.cuh"

sley_status sl_cuda_stream_f64(sl_queue *queue, const sl_stream_run *run) {
  return sley::launch_stream<double>(queue, *run);
}
