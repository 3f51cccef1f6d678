/* SPDX-License-Identifier: Apache-2.0 */
/* The rival of a product on one GPU: the fastest algorithm of cuSPARSE, found by timing each. */
#include "rival.h"

#define SPARSE(call) check((call), #call, __LINE__)
static void check(cusparseStatus_t status, const char *what, int line) {
  if (status != CUSPARSE_STATUS_SUCCESS)
    bench_fail("%s:%d: %s: %s", __FILE__, line, what, cusparseGetErrorString(status));
}

const char *const rival_name[RIVALS] = {"default", "alg1", "alg2", "alg3"};
static const cusparseSpMMAlg_t algorithms[RIVALS] = {CUSPARSE_SPMM_ALG_DEFAULT, CUSPARSE_SPMM_CSR_ALG1,
                                                     CUSPARSE_SPMM_CSR_ALG2, CUSPARSE_SPMM_CSR_ALG3};

static const double one_f64 = 1, zero_f64 = 0;
static const float one_f32 = 1, zero_f32 = 0;

static const void *number(const rival *r, bool one) {
  if (r->compute == CUDA_R_64F)
    return one ? &one_f64 : &zero_f64;
  return one ? &one_f32 : &zero_f32;
}

static void describe(const gpu_csr *a, cusparseSpMatDescr_t *out) {
  SPARSE(cusparseCreateCsr(out, a->rows, a->cols, a->nnz, a->rowptr, a->col, a->val, CUSPARSE_INDEX_32I,
                           CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, bench_cuda_type[a->dtype]));
}

/* Sizes, allocates and preprocesses; false where cuSPARSE refuses. */
static bool prepare(rival *r, const gpu_csr *a, int i) {
  const cusparseOperation_t plain = CUSPARSE_OPERATION_NON_TRANSPOSE;
  describe(a, &r->a[i]);
  CUDA(cudaStreamSynchronize(r->stream));
  double begin = bench_now();
  if (cusparseSpMM_bufferSize(r->handle, plain, plain, number(r, true), r->a[i], r->x, number(r, false), r->y,
                              r->compute, algorithms[i], &r->buffer_bytes[i]) != CUSPARSE_STATUS_SUCCESS)
    return false;
  double spent = bench_now() - begin;
  CUDA(cudaMalloc(&r->buffer[i], r->buffer_bytes[i] + 16));
  begin = bench_now();
  if (cusparseSpMM_preprocess(r->handle, plain, plain, number(r, true), r->a[i], r->x, number(r, false), r->y,
                              r->compute, algorithms[i], r->buffer[i]) != CUSPARSE_STATUS_SUCCESS)
    return false;
  CUDA(cudaStreamSynchronize(r->stream));
  r->preprocess_ms[i] = 1e3 * (spent + bench_now() - begin);
  return cusparseSpMM(r->handle, plain, plain, number(r, true), r->a[i], r->x, number(r, false), r->y,
                      r->compute, algorithms[i], r->buffer[i]) == CUSPARSE_STATUS_SUCCESS;
}

static void forget(rival *r, int i) {
  if (r->a[i])
    SPARSE(cusparseDestroySpMat(r->a[i]));
  CUDA(cudaFree(r->buffer[i]));
  r->a[i] = nullptr;
  r->buffer[i] = nullptr;
}

rival rival_create(const gpu_csr *a, const void *x, void *y, int64_t k, cudaStream_t stream) {
  rival r = {};
  r.stream = stream;
  r.rows = a->rows;
  r.compute = a->dtype == BENCH_F64 ? CUDA_R_64F : CUDA_R_32F;
  SPARSE(cusparseCreate(&r.handle));
  SPARSE(cusparseSetStream(r.handle, stream));
  SPARSE(cusparseCreateDnMat(&r.x, a->cols, k, k, (void *)x, bench_cuda_type[a->dtype], CUSPARSE_ORDER_ROW));
  SPARSE(cusparseCreateDnMat(&r.y, a->rows, k, k, y, bench_cuda_type[a->dtype], CUSPARSE_ORDER_ROW));
  for (int i = 0; i < RIVALS && a->rows > 0 && a->cols > 0; i++) {
    /* The first time loads code: it is not counted. */
    if (prepare(&r, a, i)) {
      CUDA(cudaStreamSynchronize(stream));
      forget(&r, i);
      r.ok[i] = prepare(&r, a, i);
      CUDA(cudaStreamSynchronize(stream));
    }
    if (!r.ok[i])
      forget(&r, i);
  }
  return r;
}

void rival_run(const rival *r, int i, bool add) {
  const cusparseOperation_t plain = CUSPARSE_OPERATION_NON_TRANSPOSE;
  SPARSE(cusparseSpMM(r->handle, plain, plain, number(r, true), r->a[i], r->x, number(r, add), r->y,
                      r->compute, algorithms[i], r->buffer[i]));
}

void rival_destroy(rival *r) {
  for (int i = 0; i < RIVALS; i++)
    forget(r, i);
  SPARSE(cusparseDestroyDnMat(r->x));
  SPARSE(cusparseDestroyDnMat(r->y));
  SPARSE(cusparseDestroy(r->handle));
  *r = rival{};
}
