/* SPDX-License-Identifier: Apache-2.0 */
/* The product by cuSPARSE, a baseline that plans ask for by name: row-major operands, and the fastest of its
 * four CSR algorithms with preprocessing, found by timing each while the plan is made. If rows are listed, it
 * sums into a packed buffer, whose rows are then moved or added to their places. */
#include <math.h>

#include "base/memory.h"
#include "base/value.h"
#include "device/cuda/cuda.h"
#include "device/cuda/runtime/cusparse_library.h"

enum { ALGORITHMS = 4, TIMED_RUNS = 3 };
static const cusparseSpMMAlg_t algorithms[ALGORITHMS] = {CUSPARSE_SPMM_ALG_DEFAULT, CUSPARSE_SPMM_CSR_ALG1,
                                                         CUSPARSE_SPMM_CSR_ALG2, CUSPARSE_SPMM_CSR_ALG3};
static const cusparseOperation_t as_stored = CUSPARSE_OPERATION_NON_TRANSPOSE;

/* One algorithm for the matrix; the results of its preprocessing are in the descriptor and the buffer. */
typedef struct candidate {
  cusparseSpMMAlg_t algorithm;
  cusparseSpMatDescr_t a;
  void *buffer;
} candidate;

typedef struct cusparse_product {
  const sl_cusparse *library;
  cusparseHandle_t handle;
  sley_dtype dtype, y_dtype;
  int64_t value_bytes, y_bytes; /* bytes of a value of A and X, and of Y */
  int64_t rows, cols, k, entries;
  bool wide; /* 64-bit row starts and columns */
  void *rowptr, *col, *val, *rowid;
  void *packed; /* rows x k values, if rows are listed */
  candidate chosen;
  cusparseDnMatDescr_t x, y;
  int64_t ldx, ldy; /* strides for which the descriptors were created */
} cusparse_product;

static sley_status check(const cusparse_product *p, cusparseStatus_t status, const char *what) {
  if (status == CUSPARSE_STATUS_SUCCESS)
    return SLEY_OK;
  (void)cudaGetLastError();
  return sl_fail(status == CUSPARSE_STATUS_NOT_SUPPORTED  ? SLEY_ERR_UNSUPPORTED
                 : status == CUSPARSE_STATUS_ALLOC_FAILED ? SLEY_ERR_MEMORY
                                                          : SLEY_ERR_INTERNAL,
                 "cuSPARSE: %s: %s", what, p->library->GetErrorString(status));
}

static cudaDataType type_of(sley_dtype dtype) {
  switch (dtype) {
  case SLEY_F64:
    return CUDA_R_64F;
  case SLEY_F16:
    return CUDA_R_16F;
  case SLEY_BF16:
    return CUDA_R_16BF;
  default:
    return CUDA_R_32F;
  }
}

static sley_dtype y_dtype_of(const sl_spmm_problem *p) {
  return p->wide_y ? sl_sum_dtype(p->a->dtype) : p->a->dtype;
}

/* Row starts and columns must have the same width. */
static bool cusparse_ok(const sl_kernel_args *args) {
  const sl_spmm_problem *p = args->spmm.problem;
  return !p->arrives && !p->a->resident && !p->pages && p->far_rows == 0 && !p->in_order &&
         sley_dtype_bytes(p->a->dtype) != 0 &&
         (p->a->index == SLEY_I64 || sl_spmm_entries(p->a) <= INT32_MAX);
}

/* ------------------------------------------------------------------------------------------ preparation */

static sley_status upload_rowptr(sl_queue *queue, const sl_spmm_matrix *a, cusparse_product *p) {
  int64_t *wide = NULL;
  int32_t *narrow = NULL;
  sley_status status;
  SL_TRY_GOTO(status,
              p->wide ? SL_NEW(wide, a->rows + 1, "row starts") : SL_NEW(narrow, a->rows + 1, "row starts"),
              done);
  for (int64_t i = 0; i <= a->rows; i++) {
    int64_t at = a->rowptr[i] - a->rowptr[0];
    if (p->wide)
      wide[i] = at;
    else
      narrow[i] = (int32_t)at;
  }
  status = sl_device_upload_private(queue, p->wide ? (void *)wide : (void *)narrow,
                                    (a->rows + 1) * (p->wide ? 8 : 4), "a part's rows", &p->rowptr);
done:
  sl_free(narrow);
  sl_free(wide);
  return status;
}

