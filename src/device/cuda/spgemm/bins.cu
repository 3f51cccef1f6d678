/* SPDX-License-Identifier: Apache-2.0 */
/* Counts, bins and lists rows. Row pointers are summed by CUB. */
#include "device/cuda/spgemm/bins.cuh"

#include <cub/device/device_scan.cuh>

#include <cstddef>

namespace {

using namespace sley;

unsigned blocks_of(int64_t rows, int64_t each) {
  return static_cast<unsigned>((rows + each - 1) / each);
}

sley_status make_bins(sl_queue *queue, const sl_cuda_spgemm *p, bool counted) {
  const unsigned blocks = blocks_of(p->rows, BIN_THREADS);
  constexpr size_t from = offsetof(sl_spgemm_state, longest);
  SL_TRY(sl_cuda_check(cudaMemsetAsync(reinterpret_cast<char *>(p->state) + from, 0,
                                       sizeof(sl_spgemm_state) - from, sl_cuda_stream(queue)),
                       "clearing bins"));
  tally_bins<<<blocks, BIN_THREADS, 0, sl_cuda_stream(queue)>>>(*p, counted);
  SL_TRY(sl_cuda_launched(queue, "counting rows by bin"));
  list_rows<<<blocks, BIN_THREADS, 0, sl_cuda_stream(queue)>>>(*p, counted);
  return sl_cuda_launched(queue, "listing rows by bin");
}

} // namespace

sley_status sl_spgemm_launch_count(sl_queue *queue, const sl_cuda_spgemm *p) {
  SL_TRY(
      sl_cuda_check(cudaMemsetAsync(p->state, 0, sizeof *p->state, sl_cuda_stream(queue)), "clearing bins"));
  SL_TRY(sl_cuda_check(cudaMemsetAsync(p->c_rowptr, 0, static_cast<size_t>(p->rows + 1) * sizeof(int64_t),
                                       sl_cuda_stream(queue)),
                       "clearing row pointers"));
  if (p->rows == 0)
    return SLEY_OK;
  if (!p->mask_rowptr) {
    const unsigned blocks = static_cast<unsigned>(queue->device->figures.fill[SL_FILL_REPEAT_BLOCKS]);
    count_repeats<<<blocks, BIN_THREADS, 0, sl_cuda_stream(queue)>>>(*p);
    SL_TRY(sl_cuda_launched(queue, "looking for repeated entries"));
  }
  count_products<<<blocks_of(p->rows, COUNT_ROWS), BIN_THREADS, 0, sl_cuda_stream(queue)>>>(*p);
  SL_TRY(sl_cuda_launched(queue, "counting products"));
  return make_bins(queue, p, false);
}

int64_t sl_spgemm_scan_bytes(int64_t rows) {
  size_t bytes = 0;
  int64_t *none = nullptr;
  (void)cub::DeviceScan::InclusiveSum(nullptr, bytes, none, none, rows);
  return static_cast<int64_t>(bytes);
}

sley_status sl_spgemm_launch_place(sl_queue *queue, const sl_cuda_spgemm *p, void *temporary,
                                   int64_t temporary_bytes) {
  size_t bytes = static_cast<size_t>(temporary_bytes);
  SL_TRY(sl_cuda_check(cub::DeviceScan::InclusiveSum(temporary, bytes, p->c_rowptr + 1, p->c_rowptr + 1,
                                                     p->rows, sl_cuda_stream(queue)),
                       "adding up rows"));
  return make_bins(queue, p, true);
}
