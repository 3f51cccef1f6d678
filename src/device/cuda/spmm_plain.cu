/* SPDX-License-Identifier: Apache-2.0 */
/* Y[row(i)] = alpha sum_j val[j] X[col[j]] + beta Y[row(i)]: a warp a row, one to four features a lane, the
 * entries in stored order by fma, as kernel.h says. */
#include "device/cuda/cuda.h"
#include "device/cuda/values.cuh"

namespace {

using namespace sley;

enum { WARP = 32, THREADS = 256, FEATURES_MOST = 4 };

template <class T, class I> struct operands {
  sl_cuda_csr a;
  int64_t k, ldx, ldy;
  double alpha, beta;
  const input<T> *x;
  output<T> *y;
};

template <class T, class I, int FEATURES>
__global__ void __launch_bounds__(THREADS) product(const operands<T, I> o) {
  using X = value<input<T>>;
  using Y = value<output<T>>;
  using sum_t = accumulator<T>;
  const I *col = static_cast<const I *>(o.a.col);
  const input<T> *val = static_cast<const input<T> *>(o.a.val);
  const int64_t warps = static_cast<int64_t>(gridDim.x) * (THREADS / WARP);
  const int64_t step = static_cast<int64_t>(gridDim.y) * (WARP * FEATURES);
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * (THREADS / WARP) + threadIdx.x / WARP; i < o.a.rows;
       i += warps) {
    const int64_t begin = o.a.rowptr[i] - o.a.first, end = o.a.rowptr[i + 1] - o.a.first;
    output<T> *y = o.y + (o.a.rowid ? o.a.rowid[i] : i) * o.ldy;
    for (int64_t f = static_cast<int64_t>(blockIdx.y) * (WARP * FEATURES) + threadIdx.x % WARP; f < o.k;
         f += step) {
      sum_t sum[FEATURES];
#pragma unroll
      for (int u = 0; u < FEATURES; u++)
        sum[u] = o.beta == 0 || f + u * WARP >= o.k
                     ? sum_t(0)
                     : static_cast<sum_t>(o.beta * static_cast<double>(Y::widen(y[f + u * WARP])));
      for (int64_t j = begin; j < end; j++) {
        const sum_t weight = X::weight(o.alpha, val[j]);
        const input<T> *x = o.x + static_cast<int64_t>(col[j]) * o.ldx + f;
#pragma unroll
        for (int u = 0; u < FEATURES; u++)
          if (f + u * WARP < o.k)
            sum[u] = multiply_add(weight, X::widen(x[u * WARP]), sum[u]);
      }
#pragma unroll
      for (int u = 0; u < FEATURES; u++)
        if (f + u * WARP < o.k)
          y[f + u * WARP] = Y::narrow(sum[u]);
    }
  }
}

template <class T, class I, int FEATURES>
void launch(cudaStream_t stream, const operands<T, I> &o, int64_t most) {
  const int64_t across = (o.k + WARP * FEATURES - 1) / (WARP * FEATURES);
  const int64_t down = (o.a.rows + THREADS / WARP - 1) / (THREADS / WARP);
  const unsigned y = static_cast<unsigned>(across < 1024 ? across : 1024);
  const dim3 grid(static_cast<unsigned>(down < most ? down : most), y);
  product<T, I, FEATURES><<<grid, THREADS, 0, stream>>>(o);
}

template <class T, class I>
void launch_by_width(sl_queue *queue, const sl_spmm_run *s, const sl_cuda_csr *a) {
  const int64_t k = s->problem->k;
  const operands<T, I> o = {*a,
                            k,
                            s->ldx,
                            s->ldy,
                            s->alpha,
                            s->beta,
                            static_cast<const input<T> *>(s->x),
                            static_cast<output<T> *>(s->y)};
  const int64_t most = INT32_MAX;
  if (k <= WARP)
    launch<T, I, 1>(sl_cuda_stream(queue), o, most);
  else if (k <= 2 * WARP)
    launch<T, I, 2>(sl_cuda_stream(queue), o, most);
  else
    launch<T, I, FEATURES_MOST>(sl_cuda_stream(queue), o, most);
}

template <class T> void launch_by_index(sl_queue *queue, const sl_spmm_run *s, const sl_cuda_csr *a) {
  if (s->problem->a->index == SLEY_I32)
    launch_by_width<T, int32_t>(queue, s, a);
  else
    launch_by_width<T, int64_t>(queue, s, a);
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