static sley_status upload_matrix(sl_queue *queue, const sl_spmm_matrix *a, cusparse_product *p) {
  int64_t first = a->rowptr[0], index_bytes = (int64_t)sl_index_bytes(a->index);
  for (int64_t e = first; e < first + p->entries; e++) {
    int64_t col = sl_index_at(a->col, a->index, e);
    p->cols = col >= p->cols ? col + 1 : p->cols;
  }
  SL_TRY(upload_rowptr(queue, a, p));
  SL_TRY(sl_device_upload_private(queue, (const char *)a->col + first * index_bytes, p->entries * index_bytes,
                                  "a part's columns", &p->col));
  SL_TRY(sl_device_upload_private(queue, (const char *)a->val + first * p->value_bytes,
                                  p->entries * p->value_bytes, "a part's values", &p->val));
  if (!a->rowid)
    return SLEY_OK;
  SL_TRY(sl_device_upload_private(queue, a->rowid, a->rows * (int64_t)sizeof *a->rowid, "a part's rows",
                                  &p->rowid));
  return queue->device->ops->alloc_private(queue->device, a->rows * p->k * p->y_bytes, "sums of listed rows",
                                           &p->packed);
}

/* Describes X and Y for these strides; the pointers are set at each run. */
static sley_status describe_operands(cusparse_product *p, const void *x, int64_t ldx, void *y, int64_t ldy) {
  if (p->x && p->ldx == ldx && p->ldy == ldy) {
    SL_TRY(check(p, p->library->DnMatSetValues(p->x, (void *)x), "setting X"));
    return check(p, p->library->DnMatSetValues(p->y, y), "setting Y");
  }
  if (p->x)
    p->library->DestroyDnMat(p->x);
  if (p->y)
    p->library->DestroyDnMat(p->y);
  p->x = p->y = NULL;
  p->ldx = ldx;
  p->ldy = ldy;
  SL_TRY(check(
      p, p->library->CreateDnMat(&p->x, p->cols, p->k, ldx, (void *)x, type_of(p->dtype), CUSPARSE_ORDER_ROW),
      "describing X"));
  return check(p,
               p->library->CreateDnMat(&p->y, p->rows, p->k, ldy, y, type_of(p->y_dtype), CUSPARSE_ORDER_ROW),
               "describing Y");
}

/* alpha and beta in the type of sums. */
typedef union scalar {
  double f64;
  float f32;
} scalar;

static scalar scalar_of(const cusparse_product *p, double value) {
  return p->dtype == SLEY_F64 ? (scalar){.f64 = value} : (scalar){.f32 = (float)value};
}

static sley_status multiply(const cusparse_product *p, const candidate *c, double alpha, double beta) {
  scalar a = scalar_of(p, alpha), b = scalar_of(p, beta);
  cudaDataType sums = type_of(sl_sum_dtype(p->dtype));
  return check(p,
               p->library->SpMM(p->handle, as_stored, as_stored, &a, c->a, p->x, &b, p->y, sums, c->algorithm,
                                c->buffer),
               "the product");
}

static void candidate_free(const cusparse_product *p, sl_device *device, candidate *c) {
  if (c->a)
    p->library->DestroySpMat(c->a);
  device->ops->free(device, c->buffer);
  *c = (candidate){0};
}

static sley_status candidate_make(cusparse_product *p, sl_device *device, cusparseSpMMAlg_t algorithm,
                                  candidate *c) {
  cusparseIndexType_t index = p->wide ? CUSPARSE_INDEX_64I : CUSPARSE_INDEX_32I;
  cudaDataType sums = type_of(sl_sum_dtype(p->dtype));
  scalar one = scalar_of(p, 1), zero = scalar_of(p, 0);
  size_t bytes = 0;
  c->algorithm = algorithm;
  SL_TRY(check(p,
               p->library->CreateCsr(&c->a, p->rows, p->cols, p->entries, p->rowptr, p->col, p->val, index,
                                     index, CUSPARSE_INDEX_BASE_ZERO, type_of(p->dtype)),
               "describing A"));
  SL_TRY(check(p,
               p->library->SpMM_bufferSize(p->handle, as_stored, as_stored, &one, c->a, p->x, &zero, p->y,
                                           sums, algorithm, &bytes),
               "sizing its buffer"));
  SL_TRY(device->ops->alloc_private(device, (int64_t)bytes, "cuSPARSE's buffer", &c->buffer));
  return check(p,
               p->library->SpMM_preprocess(p->handle, as_stored, as_stored, &one, c->a, p->x, &zero, p->y,
                                           sums, algorithm, c->buffer),
               "preprocessing");
}

