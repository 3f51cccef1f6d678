/* SPDX-License-Identifier: Apache-2.0 */
/* Y[row(i)] = alpha sum_j val[j] X[col[j]] + beta Y[row(i)]: one group of lanes per row, several neighbouring
 * features per lane, entries in stored order by fma as op_spmm.h defines, with the rows of X of several
 * entries in flight. Nothing is prepared, so rows of very different lengths run side by side. If the order is
 * free, rows that would keep one group busy for long are left to a second kernel with one block per row: each
 * of its groups sums a strip of the row, and the strips are added in order. */
#include "device/cuda/cuda.h"
#include "device/cuda/values.cuh"

namespace {

using namespace sley;

/* LONG: entries from which on a row is summed in strips. LONG and STRIPS do not depend on k, because bits
 * must not. */
enum { THREADS = 256, IN_FLIGHT = 8, LONG = 512, STRIPS = 32, WORD = 16 };

template <class T, class I> struct operands {
  sl_cuda_csr a;
  int64_t k, ldx, ldy;
  double alpha, beta;
  const input<T> *x;
  output<T> *y;
  int64_t longest; /* most entries of a row that the first kernel sums */
};

/* A row's entries, the features of this lane, and the row of Y. */
template <class T, class I, int FEATURES> struct row_sum {
  using X = value<input<T>>;
  using sum_t = accumulator<T>;
  const operands<T, I> &o;
  const I *col;
  const input<T> *val;
  const input<T> *x;
  sum_t sum[FEATURES];

  __device__ __forceinline__ row_sum(const operands<T, I> &operands, int64_t feature)
      : o(operands), col(static_cast<const I *>(operands.a.col)),
        val(static_cast<const input<T> *>(operands.a.val)), x(operands.x + feature) {
  }

  __device__ __forceinline__ void begin(const output<T> *y) {
    using Y = value<output<T>>;
#pragma unroll
    for (int f = 0; f < FEATURES; f++)
      sum[f] =
          !y || o.beta == 0 ? sum_t(0) : static_cast<sum_t>(o.beta * static_cast<double>(Y::widen(y[f])));
  }

  /* Adds entries [j, end). */
  __device__ __forceinline__ void add(int64_t j, int64_t end) {
    for (; j + IN_FLIGHT <= end; j += IN_FLIGHT)
      add_some<IN_FLIGHT>(j);
    for (; j < end; j++)
      add_some<1>(j);
  }

  template <int COUNT> __device__ __forceinline__ void add_some(int64_t j) {
    I at[COUNT];
    sum_t weight[COUNT];
    vector<input<T>, FEATURES> from[COUNT];
#pragma unroll
    for (int u = 0; u < COUNT; u++)
      at[u] = col[j + u];
#pragma unroll
    for (int u = 0; u < COUNT; u++)
      weight[u] = X::weight(o.alpha, val[j + u]);
#pragma unroll
    for (int u = 0; u < COUNT; u++)
      from[u] = load_plain<input<T>, FEATURES>(x + static_cast<int64_t>(at[u]) * o.ldx);
#pragma unroll
    for (int u = 0; u < COUNT; u++)
#pragma unroll
      for (int f = 0; f < FEATURES; f++)
        sum[f] = multiply_add(weight[u], widened(from[u], f), sum[f]);
  }

  __device__ __forceinline__ void store(output<T> *y) const {
#pragma unroll
    for (int f = 0; f < FEATURES; f++)
      y[f] = value<output<T>>::narrow(sum[f]);
  }
};

template <class T, class I, int LANES, int FEATURES>
__global__ void __launch_bounds__(THREADS) product(const operands<T, I> o) {
  enum { GROUPS = THREADS / LANES };
  const int64_t step = static_cast<int64_t>(gridDim.y) * (LANES * FEATURES);
  const int64_t first = (static_cast<int64_t>(blockIdx.y) * LANES + threadIdx.x % LANES) * FEATURES;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * GROUPS + threadIdx.x / LANES; i < o.a.rows;
       i += static_cast<int64_t>(gridDim.x) * GROUPS) {
    const int64_t begin = o.a.rowptr[i] - o.a.first, end = o.a.rowptr[i + 1] - o.a.first;
    output<T> *y = o.y + (o.a.rowid ? o.a.rowid[i] : i) * o.ldy;
    for (int64_t f = first; f < o.k && end - begin <= o.longest; f += step) {
      row_sum<T, I, FEATURES> row(o, f);
      row.begin(y + f);
      row.add(begin, end);
      row.store(y + f);
    }
  }
}

/* A block takes rows blockIdx.x, + gridDim.x, ..., because long rows are often neighbours. It examines one
 * row per thread at once, and sums those that are long. */
