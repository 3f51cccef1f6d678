/* SPDX-License-Identifier: Apache-2.0 */
/* Selects the dense products that use split values, and their shapes (gemm_split.h). Products by cuBLASLt in
 * f32 are limited by the CUDA cores, these by the Tensor cores or by memory. */
#include "device/cuda/dense/gemm_split.h"

enum {
  HOPPER = 9, /* major compute capability of Hopper; only Hopper has wgmma */
  LEAST_ROWS = 2048,
  LEAST_TERMS = 32,     /* with fewer terms cuBLASLt is as fast, and rounds less than three products of 22
                         * bits */
  MOST_COLUMNS = 4096,  /* most columns: their panels fit in the workspace, and as many as needed in shared
                         * memory */
  MOST_VALUES = 1 << 20 /* most values of C, if rows are summed */
};

/* Returns whether all visible GPUs are Hopper; asked once. */
static bool every_gpu_serves(void) {
  static int answer; /* 0: not asked yet */
  int known = __atomic_load_n(&answer, __ATOMIC_RELAXED);
  if (!known) {
    int count = 0, major = HOPPER;
    bool all = cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
    for (int i = 0; i < count && all; i++)
      all = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, i) == cudaSuccess &&
            major == HOPPER;
    known = all ? 1 : 2;
    __atomic_store_n(&answer, known, __ATOMIC_RELAXED);
  }
  return known == 1;
}

static bool is_rows(const sl_gemm_args *a) {
  return !a->transpose_a && !a->column_sums && a->m >= LEAST_ROWS && a->n <= MOST_COLUMNS &&
         (a->gate ? a->act == SLEY_RELU : a->act != SLEY_ELU) &&
         sl_cuda_gemm_width(a->n, sl_cuda_gemm_fits(a->k)) > 0;
}

static bool is_sums(const sl_gemm_args *a) {
  return a->transpose_a && !a->transpose_b && !a->gate && a->k >= LEAST_ROWS && a->m * a->n <= MOST_VALUES;
}

static bool gemm_ok(const sl_kernel_args *args) {
  const sl_gemm_args *a = &args->gemm;
  return sl_gemm_all_ok(a) && a->dtype == SLEY_F32 && !a->in_order && !a->tf32 && a->m > 0 && a->n > 0 &&
         a->k >= LEAST_TERMS && a->alpha != 0 && (is_rows(a) || is_sums(a)) && every_gpu_serves();
}

static sley_status gemm_run(sl_queue *queue, const sl_kernel_args *args) {
  SL_TRY(sl_cuda_use(queue->device));
  return args->gemm.transpose_a ? sl_cuda_gemm_sums(queue, &args->gemm)
                                : sl_cuda_gemm_rows(queue, &args->gemm);
}

static double padded(int64_t count, int64_t to) {
  return (double)((count + to - 1) / to * to);
}

/* Two launches, then the time of the products or of memory, whichever is longer; data that is read a second
   time comes from the cache. */
static double gemm_cost(const sl_device_figures *figures, const sl_kernel_args *args) {
  const sl_gemm_args *a = &args->gemm;
  const sl_gemm_figures *f = &figures->gemm[a->transpose_a ? SL_GEMM_SPLIT_SUMS : SL_GEMM_SPLIT_ROWS];
  const bool sums = a->transpose_a, wide = a->lda % 4 == 0 && (sums ? a->ldb % 4 == 0 : a->ldc % 2 == 0);
  const int width = sl_cuda_gemm_width(a->n, sums ? SL_CUDA_GEMM_WIDEST : sl_cuda_gemm_fits(a->k));
  const double m = (double)a->m, n = (double)a->n, k = (double)a->k, columns = padded(a->n, width),
               again = 1 + 0.3 * (columns / width - 1);
  const double products =
      (sums ? padded(a->m, 128) * columns * k : m * columns * padded(a->k, 32)) / f->products;
  const double bytes = sizeof(float) * (m * k * again + k * n + m * n * (a->beta != 0 ? 2 : 1)),
               memory = bytes / (wide ? f->memory : f->apart);
  return f->start + (memory > products ? memory : products);
}

extern const sl_kernel sl_cuda_gemm_split;
const sl_kernel sl_cuda_gemm_split = {.name = "gemm-split",
                                      .op = SL_OP_GEMM,
                                      .ok = gemm_ok,
                                      .cost = gemm_cost,
                                      SL_KERNEL_KEEPS_NOTHING,
                                      .run = gemm_run};
