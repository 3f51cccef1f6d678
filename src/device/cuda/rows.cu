/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that move, add, pull and scale rows.
 *
 * A group of lanes, a power of two that a row fills, takes a row at a time; several rows are loaded before
 * the first is stored, so that enough loads are in flight. Rows longer than a piece are cut: blocks with the
 * same blockIdx.y take the same pieces. Loads and stores are as wide as all addresses and sizes allow. */
#include "device/cuda/cuda.h"

namespace {

enum { THREADS = 512, ROWS_AHEAD = 4, PIECE_BYTES = 8192, PIECES_MOST = 65535 };

/* Blocks of a pull: enough to fill the links, few enough to leave room for the product beside it. */
enum { PULL_BLOCKS = 132 };

/* One row to move. */
struct job {
  const char *src;
  char *dst;
  int64_t bytes;
};

struct listed {
  sl_rows_args a;
  __device__ job at(int64_t i) const {
    int64_t s = a.src_rows ? a.src_rows[i] : a.src_first + i;
    int64_t d = a.dst_rows ? a.dst_rows[i] : a.dst_first + i;
    return {static_cast<const char *>(a.src) + s * a.src_stride,
            static_cast<char *>(a.dst) + d * a.dst_stride, a.bytes};
  }
};

struct pulled {
  const sl_pull_entry *list;
  char *dst;
  int64_t dst_stride;
  sl_pull_source source[SL_PULL_SOURCES];
  __device__ job at(int64_t i) const {
    const sl_pull_entry e = list[i];
    const sl_pull_source &s = source[e.source];
    return {static_cast<const char *>(s.src) + e.src_row * s.stride,
            dst + e.dst_row * dst_stride + s.dst_offset, s.bytes};
  }
};

/* How two vectors of bytes become one. */
template <class V> struct replace {
  static constexpr bool reads_dst = false;
  __device__ static V join(V, V moved) {
    return moved;
  }
};

template <class V, class T> struct add {
  static constexpr bool reads_dst = true;
  __device__ static V join(V old, V moved) {
    union {
      V v;
      T t[sizeof(V) / sizeof(T)];
    } a, b;
    a.v = old;
    b.v = moved;
    for (unsigned i = 0; i < sizeof(V) / sizeof(T); i++)
      a.t[i] += b.t[i];
    return a.v;
  }
};

template <class V, class Join, class Rows>
__global__ void __launch_bounds__(THREADS)
    move(const __grid_constant__ Rows rows, int64_t count, int64_t pieces, int group_log) {
  const int lanes = 1 << group_log, lane = threadIdx.x & (lanes - 1);
  const int64_t groups = (static_cast<int64_t>(gridDim.x) * THREADS) >> group_log;
  const int64_t mine = (static_cast<int64_t>(blockIdx.x) * THREADS + threadIdx.x) >> group_log;
  constexpr int64_t piece_vectors = PIECE_BYTES / sizeof(V);
  for (int64_t piece = blockIdx.y; piece < pieces; piece += gridDim.y)
    for (int64_t first = mine; first < count; first += groups * ROWS_AHEAD) {
      const V *src[ROWS_AHEAD];
      V *dst[ROWS_AHEAD];
      int left[ROWS_AHEAD], most = 0;
#pragma unroll
      for (int u = 0; u < ROWS_AHEAD; u++) {
        left[u] = 0;
        if (first + u * groups >= count)
          continue;
        const job j = rows.at(first + u * groups);
        const int64_t vectors = j.bytes / static_cast<int64_t>(sizeof(V)) - piece * piece_vectors;
        src[u] = reinterpret_cast<const V *>(j.src) + piece * piece_vectors;
        dst[u] = reinterpret_cast<V *>(j.dst) + piece * piece_vectors;
        left[u] = static_cast<int>(vectors < 0 ? 0 : vectors < piece_vectors ? vectors : piece_vectors);
        most = left[u] > most ? left[u] : most;
      }
      for (int v = lane; v < most; v += lanes) {
        V moved[ROWS_AHEAD];
#pragma unroll
        for (int u = 0; u < ROWS_AHEAD; u++)
          if (v < left[u])
            moved[u] = __ldcg(src[u] + v);
#pragma unroll
        for (int u = 0; u < ROWS_AHEAD; u++)
          if (v < left[u])
            dst[u][v] = Join::join(Join::reads_dst ? dst[u][v] : V(), moved[u]);
      }
    }
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
      *at = beta == 0 ? T(0) : static_cast<T>(beta * static_cast<double>(*at));
    }
}

/* The least group that a row of so many vectors fills. */
int group_log_for(int64_t vectors) {
  int log = 0;
  while (log < 5 && (1 << log) < vectors)
    log++;
  return log;
}

