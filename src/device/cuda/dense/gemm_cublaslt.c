/* SPDX-License-Identifier: Apache-2.0 */
/* Dense products by cuBLASLt, with bias and relu in its epilogue if it supports them for the type. For each
 * shape the first algorithm that its heuristic proposes is used, and kept for later calls. None adds by
 * atomics, so the bits are the same in each run. cuBLASLt sees a row-major matrix as the transpose of a
 * column-major one: C^T = op(B)^T op(A)^T. */
#include <string.h>

#include "base/memory.h"
#include "base/value.h"
#include "device/cuda/dense/cublaslt_library.h"
#include "device/cuda/dense/dense_state.h"
#include "device/cuda/dense/gemm.h"

enum { KEPT = 64, MOST_ALIGNMENT = 256 };

/* Key by which an algorithm is kept; compared as bytes. */
typedef struct shape {
  int64_t m, n, k, lda, ldb, ldc;
  uint32_t align_a, align_b, align_c, align_bias;
  int32_t dtype, transpose_a, transpose_b, epilogue, compute;
} shape;

typedef struct prepared {
  shape of;
  bool serves; /* true: an algorithm was found */
  cublasLtMatmulDesc_t desc;
  cublasLtMatrixLayout_t left, right, c; /* left: layout of B */
  cublasLtMatmulAlgo_t algorithm;
} prepared;

struct sl_cublaslt_products {
  const sl_cublaslt *library;
  cublasLtHandle_t handle;
  int count, next; /* number of stored algorithms; index of the next one to be replaced */
  prepared kept[KEPT];
};

static sley_status check(const sl_cublaslt *library, cublasStatus_t status, const char *what) {
  if (status == CUBLAS_STATUS_SUCCESS)
    return SLEY_OK;
  (void)cudaGetLastError();
  return sl_fail(status == CUBLAS_STATUS_ALLOC_FAILED ? SLEY_ERR_MEMORY : SLEY_ERR_INTERNAL,
                 "cuBLASLt: %s: %s", what, library->GetStatusString(status));
}

static void release(const sl_cublaslt *library, prepared *p) {
  if (p->desc)
    (void)library->MatmulDescDestroy(p->desc);
  if (p->left)
    (void)library->MatrixLayoutDestroy(p->left);
  if (p->right)
    (void)library->MatrixLayoutDestroy(p->right);
  if (p->c)
    (void)library->MatrixLayoutDestroy(p->c);
  *p = (prepared){0};
}

static void release_all(sl_cublaslt_products *products) {
  for (int i = 0; i < products->count; i++)
    release(products->library, &products->kept[i]);
  if (products->handle)
    (void)products->library->Destroy(products->handle);
  sl_free(products);
}

static sley_status products_of(sl_queue *queue, sl_cublaslt_products **out) {
  sl_cuda_dense_state *state;
  SL_TRY(sl_cuda_dense_state_of(queue, &state));
  if (!state->products) {
    SL_TRY(SL_NEW_ZERO(state->products, 1, "dense products by cuBLASLt"));
    state->products->library = sl_cublaslt_find();
    state->products_release = release_all;
  }
  if (!state->products->handle)
    SL_TRY(check(state->products->library, state->products->library->Create(&state->products->handle),
                 "making a handle"));
  *out = state->products;
  return SLEY_OK;
}

static cudaDataType type_of(sley_dtype dtype) {
  return dtype == SLEY_F64    ? CUDA_R_64F
         : dtype == SLEY_F16  ? CUDA_R_16F
         : dtype == SLEY_BF16 ? CUDA_R_16BF
                              : CUDA_R_32F;
}

static uint32_t alignment_of(const void *address) {
  uint32_t bytes = MOST_ALIGNMENT;
  while ((uintptr_t)address % bytes != 0)
    bytes /= 2;
  return bytes;
}

/* Returns the epilogue. There is none for f64; the only activation is relu. */
static cublasLtEpilogue_t epilogue_of(const sl_gemm_args *a) {
  if (a->dtype == SLEY_F64)
    return CUBLASLT_EPILOGUE_DEFAULT;
  if (a->act == SLEY_RELU)
    return a->bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
  return a->bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
}

static cublasComputeType_t compute_of(const sl_gemm_args *a) {
  if (a->dtype == SLEY_F32 && a->tf32)
    return CUBLAS_COMPUTE_32F_FAST_TF32;
  return a->dtype == SLEY_F64 ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F;
}

