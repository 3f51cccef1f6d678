/* SPDX-License-Identifier: Apache-2.0 */
/* Multiplies given rows T by W on Tensor cores (update_rows.cuh). A warp copies its next tile into shared
 * memory while it multiplies the current tile, if there is memory for two. */
#include "device/cuda/spmm/update_rows.cuh"

namespace {

using namespace sley;

enum { GIVEN_WARPS = 16 };

/* Rows of T in device memory. */
struct given {
  const float *t;
  int64_t rows, ldt;
  int k;
  bool aligned; /* rows can be read by 16 bytes */
};

template <int BYTES>
__device__ __forceinline__ void copy_rows(const given &source, const float *from, int rows, float *to,
                                          int stride, int lane) {
  const int each = BYTES / 4, across = source.k / each;
  for (int at = lane; at < rows * across; at += 32) {
    const int row = at / across, column = at % across * each;
    copy_ahead<BYTES>(to + row * stride + column, from + row * source.ldt + column);
  }
}

/* Starts to copy a tile, unless it does not exist. */
__device__ __forceinline__ void fetch(const given &source, int64_t tile, float *to, int stride, int lane) {
  const int64_t first = tile * SL_UPDATE_TILE, left = source.rows - first;
  const int rows = left <= 0 ? 0 : left < SL_UPDATE_TILE ? (int)left : SL_UPDATE_TILE;
  const float *from = source.t + first * source.ldt;
  if (source.aligned)
    copy_rows<16>(source, from, rows, to, stride, lane);
  else
    copy_rows<4>(source, from, rows, to, stride, lane);
  copies_commit();
}

template <typename V>
__global__ void __launch_bounds__(GIVEN_WARPS * 32, 1)
    update_given(const given source, const __grid_constant__ sl_update_dense dense,
                 const __grid_constant__ update_room room) {
  extern __shared__ float4 update_memory[];
  const int lane = (int)(threadIdx.x % 32);
  const bool ahead = room.lines > SL_UPDATE_TILE;
  float *now = begin_update<V>(dense, room, update_memory),
        *next = ahead ? now + SL_UPDATE_TILE * room.stride : now;
  const int64_t step = (int64_t)gridDim.x * room.warps,
                tiles = (source.rows + SL_UPDATE_TILE - 1) / SL_UPDATE_TILE;
  int64_t first = (int64_t)blockIdx.x * room.warps, tile = first + threadIdx.x / 32;
  fetch(source, tile, now, room.stride, lane);
  for (; room.whole ? tile < tiles : first < tiles; first += step, tile += step) {
    if (ahead) {
      fetch(source, tile + step, next, room.stride, lane);
      copies_wait<1>();
    } else {
      copies_wait_all();
    }
    __syncwarp();
    const int64_t left = source.rows - tile * SL_UPDATE_TILE;
    const int rows = left <= 0 ? 0 : left < SL_UPDATE_TILE ? (int)left : SL_UPDATE_TILE;
    multiply_all<V>(dense, room, now, rows, {nullptr, (int)tile * SL_UPDATE_TILE}, update_memory, lane);
    __syncwarp();
    if (!ahead)
      fetch(source, tile + step, now, room.stride, lane);
    float *other = now;
    now = next;
    next = other;
  }
  copies_wait_all();
}

template <typename V> sley_status launch(sl_queue *queue, const sl_update_args *a) {
  const sl_update_dense dense = {a->w, a->z, a->k, a->n, a->ldw, a->ldz, a->beta};
  int64_t most;
  SL_TRY(shared_bytes(queue, &most));
  const int64_t tiles = (a->rows + SL_UPDATE_TILE - 1) / SL_UPDATE_TILE,
                processors = sl_cuda_processors(queue);
  update_room room = room_of(dense, sizeof(V), 2 * SL_UPDATE_TILE, 0, GIVEN_WARPS, most, tiles, processors);
  if (room.warps < 2)
    room = room_of(dense, sizeof(V), SL_UPDATE_TILE, 0, GIVEN_WARPS, most, tiles, processors);
  if (room.warps < 1)
    return sl_cuda_launch_update_plain(queue, a);
  const given source = {(const float *)a->t, a->rows, a->ldt, (int)a->k,
                        a->k % 4 == 0 && a->ldt % 4 == 0 && (uintptr_t)a->t % 16 == 0};
  const int64_t all = (tiles + room.warps - 1) / room.warps;
  SL_TRY(grant<update_given<V>>(room.bytes()));
  update_given<V><<<(unsigned)(all < processors ? all : processors), (unsigned)room.warps * 32,
                    (size_t)room.bytes(), sl_cuda_stream(queue)>>>(source, dense, room);
  return sl_cuda_launched(queue, "update-tensor");
}

} // namespace

sley_status sl_cuda_launch_update_tensor(sl_queue *queue, const sl_update_args *args) {
  SL_TRY(sl_cuda_use(queue->device));
  if (args->dtype == SLEY_F16)
    return launch<f16>(queue, args);
  return args->dtype == SLEY_BF16 ? launch<bf16>(queue, args) : launch<float>(queue, args);
}
