/* SPDX-License-Identifier: Apache-2.0 */
/* SpMM as streams of entries, values of type bf16. */
#include "device/cuda/spmm/stream.cuh"

sley_status sl_cuda_stream_bf16(sl_queue *queue, const sl_stream_run *run) {
  return run->wide_y ? sley::launch_stream<sley::wide<sley::bf16>>(queue, *run)
                     : sley::launch_stream<sley::bf16>(queue, *run);
}