static shape shape_of(const sl_gemm_args *a) {
  shape s;
  memset(&s, 0, sizeof s);
  s = (shape){.m = a->m,
              .n = a->n,
              .k = a->k,
              .lda = a->lda,
              .ldb = a->ldb,
              .ldc = a->ldc,
              .align_a = alignment_of(a->a),
              .align_b = alignment_of(a->b),
              .align_c = alignment_of(a->c),
              .align_bias = alignment_of(a->bias),
              .dtype = (int32_t)a->dtype,
              .transpose_a = a->transpose_a,
              .transpose_b = a->transpose_b,
              .compute = (int32_t)compute_of(a),
              .epilogue = (int32_t)epilogue_of(a)};
  return s;
}

static sley_status make_desc(const sl_cublaslt *l, const sl_gemm_args *a, prepared *p) {
  const cublasComputeType_t compute = compute_of(a);
  const cublasOperation_t left = a->transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N,
                          right = a->transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
  const cublasLtEpilogue_t epilogue = epilogue_of(a);
  SL_TRY(check(l, l->MatmulDescCreate(&p->desc, compute, type_of(sl_sum_dtype(a->dtype))), "a product"));
  SL_TRY(check(l, l->MatmulDescSetAttribute(p->desc, CUBLASLT_MATMUL_DESC_TRANSA, &left, sizeof left),
               "a transpose"));
  SL_TRY(check(l, l->MatmulDescSetAttribute(p->desc, CUBLASLT_MATMUL_DESC_TRANSB, &right, sizeof right),
               "a transpose"));
  return check(l,
               l->MatmulDescSetAttribute(p->desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue),
               "an epilogue");
}

/* Layout of a row-major matrix, rows x cols as stored. */
static sley_status make_layout(const sl_cublaslt *l, sley_dtype dtype, bool transpose, int64_t rows,
                               int64_t cols, int64_t ld, cublasLtMatrixLayout_t *out) {
  const int64_t stored_rows = transpose ? cols : rows, stored_cols = transpose ? rows : cols;
  return check(l,
               l->MatrixLayoutCreate(out, type_of(dtype), (uint64_t)stored_cols, (uint64_t)stored_rows, ld),
               "a matrix");
}

static sley_status make_layouts(const sl_cublaslt *l, const sl_gemm_args *a, prepared *p) {
  SL_TRY(make_layout(l, a->dtype, a->transpose_b, a->k, a->n, a->ldb, &p->left));
  SL_TRY(make_layout(l, a->dtype, a->transpose_a, a->m, a->k, a->lda, &p->right));
  return make_layout(l, a->dtype, false, a->m, a->n, a->ldc, &p->c);
}

static sley_status set_bias(const sl_cublaslt *l, const sl_gemm_args *a, prepared *p) {
  if (!a->bias || a->dtype == SLEY_F64)
    return SLEY_OK;
  return check(
      l, l->MatmulDescSetAttribute(p->desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &a->bias, sizeof a->bias),
      "a bias");
}

static sley_status set_preferences(const sl_cublaslt *l, const shape *s,
                                   cublasLtMatmulPreference_t preference) {
  const uint64_t bytes = SL_CUDA_WORKSPACE_BYTES;
  /* excludes sums in place in 16 bits; partial sums have the type of sums */
  const uint32_t schemes = CUBLASLT_REDUCTION_SCHEME_NONE | CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  const struct {
    cublasLtMatmulPreferenceAttributes_t which;
    const void *value;
    size_t size;
  } all[] = {{CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes, sizeof bytes},
             {CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &schemes, sizeof schemes},
             {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, &s->align_b, sizeof s->align_b},
             {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, &s->align_a, sizeof s->align_a},
             {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, &s->align_c, sizeof s->align_c},
             {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, &s->align_c, sizeof s->align_c}};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    SL_TRY(check(l, l->MatmulPreferenceSetAttribute(preference, all[i].which, all[i].value, all[i].size),
                 "a preference"));
  return SLEY_OK;
}

/* If the heuristic finds no algorithm, for example for 16-bit values at odd addresses, p->serves stays
 * false. */
static sley_status choose(const sl_cublaslt_products *products, prepared *p) {
  const sl_cublaslt *l = products->library;
  cublasLtMatmulPreference_t preference;
  cublasLtMatmulHeuristicResult_t result;
  int count = 0;
  SL_TRY(check(l, l->MatmulPreferenceCreate(&preference), "preferences"));
  sley_status status = set_preferences(l, &p->of, preference);
  if (status == SLEY_OK)
    p->serves = l->MatmulAlgoGetHeuristic(products->handle, p->desc, p->left, p->right, p->c, p->c,
                                          preference, 1, &result, &count) == CUBLAS_STATUS_SUCCESS &&
                count == 1;
  if (p->serves)
    p->algorithm = result.algo;
  (void)l->MatmulPreferenceDestroy(preference);
  return status;
}

