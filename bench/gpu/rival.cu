/* SPDX-License-Identifier: Apache-2.0 */
/* The rival of a product on one GPU: cuSPARSE's fastest algorithm, found by timing each. */
#include "rival.h"

#define SPARSE(call) check((call), #call, __LINE__)
static void check(cusparseStatus_t status, const char *what, int line) {
  if (status != CUSPARSE_STATUS_SUCCESS)
    bench_fail("%s:%d: %s: %s", __FILE__, line, what, cusparseGetErrorString(status));
}

const char *const rival_name[RIVALS] = {"default", "alg1",  "alg2",  "alg3", "spmv1", "spmv2", "bsr4",
                                        "bsr8",    "bsr16", "bsr32", "ell8", "ell16", "ell32"};
static const cusparseSpMMAlg_t algorithms[RIVAL_MATRIX] = {CUSPARSE_SPMM_ALG_DEFAULT, CUSPARSE_SPMM_CSR_ALG1,
                                                           CUSPARSE_SPMM_CSR_ALG2, CUSPARSE_SPMM_CSR_ALG3};
static const cusparseSpMVAlg_t vector_algorithms[RIVAL_VECTOR] = {CUSPARSE_SPMV_CSR_ALG1,
                                                                  CUSPARSE_SPMV_CSR_ALG2};
static const struct {
  gpu_block_form form;
  int size;
} block_forms[RIVAL_BLOCKS] = {{GPU_BSR, 4},         {GPU_BSR, 8},         {GPU_BSR, 16},
                               {GPU_BSR, 32},        {GPU_BLOCKED_ELL, 8}, {GPU_BLOCKED_ELL, 16},
                               {GPU_BLOCKED_ELL, 32}};

static bool is_vector(int i) {
  return i >= RIVAL_MATRIX && i < RIVAL_CSR;
}

static cusparseSpMMAlg_t algorithm_of(int i) {
  if (i < RIVAL_MATRIX)
    return algorithms[i];
  return block_forms[i - RIVAL_CSR].form == GPU_BSR ? CUSPARSE_SPMM_BSR_ALG1 : CUSPARSE_SPMM_BLOCKED_ELL_ALG1;
}

void rival_blocks_make(const gpu_csr *a, gpu_blocks blocks[RIVAL_BLOCKS]) {
  for (int i = 0; i < RIVAL_BLOCKS; i++)
    blocks[i] = gpu_blocks_make(a, block_forms[i].form, block_forms[i].size);
}

static const double one_f64 = 1, zero_f64 = 0;
static const float one_f32 = 1, zero_f32 = 0;

static const void *number(const rival *r, bool one) {
  if (r->compute == CUDA_R_64F)
    return one ? &one_f64 : &zero_f64;
  return one ? &one_f32 : &zero_f32;
}

/* ---- descriptors */

static cusparseStatus_t describe_blocks(const gpu_blocks *b, cudaDataType type, cusparseSpMatDescr_t *out) {
  if (b->form == GPU_BSR)
    return cusparseCreateBsr(out, b->rows, b->cols, b->count, b->size, b->size, b->rowptr, b->col, b->val,
                             CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, type,
                             CUSPARSE_ORDER_ROW);
  return cusparseCreateBlockedEll(out, b->rows * b->size, b->cols * b->size, b->size, b->width * b->size,
                                  b->col, b->val, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, type);
}

/* Describes A, and X and Y with as many rows as the form of A has. */
static cusparseStatus_t describe(rival *r, int i, const gpu_csr *a, const void *x, void *y, int64_t k) {
  cudaDataType type = bench_cuda_type[a->dtype];
  int64_t rows = a->rows, cols = a->cols;
  cusparseStatus_t status;
  if (i < RIVAL_CSR) {
    status = cusparseCreateCsr(&r->a[i], rows, cols, a->nnz, a->rowptr, a->col, a->val, CUSPARSE_INDEX_32I,
                               CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, type);
  } else {
    const gpu_blocks *b = &r->blocks[i - RIVAL_CSR];
    rows = b->rows * b->size;
    cols = b->cols * b->size;
    status = describe_blocks(b, type, &r->a[i]);
  }
  if (status == CUSPARSE_STATUS_SUCCESS)
    status = cusparseCreateDnMat(&r->x[i], cols, k, k, (void *)x, type, CUSPARSE_ORDER_ROW);
  if (status == CUSPARSE_STATUS_SUCCESS)
    status = cusparseCreateDnMat(&r->y[i], rows, k, k, y, type, CUSPARSE_ORDER_ROW);
  return status;
}

/* ---- calls */

static const cusparseOperation_t plain = CUSPARSE_OPERATION_NON_TRANSPOSE;

static cusparseStatus_t size(rival *r, int i) {
  if (is_vector(i))
    return cusparseSpMV_bufferSize(r->handle, plain, number(r, true), r->a[i], r->x_vector, number(r, false),
                                   r->y_vector, r->compute, vector_algorithms[i - RIVAL_MATRIX],
                                   &r->buffer_bytes[i]);
  return cusparseSpMM_bufferSize(r->handle, plain, plain, number(r, true), r->a[i], r->x[i], number(r, false),
                                 r->y[i], r->compute, algorithm_of(i), &r->buffer_bytes[i]);
}