/* Blocks for `work` groups of lanes, at most `most`. */
unsigned blocks_for(int64_t work, int group_log, int64_t most) {
  const int64_t groups = THREADS >> group_log, blocks = (work + groups - 1) / groups;
  return static_cast<unsigned>(blocks < most ? blocks : most);
}

/* The widest access that an address or size, or the OR of several, allows. */
int width_of(uint64_t bits) {
  return bits % 16 == 0 ? 16 : bits % 8 == 0 ? 8 : bits % 4 == 0 ? 4 : bits % 2 == 0 ? 2 : 1;
}

struct shape {
  int64_t count, bytes; /* rows; bytes of the longest */
  int64_t blocks;       /* at most */
  int width;
  bool adds;
  sley_dtype dtype;
};

template <class V, class Join, class Rows>
void launch(cudaStream_t stream, const Rows &rows, const shape &s) {
  const int64_t vectors = s.bytes / static_cast<int64_t>(sizeof(V));
  const int64_t pieces = (s.bytes + PIECE_BYTES - 1) / PIECE_BYTES;
  const int log = group_log_for(vectors);
  const unsigned across = static_cast<unsigned>(pieces < PIECES_MOST ? pieces : PIECES_MOST);
  const unsigned y = s.blocks < across ? static_cast<unsigned>(s.blocks) : across;
  const dim3 grid(blocks_for((s.count + ROWS_AHEAD - 1) / ROWS_AHEAD, log, (s.blocks + y - 1) / y), y);
  move<V, Join, Rows><<<grid, THREADS, 0, stream>>>(rows, s.count, pieces, log);
}

template <class T, class Rows> void launch_add(cudaStream_t stream, const Rows &rows, const shape &s) {
  if (s.width == 16)
    launch<uint4, add<uint4, T>>(stream, rows, s);
  else if (s.width == 8)
    launch<uint2, add<uint2, T>>(stream, rows, s);
  else if (sizeof(T) == 4)
    launch<unsigned, add<unsigned, float>>(stream, rows, s);
}

template <class Rows> void launch_by_width(cudaStream_t stream, const Rows &rows, const shape &s) {
  if (s.adds && s.dtype == SLEY_F32)
    launch_add<float>(stream, rows, s);
  else if (s.adds)
    launch_add<double>(stream, rows, s);
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

/* Values to add are at least as aligned as their type. */
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
  SL_TRY(sl_cuda_use(queue->device));
  launch_by_width(sl_cuda_stream(queue), listed{*a}, s);
  return sl_cuda_launched(queue, "rows");
}

sley_status sl_cuda_launch_pull(sl_queue *queue, const sl_pull_args *a) {
  pulled rows = {a->list, static_cast<char *>(a->dst), a->dst_stride, {}};
  uint64_t bits = reinterpret_cast<uintptr_t>(a->dst) | static_cast<uint64_t>(a->dst_stride);
  shape s = {a->count, 0, PULL_BLOCKS, 0, a->add, a->dtype};
  for (int i = 0; i < a->sources; i++) {
    const sl_pull_source *from = &a->source[i];
    rows.source[i] = *from;
    bits |= reinterpret_cast<uintptr_t>(from->src) |
            static_cast<uint64_t>(from->stride | from->bytes | from->dst_offset);
    s.bytes = from->bytes > s.bytes ? from->bytes : s.bytes;
  }
  s.width = width_of(bits);
  SL_TRY(check_adds(s));
  SL_TRY(sl_cuda_use(queue->device));
  launch_by_width(sl_cuda_stream(queue), rows, s);
  return sl_cuda_launched(queue, "pull");
}

sley_status sl_cuda_launch_scale(sl_queue *queue, const sl_scale_args *a) {
  SL_TRY(sl_cuda_use(queue->device));
  const int log = group_log_for(a->k);
  const int64_t most = 16 * static_cast<int64_t>(sl_cuda_processors(queue)), across = (a->k + 1023) / 1024;
  const unsigned y = static_cast<unsigned>(across < most ? across : most);
  const dim3 grid(blocks_for(a->rows, log, (most + y - 1) / y), y);
  if (a->dtype == SLEY_F32)
    scale<float><<<grid, THREADS, 0, sl_cuda_stream(queue)>>>(static_cast<float *>(a->y), a->rows, a->k,
                                                              a->ldy, a->beta, log);
  else
    scale<double><<<grid, THREADS, 0, sl_cuda_stream(queue)>>>(static_cast<double *>(a->y), a->rows, a->k,
                                                               a->ldy, a->beta, log);
  return sl_cuda_launched(queue, "scale");
}