template <class T, class I, int LANES, int FEATURES>
__global__ void __launch_bounds__(STRIPS *LANES) long_rows(const operands<T, I> o) {
  enum { SIZE = STRIPS * LANES };
  __shared__ int64_t found[SIZE];
  __shared__ int count;
  __shared__ accumulator<T> sums[STRIPS][LANES * FEATURES];
  const int strip = threadIdx.x / LANES, lane = threadIdx.x % LANES;
  const int64_t step = static_cast<int64_t>(gridDim.y) * (LANES * FEATURES);
  for (int64_t base = 0; base * gridDim.x < o.a.rows; base += SIZE) {
    const int64_t row = (base + threadIdx.x) * gridDim.x + blockIdx.x;
    __syncthreads();
    if (threadIdx.x == 0)
      count = 0;
    __syncthreads();
    if (row < o.a.rows && o.a.rowptr[row + 1] - o.a.rowptr[row] > LONG)
      found[atomicAdd(&count, 1)] = row;
    __syncthreads();
    for (int n = 0; n < count; n++) {
      const int64_t i = found[n], begin = o.a.rowptr[i] - o.a.first,
                    entries = o.a.rowptr[i + 1] - o.a.rowptr[i];
      output<T> *y = o.y + (o.a.rowid ? o.a.rowid[i] : i) * o.ldy;
      for (int64_t all = static_cast<int64_t>(blockIdx.y) * (LANES * FEATURES); all < o.k; all += step) {
        const int64_t f = all + lane * FEATURES;
        row_sum<T, I, FEATURES> part(o, f);
        part.begin(nullptr);
        if (f < o.k)
          part.add(begin + entries * strip / STRIPS, begin + entries * (strip + 1) / STRIPS);
#pragma unroll
        for (int u = 0; u < FEATURES; u++)
          sums[strip][lane * FEATURES + u] = part.sum[u];
        __syncthreads();
        if (strip == 0 && f < o.k) {
          part.begin(y + f);
          for (int s = 0; s < STRIPS; s++)
#pragma unroll
            for (int u = 0; u < FEATURES; u++)
              part.sum[u] += sums[s][lane * FEATURES + u];
          part.store(y + f);
        }
        __syncthreads();
      }
    }
  }
}

template <class T, class I, int LANES, int FEATURES> void launch(sl_queue *queue, const operands<T, I> &o) {
  enum { GROUPS = THREADS / LANES };
  cudaStream_t stream = sl_cuda_stream(queue);
  const int64_t across = (o.k + LANES * FEATURES - 1) / (LANES * FEATURES);
  const int64_t down = (o.a.rows + GROUPS - 1) / GROUPS, few = 2 * sl_cuda_processors(queue);
  const unsigned y = static_cast<unsigned>(across < 1024 ? across : 1024);
  if (o.longest == LONG) /* long rows first, because they take longest */
    long_rows<T, I, LANES, FEATURES>
        <<<dim3(static_cast<unsigned>(o.a.rows < few ? o.a.rows : few), y), STRIPS * LANES, 0, stream>>>(o);
  product<T, I, LANES, FEATURES>
      <<<dim3(static_cast<unsigned>(down < INT32_MAX ? down : INT32_MAX), y), THREADS, 0, stream>>>(o);
}

template <class T, class I, int FEATURES> void launch_by_width(sl_queue *queue, const operands<T, I> &o) {
  if (o.k <= 8 * FEATURES)
    launch<T, I, 8, FEATURES>(queue, o);
  else if (o.k <= 16 * FEATURES)
    launch<T, I, 16, FEATURES>(queue, o);
  else
    launch<T, I, 32, FEATURES>(queue, o);
}

bool is_aligned(const void *p, int64_t stride_bytes) {
  return reinterpret_cast<uintptr_t>(p) % WORD == 0 && stride_bytes % WORD == 0;
}

/* Loads rows of X in words if they consist of whole words. */
template <class T, class I>
void launch_by_alignment(sl_queue *queue, const sl_spmm_run *s, const sl_cuda_csr *a) {
  constexpr int FEATURES = WORD / sizeof(input<T>);
  const sl_spmm_problem *p = s->problem;
  const operands<T, I> o = {*a,
                            p->k,
                            s->ldx,
                            s->ldy,
                            s->alpha,
                            s->beta,
                            static_cast<const input<T> *>(s->x),
                            static_cast<output<T> *>(s->y),
                            p->arrives && !p->in_order ? LONG : INT64_MAX};
  if (p->k % FEATURES == 0 && is_aligned(s->x, s->ldx * static_cast<int64_t>(sizeof(input<T>))))
    launch_by_width<T, I, FEATURES>(queue, o);
  else
    launch_by_width<T, I, 1>(queue, o);
}

template <class T> void launch_by_index(sl_queue *queue, const sl_spmm_run *s, const sl_cuda_csr *a) {
  if (s->problem->a->index == SLEY_I32)
    launch_by_alignment<T, int32_t>(queue, s, a);
  else
    launch_by_alignment<T, int64_t>(queue, s, a);
}

} // namespace

sley_status sl_cuda_launch_spmm_plain(sl_queue *queue, const sl_spmm_run *s, const sl_cuda_csr *a) {
  SL_TRY(sl_cuda_use(queue->device));
  const sley_dtype dtype = s->problem->a->dtype;
  if (dtype == SLEY_F32)
    launch_by_index<float>(queue, s, a);
  else if (dtype == SLEY_F64)
    launch_by_index<double>(queue, s, a);
  else if (dtype == SLEY_F16 && s->problem->wide_y)
    launch_by_index<wide<f16>>(queue, s, a);
  else if (dtype == SLEY_F16)
    launch_by_index<f16>(queue, s, a);
  else if (s->problem->wide_y)
    launch_by_index<wide<bf16>>(queue, s, a);
  else
    launch_by_index<bf16>(queue, s, a);
  return sl_cuda_launched(queue, "spmm-plain");
}
