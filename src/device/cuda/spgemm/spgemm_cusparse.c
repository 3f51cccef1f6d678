/* SPDX-License-Identifier: Apache-2.0 */
/* The sparse product by cuSPARSE, a baseline that a user requests by name: its algorithm 1, the default, and
 * algorithms 2 and 3, which use less memory. Supports 32-bit row pointers, f32 and f64, plus-times, no mask.
 */
#include "base/value.h"
#include "device/cuda/runtime/cusparse_library.h"
#include "device/cuda/spgemm/spgemm.h"
#include "device/cuda/spgemm/spgemm_memory.h"

/* Share of the products that algorithm 3 computes at once. */
static const float CHUNK = 0.2F;
static const cusparseOperation_t AS_STORED = CUSPARSE_OPERATION_NON_TRANSPOSE;

typedef struct product {
  const sl_spgemm_args *args;
  sl_queue *queue;
  cusparseSpGEMMAlg_t algorithm;
  sl_spgemm_memory memory;
  const sl_cusparse *library;
  cusparseHandle_t handle;
  cusparseSpMatDescr_t a, b, c;
  cusparseSpGEMMDescr_t plan;
  cudaDataType type;
  void *c_rowptr; /* 32-bit row pointers */
} product;

static const double one_f64 = 1, zero_f64 = 0;
static const float one_f32 = 1, zero_f32 = 0;

static const void *one(const product *self) {
  return self->type == CUDA_R_64F ? (const void *)&one_f64 : &one_f32;
}

static const void *zero(const product *self) {
  return self->type == CUDA_R_64F ? (const void *)&zero_f64 : &zero_f32;
}

static sley_status check(const product *self, cusparseStatus_t status, const char *what) {
  if (status == CUSPARSE_STATUS_SUCCESS)
    return SLEY_OK;
  (void)cudaGetLastError();
  return sl_fail(status == CUSPARSE_STATUS_NOT_SUPPORTED ? SLEY_ERR_UNSUPPORTED
                 : status == CUSPARSE_STATUS_ALLOC_FAILED || status == CUSPARSE_STATUS_INSUFFICIENT_RESOURCES
                     ? SLEY_ERR_MEMORY
                     : SLEY_ERR_INTERNAL,
                 "cuSPARSE: %s: %s", what, self->library->GetErrorString(status));
}

/* Describes an operand, with its row pointers copied to 32 bits so that they start at 0. */
static sley_status describe_operand(product *self, const sley_csr *csr, cusparseSpMatDescr_t *out) {
  int64_t first, end;
  void *rowptr;
  const sl_device_ops *ops = self->queue->ops;
  SL_TRY(ops->copy(self->queue, SL_COPY_TO_HOST, &first, csr->rowptr, sizeof first));
  SL_TRY(ops->copy(self->queue, SL_COPY_TO_HOST, &end, csr->rowptr + csr->rows, sizeof end));
  if (end - first > INT32_MAX)
    return sl_fail(SLEY_ERR_UNSUPPORTED, "cuSPARSE: a sparse product takes fewer than 2^31 entries");
  SL_TRY(sl_spgemm_take(&self->memory, (csr->rows + 1) * (int64_t)sizeof(int32_t), "row pointers of 32 bits",
                        &rowptr));
  SL_TRY(sl_spgemm_launch_narrow(self->queue, csr->rowptr, csr->rows + 1, first, rowptr));
  return check(self,
               self->library->CreateCsr(out, csr->rows, csr->cols, end - first, rowptr,
                                        (char *)csr->col + (size_t)first * sizeof(int32_t),
                                        (char *)csr->val + (size_t)first * sley_dtype_bytes(csr->dtype),
                                        CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO,
                                        self->type),
               "describing an operand");
}

