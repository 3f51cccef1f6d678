/* SPDX-License-Identifier: Apache-2.0 */
/* Features of rows in the lanes of a group: which of a part a lane holds, how they are loaded and stored, and
 * sums over lanes. */
#ifndef SLEY_DEVICE_CUDA_GRAPH_FEATURES_CUH
#define SLEY_DEVICE_CUDA_GRAPH_FEATURES_CUH

#include <cstdint>

#include "device/cuda/graph/whole_rows.cuh"
#include "device/cuda/places.cuh"
#include "device/cuda/values.cuh"

namespace sley {

/* Values of a row that a lane holds: a vector of 16 bytes, or, where rows do not allow that, as many values
 * in strips: of types of 16 bits vectors of 4 values, or single values (launch_by_alignment). */
template <class T> constexpr int lane_values = 16 / static_cast<int>(sizeof(T));

/* Blocks of a multiprocessor: as many as the registers suffice for. */
enum { GRAPH_BLOCKS = 3 };

/* Where rows lie that are gathered (places.cuh), in units of W values. Single values may be as many as they
 * like. */
template <int W> using graph_unit = std::conditional_t<W == 1, uint64_t, uint32_t>;

/* The values that a lane holds of a panel of a head, W of them side by side: strip p begins with feature
 * first + p stride. */
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

  /* From where a lane loads rows that are gathered: vectors without features are the panel's first or the
   * lane's first, for such a load costs nothing, and are left alone. */
  __device__ __forceinline__ const T *gather_from(const void *base, int lane) const {
    return static_cast<const T *>(base) + (W == 1 || on[0] ? first : first - lane * W);
  }

  /* from: gather_from(), plus the row's place. */
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

  /* The values of a row, whose feature 0 is at `row`, widened; 0 where there are none. */
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

  /* Value by value: of rows that are not as aligned as the others. */
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

  /* Which feature value i is. */
  __device__ __forceinline__ int64_t feature(int i) const {
    return first + i / W * stride + i % W;
  }
  /* body(i) for each value i that the lane has. */
  template <class Body> __device__ __forceinline__ void each(Body body) const {
#pragma unroll
    for (int p = 0; p < STRIPS; p++)
      if (on[p])
#pragma unroll
        for (int w = 0; w < W; w++)
          body(p * W + w);
  }
};

/* load_shared of 16 bytes where wanted is not 0; else what they are is not defined. The compiler would wait
 * for such a load before the next where it makes a branch of it. */
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

/* What the lane holds of the rows of entries s, s + 1, ..., whose places the lanes s, s + 1, ... of the group
 * have. from: gather_from(). All lanes of the warp. */
template <class T, int W, int U>
__device__ __forceinline__ void gather_rows(const lane_part<T, W> &mine, const T *from, graph_unit<W> place,
                                            int s, int lanes, vector<T, lane_values<T>> (&to)[U]) {
#pragma unroll
  for (int u = 0; u < U; u++)
    to[u] = mine.gather(from + static_cast<uint64_t>(__shfl_sync(~0u, place, s + u, lanes)) * W);
}

/* Each lane has parts of GRAPH_AHEAD sums over the lanes of its group: lane l gets sum l mod GRAPH_AHEAD. At
 * each of the first steps half of the sums go to the other lane, which takes as many instructions as one sum
 * over all lanes and two more. */
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

/* Row i of two memories. */
template <class T> __device__ __forceinline__ T *row_of(const sl_split_rows &s, int64_t i) {
  return i < s.near_rows ? static_cast<T *>(s.near) + i * s.near_ld
                         : static_cast<T *>(s.far) + (i - s.near_rows) * s.far_ld;
}

/* One value, widened, of memory that others read too. */
template <class T> __device__ __forceinline__ accumulator<T> value_at(const T *p) {
  return value<T>::widen(load_shared<T, 1>(p).item[0]);
}

/* e to the x, to 2 units in the last place. */
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

/* How many of the next `lanes` entries from entry e on a share of `count` has. */
__device__ __forceinline__ int entries_left(int count, int e, int lanes) {
  return min(max(count - e, 0), lanes);
}

/* Lanes that hold `width` features of a head, and panels where the lanes of a warp do not. */
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

/* Lanes whose entries are their own: with many heads few, since neighbouring groups share lines. */
inline int lanes_of_entries(int64_t heads) {
  return heads >= 8 ? 4 : 8;
}

/* How rows, and how many bytes apart, may be loaded: addresses, strides and widths in bytes, all together. */
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
  /* Features of a head. Of none the values are taken one by one, which takes none. */
  void add_width(int64_t width, int64_t value_bytes) {
    bits |= width > 0 ? static_cast<uint64_t>(width * value_bytes) : 1;
  }
  /* Arrays of as many items of another size, in words of at most 16 bytes. */
  void add_items(const void *p, int64_t item_bytes, int64_t value_bytes) {
    if (reinterpret_cast<uintptr_t>(p) % 16 != 0)
      bits |= reinterpret_cast<uintptr_t>(p) * static_cast<uint64_t>(value_bytes) /
              static_cast<uint64_t>(item_bytes);
  }
  bool fits(int64_t bytes) const {
    return bits % static_cast<uint64_t>(bytes) == 0;
  }
};

/* launch(W), W a constant: how many values of a row are loaded side by side, as many as the rows allow.
 * find(W) finds the places of the rows that are gathered, in units of W values, and says whether 32 bits
 * reach them; of W = 1, where places have 64 bits, what it says does not matter. */
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

/* What find_places reads. */
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

/* As sl_features. */
__device__ __forceinline__ int64_t features_of(const sl_heads &shape) {
  return shape.heads * shape.width;
}

/* `rows` rows of one memory. */
inline sl_split_rows plain_rows(const void *p, int64_t rows, int64_t ld) {
  return {const_cast<void *>(p), nullptr, rows, ld, 0};
}

/* Estimated seconds; each of these operations has one kernel. */
inline double graph_cost(const sl_kernel_args *args) {
  (void)args;
  return 1e-5;
}

/* launch(T()) of the type that a dtype stands for. */
template <class Launch> sley_status launch_by_type(sley_dtype dtype, Launch launch) {
  if (dtype == SLEY_F32)
    return launch(float());
  if (dtype == SLEY_F64)
    return launch(double());
  return dtype == SLEY_F16 ? launch(f16()) : launch(bf16());
}

} // namespace sley

#endif