/* Measures the least seconds of a few products, after one that is not counted. */
static sley_status time_candidate(const cusparse_product *p, sl_queue *queue, const candidate *c,
                                  double *least) {
  cudaEvent_t begin = NULL, end = NULL;
  sley_status status;
  SL_TRY_GOTO(status, sl_cuda_check(cudaEventCreate(&begin), "making an event"), done);
  SL_TRY_GOTO(status, sl_cuda_check(cudaEventCreate(&end), "making an event"), done);
  *least = INFINITY;
  for (int run = 0; run <= TIMED_RUNS; run++) {
    float ms = 0;
    SL_TRY_GOTO(status, sl_cuda_check(cudaEventRecord(begin, sl_cuda_stream(queue)), "timing"), done);
    SL_TRY_GOTO(status, multiply(p, c, 1, 0), done);
    SL_TRY_GOTO(status, sl_cuda_check(cudaEventRecord(end, sl_cuda_stream(queue)), "timing"), done);
    SL_TRY_GOTO(status, sl_cuda_check(cudaEventSynchronize(end), "timing cuSPARSE"), done);
    SL_TRY_GOTO(status, sl_cuda_check(cudaEventElapsedTime(&ms, begin, end), "timing"), done);
    if (run > 0 && ms < *least)
      *least = ms;
  }
done:
  if (begin)
    (void)cudaEventDestroy(begin);
  if (end)
    (void)cudaEventDestroy(end);
  return status;
}

/* Chooses the fastest algorithm, with operands of zeros in place of the caller's. */
static sley_status choose(cusparse_product *p, sl_queue *queue) {
  sl_device *device = queue->device;
  int64_t x_bytes = p->cols * p->k * p->value_bytes, y_bytes = p->rows * p->k * p->y_bytes;
  void *x = NULL, *y = NULL;
  double least = INFINITY;
  sley_status status, refused = SLEY_OK;
  SL_TRY_GOTO(status, device->ops->alloc_private(device, x_bytes, "X to time with", &x), done);
  SL_TRY_GOTO(status, device->ops->alloc_private(device, y_bytes, "Y to time with", &y), done);
  SL_TRY_GOTO(status,
              sl_cuda_check(cudaMemsetAsync(x, 0, (size_t)x_bytes, sl_cuda_stream(queue)), "clearing X"),
              done);
  SL_TRY_GOTO(status, describe_operands(p, x, p->k, y, p->k), done);
  for (int i = 0; i < ALGORITHMS; i++) {
    candidate c = {0};
    double seconds = INFINITY;
    sley_status tried = candidate_make(p, device, algorithms[i], &c);
    if (tried == SLEY_OK)
      tried = time_candidate(p, queue, &c, &seconds);
    if (tried != SLEY_OK)
      refused = tried;
    if (tried == SLEY_OK && seconds < least) {
      candidate_free(p, device, &p->chosen);
      p->chosen = c;
      least = seconds;
    } else {
      candidate_free(p, device, &c);
    }
  }
  status = isfinite(least) ? SLEY_OK : refused;
done:
  device->ops->free(device, y);
  device->ops->free(device, x);
  return status;
}

static void cusparse_release(sl_device *device, void *prepared) {
  cusparse_product *p = prepared;
  if (!p)
    return;
  if (sl_cuda_use(device) == SLEY_OK && p->library) {
    candidate_free(p, device, &p->chosen);
    if (p->x)
      p->library->DestroyDnMat(p->x);
    if (p->y)
      p->library->DestroyDnMat(p->y);
    if (p->handle)
      p->library->Destroy(p->handle);
  }
  device->ops->free(device, p->packed);
  device->ops->free(device, p->rowid);
  device->ops->free(device, p->val);
  device->ops->free(device, p->col);
  device->ops->free(device, p->rowptr);
  sl_free(p);
}

/* The library reports the size of its buffers only for a given matrix. The estimate is two numbers per entry.
 */
static int64_t cusparse_memory(const sl_kernel_args *args, int64_t *passing) {
  const sl_spmm_problem *s = args->spmm.problem;
  const sl_spmm_matrix *a = s->a;
  int64_t entries = sl_spmm_entries(a), value_bytes = (int64_t)sley_dtype_bytes(a->dtype), cols = 0;
  for (int64_t e = 0; e < entries; e++) {
    int64_t col = sl_index_at(a->col, a->index, a->rowptr[0] + e);
    cols = col >= cols ? col + 1 : cols;
  }
  int64_t buffer = sl_device_bytes(8 * (entries + a->rows)),
          y = sl_device_bytes(a->rows * s->k * (int64_t)sley_dtype_bytes(y_dtype_of(s)));
  *passing = buffer + y + sl_device_bytes(cols * s->k * value_bytes);
  return sl_device_bytes((a->rows + 1) * 8) + sl_device_bytes(entries * (int64_t)sl_index_bytes(a->index)) +
         sl_device_bytes(entries * value_bytes) + (a->rowid ? sl_device_bytes(a->rows * 8) + y : 0) + buffer;
}

static sley_status prepare(sl_queue *queue, const sl_spmm_matrix *a, cusparse_product *p) {
  SL_TRY(sl_cusparse_load(&p->library));
  SL_TRY(sl_cuda_use(queue->device));
  SL_TRY(check(p, p->library->Create(&p->handle), "starting"));
  SL_TRY(check(p, p->library->SetStream(p->handle, sl_cuda_stream(queue)), "choosing a stream"));
  SL_TRY(upload_matrix(queue, a, p));
  return p->cols > 0 ? choose(p, queue) : SLEY_OK;
}