static sley_status describe(product *self) {
  const sl_spgemm_args *args = self->args;
  SL_TRY(sl_cusparse_load(&self->library));
  SL_TRY(check(self, self->library->Create(&self->handle), "starting"));
  SL_TRY(
      check(self, self->library->SetStream(self->handle, sl_cuda_stream(self->queue)), "choosing a stream"));
  SL_TRY(describe_operand(self, &args->a, &self->a));
  SL_TRY(describe_operand(self, &args->b, &self->b));
  SL_TRY(sl_spgemm_take(&self->memory, (args->a.rows + 1) * (int64_t)sizeof(int32_t),
                        "row pointers of 32 bits", &self->c_rowptr));
  SL_TRY(check(self,
               self->library->CreateCsr(&self->c, args->a.rows, args->b.cols, 0, self->c_rowptr, NULL, NULL,
                                        CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO,
                                        self->type),
               "describing the product"));
  return check(self, self->library->SpGEMM_createDescr(&self->plan), "starting the product");
}

static sley_status estimate_work(product *self, size_t *bytes, void *buffer) {
  return check(self,
               self->library->SpGEMM_workEstimation(self->handle, AS_STORED, AS_STORED, one(self), self->a,
                                                    self->b, zero(self), self->c, self->type, self->algorithm,
                                                    self->plan, bytes, buffer),
               "estimating the work");
}

static sley_status estimate_memory(product *self, size_t *bytes, void *buffer, size_t *of_compute) {
  return check(self,
               self->library->SpGEMM_estimateMemory(self->handle, AS_STORED, AS_STORED, one(self), self->a,
                                                    self->b, zero(self), self->c, self->type, self->algorithm,
                                                    self->plan, CHUNK, bytes, buffer, of_compute),
               "estimating the memory");
}

static sley_status compute(product *self, size_t *bytes, void *buffer) {
  return check(self,
               self->library->SpGEMM_compute(self->handle, AS_STORED, AS_STORED, one(self), self->a, self->b,
                                             zero(self), self->c, self->type, self->algorithm, self->plan,
                                             bytes, buffer),
               "computing");
}

static sley_status take_buffer(product *self, size_t bytes, void **out) {
  return sl_spgemm_take(&self->memory, (int64_t)bytes, "cuSPARSE's buffers", out);
}

/* Size of the working buffer, as the algorithm reports or estimates it. */
static sley_status size_of_compute(product *self, size_t *out) {
  size_t bytes = 0;
  void *buffer;
  if (self->algorithm == CUSPARSE_SPGEMM_ALG1)
    return compute(self, out, NULL);
  SL_TRY(estimate_memory(self, &bytes, NULL, NULL));
  SL_TRY(take_buffer(self, bytes, &buffer));
  SL_TRY(estimate_memory(self, &bytes, buffer, out));
  sl_spgemm_give_last(&self->memory);
  return SLEY_OK;
}

static sley_status take_result(product *self) {
  sl_spgemm_result *out = self->args->out;
  int64_t rows, cols;
  SL_TRY(check(self, self->library->SpMatGetSize(self->c, &rows, &cols, &out->nnz), "asking for the size"));
  SL_TRY(
      sl_spgemm_take_result(&self->memory, rows + 1, sizeof(int64_t), "row pointers", (void **)&out->rowptr));
  SL_TRY(sl_spgemm_take_result(&self->memory, out->nnz, sizeof(int32_t), "columns of a product", &out->col));
  SL_TRY(sl_spgemm_take_result(&self->memory, out->nnz, sley_dtype_bytes(self->args->a.dtype),
                               "values of a product", &out->val));
  SL_TRY(check(self, self->library->CsrSetPointers(self->c, self->c_rowptr, out->col, out->val),
               "describing the product"));
  SL_TRY(check(self,
               self->library->SpGEMM_copy(self->handle, AS_STORED, AS_STORED, one(self), self->a, self->b,
                                          zero(self), self->c, self->type, self->algorithm, self->plan),
               "copying the product"));
  return sl_spgemm_launch_widen(self->queue, self->c_rowptr, rows + 1, out->rowptr);
}

