/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that move, add, pull, scale and round rows. */
#include "device/cuda/rows/pull_pieces.cuh"
#include "device/cuda/rows/rows.cuh"

namespace {

using namespace sley;

/* All rows of a pull, piece by piece. */
struct pulled_in_pieces {
  static constexpr int AHEAD = PULL_AHEAD;
  pulled rows;
  pull_pieces pieces;
};

template <class V, class Join>
__device__ void move_all(const listed &rows, int64_t count, int64_t fragments, int group_log) {
  move_rows<V, Join>(rows, count, fragments, group_log, unwatched());
}

template <class V, class Join>
__device__ void move_all(const pulled_in_pieces &rows, int64_t count, int64_t fragments, int group_log) {
  move_rows<V, Join>(rows.rows, count, fragments, group_log, piece_watch(rows.pieces));
}

template <class V, class Join, class Rows>
__global__ void __launch_bounds__(THREADS)
    move(const __grid_constant__ Rows rows, int64_t count, int64_t fragments, int group_log) {
  move_all<V, Join>(rows, count, fragments, group_log);
}

template <class V, class Join, class Rows>
__global__ void __launch_bounds__(THREADS)
    move_few(const __grid_constant__ Rows rows, int64_t count, int64_t fragments, int group_log) {
  if constexpr (std::is_same<Rows, listed>::value) {
    move_fragments<V, Join>(rows, count, fragments, group_log);
  } else {
    move_fragments<V, Join>(rows.rows, count, fragments, group_log);
    piece_watch(rows.pieces).passed(INT64_MAX);
  }
}

/* Run by one thread. Polls seldom, so that it does not slow the transfer for which it waits. */
__global__ void arrive(sl_piece_words *words, int piece) {
  const uint32_t round = words->round.value + (piece == 0);
  wait_for_piece(words, piece, round);
  words->round.value = round;
}

/* Returns beta v, rounded once. */
template <class T> __device__ T product_of(double beta, T v) {
  if constexpr (sizeof(T) == 2)
    return value<T>::narrow(odd(beta * static_cast<double>(value<T>::widen(v))));
  else
    return static_cast<T>(beta * static_cast<double>(v));
}

template <class T>
__global__ void __launch_bounds__(THREADS)
    scale(T *y, int64_t rows, int64_t k, int64_t ldy, double beta, int group_log) {
  const int lanes = 1 << group_log, lane = threadIdx.x & (lanes - 1);
  const int64_t groups = (static_cast<int64_t>(gridDim.x) * THREADS) >> group_log;
  const int64_t step = static_cast<int64_t>(gridDim.y) * lanes;
  for (int64_t row = (static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x) >> group_log; row < rows;
       row += groups)
    for (int64_t f = static_cast<int64_t>(blockIdx.y) * lanes + lane; f < k; f += step) {
      T *at = y + row * ldy + f;
      *at = beta == 0 ? value<T>::narrow(0) : product_of(beta, *at);
    }
}

/* Processes VEC values at a time. */
template <class T, int VEC>
__global__ void __launch_bounds__(THREADS) round_sums(const sl_round_args a, int group_log) {
  const int lanes = 1 << group_log, lane = threadIdx.x & (lanes - 1);
  const int64_t groups = (static_cast<int64_t>(gridDim.x) * THREADS) >> group_log;
  const int64_t step = static_cast<int64_t>(gridDim.y) * lanes * VEC;
  for (int64_t row = (static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x) >> group_log; row < a.rows;
       row += groups)
    for (int64_t f = (static_cast<int64_t>(blockIdx.y) * lanes + lane) * VEC; f < a.k; f += step) {
      const vector<float, VEC> sums = load_shared<float, VEC>(a.sums + row * a.ld_sums + f);
      T *y = static_cast<T *>(a.y) + row * a.ldy + f;
      vector<T, VEC> old = {};
      if (a.beta != 0)
        old = load_plain<T, VEC>(y);
      float sum[VEC];
#pragma unroll
      for (int v = 0; v < VEC; v++)
        sum[v] = a.beta == 0
                     ? sums.item[v]
                     : static_cast<float>(a.beta * static_cast<double>(value<T>::widen(old.item[v]))) +
                           sums.item[v];
      store_once<T, VEC>(y, sum);
    }
}

struct shape {
  int64_t count, bytes; /* number of rows, and bytes of the longest row */
  int64_t blocks;       /* most blocks */
  int width;
  bool adds;
  sley_dtype dtype;
};

template <class V, class Join, class Rows>
void launch(cudaStream_t stream, const Rows &rows, const shape &s) {
  const move_grid g = grid_of(s.count, s.bytes, sizeof(V), Rows::AHEAD, s.blocks);
  if (are_few(s.count, s.bytes))
    move_few<V, Join, Rows><<<g.blocks, THREADS, 0, stream>>>(rows, s.count, g.fragments, g.group_log);
  else
    move<V, Join, Rows><<<g.blocks, THREADS, 0, stream>>>(rows, s.count, g.fragments, g.group_log);
}

template <class T, class Rows> void launch_add(cudaStream_t stream, const Rows &rows, const shape &s) {
  if (s.width == 16)
    launch<uint4, add<uint4, T>>(stream, rows, s);
  else if (s.width == 8)
    launch<uint2, add<uint2, T>>(stream, rows, s);
  else
    launch<typename word<sizeof(T)>::type, add<typename word<sizeof(T)>::type, T>>(stream, rows, s);
}

template <class Rows> void launch_by_width(cudaStream_t stream, const Rows &rows, const shape &s) {
  if (s.adds && s.dtype == SLEY_F32)
    launch_add<float>(stream, rows, s);
  else if (s.adds && s.dtype == SLEY_F64)
    launch_add<double>(stream, rows, s);
  else if (s.adds && s.dtype == SLEY_F16)
    launch_add<f16>(stream, rows, s);
  else if (s.adds)
    launch_add<bf16>(stream, rows, s);
  else if (s.width == 16)
    launch<uint4, replace<uint4>>(stream, rows, s);
  else if (s.width == 8)
    launch<uint2, replace<uint2>>(stream, rows, s);
  else if (s.width == 4)
    launch<unsigned, replace<unsigned>>(stream, rows, s);
  else if (s.width == 2)
    launch<unsigned short, replace<unsigned short>>(stream, rows, s);
  else
    launch<unsigned char, replace<unsigned char>>(stream, rows, s);
}

/* Checks that values to be added are aligned to their type. */
sley_status check_adds(const shape &s) {
  if (s.adds && s.width < static_cast<int>(sley_dtype_bytes(s.dtype)))
    return sl_fail(SLEY_ERR_ARG, "rows to add lie at odd addresses: values must be aligned to their size");
  return SLEY_OK;
}

} // namespace