static sley_status cusparse_prepare(sl_device *device, sl_queue *queue, const sl_kernel_args *args,
                                    void **prepared) {
  const sl_spmm_problem *problem = args->spmm.problem;
  const sl_spmm_matrix *a = problem->a;
  *prepared = NULL;
  if (a->rows == 0 || problem->k == 0)
    return SLEY_OK;
  cusparse_product *p;
  SL_TRY(SL_NEW_ZERO(p, 1, "cuSPARSE's product"));
  p->rows = a->rows;
  p->k = problem->k;
  p->entries = sl_spmm_entries(a);
  p->wide = a->index == SLEY_I64;
  p->dtype = a->dtype;
  p->y_dtype = y_dtype_of(problem);
  p->value_bytes = (int64_t)sley_dtype_bytes(p->dtype);
  p->y_bytes = (int64_t)sley_dtype_bytes(p->y_dtype);
  sley_status status = prepare(queue, a, p);
  if (status != SLEY_OK) {
    cusparse_release(device, p);
    return status;
  }
  *prepared = p;
  return SLEY_OK;
}

/* According to the manual, cusparseSpMM_preprocess serves all products with the same sparsity pattern of A,
 * so values may change without it. A new prepare might choose another algorithm, with different bits. */
static sley_status cusparse_refill(sl_device *device, sl_queue *queue, const sl_kernel_args *args,
                                   const void *val, sl_values_in where, void *prepared) {
  const cusparse_product *p = prepared;
  (void)device;
  return p ? sl_device_copy_values(queue, args->spmm.problem->a, val, where, p->val) : SLEY_OK;
}

/* ---------------------------------------------------------------------------------------------- running */

/* Moves or adds the sums in p->packed to their rows of Y. If Y has 16 bits, sums are rounded before they are
 * added. */
static sley_status spread(const cusparse_product *p, sl_queue *queue, const sl_spmm_run *a) {
  if (a->beta != 0 && a->beta != 1)
    return sl_fail(SLEY_ERR_UNSUPPORTED, "cuSPARSE's product adds to listed rows with beta 0 or 1, not %g",
                   a->beta);
  sl_rows_args rows = {.count = p->rows,
                       .bytes = p->k * p->y_bytes,
                       .src = p->packed,
                       .src_stride = p->k * p->y_bytes,
                       .dst = a->y,
                       .dst_stride = a->ldy * p->y_bytes,
                       .dst_rows = p->rowid,
                       .add = a->beta == 1,
                       .dtype = p->y_dtype};
  return sl_cuda_launch_rows(queue, &rows);
}

static sley_status cusparse_run(sl_queue *queue, const sl_kernel_args *args) {
  const sl_spmm_run *a = &args->spmm;
  cusparse_product *p = (void *)a->prepared;
  if (!p)
    return a->problem->a->rows <= 0 || a->problem->k <= 0
               ? SLEY_OK
               : sl_fail(SLEY_ERR_UNSUPPORTED,
                         "cuSPARSE's product wants a matrix that is there when the plan is made");
  SL_TRY(sl_cuda_use(queue->device));
  if (p->cols == 0) { /* without entries, only Y = beta Y */
    sl_scale_args scale = {
        .rows = p->rows, .k = p->k, .beta = a->beta, .y = a->y, .ldy = a->ldy, .dtype = p->y_dtype};
    return p->rowid || a->beta == 1 ? SLEY_OK : sl_cuda_launch_scale(queue, &scale);
  }
  SL_TRY(check(p, p->library->SetStream(p->handle, sl_cuda_stream(queue)), "choosing a stream"));
  if (!p->packed) {
    SL_TRY(describe_operands(p, a->x, a->ldx, a->y, a->ldy));
    SL_TRY(multiply(p, &p->chosen, a->alpha, a->beta));
    return sl_cuda_launched(queue, "cuSPARSE's product");
  }
  SL_TRY(describe_operands(p, a->x, a->ldx, p->packed, p->k));
  SL_TRY(multiply(p, &p->chosen, a->alpha, 0));
  SL_TRY(sl_cuda_launched(queue, "cuSPARSE's product"));
  return spread(p, queue, a);
}

const sl_kernel sl_cuda_spmm_cusparse = {.name = "spmm-cusparse",
                                         .op = SL_OP_SPMM,
                                         .library = "cusparse",
                                         .ok = cusparse_ok,
                                         .cost = sl_cost_of_bytes,
                                         .prepare = cusparse_prepare,
                                         .refill = cusparse_refill,
                                         .release = cusparse_release,
                                         .memory = cusparse_memory,
                                         .product = &sl_product_plain,
                                         .run = cusparse_run};
