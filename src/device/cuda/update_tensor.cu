/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that are given times W on Tensor cores: see update_rows.cuh. */
#include "device/cuda/update_rows.cuh"

namespace {

using namespace sley;

/* Tiles of rows of T in the device's memory, taken in turn. */
struct given {
  const float *t;
  int64_t rows, ldt, k, next, step, first;
  bool aligned; /* rows can be read by 16 bytes */
  __device__ int64_t tiles() const {
    return (rows + SL_UPDATE_TILE - 1) / SL_UPDATE_TILE;
  }
  __device__ int64_t take(int, bool) {
    const int64_t taken = next;
    next += step;
    return taken;
  }
  __device__ int64_t row_of(int i) const {
    return first + i;
  }
  __device__ __forceinline__ int fetch(int64_t tile, float *to, int stride, int lane) {
    first = tile * SL_UPDATE_TILE;
    const int here = (int)(rows - first < SL_UPDATE_TILE ? rows - first : SL_UPDATE_TILE);
    const float *from = t + first * ldt;
    if (aligned) {
      const int across = (int)(k / 4);
#pragma unroll 8
      for (int at = lane; at < here * across; at += 32)
        *(float4 *)(to + at / across * stride + at % across * 4) =
            __ldcs((const float4 *)(from + at / across * ldt + at % across * 4));
    } else {
      const int across = (int)k;
#pragma unroll 8
      for (int at = lane; at < here * across; at += 32)
        to[at / across * stride + at % across] = __ldcs(from + at / across * ldt + at % across);
    }
    return here;
  }
  __device__ void end() {
  }
};

template <typename V>
__global__ void __launch_bounds__(UPDATE_WARPS * 32, 1)
    update_given(const float *t, const int64_t rows, const int64_t ldt, const bool aligned,
                 const __grid_constant__ sl_update_dense dense, const __grid_constant__ update_room room) {
  extern __shared__ float4 update_memory[];
  const int64_t warps = (int64_t)gridDim.x * room.warps,
                mine = (int64_t)blockIdx.x * room.warps + (room.whole ? threadIdx.x / 32 : 0);
  given source = {t, rows, ldt, dense.k, mine, warps, 0, aligned};
  update_tiles<V>(source, dense, room, update_memory);
}

template <typename V> sley_status launch(sl_queue *queue, const sl_update_args *a) {
  const sl_update_dense dense = {a->w, a->z, a->k, a->n, a->ldw, a->ldz, a->beta};
  int64_t most;
  SL_TRY(shared_bytes(queue, &most));
  const int64_t tiles = (a->rows + SL_UPDATE_TILE - 1) / SL_UPDATE_TILE,
                processors = sl_cuda_processors(queue);
  const update_room room = room_of(dense, sizeof(V), SL_UPDATE_TILE, most, tiles, processors);
  if (room.warps < 1)
    return sl_cuda_launch_update_plain(queue, a);
  const bool aligned = a->k % 4 == 0 && a->ldt % 4 == 0 && (uintptr_t)a->t % 16 == 0;
  const int64_t all = (tiles + room.warps - 1) / room.warps;
  SL_TRY(sl_cuda_check(
      cudaFuncSetAttribute(update_given<V>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)room.bytes()),
      "shared memory"));
  update_given<V>
      <<<(unsigned)(all < processors ? all : processors), (unsigned)room.warps * 32, (size_t)room.bytes(),
         sl_cuda_stream(queue)>>>((const float *)a->t, a->rows, a->ldt, aligned, dense, room);
  return sl_cuda_launched(queue, "update-tensor");
}

} // namespace

sley_status sl_cuda_launch_update_tensor(sl_queue *queue, const sl_update_args *args) {
  SL_TRY(sl_cuda_use(queue->device));
  if (args->dtype == SLEY_F16)
    return launch<f16>(queue, args);
  return args->dtype == SLEY_BF16 ? launch<bf16>(queue, args) : launch<float>(queue, args);
}
