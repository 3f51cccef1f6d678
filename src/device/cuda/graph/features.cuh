/* SPDX-License-Identifier: Apache-2.0 */
/* Features of rows in the lanes of a group: which ones a lane holds, how they are loaded and stored, and sums
 * over lanes. */
#ifndef SLEY_DEVICE_CUDA_GRAPH_FEATURES_CUH
#define SLEY_DEVICE_CUDA_GRAPH_FEATURES_CUH

#include <cstdint>

#include "device/cuda/graph/whole_rows.cuh"
#include "device/cuda/places.cuh"
#include "device/cuda/values.cuh"

namespace sley {

/* Values of a row that a lane holds: 16 bytes as one vector; or, if the rows' alignment does not allow that,
 * in strips of 4 values (16-bit types) or of single values (launch_by_alignment). */
template <class T> constexpr int lane_values = 16 / static_cast<int>(sizeof(T));

/* Blocks per multiprocessor, as many as the registers allow. */
enum { GRAPH_BLOCKS = 3 };

/* Places of gathered rows (places.cuh), in units of W values. With single values, rows may lie at any
 * distance, so places have 64 bits. */
template <int W> using graph_unit = std::conditional_t<W == 1, uint64_t, uint32_t>;

/* The values of a head's panel that a lane holds: W contiguous values per strip, where strip p begins with
 * feature first + p stride. */
template <class T, int W> struct lane_part {
  static constexpr int N = lane_values<T>, STRIPS = N / W;
  using A = accumulator<T>;
  int64_t first;
  int stride;
  bool on[STRIPS];

  __device__ __forceinline__ lane_part(const sl_heads &shape, int64_t head, int64_t panel, int lanes,
                                       int lane) {
    const int64_t at = panel * (lanes * N) + lane * W;
    first = head * shape.width + at;
    stride = lanes * W;
#pragma unroll
    for (int p = 0; p < STRIPS; p++)
      on[p] = at + p * stride < shape.width;
  }

  /* Address from which a lane loads gathered rows. Vectors past the last feature load the panel's or the
   * lane's first features instead, which costs nothing; their values are not used. */
  __device__ __forceinline__ const T *gather_from(const void *base, int lane) const {
    return static_cast<const T *>(base) + (W == 1 || on[0] ? first : first - lane * W);
  }

  /* from: gather_from() plus the row's place. */
  __device__ __forceinline__ vector<T, N> gather(const T *from) const {
    vector<T, N> all = {};
#pragma unroll
    for (int p = 0; p < STRIPS; p++)
      if (W > 1 || on[p]) {
        const vector<T, W> some = load_shared<T, W>(from + (on[p] ? p * stride : 0));
#pragma unroll
        for (int w = 0; w < W; w++)
          all.item[p * W + w] = some.item[w];
      }
    return all;
  }

  /* Loads and widens the values of a row whose feature 0 is at `row`; features that do not exist are 0. */
  template <class V>
  __device__ __forceinline__ void load(const V *row, bool wanted, accumulator<V> (&to)[N]) const {
#pragma unroll
    for (int p = 0; p < STRIPS; p++) {
      vector<V, W> got = {};
      if (wanted && on[p])
        got = load_plain<V, W>(row + first + p * stride);
#pragma unroll
      for (int w = 0; w < W; w++)
        to[p * W + w] = widened(got, w);
    }
  }

  template <class V> __device__ __forceinline__ void store(V *row, const accumulator<V> (&from)[N]) const {
#pragma unroll
    for (int p = 0; p < STRIPS; p++)
      if (on[p]) {
        accumulator<V> some[W];
#pragma unroll
        for (int w = 0; w < W; w++)
          some[w] = from[p * W + w];
        store_once<V, W>(row + first + p * stride, some);
      }
  }

  /* The same value by value, for rows that are less aligned than the others. */
  __device__ __forceinline__ void load_singly(const A *row, bool wanted, A (&to)[N]) const {
#pragma unroll
    for (int i = 0; i < N; i++)
      to[i] = wanted && on[i / W] ? row[feature(i)] : 0;
  }
  __device__ __forceinline__ void store_singly(A *row, const A (&from)[N]) const {
#pragma unroll
    for (int i = 0; i < N; i++)
      if (on[i / W])
        row[feature(i)] = from[i];
  }

  __device__ __forceinline__ vector<int32_t, N> load_numbers(const int32_t *row, bool wanted) const {
    vector<int32_t, N> all = {};
#pragma unroll
    for (int p = 0; p < STRIPS; p++)
      if (wanted && on[p]) {
        const vector<int32_t, W> got = load_plain<int32_t, W>(row + first + p * stride);
#pragma unroll
        for (int w = 0; w < W; w++)
          all.item[p * W + w] = got.item[w];
      }
    return all;
  }
  __device__ __forceinline__ void store_numbers(int32_t *row, const int32_t (&from)[N]) const {
    constexpr int M = per_word<int32_t, W>;
#pragma unroll
    for (int i = 0; i < N; i += M)
      if (on[i / W]) {
        packed<int32_t, M> some;
#pragma unroll
        for (int m = 0; m < M; m++)
          some.values.item[m] = from[i + m];
        int32_t *to = row + feature(i);
        *reinterpret_cast<typename word<sizeof(int32_t) * M>::type *>(to) = some.bits;
      }
  }

  /* Number of the feature of value i. */
  __device__ __forceinline__ int64_t feature(int i) const {
    return first + i / W * stride + i % W;
  }
  /* Calls body(i) for each value i that exists. */
  template <class Body> __device__ __forceinline__ void each(Body body) const {
#pragma unroll
    for (int p = 0; p < STRIPS; p++)
      if (on[p])
#pragma unroll
        for (int w = 0; w < W; w++)
          body(p * W + w);
  }
};

/* Like load_shared with 16 bytes, if wanted is not 0; else the result is undefined. Written as a predicated
 * instruction, because with a branch the compiler waits for each load before the next. */
template <typename T, int N>
__device__ __forceinline__ vector<T, N> load_shared_if(uint32_t wanted, const T *p) {
  static_assert(sizeof(T) * N == 16, "one instruction");
  packed<T, N> v;
  asm("{\n\t"
      ".reg .pred p;\n\t"
      "setp.ne.u32 p, %5, 0;\n\t"
      "@p ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];\n\t"
      "}"
      : "=r"(v.bits.x), "=r"(v.bits.y), "=r"(v.bits.z), "=r"(v.bits.w)
      : "l"(p), "r"(wanted));
  return v.values;
}

/* Gathers the lane's values of the rows of U entries. Lanes s, s + 1, ... of the group hold the rows' places.
 * from: gather_from(). Called by all lanes of the warp. */
template <class T, int W, int U>
__device__ __forceinline__ void gather_rows(const lane_part<T, W> &mine, const T *from, graph_unit<W> place,
                                            int s, int lanes, vector<T, lane_values<T>> (&to)[U]) {
#pragma unroll
  for (int u = 0; u < U; u++)
    to[u] = mine.gather(from + static_cast<uint64_t>(__shfl_sync(~0u, place, s + u, lanes)) * W);
}

/* Sums over the lanes of a group: each lane has parts of GRAPH_AHEAD sums, and lane l receives sum l mod
 * GRAPH_AHEAD. In each of the first two steps a lane passes half of its sums to another lane, so this takes
 * only two instructions more than one sum over all lanes. */
template <class A> __device__ __forceinline__ A fold(const A *part, int lanes, int lane) {
  static_assert(GRAPH_AHEAD == 4, "two steps");
  const bool odd = lane & 1, upper = lane & 2;
  A low = odd ? part[1] : part[0], high = odd ? part[3] : part[2];
  low += __shfl_xor_sync(~0u, odd ? part[0] : part[1], 1);
  high += __shfl_xor_sync(~0u, odd ? part[2] : part[3], 1);
  A sum = upper ? high : low;
  sum += __shfl_xor_sync(~0u, upper ? low : high, 2);
  for (int distance = 4; distance < lanes; distance *= 2)
    sum += __shfl_xor_sync(~0u, sum, distance);
  return sum;
}

/* Address of row i in two memories. */
template <class T> __device__ __forceinline__ T *row_of(const sl_split_rows &s, int64_t i) {
  return i < s.near_rows ? static_cast<T *>(s.near) + i * s.near_ld
                         : static_cast<T *>(s.far) + (i - s.near_rows) * s.far_ld;
}

/* Loads one value and widens it, from memory that other lanes read too. */
template <class T> __device__ __forceinline__ accumulator<T> value_at(const T *p) {
  return value<T>::widen(load_shared<T, 1>(p).item[0]);
}

/* e^x, to 2 units in the last place. */
__device__ __forceinline__ float exponential(float x) {
  return expf(x);
}
__device__ __forceinline__ double exponential(double x) {
  return exp(x);
}
__device__ __forceinline__ float minus_infinity(float) {
  return __uint_as_float(0xff800000u);
}
__device__ __forceinline__ double minus_infinity(double) {
  return __longlong_as_double(static_cast<long long>(0xfff0000000000000ull));
}

/* How many of the next `lanes` entries, from entry e on, a share of `count` entries has. */
__device__ __forceinline__ int entries_left(int count, int e, int lanes) {
  return min(max(count - e, 0), lanes);
}

/* Lanes that hold a head of `width` features, and panels if the lanes of a warp cannot hold all. */
struct graph_lanes {
  int lanes;
  int64_t panels;
};
template <class T> graph_lanes lanes_for(int64_t width) {
  constexpr int N = lane_values<T>;
  int lanes = 4;
  while (lanes < 32 && lanes * N < width)
    lanes *= 2;
  return {lanes, width > lanes * N ? (width + lanes * N - 1) / (lanes * N) : 1};
}

/* Lanes for operations in which each lane has entries of its own. With many heads there are few lanes,
 * because neighbouring groups share lines. */
inline int lanes_of_entries(int64_t heads) {
  return heads >= 8 ? 4 : 8;
}

/* Common alignment of rows: addresses, strides and widths in bytes are combined. */
class graph_alignment {
  uint64_t bits = 0;

public:
  void add(const void *p, int64_t ld, int64_t value_bytes) {
    bits |= reinterpret_cast<uintptr_t>(p) | static_cast<uint64_t>(ld * value_bytes);
  }
  void add(const sl_split_rows &s, int64_t rows, int64_t value_bytes) {
    if (s.near_rows > 0)
      add(s.near, s.near_ld, value_bytes);
    if (s.near_rows < rows)
      add(s.far, s.far_ld, value_bytes);
  }
  /* Adds the width of a head. If it is 0, there are no values to load. */
  void add_width(int64_t width, int64_t value_bytes) {
    bits |= width > 0 ? static_cast<uint64_t>(width * value_bytes) : 1;
  }
  /* Adds an array with equally many items of another size, which are loaded in words of at most 16 bytes. */
  void add_items(const void *p, int64_t item_bytes, int64_t value_bytes) {
    if (reinterpret_cast<uintptr_t>(p) % 16 != 0)
      bits |= reinterpret_cast<uintptr_t>(p) * static_cast<uint64_t>(value_bytes) /
              static_cast<uint64_t>(item_bytes);
  }
  bool fits(int64_t bytes) const {
    return bits % static_cast<uint64_t>(bytes) == 0;
  }
};

/* Calls launch(W) with a constant W: the number of values loaded at once, as large as the alignment allows.
 * find(W) finds the places of gathered rows in units of W values and returns whether 32 bits suffice; for W =
 * 1 places have 64 bits, so its result is ignored. */
template <class T, class Find, class Launch>
void launch_by_alignment(const graph_alignment &found, Find find, Launch launch) {
  constexpr int N = lane_values<T>, FEW = 4;
  constexpr std::integral_constant<int, N> all = {};
  if (found.fits(N * sizeof(T)) && find(all))
    return launch(all);
  if constexpr (N > FEW) {
    constexpr std::integral_constant<int, FEW> few = {};
    if (found.fits(FEW * sizeof(T)) && find(few))
      return launch(few);
  }
  constexpr std::integral_constant<int, 1> single = {};
  find(single);
  launch(single);
}

/* The operand that find_places reads. */
struct graph_operand {
  const void *x, *far;
  int64_t ldx, ldfar, x_rows, far_rows;
};

template <class T, int W> bool find_rows(const sl_split_rows &s, int64_t rows, x_places *to) {
  const int64_t near = s.near_rows < rows ? s.near_rows : rows;
  graph_operand o = {s.near, s.far, s.near_ld, s.far_ld, near, rows - near};
  if (near == 0)
    o.x = s.far;
  if (near == rows)
    o.far = nullptr;
  return find_places<T, W>(o, to);
}

/* The same as sl_features. */
__device__ __forceinline__ int64_t features_of(const sl_heads &shape) {
  return shape.heads * shape.width;
}

/* `rows` rows in one memory. */
inline sl_split_rows plain_rows(const void *p, int64_t rows, int64_t ld) {
  return {const_cast<void *>(p), nullptr, rows, ld, 0};
}

/* Calls launch(T()) with the type T of the dtype. */
template <class Launch> sley_status launch_by_type(sley_dtype dtype, Launch launch) {
  if (dtype == SLEY_F32)
    return launch(float());
  if (dtype == SLEY_F64)
    return launch(double());
  return dtype == SLEY_F16 ? launch(f16()) : launch(bf16());
}

} // namespace sley

#endif
