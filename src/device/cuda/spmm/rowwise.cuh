/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by both kernels of the row-wise product: addresses of rows, destinations of sums, and types. */
#ifndef SLEY_DEVICE_CUDA_SPMM_ROWWISE_CUH
#define SLEY_DEVICE_CUDA_SPMM_ROWWISE_CUH

#include "device/cuda/spmm/rowwise.h"
#include "device/cuda/values.cuh"
#include "device/neighbour_schedule.h"

namespace sley {

template <class T, int VEC> struct sums { accumulator<T> at[VEC]; };

template <class T>
__device__ __forceinline__ const input<T> *address_of(const sl_rowwise_run &run, int owner, int32_t col) {
  return reinterpret_cast<const input<T> *>(run.base[owner]) + col * run.ldx;
}

template <class T, int VEC>
__device__ __forceinline__ vector<input<T>, VEC> row_of(const sl_rowwise_run &run, int owner, int32_t col,
                                                        int64_t f) {
  return load_plain<input<T>, VEC>(address_of<T>(run, owner, col) + f);
}

template <class T, int VEC>
__device__ __forceinline__ void add_row(sums<T, VEC> &sum, accumulator<T> weight,
                                        const vector<input<T>, VEC> &row) {
#pragma unroll
  for (int v = 0; v < VEC; v++)
    sum.at[v] = multiply_add(weight, widened(row, v), sum.at[v]);
}

/* Writes the sums of a partition to Y, if the row has no other partition, or to their slot. */
template <class T, int VEC>
__device__ __forceinline__ void put(const sl_rowwise_run &run, const sl_neighbour_part &part, int64_t f,
                                    sums<T, VEC> sum) {
  using out_t = output<T>;
  if (part.slot >= 0) {
    store_plain<accumulator<T>, VEC>(static_cast<accumulator<T> *>(run.partial) + part.slot * run.k + f,
                                     sum.at);
    return;
  }
  out_t *y = static_cast<out_t *>(run.y) + part.row * run.ldy + f;
  if (run.beta != 0) {
    const vector<out_t, VEC> old = load_plain<out_t, VEC>(y);
#pragma unroll
    for (int v = 0; v < VEC; v++)
      sum.at[v] +=
          static_cast<accumulator<T>>(run.beta * static_cast<double>(value<out_t>::widen(old.item[v])));
  }
  store_plain<out_t, VEC>(y, sum.at);
}

/* Loads the row of entry e of the remote half. */
template <class T, int VEC>
__device__ __forceinline__ vector<input<T>, VEC> remote_row(const sl_rowwise_run &run, int64_t e, int64_t f) {
  return row_of<T, VEC>(run, run.remote_owner[e], run.remote_col[e], f);
}

/* Number of blocks of a launch. */
inline unsigned rowwise_blocks(const sl_rowwise_run &run, const sl_neighbour_shape &shape) {
  return static_cast<unsigned>(sl_neighbour_groups(
      sl_neighbour_warps(run.locals, run.remotes, shape.dist, run.choice.apart), shape.wpb));
}

/* Calls job.template launch<T>() with the type T of the product. */
template <class JOB> sley_status by_type(sley_dtype dtype, bool wide_y, const JOB &job) {
  if (dtype == SLEY_F64)
    return job.template launch<double>();
  if (dtype == SLEY_F32)
    return job.template launch<float>();
  if (dtype == SLEY_F16)
    return wide_y ? job.template launch<wide<f16>>() : job.template launch<f16>();
  return wide_y ? job.template launch<wide<bf16>>() : job.template launch<bf16>();
}

} // namespace sley

#endif