static sley_status multiply(product *self) {
  size_t bytes = 0;
  void *buffer;
  sl_spgemm_result *out = self->args->out;
  SL_TRY(describe(self));
  SL_TRY(estimate_work(self, &bytes, NULL));
  SL_TRY(take_buffer(self, bytes, &buffer));
  SL_TRY(estimate_work(self, &bytes, buffer));
  if (self->library->SpGEMM_getNumProducts(self->plan, &out->products) != CUSPARSE_STATUS_SUCCESS)
    out->products = 0; /* some versions of some algorithms do not report it */
  bytes = 0;
  SL_TRY(size_of_compute(self, &bytes));
  SL_TRY(take_buffer(self, bytes, &buffer));
  SL_TRY(compute(self, &bytes, buffer));
  return take_result(self);
}

static void close_library(const product *self) {
  if (self->plan)
    self->library->SpGEMM_destroyDescr(self->plan);
  const cusparseSpMatDescr_t matrix[] = {self->a, self->b, self->c};
  for (int i = 0; i < 3; i++)
    if (matrix[i])
      self->library->DestroySpMat(matrix[i]);
  if (self->handle)
    self->library->Destroy(self->handle);
}

static sley_status run(sl_queue *queue, const sl_kernel_args *kernel_args, cusparseSpGEMMAlg_t algorithm) {
  const sl_spgemm_args *args = &kernel_args->spgemm;
  product self = {.args = args,
                  .queue = queue,
                  .algorithm = algorithm,
                  .type = args->a.dtype == SLEY_F64 ? CUDA_R_64F : CUDA_R_32F};
  sl_spgemm_memory_begin(&self.memory, queue->device, args);
  args->out->index = SLEY_I32;
  args->out->passes = 1;
  SL_TRY(sl_cuda_use(queue->device));
  sley_status status = multiply(&self);
  const sley_status done = queue->ops->queue_wait(queue);
  if (status == SLEY_OK)
    status = done;
  close_library(&self);
  return sl_spgemm_memory_end(&self.memory, status);
}

static sley_status run_1(sl_queue *queue, const sl_kernel_args *args) {
  return run(queue, args, CUSPARSE_SPGEMM_ALG1);
}

static sley_status run_2(sl_queue *queue, const sl_kernel_args *args) {
  return run(queue, args, CUSPARSE_SPGEMM_ALG2);
}

static sley_status run_3(sl_queue *queue, const sl_kernel_args *args) {
  return run(queue, args, CUSPARSE_SPGEMM_ALG3);
}

static bool ok(const sl_kernel_args *args) {
  const sl_spgemm_args *a = &args->spgemm;
  return sl_spgemm_ok(a) && a->semiring == SLEY_PLUS_TIMES && !a->mask && a->a.index == SLEY_I32 &&
         a->b.index == SLEY_I32 && (a->a.dtype == SLEY_F32 || a->a.dtype == SLEY_F64) &&
         a->accumulator == SL_ACCUMULATOR_AUTO && a->a.rows < INT32_MAX && a->b.rows < INT32_MAX;
}

#define CUSPARSE_KERNEL(kernel_name, library_name, function)                                                 \
  {                                                                                                          \
    .name = kernel_name, .op = SL_OP_SPGEMM, .library = library_name, .ok = ok, .cost = sl_cost_of_bytes,    \
    SL_KERNEL_KEEPS_NOTHING, .run = function                                                                 \
  }
const sl_kernel sl_cuda_spgemm_cusparse = CUSPARSE_KERNEL("spgemm-cusparse", "cusparse", run_1);
const sl_kernel sl_cuda_spgemm_cusparse_2 = CUSPARSE_KERNEL("spgemm-cusparse-alg2", "cusparse-alg2", run_2);
const sl_kernel sl_cuda_spgemm_cusparse_3 = CUSPARSE_KERNEL("spgemm-cusparse-alg3", "cusparse-alg3", run_3);