sley_status sl_cuda_launch_rows(sl_queue *queue, const sl_rows_args *a) {
  shape s = {a->count, a->bytes, 16 * static_cast<int64_t>(sl_cuda_processors(queue)), 0, a->add, a->dtype};
  s.width = width_of(reinterpret_cast<uintptr_t>(a->src) | reinterpret_cast<uintptr_t>(a->dst) |
                     static_cast<uint64_t>(a->bytes | a->src_stride | a->dst_stride));
  SL_TRY(check_adds(s));
  if (sl_cuda_rows_align(a, s.width))
    return sl_cuda_launch_align(queue, a, s.width);
  SL_TRY(sl_cuda_use(queue->device));
  launch_by_width(sl_cuda_stream(queue), listed{*a}, s);
  return sl_cuda_launched(queue, "rows");
}

sley_status sl_cuda_launch_pull(sl_queue *queue, const sl_pull_args *a) {
  pulled_in_pieces p = {{a->list, static_cast<char *>(a->dst), a->dst_stride, {}}, {}};
  uint64_t bits = reinterpret_cast<uintptr_t>(a->dst) | static_cast<uint64_t>(a->dst_stride);
  shape s = {a->count, 0, pull_blocks(queue, false), 0, a->add, a->dtype};
  for (int i = 0; i < a->sources; i++) {
    const sl_pull_source *from = &a->source[i];
    p.rows.source[i] = *from;
    bits |= reinterpret_cast<uintptr_t>(from->src) |
            static_cast<uint64_t>(from->stride | from->bytes | from->dst_offset);
    s.bytes = from->bytes > s.bytes ? from->bytes : s.bytes;
  }
  s.width = width_of(bits);
  p.pieces = pieces_of(a);
  SL_TRY(check_adds(s));
  SL_TRY(sl_cuda_use(queue->device));
  launch_by_width(sl_cuda_stream(queue), p, s);
  return sl_cuda_launched(queue, "pull");
}

sley_status sl_cuda_launch_arrive(sl_queue *queue, const sl_arrive_args *a) {
  SL_TRY(sl_cuda_use(queue->device));
  arrive<<<1, 1, 0, sl_cuda_stream(queue)>>>(a->words, a->piece);
  return sl_cuda_launched(queue, "arrive");
}

/* Grid for an operation on rows with `each` units per row, which groups of 2^log lanes take. */
static dim3 grid_for(const sl_queue *queue, int64_t rows, int64_t each, int log) {
  const int64_t most = 16 * static_cast<int64_t>(sl_cuda_processors(queue)), across = (each + 1023) / 1024;
  const unsigned y = static_cast<unsigned>(across < most ? across : most);
  return dim3(blocks_for(rows, log, (most + y - 1) / y), y);
}

template <class T> static void launch_scale(sl_queue *queue, const sl_scale_args *a) {
  const int log = group_log_for(a->k);
  scale<T><<<grid_for(queue, a->rows, a->k, log), THREADS, 0, sl_cuda_stream(queue)>>>(
      static_cast<T *>(a->y), a->rows, a->k, a->ldy, a->beta, log);
}

sley_status sl_cuda_launch_scale(sl_queue *queue, const sl_scale_args *a) {
  SL_TRY(sl_cuda_use(queue->device));
  if (a->dtype == SLEY_F32)
    launch_scale<float>(queue, a);
  else if (a->dtype == SLEY_F64)
    launch_scale<double>(queue, a);
  else if (a->dtype == SLEY_F16)
    launch_scale<f16>(queue, a);
  else
    launch_scale<bf16>(queue, a);
  return sl_cuda_launched(queue, "scale");
}

template <class T, int VEC> static void launch_round(sl_queue *queue, const sl_round_args *a) {
  const int log = group_log_for(a->k / VEC);
  round_sums<T, VEC>
      <<<grid_for(queue, a->rows, a->k / VEC, log), THREADS, 0, sl_cuda_stream(queue)>>>(*a, log);
}

sley_status sl_cuda_launch_round(sl_queue *queue, const sl_round_args *a) {
  SL_TRY(sl_cuda_use(queue->device));
  const bool four = (a->k | a->ld_sums | a->ldy) % 4 == 0 && reinterpret_cast<uintptr_t>(a->sums) % 16 == 0 &&
                    reinterpret_cast<uintptr_t>(a->y) % 8 == 0;
  if (a->dtype == SLEY_F16 && four)
    launch_round<f16, 4>(queue, a);
  else if (a->dtype == SLEY_F16)
    launch_round<f16, 1>(queue, a);
  else if (four)
    launch_round<bf16, 4>(queue, a);
  else
    launch_round<bf16, 1>(queue, a);
  return sl_cuda_launched(queue, "round");
}
