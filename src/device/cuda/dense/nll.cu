/* SPDX-License-Identifier: Apache-2.0 */
/* Log-softmax and the negative log-likelihood: one block of threads per block of rows. The block lists the
 * rows for which anything must be computed; a few lanes take each of them, and the outputs of the other rows
 * are zeros. One thread adds the losses. */
#include "device/cuda/dense/dense.cuh"

namespace {

using namespace sley;

/* A group of GROUP lanes takes a row. Each lane stands for several of the definition's lanes: lane l for
 * lanes l, l + GROUP and so on. Much of the work on a row is the same in all its lanes or waits for earlier
 * results, so a warp processes several rows at once. */
enum {
  GROUP = 8,
  EACH = SL_NLL_LANES / GROUP,
  WARP = 32,
  WARPS = DENSE_THREADS / WARP,
  ROWS_AT_ONCE = DENSE_THREADS / GROUP
};

/* Figures from which a row's outputs are computed; the same in all its lanes. */
struct row_figures {
  double most, sum, log_sum;
};

template <class T> __device__ double most_of_row(const sl_nll_args &a, const T *z, uint32_t lane) {
  const uint32_t classes = static_cast<uint32_t>(a.classes);
  double most = -INFINITY;
#pragma unroll 4
  for (uint32_t j = lane; j < classes; j += GROUP) {
    const double v = double_at(z, j);
    most = v > most ? v : most;
  }
#pragma unroll
  for (int d = GROUP / 2; d > 0; d /= 2) {
    const double other = __shfl_xor_sync(~0u, most, d);
    most = other > most ? other : most;
  }
  return most;
}

/* Sums in the definition's order: the definition's lanes that lie GROUP apart are in this lane, the others in
 * its neighbours. */
template <class T>
__device__ double sum_of_row(const sl_nll_args &a, const T *z, uint32_t lane, double most) {
  const uint32_t classes = static_cast<uint32_t>(a.classes);
  double sum[EACH] = {};
  for (uint32_t first = 0; first < classes; first += SL_NLL_LANES)
#pragma unroll
    for (int u = 0; u < EACH; u++) {
      const uint32_t j = first + u * GROUP + lane;
      if (j < classes)
        sum[u] += sl_exp(double_at(z, j) - most);
    }
#pragma unroll
  for (int d = EACH / 2; d > 0; d /= 2)
#pragma unroll
    for (int u = 0; u < d; u++)
      sum[u] += sum[u + d];
#pragma unroll
  for (int d = GROUP / 2; d > 0; d /= 2)
    sum[0] += __shfl_xor_sync(~0u, sum[0], d);
  return sum[0];
}

template <class T> __device__ double loss_of_row(const sl_nll_args &a, const T *z, int label, row_figures r) {
  if (label == -1)
    return 0;
  if (label < 0 || label >= a.classes)
    return NAN;
  return (r.most - double_at(z, label)) + r.log_sum;
}

template <class T>
__device__ void write_row(const sl_nll_args &a, int64_t i, const T *z, int label, uint32_t lane,
                          row_figures r) {
  const double factor = a.device_scale ? a.grad_scale * *a.device_scale : a.grad_scale;
  const double scale = label >= 0 && label < a.classes ? factor : static_cast<double>(NAN);
  const uint32_t classes = static_cast<uint32_t>(a.classes);
#pragma unroll 2
  for (uint32_t j = lane; j < classes; j += GROUP) {
    const double v = double_at(z, j) - r.most;
    if (a.log_probs)
      set_double(static_cast<T *>(a.log_probs), i * a.ld_log_probs + j, v - r.log_sum);
    if (a.grad)
      set_double(static_cast<T *>(a.grad), i * a.ld_grad + j,
                 label == -1 ? 0 : scale * (sl_exp(v) / r.sum - (j == static_cast<uint32_t>(label) ? 1 : 0)));
  }
}

/* Returns the loss, in all lanes of the row; writes outputs only if `wanted`. Called by all lanes of the
 * warp. */
template <class T>
__device__ double work_on_row(const sl_nll_args &a, int64_t i, int label, uint32_t lane, bool wanted) {
  const T *z = static_cast<const T *>(a.logits) + i * a.ld;
  row_figures r;
  r.most = most_of_row(a, z, lane);
  r.sum = sum_of_row(a, z, lane, r.most);
  r.log_sum = log(r.sum);
  const double lost = loss_of_row(a, z, label, r);
  __syncwarp(); /* outputs may overwrite the logits */
  if (wanted && (a.log_probs || a.grad))
    write_row(a, i, z, label, lane, r);
  return lost;
}

/* Each thread reads one row of the block of rows. */
static_assert(static_cast<int>(SL_SUM_ROWS) == DENSE_THREADS, "rows of a block");

struct listed_rows {
  int label[SL_SUM_ROWS];
  double loss[SL_SUM_ROWS]; /* loss of the row at the same place of the list */
  short row[SL_SUM_ROWS];   /* row numbers in the block, ascending */
  int of_warp[WARPS], labelled[WARPS];
};

/* Lists the rows that have a label, or all rows if other outputs are wanted, and returns their number. Adds
 * the number of rows with a label to *labelled. Called by all threads of the block. */
__device__ int list_rows(const sl_nll_args &a, int64_t first, int64_t count, listed_rows &list,
                         double *labelled) {
  const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
  const bool there = threadIdx.x < count;
  const int label = there ? a.label[first + threadIdx.x] : -1;
  const bool wanted = there && (label != -1 || a.log_probs);
  const unsigned those = __ballot_sync(~0u, wanted), with_label = __ballot_sync(~0u, label != -1);
  list.label[threadIdx.x] = label;
  if (lane == 0) {
    list.of_warp[warp] = __popc(those);
    list.labelled[warp] = __popc(with_label);
  }
  if (a.row_loss && there && !wanted)
    a.row_loss[first + threadIdx.x] = 0;
  __syncthreads();
  int before = 0, all = 0;
  for (int w = 0; w < WARPS; w++) {
    before += w < warp ? list.of_warp[w] : 0;
    all += list.of_warp[w];
    *labelled += list.labelled[w];
  }
  if (wanted)
    list.row[before + __popc(those & ((1u << lane) - 1))] = static_cast<short>(threadIdx.x);
  __syncthreads();
  return all;
}

/* Writes zero gradients for rows without a label, if no other output is wanted. */
template <class T>
__device__ void clear_rows(const sl_nll_args &a, int64_t first, int64_t count, const int *label) {
  const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
  for (int64_t i = warp; i < count && a.grad && !a.log_probs; i += WARPS)
    for (int64_t j = lane; j < a.classes && label[i] == -1; j += WARP)
      set_double(static_cast<T *>(a.grad), (first + i) * a.ld_grad + j, 0);
}

/* sums: NULL, or two sums per block of rows. */
template <class T>
__global__ void __launch_bounds__(DENSE_THREADS)
    work_on_blocks(const sl_nll_args a, int64_t block_rows, int64_t blocks, double *sums) {
  __shared__ listed_rows list;
  const uint32_t lane = threadIdx.x % GROUP;
  const int warp = threadIdx.x / WARP;
  for (int64_t block = blockIdx.x; block < blocks; block += gridDim.x) {
    const int64_t end = (block + 1) * block_rows < a.rows ? (block + 1) * block_rows : a.rows;
    double sum = 0, labelled = 0;
    for (int64_t first = block * block_rows; first < end; first += SL_SUM_ROWS) {
      const int64_t count = end - first < SL_SUM_ROWS ? end - first : SL_SUM_ROWS;
      const int listed = list_rows(a, first, count, list, &labelled);
      clear_rows<T>(a, first, count, list.label);
      for (int next = warp * (WARP / GROUP); next < listed; next += ROWS_AT_ONCE) {
        const int n = next + static_cast<int>(threadIdx.x) % WARP / GROUP;
        const bool wanted = n < listed; /* false: repeats the last row and discards the result */
        const int row = list.row[wanted ? n : listed - 1];
        const double lost = work_on_row<T>(a, first + row, list.label[row], lane, wanted);
        if (lane == 0 && wanted) {
          list.loss[n] = lost;
          if (a.row_loss)
            a.row_loss[first + row] = lost;
        }
      }
      __syncthreads();
      if (threadIdx.x == 0 && sums)
#pragma unroll 8
        for (int n = 0; n < listed; n++)
          sum += list.loss[n];
      __syncthreads();
    }
    if (threadIdx.x == 0 && sums) {
      sums[2 * block] = sum;
      sums[2 * block + 1] = labelled;
    }
  }
}

struct store_sum {
  double *to;
  __device__ void operator()(int64_t which, double sum) const {
    to[which] = sum;
  }
};

sley_status nll_run(sl_queue *queue, const sl_kernel_args *args) {
  const sl_nll_args a = args->nll;
  const int64_t rows = sl_sum_rows(a.rows, 2), blocks = sl_sum_blocks(a.rows, 2);
  void *workspace = nullptr;
  SL_TRY(sl_cuda_use(queue->device));
  if (a.sums)
    SL_TRY(sl_cuda_workspace(queue, &workspace));
  double *sums = static_cast<double *>(workspace);
  if (blocks > 0)
    with_type(a.dtype, [&](auto type) {
      work_on_blocks<decltype(type)>
          <<<dense_blocks(queue, blocks * DENSE_THREADS), DENSE_THREADS, 0, sl_cuda_stream(queue)>>>(
              a, rows, blocks, sums);
    });
  if (a.sums)
    add_sums<<<1, DENSE_THREADS, 0, sl_cuda_stream(queue)>>>(blocks, 2, sums, store_sum{a.sums});
  return sl_cuda_launched(queue, "likelihood");
}

bool nll_ok(const sl_kernel_args *args) {
  return sl_nll_ok(&args->nll);
}

} // namespace

extern "C" {
extern const sl_kernel sl_cuda_nll;
const sl_kernel sl_cuda_nll = {.name = "likelihood",
                               .op = SL_OP_NLL,
                               .ok = nll_ok,
                               .cost = sl_cost_of_bytes,
                               SL_KERNEL_KEEPS_NOTHING,
                               .run = nll_run};
}