/* Blocks need no preprocessing. */
static cusparseStatus_t preprocess(rival *r, int i) {
  if (is_vector(i))
    return cusparseSpMV_preprocess(r->handle, plain, number(r, true), r->a[i], r->x_vector, number(r, false),
                                   r->y_vector, r->compute, vector_algorithms[i - RIVAL_MATRIX],
                                   r->buffer[i]);
  if (i >= RIVAL_CSR)
    return CUSPARSE_STATUS_SUCCESS;
  return cusparseSpMM_preprocess(r->handle, plain, plain, number(r, true), r->a[i], r->x[i], number(r, false),
                                 r->y[i], r->compute, algorithm_of(i), r->buffer[i]);
}

static cusparseStatus_t multiply(const rival *r, int i, bool add) {
  if (is_vector(i))
    return cusparseSpMV(r->handle, plain, number(r, true), r->a[i], r->x_vector, number(r, add), r->y_vector,
                        r->compute, vector_algorithms[i - RIVAL_MATRIX], r->buffer[i]);
  return cusparseSpMM(r->handle, plain, plain, number(r, true), r->a[i], r->x[i], number(r, add), r->y[i],
                      r->compute, algorithm_of(i), r->buffer[i]);
}

/* ---- preparation */

/* Queries sizes, allocates, preprocesses, and multiplies once. */
static cusparseStatus_t try_out(rival *r, int i, double *ms) {
  CUDA(cudaStreamSynchronize(r->stream));
  double begin = bench_now();
  cusparseStatus_t status = size(r, i);
  double spent = bench_now() - begin;
  if (status != CUSPARSE_STATUS_SUCCESS)
    return status;
  CUDA(cudaMalloc(&r->buffer[i], r->buffer_bytes[i] + 16));
  begin = bench_now();
  status = preprocess(r, i);
  CUDA(cudaStreamSynchronize(r->stream));
  *ms = 1e3 * (spent + bench_now() - begin);
  if (status == CUSPARSE_STATUS_SUCCESS)
    status = multiply(r, i, false);
  CUDA(cudaStreamSynchronize(r->stream));
  return status;
}

static void forget(rival *r, int i) {
  if (r->a[i])
    SPARSE(cusparseDestroySpMat(r->a[i]));
  if (r->x[i])
    SPARSE(cusparseDestroyDnMat(r->x[i]));
  if (r->y[i])
    SPARSE(cusparseDestroyDnMat(r->y[i]));
  CUDA(cudaFree(r->buffer[i]));
  r->a[i] = nullptr;
  r->x[i] = r->y[i] = nullptr;
  r->buffer[i] = nullptr;
}

/* Returns false if cuSPARSE refuses. */
static bool prepare(rival *r, int i, const gpu_csr *a, const void *x, void *y, int64_t k) {
  double ms = 0;
  cusparseStatus_t status = describe(r, i, a, x, y, k);
  if (status == CUSPARSE_STATUS_SUCCESS)
    status = try_out(r, i, &ms);
  r->preprocess_ms[i] = ms + (i < RIVAL_CSR ? 0 : r->blocks[i - RIVAL_CSR].made_ms);
  if (status == CUSPARSE_STATUS_SUCCESS)
    return true;
  r->why_not[i] = std::string("cuSPARSE refuses: ") + cusparseGetErrorString(status);
  forget(r, i);
  return false;
}

/* Returns whether algorithm i supports this product; if not, may record why. */
static bool suits(rival *r, int i) {
  if (is_vector(i))
    return r->x_vector != nullptr;
  if (i < RIVAL_CSR)
    return true;
  if (r->blocks)
    r->why_not[i] = r->blocks[i - RIVAL_CSR].why_not;
  return r->blocks && r->why_not[i].empty();
}

rival rival_create(const gpu_csr *a, const gpu_blocks *blocks, const void *x, void *y, int64_t k,
                   cudaStream_t stream) {
  rival r = {};
  r.stream = stream;
  r.blocks = blocks;
  r.compute = a->dtype == BENCH_F64 ? CUDA_R_64F : CUDA_R_32F;
  SPARSE(cusparseCreate(&r.handle));
  SPARSE(cusparseSetStream(r.handle, stream));
  if (k == 1) {
    SPARSE(cusparseCreateDnVec(&r.x_vector, a->cols, (void *)x, bench_cuda_type[a->dtype]));
    SPARSE(cusparseCreateDnVec(&r.y_vector, a->rows, y, bench_cuda_type[a->dtype]));
  }
  for (int i = 0; i < RIVALS && a->rows > 0 && a->cols > 0; i++) {
    /* The first run loads code, and is not counted. */
    if (!suits(&r, i) || !prepare(&r, i, a, x, y, k))
      continue;
    forget(&r, i);
    r.ok[i] = prepare(&r, i, a, x, y, k);
  }
  return r;
}

void rival_run(const rival *r, int i, bool add) {
  SPARSE(multiply(r, i, add));
}

void rival_destroy(rival *r) {
  for (int i = 0; i < RIVALS; i++)
    forget(r, i);
  if (r->x_vector) {
    SPARSE(cusparseDestroyDnVec(r->x_vector));
    SPARSE(cusparseDestroyDnVec(r->y_vector));
  }
  SPARSE(cusparseDestroy(r->handle));
  *r = rival{};
}