static sley_status prepare(const sl_cublaslt_products *products, const sl_gemm_args *a, prepared *p) {
  SL_TRY(make_desc(products->library, a, p));
  SL_TRY(make_layouts(products->library, a, p));
  SL_TRY(set_bias(products->library, a, p));
  return choose(products, p);
}

/* Returns the algorithm kept for the shape, or chooses one. */
static sley_status find(sl_cublaslt_products *products, const sl_gemm_args *a, prepared **out) {
  const shape wanted = shape_of(a);
  for (int i = 0; i < products->count; i++)
    if (memcmp(&products->kept[i].of, &wanted, sizeof wanted) == 0) {
      *out = &products->kept[i];
      return SLEY_OK;
    }
  prepared made = {.of = wanted};
  const sley_status status = prepare(products, a, &made);
  if (status != SLEY_OK) {
    release(products->library, &made);
    return status;
  }
  *out = &products->kept[products->next];
  release(products->library, *out);
  **out = made;
  products->next = (products->next + 1) % KEPT;
  products->count += products->count < KEPT;
  return SLEY_OK;
}

static sley_status multiply(sl_queue *queue, const sl_cublaslt_products *products, const sl_gemm_args *a,
                            prepared *p) {
  const float alpha = (float)a->alpha, beta = (float)a->beta;
  const bool wide = a->dtype == SLEY_F64;
  void *workspace;
  SL_TRY(sl_cuda_workspace(queue, &workspace));
  SL_TRY(set_bias(products->library, a, p));
  SL_TRY(check(products->library,
               products->library->Matmul(products->handle, p->desc, wide ? (const void *)&a->alpha : &alpha,
                                         a->b, p->left, a->a, p->right, wide ? (const void *)&a->beta : &beta,
                                         a->c, p->c, a->c, p->c, &p->algorithm, workspace,
                                         SL_CUDA_WORKSPACE_BYTES, sl_cuda_stream(queue)),
               "a product"));
  return sl_cuda_launched(queue, "a product by cuBLASLt");
}

/* Applies the steps that the epilogue does not include. */
static sley_status finish(sl_queue *queue, const sl_gemm_args *a) {
  sl_gemm_args rest = *a;
  const cublasLtEpilogue_t done = epilogue_of(a);
  if (done == CUBLASLT_EPILOGUE_BIAS || done == CUBLASLT_EPILOGUE_RELU_BIAS)
    rest.bias = NULL;
  if (done == CUBLASLT_EPILOGUE_RELU || done == CUBLASLT_EPILOGUE_RELU_BIAS)
    rest.act = SLEY_NO_ACTIVATION;
  return rest.bias || rest.act != SLEY_NO_ACTIVATION ? sl_cuda_gemm_finish(queue, &rest) : SLEY_OK;
}

static sley_status gemm_run(sl_queue *queue, const sl_kernel_args *args) {
  const sl_gemm_args *a = &args->gemm;
  sl_cublaslt_products *products;
  prepared *p;
  SL_TRY(sl_cuda_use(queue->device));
  SL_TRY(products_of(queue, &products));
  SL_TRY(find(products, a, &p));
  if (!p->serves)
    return sl_cuda_gemm_in_order(queue, a);
  SL_TRY(multiply(queue, products, a, p));
  return finish(queue, a);
}

static bool gemm_ok(const sl_kernel_args *args) {
  const sl_gemm_args *a = &args->gemm;
  return sl_gemm_ok(a) && !a->in_order && a->m > 0 && a->n > 0 && a->k > 0 && a->alpha != 0 &&
         sl_cublaslt_find();
}

/* For f32: the time of the products, in whole tiles, or the time of memory, whichever is longer. */
static double gemm_cost(const sl_device_figures *figures, const sl_kernel_args *args) {
  const sl_gemm_args *a = &args->gemm;
  const sl_gemm_figures *f = &figures->gemm[SL_GEMM_LIBRARY];
  const double m = (double)a->m, n = (double)a->n, k = (double)a->k;
  const double columns = a->n <= 64 ? 64 : (double)((a->n + 127) / 128 * 128),
               products = m * columns * k / f->products,
               memory = sizeof(float) * (m * k + k * n + m * n * (a->beta != 0 ? 2 : 1)) / f->memory;
  return f->start + (products > memory ? products : memory);
}

extern const sl_kernel sl_cuda_gemm_cublaslt;
const sl_kernel sl_cuda_gemm_cublaslt = {.name = "gemm-cublaslt",
                                         .op = SL_OP_GEMM,
                                         .ok = gemm_ok,
                                         .cost = gemm_cost,
                                         SL_KERNEL_KEEPS_NOTHING,
                                         .run = gemm_run};
